"""Calls, constructions, lambdas and subscripts."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model import expr as ex
from cutecheck.source.eval import calls, classes, intrinsics, ir, templates
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.lookup import member
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.assignments import assign
from cutecheck.source.eval.statements.havoc import forget
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    Closure,
    FuncSet,
    Intrinsic,
    Object,
    Pack,
    SubstitutionFailure,
    TemplateRef,
    Value,
)


@handles(ir.Call)
def _call(m: Machine, node: ir.Call, env: Env) -> Value:
    fn = m.eval(node.fn, env)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    for a in node.args:
        if isinstance(a.value, ir.Expand):
            args.extend(templates.expand(m, a.value.pattern, env))
        elif a.star == "*":
            value = m.eval(a.value, env)
            args.extend(
                value if isinstance(value, (tuple, list)) else [Unknown("unpacking of an unknown sequence", node.span)]
            )
        elif a.star == "**":
            value = m.eval(a.value, env)
            kwargs.update(value if isinstance(value, dict) else {})
        elif a.name is not None:
            kwargs[a.name] = m.eval(a.value, env)
        else:
            value = m.eval(a.value, env)
            args.extend(value.items) if isinstance(value, Pack) else args.append(value)
    if node.launch is not None:
        config = [m.eval(a, env) for a in node.launch.args]
        return m.recorder.launch(m, fn, config, args, node.span)
    m.recorder.call = node
    if not isinstance(fn, (FuncSet, Closure)):
        for a in node.args:
            if isinstance(a.value, ir.Binary) and a.value.op == ",":
                m.recorder.comma(a.value)
    if isinstance(fn, Unknown):
        calls.synchronises(m, getattr(node.fn, "ident", ""), args, node.span)
    outs = m.outs
    m.outs = {}
    if isinstance(fn, FuncSet) and len(fn.entries) > 1 and len(args) == len(node.args):
        m.lasting = tuple(isinstance(a.value, (ir.Name, ir.Attr, ir.Index)) for a in node.args)
    try:
        return calls.apply(m, fn, args, kwargs, node.span)
    except SubstitutionFailure as failure:
        return Unknown(f"substitution failure: {failure}", node.span)
    finally:
        m.lasting = ()
        _write_back(m, node, fn, env)
        m.outs = outs


def _write_back(m: Machine, node: ir.Call, fn: Value, env: Env) -> None:
    """What a call may have written: reference parameters of a followed function, anything whose address it got."""
    outs = m.outs
    for i, a in enumerate(node.args):
        at = a.value
        if i in outs and isinstance(at, (ir.Name, ir.Attr)):
            assign(m, at, outs[i], env, node.span)
        elif (
            isinstance(at, ir.Unary)
            and at.op == "&"
            and isinstance(at.operand, ir.Name)
            and not isinstance(fn, Intrinsic)
        ):
            owner = env.find_var(at.operand.ident)
            if owner is not None:
                old = owner.vars[at.operand.ident]
                m.journal.set(owner.vars, at.operand.ident, forget(m, old, at.operand.ident, ex.ANY, node.span))


@handles(ir.Construct)
def _construct(m: Machine, node: ir.Construct, env: Env) -> Value:
    type_ = m.eval(node.type, env)
    args: list[Value] = []
    names: list[str | None] = []
    for a in node.args:
        if isinstance(a.value, ir.Expand):
            more = templates.expand(m, a.value.pattern, env)
            args.extend(more)
            names.extend([None] * len(more))
        else:
            args.append(m.eval(a.value, env))
            names.append(a.name)
    if isinstance(type_, TemplateRef):
        return intrinsics.deduce_class(m, type_, args, node.span)
    if isinstance(type_, (FuncSet, Intrinsic, Closure)):
        return calls.apply(m, type_, args, {}, node.span)
    if not is_type(type_) and not isinstance(type_, Unknown):
        return type_ if not args else Unknown("braces after a value", node.span)
    return classes.construct(m, type_, args, names, node.span)


@handles(ir.Index)
def _index(m: Machine, node: ir.Index, env: Env) -> Value:
    base = m.eval(node.base, env)
    args = [m.eval(a, env) for a in node.args]
    own = m.dialect.index(m, base, args, node.span)
    if own is not DEFER:
        return own
    if isinstance(base, Unknown):
        return base
    if isinstance(base, (TemplateRef, FuncSet)):
        return base
    if isinstance(base, Object):
        method = member(m, base.cls, "operator[]", base, node.span)
        if isinstance(method, FuncSet):
            return calls.apply(m, method, args, {}, node.span)
    return intrinsics.index(m, base, args, node.span)


@handles(ir.Lambda)
def _lambda(m: Machine, node: ir.Lambda, env: Env) -> Value:
    return Closure(node, env)
