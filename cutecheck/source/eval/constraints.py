"""Constraints of templates: ``requires`` clauses, concepts, and return types that not all arguments have.

Each answer is True, False, or None where it is not known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.model.integers import INTEGERS
from cutecheck.source.eval import classes, conversions, ir, spelled
from cutecheck.source.eval.intrinsics.registry import CONCEPTS
from cutecheck.source.eval.mentions import mentions, parts_in
from cutecheck.source.eval.qualified import note, qualify
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    TAKES_OTHERS,
    Extern,
    ExternType,
    FuncSet,
    Object,
    Pack,
    Scalar,
    SubstitutionFailure,
    TemplateRef,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_ENABLE_IF = ("enable_if", "enable_if_t")
_NOT_OF_NUMBERS = "is known of a scalar"
# of what a trait gives, too, which stands for the trait: that has `type` and `value`
_OF_TYPES = re.compile(r"no member `(?!type`|value`)\w+` is known of (?:ScalarType|PtrType)$")
_EMPTY = ("std::monostate", "std::nullopt_t")
_GIVEN = "what a requirement's expression gives"


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
    named = m.eval(replace(node, targs=None), env)
    if not isinstance(named, TemplateRef):
        return False
    if not named.entries:
        return named.name in CONCEPTS
    decl = named.entries[0].decl
    return isinstance(decl, ir.Variable) and "concept" in decl.flags


def _holds(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether a constraint does; one that cannot be formed does not."""
    try:
        return _truth(m, node, env)
    except SubstitutionFailure:
        return False


def _truth(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    if isinstance(node, ir.Binary) and node.op in ("&&", "||", "and", "or"):
        stop = node.op in ("||", "or")
        left = _holds(m, node.left, env)
        if left is stop:
            return stop
        right = _holds(m, node.right, env)
        return stop if right is stop else None if None in (left, right) else not stop
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        known = _truth(m, node.operand, env)  # what cannot be formed makes neither this nor its opposite true
        return None if known is None else not known
    if isinstance(node, (ir.Name, ir.Scoped)) and node.targs is not None:
        named = m.eval(replace(node, targs=None), env)
        decl = named.entries[0].decl if isinstance(named, TemplateRef) and named.entries else None
        if isinstance(decl, ir.Variable) and "concept" in decl.flags and decl.init is not None:
            from cutecheck.source.eval import templates

            own = Env(named.entries[0].env, "template")
            templates.bind(m, decl.tparams or (), templates.arguments(m, node.targs, env), own)
            return _holds(m, decl.init, own)
    value = m.eval(node, env)
    if isinstance(value, Unknown) and _not_formed(value):
        raise SubstitutionFailure(value.reason)
    return m.dialect.truth(value)


def _not_formed(why: Unknown) -> bool:
    """What is not known is no more than nothing: a member that a complete class or a number does not have."""
    of_numbers = _NOT_OF_NUMBERS in why.reason or _OF_TYPES.match(why.reason) is not None
    return classes.NO_MEMBER in why.reason or of_numbers or TAKES_OTHERS in why.reason


def formed(m: Machine, tparams: Sequence[ir.TParam], given: Collection[str], env: Env) -> bool | None:
    """Whether the types of a template's parameters, and the defaults of those that are not ``given``, are there for
    these arguments: ``class = typename T::tag``."""
    answer: bool | None = True
    names = tuple(p.name for p in tparams if p.name)
    for p in tparams:
        default = None if p.name and p.name in given else p.default
        for node in (p.type if p.kind == "value" else None, default):
            if node is None or isinstance(node, ir.Auto) or not mentions(node, names):
                continue
            with m.recorder.unevaluated(), m.journal.forgetting():
                value = m.eval(node, env)
            if isinstance(value, Unknown):
                if _not_formed(value):
                    return False
                answer = None
    return answer


def asks(m: Machine, t: ir.Expr, env: Env) -> bool:
    """A type that not all arguments have: ``enable_if_t<...>``, also by an alias of the program's."""
    key = ("asks", id(t))
    if key not in m.functions:
        m.functions[key] = False  # of an alias that leads to itself
        m.functions[key] = mentions(t, _ENABLE_IF) or any(_asks(m, node, env) for node in parts_in(t))
    return bool(m.functions[key])


def _asks(m: Machine, node: object, env: Env) -> bool:
    if not isinstance(node, (ir.Name, ir.Scoped)) or node.targs is None:
        return False
    named = m.eval(replace(node, targs=None), env)
    entry = named.entries[0] if isinstance(named, TemplateRef) and named.entries else None
    return entry is not None and isinstance(entry.decl, ir.Alias) and asks(m, entry.decl.target, entry.env)


def valid(m: Machine, nodes: Sequence[ir.Requirement | None], env: Env) -> bool | None:
    """Whether the parts of a requires expression are."""
    answer: bool | None = True
    for node in nodes:
        known = None if node is None else _meets(m, node, env)
        if known is False:
            return False
        answer = answer and known
    return answer


def _meets(m: Machine, node: ir.Requirement, env: Env) -> bool | None:
    with m.recorder.unevaluated(), m.journal.forgetting():
        if node.holds:
            return _holds(m, node.expr, env)
    known = _formed(m, node.expr, env)
    if node.gives is None or not known or not isinstance(node.gives, (ir.Name, ir.Scoped)):
        return known if node.gives is None or known is False else None
    inner = Env(env, "block")
    with m.recorder.unevaluated(), m.journal.forgetting():
        inner.vars[_GIVEN] = _type_of(m, node.expr, env)
        note(inner, _GIVEN)
        return _holds(m, _applied(node.gives, ir.Name(_GIVEN, None, node.span)), inner)


def _type_of(m: Machine, node: ir.Expr, env: Env) -> Value:
    """``decltype((node))``."""
    written = spelled.written(m, ir.DeclType(node, node.span), env)
    names = isinstance(node, (ir.Name, ir.Attr, ir.Scoped))
    return qualify(written, "ref") if names and is_type(written) else written


def _formed(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether an expression or a type can be formed, as far as members, operators and numbers of arguments say."""
    with m.recorder.unevaluated(), m.journal.forgetting():
        try:
            value = m.eval(node, env)
            if isinstance(node, ir.Call) and _nothing_to_call(m.eval(node.fn, env)):
                return False
        except SubstitutionFailure:
            return False
    if isinstance(value, Unknown):
        return False if _not_formed(value) or _no_operator(m, node, value, env) else None
    if isinstance(node, ir.Scoped) and node.base is not None:
        of = m.eval(node.base, env)
        if isinstance(of, ExternType) and of.name in _EMPTY:
            return False
        if not isinstance(of, ClassInst):
            return None  # what a trait gives stands for the trait, too
    return None if isinstance(value, (Extern, ExternType)) else True


def _nothing_to_call(of: Value) -> bool:
    """Numbers, and classes of the standard library that have no members to speak of."""
    empty = isinstance(of, Extern) and isinstance(of.type, ExternType) and of.type.name in _EMPTY
    return empty or (isinstance(of, Scalar) and (of.ctype in INTEGERS or of.ctype in ("float", "double")))


def _no_operator(m: Machine, node: ir.Expr, value: Unknown, env: Env) -> bool:
    """``a + b`` where neither class, nor a function that is seen, has such an operator, nor gives a number."""
    from cutecheck.source.eval import overloads, own_operators

    if not isinstance(node, ir.Binary) or not own_operators.none_takes(value):
        return False
    with m.recorder.unevaluated(), m.journal.forgetting():
        operands = m.eval(node.left, env), m.eval(node.right, env)
        seen = m.eval(ir.Name(f"operator{node.op}", None, node.span), env)
    objects = [v for v in operands if isinstance(v, Object)]
    known = all(isinstance(v, (Object, Scalar)) for v in operands) and bool(objects)
    if isinstance(seen, FuncSet) and any(overloads.bind(m, e, seen, list(operands), {}) for e in seen.entries):
        return False
    whole = all(classes.complete(m, v.cls) and not conversions.functions(m, v.cls) for v in objects)
    return known and whole and isinstance(seen, (Unknown, FuncSet))


def returns(m: Machine, fn: ir.Function, args: Sequence[Value], env: Env) -> bool | None:
    """Whether a function template has a return type for the arguments: ``auto f(T t) -> decltype(t.size())``."""
    if fn.tparams is None or not isinstance(fn.ret, ir.DeclType) or fn.ret.expr is None:
        return True
    inner = Env(env, "function")
    inner.vars.update((p.name, a) for p, a in zip(fn.params, args, strict=False) if p.name and not p.pack)
    answers = [_formed(m, part, inner) for part in _operands(fn.ret.expr)]
    return False if False in answers else None if None in answers else True


def _operands(node: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of ``decltype(a, b, c)``."""
    if isinstance(node, ir.Binary) and node.op == ",":
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def requires(m: Machine, node: ir.Requires, env: Env) -> Scalar:
    from cutecheck.source.eval import templates

    inner = Env(env, "function")
    for p in node.params:
        pattern = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
        if pattern is None:
            inner.vars[p.name] = Unknown("auto", p.span)
            continue
        inner.declare_as(p.name, (pattern, False, None))
        if p.pack:
            types = templates.expand(m, pattern, inner)
            inner.vars[p.name] = Pack(tuple(symbolic(m, t, f"{p.name}.{i}", p.span) for i, t in enumerate(types)))
        else:
            inner.vars[p.name] = symbolic(m, m.eval(pattern, inner), p.name, p.span)
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
