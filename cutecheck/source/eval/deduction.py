"""Class template arguments deduced from constructors and members."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, ir, matching, templates
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.overloads import match_parameter
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import TemplateRef, Value


def deduce_instance(m: Machine, ref: TemplateRef, args: list[Value], span: Span) -> Value:
    """``Name{args}`` of a class template: arguments deduced from its constructors or members."""
    primary = next((e for e in ref.entries if getattr(e.decl, "spec_args", None) is None), ref.entries[0])
    decl = primary.decl
    if not isinstance(decl, ir.Class):
        return Unknown(f"cannot deduce the arguments of `{ref.name}`", span)
    names = {p.name: p for p in decl.tparams or () if p.name}
    aliases = {d.name: d.target for d in decl.members if isinstance(d, ir.Alias) and d.tparams is None}
    patterns = [
        [_aimed(p.type, aliases) for p in d.params]
        for d in decl.members
        if isinstance(d, ir.Function) and d.name == decl.name
    ]
    patterns.append(
        [
            _aimed(d.type, aliases)
            for d in decl.members
            if isinstance(d, ir.Variable) and not d.flags & {"static", "constexpr"}
        ]
    )
    best: tuple[int, tuple[Value, ...]] | None = None
    for types in patterns:
        env = Env(primary.env, "template")
        if len(types) < len(args):
            continue
        gains = [_gain(m, t, a, names, env) for t, a in zip(types, args, strict=False)]
        if None in gains or not all(p.name in env.vars or p.default is not None for p in decl.tparams or ()):
            continue
        score = sum(g for g in gains if g is not None)
        if best is None or score > best[0]:
            best = score, tuple(env.vars[p.name] for p in decl.tparams or () if p.name in env.vars)
    if best is not None:
        cls = templates.apply_template(m, ref, best[1], span)
        return classes.construct(m, cls, args, [None] * len(args), span)
    return Unknown(f"cannot deduce the arguments of `{ref.name}`", span)


def _gain(m: Machine, type_: ir.Expr | None, value: Value, names: dict[str, ir.TParam], env: Env) -> int | None:
    """How well a parameter of the type takes the argument; what is not known is of a type that is not known."""
    if type_ is None:
        return 0
    if isinstance(value, Unknown):
        return 0 if matching.match(m, type_, value, names, env) else None
    return match_parameter(m, type_, value, names, set(), env)


def _aimed(type_: ir.Expr | None, aliases: dict[str, ir.Expr]) -> ir.Expr | None:
    """A parameter's type with the class's own aliases as what they stand for, in terms of its template parameters."""
    if isinstance(type_, ir.TypeMod):
        inner = _aimed(type_.inner, aliases)
        return type_ if inner is None or inner is type_.inner else replace(type_, inner=inner)
    if isinstance(type_, ir.Name) and type_.targs is None and type_.ident in aliases:
        rest = {name: target for name, target in aliases.items() if name != type_.ident}
        return _aimed(aliases[type_.ident], rest)
    return type_
