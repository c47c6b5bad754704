"""Constraints of templates: ``requires`` clauses, concepts, and return types that not all arguments have.

Each answer is True, False, or None where it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.types import same_type
from cutecheck.source.eval.values import (
    Extern,
    ExternType,
    Scalar,
    ScalarType,
    SubstitutionFailure,
    TemplateRef,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_OF_STD = {"integral": True, "floating_point": False}
_NOT_OF_NUMBERS = "is known of a scalar"


def satisfied(m: Machine, decl: ir.Function | ir.Class | ir.Variable, env: Env) -> bool | None:
    """Whether the arguments that ``env`` binds are ones that a template takes."""
    asked = conditions(m, decl, env)
    answers: list[bool | None] = []
    for node, where in asked:
        with m.recorder.unevaluated(), m.journal.forgetting():
            answers.append(_holds(m, node, where))
        if answers[-1] is False:
            return False
    return None if None in answers else True


def conditions(m: Machine, decl: ir.Function | ir.Class | ir.Variable, env: Env) -> list[tuple[ir.Expr, Env]]:
    """What a template asks of its arguments, each where its names are known."""
    found: list[tuple[ir.Expr, Env]] = []
    for p in decl.tparams or ():
        if (named := concept(m, p, env)) is not None:
            found.append((_applied(named, ir.Name(p.name, None, p.span)), env))
    for i, given in enumerate(decl.params if isinstance(decl, ir.Function) else ()):
        auto = given.type
        while isinstance(auto, ir.TypeMod):
            auto = auto.inner
        if isinstance(auto, ir.Auto) and auto.constraint is not None:
            found.append((_applied(auto.constraint, ir.Name(f"auto:{i}", None, given.span)), env))
    return [*found, *((node, env) for node in decl.constraints)]


def _applied(named: ir.Expr, to: ir.Expr) -> ir.Expr:
    assert isinstance(named, (ir.Name, ir.Scoped))
    return replace(named, targs=(to, *(named.targs or ())))


def concept(m: Machine, p: ir.TParam, env: Env) -> ir.Expr | None:
    """The concept of ``template <Concept T>``, which looks as the type of a number does."""
    if p.kind != "value" or not isinstance(p.type, (ir.Name, ir.Scoped)):
        return None
    key = ("concept", id(p))
    if key not in m.functions:
        m.functions[key] = _is_concept(m, p.type, env)
    return p.type if m.functions[key] else None


def _is_concept(m: Machine, node: ir.Name | ir.Scoped, env: Env) -> bool:
    if _std_concept(node):
        return True
    named = m.eval(replace(node, targs=None), env)
    if not isinstance(named, TemplateRef) or not named.entries:
        return False
    decl = named.entries[0].decl
    return isinstance(decl, ir.Variable) and "concept" in decl.flags


def _std_concept(node: ir.Expr) -> bool:
    of_std = isinstance(node, ir.Scoped) and isinstance(node.base, ir.Name) and node.base.ident == "std"
    return of_std and getattr(node, "ident", "") in (*_OF_STD, "same_as", "convertible_to", "signed_integral",
                                                     "unsigned_integral", "invocable", "derived_from")  # fmt: skip


def _holds(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    if isinstance(node, ir.Binary) and node.op in ("&&", "||", "and", "or"):
        stop = node.op in ("||", "or")
        left = _holds(m, node.left, env)
        if left is stop:
            return stop
        right = _holds(m, node.right, env)
        return stop if right is stop else None if None in (left, right) else not stop
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        known = _holds(m, node.operand, env)
        return None if known is None else not known
    try:
        if isinstance(node, (ir.Name, ir.Scoped)) and node.targs is not None:
            if _std_concept(node):
                return _of_std(m, node, env)
            named = m.eval(replace(node, targs=None), env)
            decl = named.entries[0].decl if isinstance(named, TemplateRef) and named.entries else None
            if isinstance(decl, ir.Variable) and "concept" in decl.flags and decl.init is not None:
                from cutecheck.source.eval import templates

                own = Env(named.entries[0].env, "template")
                templates.bind(m, decl.tparams or (), templates.arguments(m, node.targs, env), own)
                return _holds(m, decl.init, own)
        return m.dialect.truth(m.eval(node, env))
    except SubstitutionFailure:
        return False


def _of_std(m: Machine, node: ir.Name | ir.Scoped, env: Env) -> bool | None:
    types = [m.eval(t, env) for t in node.targs or ()]
    if any(isinstance(t, Unknown) for t in types):
        return None
    if node.ident == "same_as" and len(types) == 2:
        return same_type(*types)
    if node.ident in _OF_STD and isinstance(types[0], ScalarType):
        from cutecheck.source.eval.intrinsics.types import is_integer

        whole, known = is_integer(types[0].dtype), types[0].dtype.name in ("float", "double")
        return whole if _OF_STD[node.ident] else known
    return False if node.ident in _OF_STD and isinstance(types[0], ClassInst) else None


def valid(m: Machine, nodes: Sequence[ir.Expr | None], env: Env) -> bool | None:
    """Whether expressions and types can be formed, as far as members are asked for."""
    answer: bool | None = True
    for node in nodes:
        known = None if node is None else _formed(m, node, env)
        if known is False:
            return False
        answer = answer and known
    return answer


def _formed(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    with m.recorder.unevaluated(), m.journal.forgetting():
        try:
            value = m.eval(node, env)
        except SubstitutionFailure:
            return False
    if isinstance(value, Unknown):
        missing = classes.NO_MEMBER in value.reason or _NOT_OF_NUMBERS in value.reason
        return False if missing else None
    if isinstance(node, ir.Scoped) and node.base is not None:
        of = m.eval(node.base, env)
        if not isinstance(of, ClassInst):
            return None  # what a trait gives stands for the trait, too
    return None if isinstance(value, (Extern, ExternType)) else True


def returns(m: Machine, fn: ir.Function, args: Sequence[Value], env: Env) -> bool | None:
    """Whether a function template has a return type for the arguments: ``auto f(T t) -> decltype(t.size())``."""
    if fn.tparams is None or not isinstance(fn.ret, ir.DeclType) or fn.ret.expr is None:
        return True
    inner = Env(env, "function")
    inner.vars.update((p.name, a) for p, a in zip(fn.params, args, strict=False) if p.name and not p.pack)
    return valid(m, list(_operands(fn.ret.expr)), inner)


def _operands(node: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of ``decltype(a, b, c)``."""
    if isinstance(node, ir.Binary) and node.op == ",":
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def requires(m: Machine, node: ir.Requires, env: Env) -> Scalar:
    inner = Env(env, "function")
    for p in node.params:
        typed = Unknown("auto", p.span) if p.type is None else m.eval(p.type, inner)
        inner.vars[p.name] = symbolic(m, typed, p.name, p.span)
    known = valid(m, node.parts, inner)
    return Scalar(None if known is None else int(known), "bool")


def atoms(m: Machine, decl: ir.Function | ir.Class | ir.Variable, env: Env) -> frozenset[str]:
    """What a template asks, concept by concept with what these ask: one that asks more is the better match."""
    found: set[str] = set()
    todo = [(node, where, 0) for node, where in conditions(m, decl, env)]
    while todo:
        node, where, depth = todo.pop()
        if isinstance(node, ir.Binary) and node.op in ("&&", "and"):
            todo += [(node.left, where, depth), (node.right, where, depth)]
            continue
        named = m.eval(replace(node, targs=None), where) if isinstance(node, (ir.Name, ir.Scoped)) else None
        decl_ = named.entries[0].decl if isinstance(named, TemplateRef) and named.entries else None
        found.add(node.ident if isinstance(node, (ir.Name, ir.Scoped)) else m.recorder.text(node))
        if isinstance(decl_, ir.Variable) and "concept" in decl_.flags and decl_.init is not None and depth < _DEEPEST:
            assert isinstance(named, TemplateRef)
            todo.append((decl_.init, named.entries[0].env, depth + 1))
    return frozenset(found)


_DEEPEST = 20  # concepts of concepts
