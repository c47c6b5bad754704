"""Options that a ``conftest.py`` adds to pytest, with their defaults: what ``request.config.getoption`` gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cutecheck.source.dsl.builtins import FUNCTIONS, builtin
from cutecheck.source.dsl.values import Builtin, Namespace, Parser
from cutecheck.source.eval.calls import apply
from cutecheck.source.eval.scope import Scope
from cutecheck.source.eval.values import Extern, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.facts import Span
    from cutecheck.source.eval.machine import Machine

FUNCTIONS["argparse.getgroup"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["argparse.addini"] = lambda m, args, kwargs, span: None


@builtin("argparse.addoption")
def _addoption(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return FUNCTIONS["argparse.add_argument"](m, args, kwargs, span)


def config(m: Machine, scopes: Iterable[Scope]) -> Namespace:
    """``request.config`` of a run without arguments."""
    options = Parser({})
    for scope in scopes:
        adds = scope.env.vars.get("pytest_addoption")
        if isinstance(adds, FuncSet):
            given = [p for p in adds.entries[-1].decl.params if p.default is None]
            apply(m, adds, [options, Extern("the plugin manager")][: len(given)], {}, adds.entries[-1].decl.span)
    asked = {word: Builtin("pytest.getoption", options) for word in ("getoption", "getvalue")}
    return Namespace({**asked, "option": Namespace(options.fields)})


@builtin("pytest.getoption")
def _getoption(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    options, name = args[0], args[1] if len(args) > 1 else kwargs.get("name")
    word = name.lstrip("-").replace("-", "_") if isinstance(name, str) else ""
    if word in options.fields:
        return options.fields[word]
    if len(args) > 2 or "default" in kwargs:
        return args[2] if len(args) > 2 else kwargs["default"]
    return Extern(f"the option {name}", span)


__all__ = ["config"]
