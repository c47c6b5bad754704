"""``cutecheck eval``: one expression to its value."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model import notation
from cutecheck.source.eval import ir
from cutecheck.source.eval.budget import Budget, Limits
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.values import BudgetExceeded, EnumVal, Scalar, TraitType, Value, ValueType


def machine(arch: str = "sm_90a") -> Machine:
    """A machine over an empty program."""
    from cutecheck.source.cpp.semantics import CppDialect
    from cutecheck.source.eval import expressions, statements  # noqa: F401  (register the node handlers)

    recorder = Recorder(arch, lambda path: [])
    return Machine(Program(), CppDialect(), recorder, arch, Budget(Limits()))


def evaluate(text: str, lang: str = "cpp") -> Value:
    """The value of a CuTe C++ expression, of a type, or of printed notation.

    Returns a model value, or Unknown with the reason. Types give the value they stand for.
    """
    if lang != "cpp":
        return Unknown(f"language {lang} is not supported")
    from cutecheck.source.cpp import lower_expression

    node = lower_expression(text)
    if isinstance(node, ir.Opaque):
        return _printed(text, Unknown(f"cannot parse: {node.reason}", node.span))
    m = machine()
    try:
        value = m.eval(node, m.program.root.env)
    except BudgetExceeded as error:
        value = Unknown(str(error))
    value = plain(value)
    return _printed(text, value) if isinstance(value, Unknown) and not value.rejected else value


def plain(value: Value) -> Value:
    """The model value behind a scalar, trait or type."""
    if isinstance(value, TraitType):
        value = value.value
    if isinstance(value, ValueType):
        value = value.value
    if isinstance(value, Scalar):
        from cutecheck.model.ints import Dyn, as_expr

        if isinstance(value.value, float) or value.value is None:
            return Unknown(f"a {value.ctype} that is not tracked")
        return Dyn(as_expr(value.value))
    if isinstance(value, EnumVal):
        return Unknown(f"enumerator {value.name}")
    return value


def _printed(text: str, otherwise: Value) -> Value:
    """The text read as CuTe's printed notation, if it is that (a lone name would be, and is not meant)."""
    if not any(c in text for c in ":(@_"):
        return otherwise
    try:
        return notation.parse(text)
    except ValueError:
        return otherwise
