"""Evaluation of expressions; importing the package registers every kind."""

from cutecheck.source.eval.expressions import (  # noqa: F401
    displays,
    invocations,
    names,
    operators,
    type_expressions,
)
