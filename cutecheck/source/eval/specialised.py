"""Explicit specialisations of function templates: no overloads, but what runs in place of the template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from cutecheck.facts import Unknown
from cutecheck.model.ints import Sym
from cutecheck.source.eval import class_arguments, ir, matching, templates
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.qualified import note, parts
from cutecheck.source.eval.scope import Entry, Env
from cutecheck.source.eval.spelled import written
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import Object, Pack, Scalar, SubstitutionFailure, Value

_OF = "<>"  # in the environment of a specialisation: the arguments of the template


def specialised(m: Machine, entries: Sequence[Entry], best: Candidate) -> Candidate | Unknown:
    """What a call of ``best`` runs; where it is not known whether a specialisation is meant, why."""
    if not best.fn.tparams:
        return best
    given = [v for p in best.fn.tparams for v in _flat(best.env.vars.get(p.name))]
    found: Entry | None = None
    for entry in entries:
        if not is_specialisation(entry.decl):
            continue
        known = _is(m, entry, best, given)
        if known is None:
            return Unknown(f"which specialisation of `{best.fn.name}` is called is not known", entry.decl.span)
        if known and (found is None or found.decl.body is None):
            found = entry
    if found is None:
        return best
    env = Env(found.env, "template")
    env.vars[_OF] = Pack(tuple(given))
    return Candidate(best.score, best.fits, found, found.decl, env, best.sure, best.asks)


def is_specialisation(fn: ir.Function) -> bool:
    """``template <> int f<half_t>() {...}``."""
    return fn.tparams == () and fn.owner is None


def arguments(m: Machine, fn: ir.Function, env: Env | None) -> tuple[Value, ...]:
    """The template arguments that a function is of: those of its own parameters, or of the template it specialises."""
    if env is None:
        return ()
    if is_specialisation(fn):
        of = env.vars.get(_OF)
        return of.items if isinstance(of, Pack) else tuple(written(m, node, env) for node in fn.spec_args or ())
    return tuple(env.vars[p.name] for p in fn.tparams or () if p.name and p.name in env.vars)


def _flat(value: Value) -> Sequence[Value]:
    return value.items if isinstance(value, Pack) else (value,)


def _is(m: Machine, special: Entry, best: Candidate, given: Sequence[Value]) -> bool | None:
    """Whether the template's arguments are those that a specialisation is of.

    Those that it does not name follow from its parameters, else they are the defaults.
    """
    fn, named = special.decl, list(special.decl.spec_args or ())
    tparams = best.fn.tparams or ()
    theirs = _parameters(m, fn, special.env)
    if theirs is None:
        return None
    env = Env(best.entry.env, "template")
    for p in tparams:
        if p.pack and named:
            env.vars[p.name] = Pack(tuple(written(m, node, special.env) for node in named))
            named = []
        elif named and p.name:
            env.vars[p.name] = matching.typed(m, p, written(m, named.pop(0), special.env), env)
            note(env, p.name)
    names = {p.name: p for p in tparams if p.name}
    patterns = [
        ir.Expand(p.type, p.span) if p.pack and not isinstance(p.type, ir.Expand) else p.type
        for p in best.fn.params
        if p.type is not None
    ]
    explicit = set(env.vars)
    for i, pattern in enumerate(patterns):
        open_ = set(names_in(pattern)) & (set(names) - explicit)
        if _forwards(pattern) and len(theirs) > i and parts(theirs[i]).ref == "ref":
            pattern = pattern.inner  # of `T&&` it is the reference
        if open_ and matching.match_all(m, [pattern], theirs[i : None if isinstance(pattern, ir.Expand) else i + 1],
                                        names, env, strict=True) is False:  # fmt: skip
            return False
    try:
        templates.bind_missing(m, tparams, env)
        mine = _parameters(m, best.fn, env)
    except SubstitutionFailure:
        return False
    if mine is None:
        return None
    if len(mine) != len(theirs):
        return False
    own = [v for p in tparams for v in _flat(env.vars.get(p.name))]
    if len(own) != len(given):
        return False
    answers = [_same(m, a, b) for a, b in zip((*own, *mine), (*given, *theirs), strict=True)]
    return False if False in answers else None if None in answers else True


def _forwards(pattern: ir.Expr) -> TypeGuard[ir.TypeMod]:
    return isinstance(pattern, ir.TypeMod) and pattern.kind == "rref" and isinstance(pattern.inner, ir.Name)


def _parameters(m: Machine, fn: ir.Function, env: Env) -> list[Value] | None:
    """The types of a function's parameters, packs expanded."""
    found: list[Value] = []
    for p in fn.params:
        pattern = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
        if pattern is None:
            return None
        found += templates.expand(m, pattern, env, written) if p.pack else [written(m, pattern, env)]
    return found


def _same(m: Machine, a: Value, b: Value) -> bool | None:
    if any(v is None or isinstance(v, Unknown) or (isinstance(v, Scalar) and isinstance(v.value, Sym)) for v in (a, b)):
        return None
    if isinstance(a, Object) and isinstance(b, Object) and a.cls is b.cls:
        a, b = class_arguments.settled(m, a), class_arguments.settled(m, b)
        return a is b if class_arguments.is_settled(a) and class_arguments.is_settled(b) else None
    return bool(type_key(a) == type_key(b))
