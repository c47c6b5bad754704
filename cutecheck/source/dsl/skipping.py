"""Tests that are not run: marks of pytest, decorators of unittest, and what a test says inside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cutecheck.source.dsl import modules
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.values import Builtin, BuiltinType
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Extern, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.facts import Span
    from cutecheck.source.eval.machine import Machine

_MARK = "pytest.mark of a test that is not run"
_SKIPS = ("skip", "skipif", "skipIf", "skipUnless", "xfail")
_KEPT = "skips"


class Skipped(Exception):
    """A test, or the module of tests, says that it is not run: on its way to who runs it."""


# -------------------------------------------------------------------- marks


@builtin("pytest.mark.skip")
def _skip(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _decorated(m, args) or Builtin(_MARK, True)


@builtin("pytest.mark.skipif")
def _skip_if(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin(_MARK, _asks(m, "skipif", args, kwargs))


@builtin("pytest.mark.xfail")
def _expected(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _decorated(m, args) or Builtin(_MARK, _asks(m, "xfail", args, kwargs))


@builtin(_MARK)
def _marked(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``mark(function)``, as a decorator does it for others."""
    if len(args) > 1 and args[0] and isinstance(args[1], FuncSet):
        modules.state(m).setdefault(_KEPT, set()).add(id(args[1].entries[0].decl))
    return args[1] if len(args) > 1 else None


def _decorated(m: Machine, args: list[Value]) -> Value:
    """The function that a mark without arguments is put on."""
    return _marked(m, [True, args[0]], {}, None) if args and isinstance(args[0], FuncSet) else None  # type: ignore[arg-type]


def _asks(m: Machine, word: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether what a mark asks is certainly so on this architecture; text is a condition that pytest would compute.

    What is expected to fail is run by pytest all the same, and what makes it fail may well be what is found.
    """
    if word == "skip":
        return True
    if word == "xfail" and kwargs.get("run") is not False:
        return False
    given = list(args) or [v for k, v in kwargs.items() if k == "condition"]
    if not given:
        return word == "xfail"
    asked = given[:1] if word in ("skipIf", "skipUnless") and len(args) > 1 else given
    truths = [None if isinstance(v, (str, Extern)) else m.dialect.truth(v) for v in asked]
    return truths == [False] if word == "skipUnless" else True in truths


def is_left_out(m: Machine, decl: ir.Function, marks: Iterable[tuple[ir.Expr, Env]]) -> bool:
    """Whether a test is not run for one of its decorators, or those of its class."""
    return id(decl) in modules.state(m).get(_KEPT, ()) or any(_leaves_out(m, d, env) for d, env in marks)


def _leaves_out(m: Machine, mark: ir.Expr, env: Env) -> bool:
    if not isinstance(mark, ir.Call):
        if spelled(mark).rpartition(".")[2] == "skip":
            return True
        return isinstance(mark, (ir.Name, ir.Attr)) and leaves_out(m.eval(mark, env))
    word = spelled(mark).rpartition(".")[2]
    if word not in _SKIPS:
        return False
    args = [m.eval(a.value, env) for a in mark.args if not a.name]
    kwargs = {a.name: m.eval(a.value, env) for a in mark.args if a.name}
    return _asks(m, word, args, kwargs)


def leaves_out(mark: Value) -> bool:
    """Whether a mark, or one of several, is one of a test that is not run."""
    if isinstance(mark, (list, tuple)):
        return any(map(leaves_out, mark))
    return isinstance(mark, Builtin) and (
        mark.name == "pytest.mark.skip" or (mark.name == _MARK and mark.self_ is True)
    )


# -------------------------------------------------------------------- inside a test


@builtin("pytest.skip", "pytest.xfail")
def _leave(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The test ends here; where it is not known whether it comes here, the statement ends its function alone."""
    recorder = m.recorder
    if not (recorder.rehearsal or recorder.open or recorder.standing()[1] or m.attempts is not None):
        raise Skipped
    return BuiltinType("BaseException")  # as its own exceptions are, which no `except Exception` catches
