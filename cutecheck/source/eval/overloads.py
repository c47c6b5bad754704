"""Which overload a call takes: arguments bound to parameters, constraints, the better match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.model.identity import once
from cutecheck.model.ints import Sym
from cutecheck.source.eval import constness, constraints, implicit, ir, matching, qualified, qualifiers, templates
from cutecheck.source.eval.barrier_types import stands_for_place
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.intrinsics import strings
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Entry, Env
from cutecheck.source.eval.tensor_types import in_doubt
from cutecheck.source.eval.types import is_type, type_of
from cutecheck.source.eval.values import (
    ArrayType,
    Closure,
    FuncSet,
    Object,
    Pack,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Str,
    SubstitutionFailure,
    TensorVal,
    TraitType,
    Value,
    constant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.ranking import Given


class Candidate:
    """``fits``: how well each argument does, as :func:`match_parameter` says; ``score``: all that counts.

    ``sure``: it takes them; else what it asks of them is not known. ``asks``: its constraints.
    """

    __slots__ = ("asks", "entry", "env", "fits", "fn", "score", "sure")

    def __init__(
        self,
        score: int,
        fits: tuple[int, ...],
        entry: Entry,
        fn: ir.Function,
        env: Env,
        sure: bool,
        asks: frozenset[str],
    ) -> None:
        self.sure = sure
        self.asks = asks
        self.score = score
        self.fits = fits
        self.entry = entry
        self.fn = fn
        self.env = env


@once
def _declared(fn: ir.Function) -> tuple[int, dict[str, ir.TParam], int]:
    """How many arguments a function takes at least, its template parameters, and how often one is used once more."""
    required = sum(1 for p in fn.params if p.default is None and not p.pack and p.kind not in ("varargs", "varkw"))
    names = {p.name: p for p in fn.tparams or () if p.name}
    used = [n for p in fn.params for n in names_in(p.type) if n in names]
    return required, names, len(used) - len(set(used))


def bind(
    m: Machine,
    entry: Entry,
    fset: FuncSet,
    args: list[Value],
    kwargs: dict[str, Value],
    given_as: Sequence[Given] = (),
) -> Candidate | None:
    """Deduce an overload's template arguments; None when it cannot take the arguments."""
    fn = entry.decl
    params = fn.params
    pack = bool(params) and (params[-1].pack or params[-1].kind in ("varargs", "varkw"))
    required, names, repeated = _declared(fn)
    if (not pack and len(args) > len(params)) or len(args) + len(kwargs) < required:
        return None
    env = Env(entry.env, "template")
    tparams = fn.tparams or ()
    if fn.tparams == () and fn.owner is None and any(e.decl.tparams for e in fset.entries):
        return None  # what runs in place of the template (source/eval/specialised.py)
    if fset.targs is not None and fn.tparams is None and m.dialect.by_value:
        return None  # `f<int>(x)` names no function that is not a template
    score = (1 if fn.body is not None else 0) + repeated  # `f(T, T)` is more than `f(T, U)`
    given = list(fset.targs or ())
    for p in tparams:
        if p.pack and given:
            env.vars[p.name] = Pack(tuple(given))
            given = []
        elif given:
            value = given.pop(0)
            number = p.kind == "value" and constraints.concept(m, p, env) is None
            if not isinstance(value, Unknown) and p.kind != "template" and is_type(value) == number:
                return None  # a type where a value is needed, or the other way round
            if p.name:
                env.vars[p.name] = matching.typed(m, p, value, env)
                qualified.note(env, p.name)
    explicit = {n for n, v in env.vars.items() if not isinstance(v, Pack)}
    fits: list[int] = []
    unasked: list[ir.Expr] = []  # types of parameters without arguments
    sized: list[tuple[int, int]] = []  # parameters that are matched last, and where how they fit is kept
    try:
        for i, p in enumerate(params):
            if p.pack and p.type is None:
                fits += [implicit.ELLIPSIS] * (len(args) - len(fits))
                break
            if p.pack:
                rest = args[i:]
                inner = p.type
                while isinstance(inner, (ir.TypeMod, ir.Expand)):
                    inner = inner.inner if isinstance(inner, ir.TypeMod) else inner.pattern
                if isinstance(inner, ir.Name) and inner.ident in names:
                    kinds: list[Given] = [*given_as[i:], *[""] * (len(rest) - len(given_as[i:]))]  # type: ignore[list-item]
                    own = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
                    types = (qualified.deduced(own, type_of(a), k) for a, k in zip(rest, kinds, strict=True))
                    env.vars[inner.ident] = Pack(tuple(types))
                elif inner is not None and not set(names_in(p.type)).isdisjoint(names):
                    if not _deduces_each(m, inner, rest, names, env):
                        return None
                elif inner is not None:  # a pack of the class's
                    gains = _takes_each(m, p.type, rest, env)
                    if gains is None:
                        return None
                    fits += gains
                    break
                fits += [1] * len(rest)
                break
            if p.kind in ("varargs", "varkw", "keyword"):
                fits += [implicit.ELLIPSIS] * (len(args) - len(fits))
                break
            if i >= len(args) and p.type is not None and constraints.asks(m, p.type, env):
                unasked.append(p.type)
            if i >= len(args) or p.type is None:
                fits += [0] * (i < len(args))
                continue
            flag = _flag(p.type, names) if len(fset.entries) < 2 else ""
            held = constant(args[i].value if isinstance(args[i], TraitType) else args[i]) if flag else None
            if held in (0, 1) and flag not in explicit and not isinstance(args[i], Scalar):
                env.vars[flag] = Scalar(held, "bool")
                fits.append(1)
                continue
            if matching.sized_later(p.type, names, env):
                sized.append((i, len(fits)))
                fits.append(1)
                continue
            before = set(env.vars)
            what = given_as[i] if i < len(given_as) else ""
            given_value = args[i]
            if m.arrays[0] is args and isinstance(given_value, Pointer) and i in m.arrays[1]:
                given_value = replace(given_value, type=m.arrays[1][i])
            gain = match_parameter(m, p.type, given_value, names, explicit, env, what in ("", "null"))
            if gain is None:
                return None
            leads = m.leads[1][i] if m.leads[0] is args and i < len(m.leads[1]) else None
            _qualify(p.type, before, what, leads, env)
            fits.append(implicit.qualified(gain) if leads is False and constness.to_constant(p.type) else gain)
            score += implicit.worth(gain)
        for i, at in sized:
            held_type = m.arrays[1].get(i) if m.arrays[0] is args and isinstance(args[i], Pointer) else None
            value = args[i] if held_type is None else replace(args[i], type=held_type)
            gain = match_parameter(m, params[i].type, value, names, explicit, env, True)
            if gain is None:
                return None
            fits[at] = gain
        for p, a in zip(params, args, strict=False):
            if isinstance(a, Unknown) and p.type is not None:
                _leave_open(p.type, names, env)
        open_ = [p.name for p in tparams if p.name and p.name not in env.vars and p.default is None]
        given_names = set(env.vars)
        sure = templates.bind_missing(m, tparams, env)
        sure = not any(isinstance(m.eval(t, env), Unknown) for t in unasked) and sure
        if open_ and m.recorder.in_kernel():
            _tell_apart(m, open_, env)
        sure = sure and not (repeated and _in_doubt(params, args, env))
        if fn.ret is not None and constraints.asks(m, fn.ret, env):
            sure = not isinstance(m.eval(fn.ret, env), Unknown) and sure
        several = len(fset.entries) > 1 and m.dialect.by_value
        env.vars.update((f"auto:{i}", type_of(a)) for i, a in enumerate(args) if several)
        formed = constraints.formed(m, tparams, given_names, env) if several else True
        takes = constraints.satisfied(m, fn, env) if several and formed is not False else formed
        returns = constraints.returns(m, fn, args, env) if several and takes is not False else True
    except SubstitutionFailure:
        return None
    if takes is False or returns is False:
        return None
    sure = sure and formed is not None
    asks = constraints.atoms(m, fn, env) if several else frozenset()
    return Candidate(score, tuple(fits), entry, fn, env, bool(takes and returns and (sure or not several)), asks)


def _flag(t: ir.Expr, names: dict[str, ir.TParam]) -> str:
    """The parameter of ``bool_constant<B>``: the only function of its name takes what it is called with."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "ref", "rref"):
        t = t.inner
    if not isinstance(t, (ir.Name, ir.Scoped)) or t.ident != "bool_constant" or len(t.targs or ()) != 1:
        return ""
    (inner,) = t.targs or ()
    return inner.ident if isinstance(inner, ir.Name) and inner.ident in names else ""


def _in_doubt(params: Sequence[ir.Param], args: Sequence[Value], env: Env) -> bool:
    """``f(T& a, T& b)`` of two tensors that may differ in their type."""
    for p, a in zip(params, args, strict=False):
        bare = p.type
        while isinstance(bare, ir.TypeMod):
            bare = bare.inner
        known = env.vars.get(bare.ident) if isinstance(bare, ir.Name) and isinstance(a, TensorVal) else None
        if known is not None and in_doubt(qualified.plain(known), type_of(a)):
            return True
    return False


def _qualify(t: ir.Expr, before: set[str], given: Given, leads: bool | None, env: Env) -> None:
    """``T`` of ``T&`` and ``T*`` may be a constant, of ``T&&`` a reference."""
    name = t.inner.ident if isinstance(t, ir.TypeMod) and isinstance(t.inner, ir.Name) else ""
    if name and name in env.vars and name not in before:
        env.vars[name] = qualified.deduced(t, env.vars[name], given, leads)


def _leave_open(pattern: ir.Expr, names: dict[str, ir.TParam], env: Env) -> None:
    """``seq<I...>`` of an argument that is not known: how many the pack holds is not."""
    for name in names_in(pattern):
        if name in names and names[name].pack and name not in env.vars:
            env.vars[name] = Unknown(f"what the pack `{name}` holds is not known", pattern.span)


def _deduces_each(m: Machine, pattern: ir.Expr, args: list[Value], names: dict[str, ir.TParam], env: Env) -> bool:
    """``Array<Ts, N> const&... xs``: what each argument says of the packs; False where one is no match."""
    packs = [n for n in names_in(pattern) if n in names and names[n].pack and n not in env.vars]
    found = matching.match_each(m, pattern, [_type_for(pattern, a) for a in args], names, env)
    if found is False and not any(isinstance(a, Object) and (a.cls.decl.bases or a.cls.known_bases) for a in args):
        return False
    if not found:
        for name in packs:
            env.vars.pop(name, None)
        _leave_open(pattern, names, env)
    return True


def _takes_each(m: Machine, t: ir.Expr | None, args: list[Value], env: Env) -> list[int] | None:
    """``X(Ts... xs)`` of a ``template <class... Ts> struct X``: how well each argument does."""
    pattern = t.pattern if isinstance(t, ir.Expand) else t
    if pattern is None:
        return [1] * len(args)
    types = [qualified.plain(w) for w in templates.expand(m, pattern, env)]
    if any(isinstance(w, Unknown) for w in types):
        return [0] * len(args)
    gains = [implicit.accepts(m, w, a, _type_for(pattern, a)) for w, a in zip(types, args, strict=False)]
    known = [g for g in gains if g is not None]
    return known if len(known) == len(types) == len(args) else None


def deduced(
    m: Machine, fn: Closure, args: list[Value], kwargs: dict[str, Value], given_as: Sequence[Given] = ()
) -> Env | None:
    """The template arguments of a call of ``[]<class T>(T x) {...}``."""
    node = fn.node
    own = ir.Function(
        "operator()", node.tparams, None, node.params, node.ret, node.body, frozenset(), node.span, node.span
    )
    unit = fn.env.frame.unit if fn.env.frame is not None else None
    if unit is None:  # of a member or variable outside of functions
        unit = m.program.units.get(node.span.path)
    if unit is None:
        return None
    found = bind(m, Entry(own, fn.env, unit), FuncSet("operator()", (), targs=fn.targs or None), args, kwargs, given_as)
    return None if found is None else found.env


def _tell_apart(m: Machine, names: Iterable[str], env: Env) -> None:
    """A number that could not be deduced is another one in each call."""
    for name in names:
        value = env.vars[name]
        if isinstance(value, Scalar) and isinstance(value.value, Sym):
            env.vars[name] = Scalar(Sym.named(f"{name}#{m.number()}"), value.ctype)


def match_parameter(
    m: Machine,
    pattern: ir.Expr,
    value: Value,
    names: dict[str, Any],
    explicit: set[str],
    env: Env,
    literal: bool = True,
) -> int | None:
    """How well a parameter takes a value: None not at all, more for more structure (``source/eval/implicit.py``)."""
    if isinstance(value, Unknown):
        return implicit.OPEN
    dependent = set(names_in(pattern)) & set(names)
    if dependent <= explicit:
        wanted, actual = m.eval(pattern, env), _type_for(pattern, value)
        if dependent and isinstance(wanted, Unknown):
            return 2
        gain = implicit.accepts(m, wanted, value, actual, literal)
        if gain is None and stands_for_place(value) and qualifiers.refers(pattern):
            actual = value.type
            gain = implicit.accepts(m, wanted, value, actual, literal)
        made = gain is not None and gain < 0 and _is_number(wanted) and (_is_number(actual) or gain <= implicit.BY_USER)
        return None if made and _binds(pattern) else gain  # no reference to what is converted
    actual = _type_for(pattern, value)
    if not matching.match(m, pattern, actual, names, env):
        for at, base in enumerate(implicit.above(m, actual)):
            if matching.match(m, pattern, base, names, env):
                return implicit.BASE - 2 * min(at, 6)
        bare = pattern
        while isinstance(bare, ir.TypeMod) and bare.kind in ("const", "ref", "rref"):
            bare = bare.inner
        return implicit.OPEN if isinstance(bare, ir.Name) and bare.ident in explicit else None
    return 1 + matching.weight(pattern, names)


def _is_number(t: Value) -> bool:
    return isinstance(t, (ScalarType, EnumRef))


def _type_for(pattern: ir.Expr, value: Value) -> Value:
    """The type of an argument: an array is one to a reference, and a pointer to its first element to all else."""
    if isinstance(value, Str) and qualifiers.refers(pattern) and strings.is_plain(value):
        return ArrayType(type_of(value).inner, len(value.text) + 1)
    actual = value.type if isinstance(value, Pointer) and isinstance(value.type, ArrayType) else type_of(value)
    if not isinstance(actual, ArrayType) or actual.name or qualifiers.refers(pattern):
        return actual
    return PtrType(actual.inner)


def _binds(pattern: ir.Expr) -> bool:
    """``T&``, through which the argument itself may be written."""
    return isinstance(pattern, ir.TypeMod) and pattern.kind == "ref" and not qualifiers.constant(pattern)
