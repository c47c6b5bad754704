"""Host code that makes a constant of a flag: ``if (c) { constexpr bool X = true; f(); } else { ... X = false; f(); }``.

A dispatch over ``n`` flags is ``2^n`` ways to instantiations of one kernel, of which a few are walked
(``max-flag-combinations``, and each value of each flag once). Where a flag decides nothing but ``bool`` template
arguments of kernels, both values of which were walked, and one way asked only for kernels of which no further flags
are, the other way asks for these, too, and does the same otherwise: it need not be walked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from cutecheck.facts import Span
from cutecheck.records import field_names
from cutecheck.source.eval import ir
from cutecheck.source.eval.launches import key_of
from cutecheck.source.eval.qualifiers import is_auto
from cutecheck.source.eval.record.ways import Ways
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import FuncSet

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_DEEP = 8  # host templates that pass a flag on
Places: TypeAlias = frozenset[tuple[str, int]]  # a kernel, as it is asked for, and which of its flags


@dataclass(frozen=True, slots=True)
class Start:
    """What was known before the first of two ways: the attempts to launch, how much was found, and where the function
    returns."""

    attempts: int
    found: int
    ways: Ways | None
    returns: int


def start(m: Machine, env: Env) -> Start | None:
    """Before the first of two ways; None where both have to be walked whatever it comes to."""
    if not m.dialect.by_value or m.recorder.rehearsal or m.recorder.is_unevaluated() or not m.recorder.on_host():
        return None
    ways = env.frame.ways if env.frame is not None else None
    return Start(len(m.history.launches.attempts), m.recorder.all_found(), ways, len(ways.found) if ways else 0)


def same_way(m: Machine, since: Start | None, then: ir.Block, other: ir.Block, env: Env) -> bool:
    """Whether the other way adds nothing to the first, which was walked; what it would ask for is counted."""
    launches = m.history.launches
    if since is None or len(launches.attempts) == since.attempts or m.recorder.all_found() != since.found:
        return False
    if not launches.only_dropped(since.attempts):
        return False
    flag = _flag(m, then, other)
    places = _chosen(m, then.body[1:], flag, env) if flag else None
    if places is None or not all(launches.knows(kernel, place) for kernel, place in sorted(places)):
        return False
    launches.as_before(since.attempts)
    if since.ways is not None:
        since.ways.again(since.returns)  # there the condition does not hold
    return True


def _flag(m: Machine, then: ir.Block, other: ir.Block | None) -> str:
    """The constant that two blocks of one text differ in; empty where they differ otherwise."""
    key = ("flag", id(then), id(other))
    if key not in m.functions:
        m.functions[key] = _differ_in(then, other)
    return str(m.functions[key])


def _differ_in(then: ir.Block, other: ir.Block | None) -> str:
    if other is None or len(then.body) != len(other.body) or len(then.body) < 2:
        return ""
    name, opposite = _constant(then.body[0]), _constant(other.body[0])
    return name if name and name == opposite and _alike(then.body[1:], other.body[1:]) else ""


def _constant(node: ir.Stmt) -> str:
    """The name of a ``constexpr bool`` that is a literal."""
    decl = node.decl if isinstance(node, ir.Local) else None
    return decl.name if _is_constant_flag(decl) and isinstance(decl.init, ir.Lit) else ""


def _is_constant_flag(decl: Any) -> TypeGuard[ir.Variable]:
    return isinstance(decl, ir.Variable) and "constexpr" in decl.flags and _is_bool(decl.type)


def _is_bool(t: ir.Expr | None) -> bool:
    while isinstance(t, ir.TypeMod) and t.kind == "const":
        t = t.inner
    return isinstance(t, ir.Name) and t.ident == "bool" and t.targs is None


def _alike(a: Any, b: Any) -> bool:
    """Whether two nodes are of the same text; that of bodies which may not be lowered yet is compared as it is."""
    if isinstance(a, ir.Lazy) and isinstance(b, ir.Lazy):
        return a.spelled is not None and b.spelled is not None and a.spelled() == b.spelled()
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Span) and isinstance(b, Span):
        return True  # a macro's body stands at the place of its use
    names = field_names(type(a))
    if not names:
        return type(a) is type(b) and bool(a == b)
    return type(a) is type(b) and all(_alike(getattr(a, n), getattr(b, n)) for n in names)


def _chosen(m: Machine, nodes: tuple[Any, ...], flag: str, env: Env, depth: int = 0) -> Places | None:
    """The flags of kernels that a name is in arguments of, as part of other constants, too; None where it does more.

    Of a switch over another flag one way is looked at: both are of one text.
    """
    names = frozenset((flag,))
    while True:
        made: set[str] = set()
        places: set[tuple[str, int]] = set()
        if not _used_as_flags(m, nodes, names, (made, places), env, depth):
            return None
        if made <= names:
            return frozenset(places)
        names |= made


def _used_as_flags(
    m: Machine,
    nodes: tuple[Any, ...],
    names: frozenset[str],
    found: tuple[set[str], set[tuple[str, int]]],
    env: Env,
    depth: int,
) -> bool:
    """Whether names do no more than that; ``found`` gets the constants that are made of them, and the parameters."""
    stack: list[Any] = list(nodes)
    while stack:
        at = stack.pop()
        if isinstance(at, (ir.Name, ir.Scoped)):
            if isinstance(at, ir.Name) and at.ident in names:
                return False
            for position, arg in enumerate(at.targs or ()):
                if _spells(arg, names):
                    places = _flags_of_kernels(m, at, position, env, depth)
                    if places is None:
                        return False
                    found[1].update(places)
            stack += [at.base] if isinstance(at, ir.Scoped) else []
        elif isinstance(at, ir.If) and _flag(m, at.then, at.other):
            stack += [at.init, at.cond, at.then]
        elif isinstance(at, ir.Lazy):
            stack.append(at.get())
        elif isinstance(at, ir.Local) and _is_constant_flag(at.decl) and _spells(at.decl.init, names):
            found[0].add(at.decl.name)
        elif isinstance(at, ir.Variable) and at.name in names:
            stack += [at.init, at.type]  # the constant itself, or one that hides it
        elif isinstance(at, str):
            if at in names:
                return False
        else:
            stack += _parts(at)
    return True


def _spells(node: Any, names: Collection[str]) -> bool:
    if isinstance(node, str):
        return node in names
    if isinstance(node, ir.Lazy):
        return True  # a lambda in a template argument
    return any(_spells(p, names) for p in _parts(node))


def _parts(node: Any) -> Iterable[Any]:
    if isinstance(node, (tuple, list, frozenset)):
        return node
    return () if isinstance(node, Span) else [getattr(node, n) for n in field_names(type(node))]


def _flags_of_kernels(m: Machine, name: ir.Name | ir.Scoped, position: int, env: Env, depth: int) -> Places | None:
    """The flag of a kernel that an argument is of, or those that a host template only passes it on to; else None."""
    plain = ir.Name(name.ident, None, name.span) if isinstance(name, ir.Name) else _without_arguments(name)
    with m.recorder.rehearsing(), m.budget.aside():
        found = m.eval(plain, env)
    if not isinstance(found, FuncSet) or found.self_ is not None or not found.entries:
        return None
    places: set[tuple[str, int]] = set()
    for entry in found.entries:
        fn = entry.decl
        if not isinstance(fn, ir.Function) or fn.tparams is None or position >= len(fn.tparams):
            return None
        own = fn.tparams[position]
        if not _is_bool(own.type) or not all(map(_is_counted, fn.tparams[: position + 1])):
            return None
        if any(_spells((p.type, p.default), (own.name,)) for p in fn.tparams):
            return None
        if "kernel" in fn.flags:
            places.add((key_of(fn), sum(_is_bool(p.type) for p in fn.tparams[:position])))
            continue
        passed = _passed_on(m, fn, own.name, entry.env, depth)
        if passed is None:
            return None
        places |= passed
    return frozenset(places)


def _is_counted(p: ir.TParam) -> bool:
    """Whether a launch tells by the declaration of a parameter alone if its argument is one of the flags."""
    return bool(p.name) and not p.pack and (p.kind != "value" or (p.type is not None and not is_auto(p.type)))


def _without_arguments(name: ir.Scoped) -> ir.Scoped:
    return ir.Scoped(name.base, name.ident, None, name.span)


def _passed_on(m: Machine, fn: ir.Function, flag: str, env: Env, depth: int) -> Places | None:
    """The flags of kernels that a function of the host chooses by a template parameter; None where that does more."""
    if fn.body is None or depth >= _DEEP or fn.flags & {"device", "constexpr"}:
        return None
    key = ("passes on", id(fn), flag)
    if key not in m.functions:
        m.functions[key] = None  # while it is found out: a function that calls itself
        m.functions[key] = _chosen(m, (fn.params, fn.ret, fn.body), flag, env, depth + 1)
    found: Places | None = m.functions[key]
    return found
