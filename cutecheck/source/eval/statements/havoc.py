"""What is left of a variable that a loop body or an unknown call may have written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.basis import Underscore
from cutecheck.model.expr import Domain
from cutecheck.model.identity import once
from cutecheck.model.integers import domain_of, is_narrow
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.prove.domains import WITHIN
from cutecheck.source.eval import ir, repeatable, slots
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.alike import alike
from cutecheck.source.eval.statements.numbers import combine
from cutecheck.source.eval.statements.recurrences import Anything, Changing, Recurrence
from cutecheck.source.eval.threads import is_shared, some, untracked, varies
from cutecheck.source.eval.tuples import like
from cutecheck.source.eval.values import Extern, Object, Pointer, Reference, Scalar, TensorVal, Value


def havoc(m: Machine, node: ir.Loop, env: Env, loop: Recurrence, induction: tuple[str, Domain] | None) -> None:
    """Before the body is walked every variable it assigns is unknown but for what its type says."""
    parts = [p for p in (node.body, node.step, node.cond) if p is not None]
    for name in dict.fromkeys(n for p in parts for n in assigned_in(p)):
        at = m.dialect.binding(m, env, name)
        if at is None:
            continue
        inducted = induction is not None and induction[0] == name
        domain = induction[1] if induction is not None and inducted else ex.ANY
        value = at.vars[name]
        # an assignment to a reference changes what it stands for
        for where, key in slots.roots(value.cells) if isinstance(value, Reference) else ((at.vars, name),):
            old = where.get(key)
            new = forget(m, old, name, domain, node.span)
            if not inducted and varies(old):
                new = combine(m, Anything(m), old, old, (new,), name, node.span)
            if new is not old:
                m.journal.set(where, key, new)
                if not inducted:
                    loop.cells[id(where), key] = Changing(where, key, old)


@once
def assigned_in(node: Any) -> tuple[str, ...]:
    return tuple(assigned(node))


def forget(m: Machine, old: Value, name: str, domain: Domain, span: Span, apart: bool = False) -> Value:
    """What remains known of a variable that a loop assigns. ``apart``: threads may have written different values."""
    own = m.dialect.forgotten(m, old, name, span)
    if own is not None:
        return own
    if isinstance(old, Scalar):
        if old.value is None or isinstance(old.value, float):
            return untracked(m, old.ctype, name, is_shared(old) and not apart)
        if domain == ex.ANY or domain.lo is None:
            own = domain_of(old.ctype)
            name += WITHIN if is_narrow(old.ctype) and domain == ex.ANY else ""
            domain = own if domain == ex.ANY else replace(domain, lo=own.lo)
        return Scalar(some(m, name, domain, apart or varies(old)), old.ctype)
    if isinstance(old, (int, Dyn)) and not isinstance(old, bool):
        return some(m, name, domain, apart or varies(old))
    if isinstance(old, Pointer):
        return replace(old, offset=some(m, f"{name}.offset", ex.ANY, apart or varies(old)))
    if isinstance(old, (TensorVal, Object)):
        return old
    if m.dialect.by_value and isinstance(old, tuple):
        parts = like(old, (_element(m, v, f"{name}.{i}", span, apart) for i, v in enumerate(old)))
        if not any(isinstance(v, Unknown) for v in parts):
            return parts
    if m.dialect.by_value:  # `mma.accumulate_ = ...`: a variable keeps its type, and what that says
        made = alike((old,), lambda _, at: some(m, at, ex.ANY, apart or varies(old)), name, whole=True)
        if made is not None:
            return made
    if isinstance(old, (list, dict)):
        return Unknown(f"`{name}` changes in a loop", span)
    return Unknown(f"`{name}` is assigned in a loop", span) if not isinstance(old, (Extern, Unknown)) else old


def _element(m: Machine, old: Value, name: str, span: Span, apart: bool) -> Value:
    """What remains known of an element of a tuple: its type, and so what is static of it."""
    if isinstance(old, (int, Sym, Underscore)) and not isinstance(old, bool):
        return old
    return old if isinstance(old, Unknown) else forget(m, old, name, ex.ANY, span, apart)


def assigned(node: Any) -> Iterator[str]:
    """Names assigned anywhere inside a statement, except those declared in it (lambda bodies included)."""
    stack = [node]
    declared: set[str] = set()
    found: list[str] = []
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Assign) and isinstance(at.target, ir.Name):
            found.append(at.target.ident)
        elif isinstance(at, ir.Assign) and isinstance(at.target, ir.Sequence_):
            found.extend(a.value.ident for a in at.target.items if isinstance(a.value, ir.Name))
        elif isinstance(at, ir.Binary) and repeatable.is_assignment(at) and isinstance(at.left, ir.Name):
            found.append(at.left.ident)
        elif isinstance(at, ir.Unary) and at.op in ("++", "--", "p++", "p--") and isinstance(at.operand, ir.Name):
            found.append(at.operand.ident)
        elif isinstance(at, ir.Local) and isinstance(at.decl, ir.Variable):
            declared.add(at.decl.name)
        if isinstance(at, ir.Lambda):
            stack.append(at.body.get())
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span"))
    return iter(n for n in dict.fromkeys(found) if n not in declared)
