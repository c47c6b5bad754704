"""What declarations outside of functions mean: non-template aliases, variables and classes, each evaluated once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.dtype import dtype
from cutecheck.source.eval import (
    classes,
    foreign,
    initialisation,
    intrinsics,
    ir,
    leaks,
    matrix_descriptors,
    places,
    qualifiers,
)
from cutecheck.source.eval.declared_later import in_order
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.held_fields import serials
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.renaming import renamed
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.std_arrays import NAME as ARRAY
from cutecheck.source.eval.symbolic import called
from cutecheck.source.eval.tuples import Constants, Elements
from cutecheck.source.eval.values import (
    ArrayType,
    BudgetExceeded,
    EnumVal,
    Object,
    Pack,
    Scalar,
    ScalarType,
    TemplateRef,
    Value,
    ValueType,
)

_DEEPEST = 150  # of a member in terms of the same of other instances


def declared_value(m: Machine, entry: Entry, name: str, memo: dict[Any, Value], span: Span) -> Value:
    """The value of a non-template alias, variable or class, evaluated once."""
    decl = entry.decl
    key = (name, id(decl))
    if key in memo:
        known = memo[key]
        if not isinstance(known, (Scalar, Object)) or not isinstance(decl, ir.Variable) or not _changes(m, decl):
            return known
        if isinstance(known, Object):
            return classes.of_any_time(m, known, name)
        if m.unseen or name in m.rewritten:
            return replace(known, value=m.fresh(name))
        return known
    memo[key] = Unknown(f"`{name}` is defined in terms of itself", decl.span)
    depth = m.defining.get(id(decl), 0)
    if depth >= _DEEPEST:  # a reason that is kept: what ends at the evaluator's own limit is tried again at each level
        memo[key] = Unknown(f"`{name}` is defined by itself in {_DEEPEST} instances of its class", decl.span)
        return memo[key]
    m.defining[id(decl)] = depth + 1
    refused, mark = m.budget.refused, m.journal.mark()
    try:
        with m.recorder.once():
            value = _declared(m, entry, decl, name)
    except BudgetExceeded:  # which may end a part of the evaluation alone
        del memo[key]
        raise
    finally:
        m.defining[id(decl)] = depth
    m.journal.keep(mark)
    if not _leaves_nothing(decl, value):
        m.kept = next(serials)
    if m.budget.refused == refused:
        memo[key] = value
    else:
        del memo[key]  # where less is nested there may be an answer
    return value


def _leaves_nothing(decl: ir.Decl, value: Value) -> bool:
    """Whether no object that was made for the value is there after it.

    What makes a type or a constant writes to nothing that was there before.
    """
    if isinstance(decl, ir.Variable) and "constexpr" not in decl.flags:
        return False
    if isinstance(value, ClassInst):
        return not any(isinstance(a, (Object, tuple, Pack)) for a in value.args)
    return isinstance(value, (ScalarType, Scalar, EnumVal, EnumRef, Unknown)) or (
        isinstance(value, ValueType) and not isinstance(value.value, tuple)
    )


def _declared(m: Machine, entry: Entry, decl: ir.Decl, name: str) -> Value:
    if isinstance(decl, ir.Class):
        descriptor = dtype(matrix_descriptors.TYPE)
        if m.dialect.by_value and descriptor is not None and matrix_descriptors.declares(decl):
            return ScalarType(descriptor)
        return classes.instance(m, entry, decl, (), None, entry.env.cls)
    if isinstance(decl, ir.Alias):
        value = m.eval(decl.target, in_order(m, decl, entry.env))
        m.recorder.declared(m, decl, value, entry.env, entry.unit)
        return value
    assert isinstance(decl, ir.Variable)
    value = variable_value(m, decl, in_order(m, decl, entry.env))
    if _changes(m, decl):  # any function may have written it since
        if isinstance(value, Scalar):
            value = replace(value, value=m.fresh(name))
        elif isinstance(value, Object):
            value = classes.of_any_time(m, value, name)
        elif isinstance(value, tuple) and value:
            typed = None if decl.type is None or qualifiers.is_auto(decl.type) else m.eval(decl.type, entry.env)
            if isinstance(typed, ValueType):
                value = renamed(m, typed.value, name, ex.ANY)
            else:
                value = Unknown(f"`{name}` may have been written", decl.span)
    m.recorder.declared(m, decl, value, entry.env, entry.unit)
    return value


def variable_value(m: Machine, decl: ir.Variable, env: Env) -> Value:
    """The value a declaration gives its variable (``auto`` or converted to its type)."""
    typed = None if decl.type is None or qualifiers.is_auto(decl.type) else m.eval(decl.type, env)
    if decl.init is not None:
        value = m.eval(decl.init, env)
        if typed is None or (isinstance(value, Unknown) and "constexpr" in decl.flags):
            return value
        if isinstance(typed, TemplateRef) and typed.name == ARRAY and isinstance(decl.init, ir.Sequence_):
            return intrinsics.deduce_class(m, typed, list(value), decl.span) if type(value) is tuple else value
        if isinstance(typed, ArrayType) and qualifiers.never_written(decl):
            held = initialisation.elements(m, typed, value, decl.span)
            return Constants(held) if type(held) is Elements else held
        leaks.leak_bound(m, typed, decl.init, env)
        return called(initialisation.convert(m, typed, value, decl.span), decl.name)
    if m.dialect.by_value:
        args = places.arguments(m, decl.init_args or (), env)
        if leaks.keeps_references(decl.type) or typed == leaks.UNFOLLOWED:
            for value, where in zip(args, places.of_arguments(m, args), strict=True):
                leaks.leak_place(m, value, where)
    else:
        args = [m.eval(a.value, env) for a in decl.init_args or ()]
    if isinstance(typed, ArrayType) and not typed.name and args and m.dialect.by_value:  # `int sizes[]{2, 3}`
        value = initialisation.convert(m, typed, tuple(args), decl.span)
        return Constants(value) if type(value) is Elements and qualifiers.never_written(decl) else value
    if typed is None:
        return args[0] if len(args) == 1 else Unknown(f"`{decl.name}` has no initialiser", decl.span)
    if decl.init_args is not None:
        if m.dialect.by_value and isinstance(typed, ClassInst):
            leaks.lend_to(m, typed, decl.init_args, args, env)
        if m.dialect.by_value and decl.type is not None and foreign.undeclared(typed):
            foreign.may_write(m, decl.type, decl.init_args, typed, args, env, decl.span)
        for a in decl.init_args if m.dialect.by_value else ():
            leaks.leak_bound(m, typed, a.value, env)
        from cutecheck.source.eval.constructors import minded

        minded(m, typed, decl.init_args, args, env)
        return classes.construct(m, typed, args, classes.names_of(decl.init_args, args), decl.span)
    return classes.declare(m, typed, decl, env)


def _changes(m: Machine, decl: ir.Variable) -> bool:
    return m.dialect.by_value and not qualifiers.never_written(decl)
