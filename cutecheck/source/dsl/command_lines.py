"""Programs that libraries of command lines call: click, fire, tyro, typer, absl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


@builtin("fire.Fire", "tyro.cli", "typer.run", "absl.app.run")
def _run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A function with its defaults, or an object of a class with those of its fields."""
    from cutecheck.source.eval.calls import apply

    fn = args[0] if args else kwargs.get("main")
    if isinstance(fn, FuncSet) and len([p for p in fn.entries[-1].decl.params if p.default is None]) == 1:
        return apply(m, fn, [Extern("the command line", span)], {}, span)  # `main(argv)`
    return apply(m, fn, [], {}, span) if isinstance(fn, (FuncSet, Closure, ClassInst)) else Extern("a program", span)


@builtin("typer.Option", "typer.Argument")
def _option(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    given = args[0] if args else kwargs.get("default")
    return Unknown("an option without default", span) if given == "..." else given


def options(m: Machine, fn: FuncSet) -> dict[str, Value]:
    """What ``click`` gives to a function that is called without arguments: the defaults of its options."""
    entry = fn.entries[-1]
    found: dict[str, Value] = {}
    for d in entry.decl.decorators:
        if not isinstance(d, ir.Call) or spelled(d).rpartition(".")[2] not in ("option", "argument"):
            continue
        words = [a.value.value for a in d.args if a.name is None and isinstance(a.value, ir.Lit)]
        flags = [w for w in words if isinstance(w, str)]
        plain = [w for w in flags if not w.startswith("-")]
        long = plain or sorted((w.partition("/")[0].lstrip("-") for w in flags), key=len)[-1:]
        given = {a.name: m.eval(a.value, entry.env) for a in d.args if a.name is not None}
        if long:
            flag = given.get("is_flag") is True or any("/" in w for w in flags)
            several: Value = () if given.get("multiple") is True else False if flag else None
            name = long[0].replace("-", "_").lower()
            missing = given.get("required") is True or (spelled(d).endswith("argument") and "default" not in given)
            asked = Unknown(f"argument `{name}` has no default", d.span)
            found[name] = asked if missing else given.get("default", several)
    wanted = {p.name for p in entry.decl.params if p.kind in ("normal", "keyword")}
    return {k: v for k, v in found.items() if k in wanted}
