"""Programs that libraries of command lines and benchmarks call: click, fire, tyro, typer, absl, Triton's reports."""

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

_MOST = 3  # values of what a benchmark varies


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


def report(m: Machine, fn: FuncSet) -> list[dict[str, Value]] | None:
    """The arguments with which ``run`` of Triton's ``perf_report`` calls a function; None where that is not known."""
    entry = fn.entries[-1]
    mark = next((d for d in entry.decl.decorators if spelled(d).endswith("perf_report")), None)
    made = mark.args[0].value if isinstance(mark, ir.Call) and mark.args else None
    if not isinstance(made, ir.Call):
        return None
    words = ("x_names", "x_vals", "line_arg", "line_vals", "line_names", "plot_name", "args")
    nodes = {a.name or words[i]: a.value for i, a in enumerate(made.args) if a.name or i < len(words)}
    given = {k: m.dialect.listed(m.eval(v, entry.env)) for k, v in nodes.items() if k in words}
    names, xs, lines = given.get("x_names"), given.get("x_vals"), given.get("line_vals")
    fixed = given.get("args", {})
    known = all(isinstance(v, (list, tuple, range)) and len(v) for v in (names, xs, lines)) and isinstance(fixed, dict)
    if not known or names is None or xs is None or lines is None:
        return None
    out: list[dict[str, Value]] = []
    for x, line in [(xs[0], line) for line in lines[:_MOST]] + [(x, lines[0]) for x in xs[1:_MOST]]:
        at = dict(zip(names, x if isinstance(x, (tuple, list)) else [x] * len(names), strict=False))
        out.append({k: v for k, v in {**fixed, **at, given.get("line_arg", ""): line}.items() if isinstance(k, str)})
    return out


@builtin("report.run")
def _report(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    for given in report(m, args[0]) or ():
        apply(m, args[0], [], given, span)
    return Extern("a report", span)
