"""Names in a member's declaration that the class declares only there or after it: they mean what they do around it.

In ``struct Operand { using Layout = decltype(tile_to_shape(Layout<...>{}, ...)); };`` the second is ``cute::Layout``.
Bodies of functions, default arguments and initialisers of fields see the whole class, and are not asked.
"""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model.identity import once
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Env, declared_names


def in_order(m: Machine, decl: ir.Alias | ir.Variable, env: Env) -> Env:
    """Where the target of an alias, or what a static constant is made of, is evaluated."""
    if env.kind != "class" or env.cls is None or not m.dialect.by_value:
        return env
    names = _later(env.cls.decl).get(id(decl), ())
    return _around(m, names, decl, env) if names else env


def _around(m: Machine, names: tuple[str, ...], decl: ir.Alias | ir.Variable, env: Env) -> Env:
    from cutecheck.source.eval import classes, lookup

    assert env.cls is not None and env.parent is not None
    at = env
    for name in names:
        if any(not lookup.missing(lookup.member(m, base, name, None, decl.span)) for base in classes.bases(m, env.cls)):
            continue  # the base's, if it is looked into
        found = lookup.lookup(m, name, env.parent, decl.span)
        if isinstance(found, Unknown):
            continue
        if at is env:
            at = Env(env, "block")
        at.vars[name] = found
    return at


@once
def _later(decl: ir.Class) -> dict[int, tuple[str, ...]]:
    """Of each member that names what the class declares no earlier: those names."""
    first: dict[str, int] = {decl.name: -1}
    for position, member in enumerate(decl.members):
        for name, _ in declared_names(member):
            first.setdefault(name, position)
    found: dict[int, tuple[str, ...]] = {}
    for position, member in enumerate(decl.members):
        asked = _made_of(member)
        # a variable is declared before what it is made of, an alias after it
        own = position + isinstance(member, ir.Variable)
        names = tuple(n for n in names_in(asked) if first.get(n, -1) >= own) if asked is not None else ()
        if names:
            found[id(member)] = names
    return found


def _made_of(member: ir.Decl) -> ir.Expr | None:
    if isinstance(member, ir.Alias):
        return member.target
    return member.init if isinstance(member, ir.Variable) and member.flags & {"static", "constexpr"} else None
