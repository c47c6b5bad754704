"""Template arguments: binding, choice of specialisations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, constness, constraints, ir, repeatable
from cutecheck.source.eval.class_arguments import settled
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.intrinsics.registry import TYPES
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.made_once import variable_value
from cutecheck.source.eval.matching import are_defaults, is_trait, marks, match_all, typed, weight, weights
from cutecheck.source.eval.mentions import mentions, names_in, unexpanded
from cutecheck.source.eval.ordering import most_specialised
from cutecheck.source.eval.qualified import assumed, note, open_marks, plain
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.spelled import written
from cutecheck.source.eval.types import same_type, type_key, type_of
from cutecheck.source.eval.values import (
    ArrayType,
    Object,
    Pack,
    PtrType,
    Qualified,
    Reference,
    Scalar,
    ScalarType,
    SubstitutionFailure,
    TemplateRef,
    Value,
    VoidType,
)

_DEEPEST = 48  # pointers to pointers, and arrays of arrays


def arguments(m: Machine, nodes: Sequence[ir.Expr], env: Env) -> tuple[Value, ...]:
    """Template arguments evaluated, packs expanded."""
    out: list[Value] = []
    for node in nodes:
        if isinstance(node, ir.Expand):
            out.extend(expand(m, node.pattern, env, written))
        else:
            value = written(m, node, env)
            if isinstance(value, Pack):
                out.extend(value.items)
            else:
                out.append(value)
    return tuple(settled(m, v) if isinstance(v, Object) else v for v in out)


def expand(m: Machine, pattern: ir.Expr, env: Env, evaluate: Any = None) -> list[Value]:
    """``pattern...``: one value an element of the packs it names."""
    evaluate = evaluate or Machine.eval
    if not _packs(pattern, env):
        value = evaluate(m, pattern, env)
        return list(value.items) if isinstance(value, Pack) else [value]
    return [evaluate(m, pattern, inner) for inner in each(pattern, env)]


def _packs(pattern: ir.Expr, env: Env) -> dict[str, Pack]:
    found = {n: _variable(env, n) for n in unexpanded(pattern)}
    return {n: v for n, v in found.items() if isinstance(v, Pack)}


def each(pattern: ir.Expr, env: Env) -> Iterator[Env]:
    """Where to evaluate a pattern for each element of the packs that it names; once where it names none."""
    packs = _packs(pattern, env)
    if not packs:
        yield env
        return
    constant = {n for n in packs if (at := env.find_var(n)) is not None and at.kind == "template"}
    for i in range(min(len(p.items) for p in packs.values())):
        inner = Env(env, "block")
        inner.fixed = constant or None
        for n, p in packs.items():
            inner.vars[n] = p.items[i]
        yield inner


def references(pattern: ir.Expr, env: Env) -> list[Any]:
    """The cells that the elements of a pack of references stand for, where the pattern is the pack, or hands it on."""
    if isinstance(pattern, ir.Call) and repeatable.passes_on(pattern):
        pattern = pattern.args[0].value
    pack = _variable(env, pattern.ident) if isinstance(pattern, ir.Name) else None
    if not isinstance(pack, Pack):
        return []
    return [v.cells if isinstance(v, Reference) else None for v in pack.items]


def _variable(env: Env, name: str) -> Value:
    at = env.find_var(name)
    return at.vars[name] if at is not None else None


def bind(m: Machine, tparams: Sequence[ir.TParam], given: Sequence[Value], env: Env) -> tuple[Value, ...]:
    """Bind parameters in ``env.vars``; missing ones take their default or stay open. Returns all arguments."""
    out: list[Value] = []
    rest = list(given)
    for p in tparams:
        if p.pack:
            value: Value = Pack(tuple(rest))
            rest = []
        elif rest:
            value = typed(m, p, rest.pop(0), env)
        elif p.default is not None:
            value = typed(m, p, written(m, p.default, env), env)
        else:
            value = m.recorder.open_parameter(m, p)
        if p.name:
            env.vars[p.name] = value
            note(env, p.name)
        out.append(value)
    return tuple(out)


def apply_template(m: Machine, ref: TemplateRef, given: tuple[Value, ...], span: Span) -> Value:
    """A class, alias or variable template under arguments."""
    if any(map(open_marks, given)):
        if constness.tells_apart(ref.entries):
            return Unknown("whether a template argument is a constant or a reference is not known", span)
        given = tuple(map(assumed, given))
    if any(map(_too_deep, given)):
        return Unknown(f"a template argument of more than {_DEEPEST} pointers", span)
    bad = next((g for g in given if isinstance(g, Unknown)), None)
    primary = next((e for e in ref.entries if getattr(e.decl, "spec_args", None) is None), ref.entries[0])
    decl = primary.decl
    if any(type(e.decl) is not type(decl) for e in ref.entries):  # no program: one name, several kinds of template
        ref = replace(ref, entries=tuple(e for e in ref.entries if type(e.decl) is type(decl)))
    if bad is not None and not isinstance(decl, ir.Class):
        return bad
    if isinstance(decl, ir.Class):
        return _class(m, ref, primary, given, span)
    env = Env(primary.env, "template")
    args = bind(m, decl.tparams or (), given, env)
    key = ("alias", id(decl), id(primary.env), type_key(args))
    if key in m.functions:
        return m.functions[key]
    refused = m.budget.refused
    if isinstance(decl, ir.Alias):
        value = written(m, decl.target, env)
    else:
        special = _special(m, ref, args, decl.tparams or (), env)
        if isinstance(special, Unknown):
            return special
        if special is not None:
            decl, env = special[0].decl, special[1]
        value = variable_value(m, decl, env)
    if m.budget.refused == refused:
        m.functions[key] = value
    m.recorder.declared(m, decl, plain(value), env, primary.unit)
    return value


def _too_deep(t: Value) -> bool:
    """``T**...*``, as templates make that never end: each is compared with all before it."""
    for _ in range(_DEEPEST):
        if not isinstance(t, (PtrType, ArrayType, Qualified)):
            return False
        t = t.inner
    return True


def _class(m: Machine, ref: TemplateRef, primary: Entry, given: tuple[Value, ...], span: Span) -> Value:
    defaults = next((e for e in ref.entries if any(p.default for p in e.decl.tparams or ())), primary)
    env = Env(primary.env, "template")
    # of CuTe's own templates the tree has specialisations alone, whose parameters are none of the template's
    tparams = defaults.decl.tparams or () if primary.decl.spec_args is None else ()
    args = bind(m, tparams, given, env) if primary.decl.spec_args is None else given
    numbers = tuple(v.ctype for a in args for v in (a.items if isinstance(a, Pack) else (a,)) if isinstance(v, Scalar))
    key = ("class", id(primary.decl), id(primary.env), len(ref.entries), type_key(args), numbers)
    if key in m.functions:
        return m.functions[key]
    refused = m.budget.refused
    made = _of_arguments(m, ref, primary, given, args, tparams, env, span)
    if isinstance(made, ClassInst) and m.budget.refused == refused:
        m.functions[key] = made
    return made


def _of_arguments(
    m: Machine,
    ref: TemplateRef,
    primary: Entry,
    given: tuple[Value, ...],
    args: tuple[Value, ...],
    tparams: Sequence[ir.TParam],
    env: Env,
    span: Span,
) -> Value:
    """The class of a template, or of the specialisation that applies, under all its arguments."""
    special = _special(m, ref, args, tparams, env)
    if isinstance(special, Unknown):
        return special
    if special is not None:
        entry, bound = special
        return classes.instance(m, entry, entry.decl, args, given, entry.env.cls, bound.vars)
    defined = [e for e in ref.entries if not e.decl.forward and e.decl.spec_args is None]
    if not defined and _of_cute(primary, ref.name):
        from cutecheck.source.eval.intrinsics.names import apply_type, as_trait

        return as_trait(ref.name, apply_type(m, ref.name, given, span))
    if not defined:
        shown = ref.name
        return Unknown(f"`{shown}` has no definition for these arguments in the scanned files", span)
    entry = defined[0]
    env = Env(entry.env, "template")
    flat: list[Value] = []
    for a in args:
        flat.extend(a.items if isinstance(a, Pack) else (a,))
    args = bind(m, entry.decl.tparams or (), flat, env)
    return classes.instance(m, entry, entry.decl, args, given, entry.env.cls, env.vars)


def _of_cute(entry: Entry, name: str) -> bool:
    """Whether declarations are specialisations of a template of CuTe, which is known for all other arguments."""
    scope = entry.env.namespace()
    return name in TYPES and scope is not None and scope.path == "cute"


def _special(
    m: Machine, ref: TemplateRef, args: tuple[Value, ...], tparams: Sequence[ir.TParam], given: Env
) -> tuple[Entry, Env] | Unknown | None:
    """The most specialised specialisation that matches: the one with most structure in its pattern.

    ``tparams`` are the primary template's parameters, bound in ``given``: a pattern may leave out the last ones.
    """
    flat: list[Value] = []
    for a in args:
        flat.extend(a.items if isinstance(a, Pack) else (a,))
    best: tuple[int, Entry, Env] | None = None
    ties: list[tuple[Entry, Env]] = []
    for entry in ref.entries:
        decl = entry.decl
        if getattr(decl, "spec_args", None) is None or getattr(decl, "forward", False):
            continue
        env = Env(entry.env, "template")
        names = {p.name: p for p in decl.tparams or ()}
        written = len(decl.spec_args)
        short = written < len(flat) == len(tparams) and not any(isinstance(p, ir.Expand) for p in decl.spec_args)
        values = flat[:written] if short else flat
        if not tparams and written > len(flat) and _asks_more(m, decl, flat, names, env):
            values = [*flat, *(VoidType() for _ in range(written - len(flat)))]
        matched = match_all(m, decl.spec_args, values, names, env, strict=True)
        if matched is False or (short and not are_defaults(m, tparams[written:], flat[written:], given)):
            continue
        if matched is None:
            return _undecided(m, ref, entry, env)
        if not _of_declared_types(m, decl.spec_args, flat, names, tparams, env):
            continue
        unknown = next((v for p, v in zip(decl.spec_args, flat, strict=False) if _decides(p, names, v)), None)
        if unknown is not None:
            return Unknown(
                f"whether a specialisation of `{ref.name}` applies is not known: {unknown.reason}", decl.span
            )
        constrained = isinstance(decl, (ir.Class, ir.Variable))
        asked = constraints.satisfied(m, decl, env) if constrained else True
        if asked is False:
            continue
        if asked is None:
            return Unknown(f"whether a specialisation of `{ref.name}` applies is not known", decl.span)
        if any(n and n not in env.vars for n in names):
            bind_missing(m, decl.tparams or (), env)
        score = 1000 * (
            sum(map(marks, decl.spec_args))
            + weights(decl.spec_args, names)
            + (_left_out(tparams, written) if short else 0)
        )
        score += len(constraints.atoms(m, decl, env)) if constrained else 0  # who asks more
        if best is None or score > best[0]:
            best = (score, entry, env)
            ties = []
        elif score == best[0]:
            ties.append((entry, env))
    if ties and best is not None:
        ties.append((best[1], best[2]))
        first = most_specialised(m, [entry for entry, _ in ties])
        if first is None:
            return Unknown(f"which specialisation of `{ref.name}` applies is not known", ties[0][0].decl.span)
        return ties[first]
    return None if best is None else (best[1], best[2])


def _of_declared_types(
    m: Machine,
    patterns: Sequence[ir.Expr],
    values: Sequence[Value],
    names: Mapping[str, ir.TParam],
    tparams: Sequence[ir.TParam],
    env: Env,
) -> bool:
    """``template <int V> struct X<V>`` of a ``template <auto V>`` takes numbers of that type alone."""
    for p, pattern, value in zip(tparams, patterns, values, strict=False):
        own = names.get(pattern.ident) if isinstance(pattern, ir.Name) and pattern.targs is None else None
        if not isinstance(p.type, ir.Auto) or own is None or own.type is None or isinstance(own.type, ir.Auto):
            continue
        wanted, given = m.eval(own.type, env), type_of(value)
        if isinstance(wanted, ScalarType) and isinstance(given, (ScalarType, EnumRef)) and not same_type(wanted, given):
            return False
    return True


def _asks_more(m: Machine, decl: ir.Class, given: Sequence[Value], names: Mapping[str, ir.TParam], env: Env) -> bool:
    """A specialisation, for a class of the tree, of a template that is not in it: it asks for more by ``enable_if_t``.

    What follows the arguments that are given is ``void`` in such a template.
    """
    patterns = decl.spec_args or ()
    own = any(
        isinstance(v, ClassInst) and names_in(p) and names_in(p)[0] not in names
        for p, v in zip(patterns, given, strict=False)
    )
    return own and all(is_trait(m, p, env) for p in patterns[len(given) :])


def _left_out(tparams: Sequence[ir.TParam], written: int) -> int:
    """How much structure a specialisation has that leaves the last arguments out: they are the defaults."""
    own = dict.fromkeys(p.name for p in tparams)
    return sum(1 if mentions(p.default, tuple(own)) else weight(p.default, own) for p in tparams[written:] if p.default)


def _decides(pattern: ir.Expr, names: dict[str, ir.TParam], value: Value) -> bool:
    """A value that is not known, where a specialisation asks for more than any."""
    inner = pattern.pattern if isinstance(pattern, ir.Expand) else pattern
    return isinstance(value, Unknown) and not (
        isinstance(inner, ir.Name) and inner.targs is None and inner.ident in names
    )


def _undecided(m: Machine, ref: TemplateRef, entry: Entry, env: Env) -> Unknown:
    """Why it cannot be told whether a specialisation applies."""
    values = [m.eval(p, env) for p in entry.decl.spec_args if is_trait(m, p, env)]
    why = next((v.reason for v in values if isinstance(v, Unknown)), "")
    return Unknown(f"whether a specialisation of `{ref.name}` applies is not known: {why}", entry.decl.span)


def bind_missing(m: Machine, tparams: Sequence[ir.TParam], env: Env) -> bool:
    """Defaults for parameters that deduction left open; SubstitutionFailure passes through.

    False where it is not known whether the arguments are ones that ``enable_if`` takes.
    """
    sure = True
    for p in tparams:
        asked = [t for t in (p.type, p.default) if t is not None and constraints.asks(m, t, env)]
        sure = sure and not any(isinstance(m.eval(t, env), Unknown) for t in asked)
        if p.pack and p.name not in env.vars:
            env.vars[p.name] = Pack(())
        elif p.name not in env.vars or not p.name:
            if p.default is not None:
                value = written(m, p.default, env)
                if p.name:
                    env.vars[p.name] = value
                    note(env, p.name)
            elif p.name:
                env.vars[p.name] = m.recorder.open_parameter(m, p)
    return sure


__all__ = ["SubstitutionFailure", "apply_template", "arguments", "bind", "bind_missing", "expand"]
