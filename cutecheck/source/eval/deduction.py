"""Class template arguments deduced from constructors and members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, ir, matching, templates
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.overloads import Candidate, bind, match_parameter
from cutecheck.source.eval.ranking import best_of, undecided
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import FuncSet, Pack, TemplateRef, Value


def deduce_instance(m: Machine, ref: TemplateRef, args: list[Value], span: Span) -> Value:
    """``Name{args}`` of a class template: arguments deduced from its constructors or members."""
    primary = next((e for e in ref.entries if getattr(e.decl, "spec_args", None) is None), ref.entries[0])
    decl = primary.decl
    if not isinstance(decl, ir.Class):
        return Unknown(f"cannot deduce the arguments of `{ref.name}`", span)
    found = _guides(m, primary, args)
    if found is not None and (isinstance(found, Unknown) or all(fit > 0 for fit in found.fits)):
        return _guided(m, primary, found, args, span)
    names = {p.name: p for p in decl.tparams or () if p.name}
    aliases = {d.name: d.target for d in decl.members if isinstance(d, ir.Alias) and d.tparams is None}
    patterns: list[list[ir.Expr | None]] = [
        [_packed(_aimed(p.type, aliases), p.pack) for p in d.params]
        for d in decl.members
        if isinstance(d, ir.Function) and d.name == decl.name
    ]
    patterns.append(
        [
            *(b for b in decl.bases if isinstance(b, ir.Expand)),
            *(
                _aimed(d.type, aliases)
                for d in decl.members
                if isinstance(d, ir.Variable) and not d.flags & {"static", "constexpr"}
            ),
        ]
    )
    best: tuple[int, tuple[Value, ...]] | None = None
    exact = False
    for types in patterns:
        env = Env(primary.env, "template")
        if any(isinstance(t, ir.Expand) for t in types):
            made = _all_of(m, types, args, names, env)
            if made and best is None:
                best = 0, tuple(v for p in decl.tparams or () if p.name in env.vars for v in _flat(env.vars[p.name]))
            continue
        if len(types) < len(args):
            continue
        gains = [_gain(m, t, a, names, env) for t, a in zip(types, args, strict=False)]
        if None in gains or not all(p.name in env.vars or p.default is not None for p in decl.tparams or ()):
            continue
        exact = exact or all(g is not None and g > 0 for g in gains)
        score = sum(g for g in gains if g is not None)
        if best is None or score > best[0]:
            best = score, tuple(env.vars[p.name] for p in decl.tparams or () if p.name in env.vars)
    if found is not None and not (best is not None and exact):
        if best is not None:
            return Unknown(f"whether a deduction guide of `{decl.name}` applies is not known", span)
        return _guided(m, primary, found, args, span)
    if best is not None:
        cls = templates.apply_template(m, ref, best[1], span)
        return classes.construct(m, cls, args, [None] * len(args), span)
    return Unknown(f"cannot deduce the arguments of `{ref.name}`", span)


def _guides(m: Machine, primary: Entry, args: list[Value]) -> Candidate | Unknown | None:
    """``template <class... Ts> X(Ts...) -> X<Ts...>;``: the best guide; None where none takes these."""
    scope = primary.env.namespace()
    entries = () if scope is None or primary.env.cls is not None else scope.decls.get(f"{primary.decl.name} guide", ())
    guides = FuncSet(primary.decl.name, tuple(entries))
    found = [c for c in (bind(m, e, guides, args, {}) for e in guides.entries) if c is not None]
    if not found:
        return None
    if undecided(found, (), "") or any(isinstance(a, Unknown) for a in args):
        return Unknown(f"which deduction guide of `{primary.decl.name}` applies is not known")
    return best_of(found)


def _guided(m: Machine, primary: Entry, best: Candidate | Unknown, args: list[Value], span: Span) -> Value:
    if isinstance(best, Unknown):
        return Unknown(best.reason, span)
    made = m.eval(best.fn.ret, best.env) if best.fn.ret is not None else None
    if not isinstance(made, ClassInst):
        return Unknown(f"cannot deduce the arguments of `{primary.decl.name}`", span)
    return classes.construct(m, made, args, [None] * len(args), span)


def _flat(value: Value) -> Sequence[Value]:
    return value.items if isinstance(value, Pack) else (value,)


def _packed(t: ir.Expr | None, pack: bool) -> ir.Expr | None:
    return ir.Expand(t, t.span) if pack and t is not None and not isinstance(t, ir.Expand) else t


def _all_of(m: Machine, types: list[ir.Expr | None], args: list[Value], names: dict[str, ir.TParam], env: Env) -> bool:
    """Whether parameters with a pack at the end take the arguments, and all that is asked of the template is known."""
    patterns = [t for t in types if t is not None]
    if len(patterns) != len(types) or any(isinstance(a, Unknown) for a in args):
        return False
    return (
        matching.match_all(m, patterns, [type_of(a) for a in args], names, env) is True
        and names.keys() <= env.vars.keys()
    )


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
