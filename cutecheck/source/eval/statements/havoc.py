"""What is left of a variable that a loop body or an unknown call may have written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Extern, Object, Pointer, Scalar, TensorVal, Value

_REHEARSALS = 5  # more than the chains of conditions on changed fields that code has


def havoc(m: Machine, node: ir.Loop, env: Env, induction: tuple[str, Domain] | None) -> None:
    """Before the body is walked (and after), every variable it assigns is unknown but for what its type says."""
    parts = [p for p in (node.body, node.step, node.cond) if p is not None]
    for name in dict.fromkeys(n for p in parts for n in _assigned_in(p)):
        at = env.find_var(name)
        if at is None:
            continue
        old = at.vars[name]
        domain = induction[1] if induction is not None and induction[0] == name else ex.ANY
        m.journal.set(at.vars, name, forget(m, old, name, domain, node.span))


def settle(
    m: Machine, body: Callable[[], object], span: Span, moved: Callable[[Value, Value, str], Value | None]
) -> None:
    """What calls in a loop's body change (``state.advance()``, captured variables) is found by walking it once without
    leaving facts, and again as long as what is then forgotten lets it change more.

    ``moved``: what remains of a cell that had the first value (None: a variable of the body) and has the second; None
    where they are equal.
    """
    if m.recorder.rehearsal:
        return
    known: set[tuple[int, str]] = set()
    for _ in range(_REHEARSALS):
        mark = m.journal.mark()
        with m.recorder.rehearsing():
            body()
        changed = m.journal.written_since(mark)
        m.journal.undo(mark)
        more = False
        for key, (where, name, new) in changed.items():
            if key not in known and where.get(name) is not new:
                left = moved(where.get(name), new, name)
                if left is not None:
                    m.journal.set(where, name, left)
                    known.add(key)
                    more = True
        if not more:
            return


@once
def _assigned_in(node: Any) -> tuple[str, ...]:
    return tuple(assigned(node))


def forget(m: Machine, old: Value, name: str, domain: Domain, span: Span) -> Value:
    """What remains known of a variable that a loop assigns."""
    own = m.dialect.forgotten(m, old, name, span)
    if own is not None:
        return own
    if isinstance(old, Scalar):
        if old.value is None or isinstance(old.value, float):
            return Scalar(None, old.ctype)
        if old.ctype.startswith("u") and domain.lo is None:
            domain = replace(domain, lo=0)
        return Scalar(m.fresh(name, domain), old.ctype)
    if isinstance(old, (int, Dyn)) and not isinstance(old, bool):
        return m.fresh(name, domain)
    if isinstance(old, Pointer):
        return replace(old, offset=m.fresh(f"{name}.offset"))
    if isinstance(old, (TensorVal, Object)):
        return old
    if isinstance(old, (list, dict)):
        return Unknown(f"`{name}` changes in a loop", span)
    return Unknown(f"`{name}` is assigned in a loop", span) if not isinstance(old, (Extern, Unknown)) else old


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
