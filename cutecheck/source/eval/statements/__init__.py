"""Execution of statements; importing the package registers every kind."""

from cutecheck.source.eval.statements import assignments, blocks, branches, loops, unwinding  # noqa: F401
