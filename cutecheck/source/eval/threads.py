"""Run-time values that are not the same in all threads of a warp.

Obligations take the variables of an address as uniform over a warp, but for the thread's index and those that
:func:`cutecheck.model.prove.domains.per_thread` tells by their names. A value that is not known and may differ from
thread to thread gets such a name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Var
from cutecheck.model.ints import Dyn, Sym, Typed
from cutecheck.model.prove.domains import PER_THREAD, WITHIN, per_thread, takes_all
from cutecheck.source.eval import ir
from cutecheck.source.eval.tuples import Elements, Vector, like
from cutecheck.source.eval.values import Object, Pointer, Scalar, Shared, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env

_THREAD = "threadIdx."
_NUMBER = re.compile(r"[#~](\d+)")
_MODEL = "cutecheck.model."
_LARGEST = 256  # letters of a text that is kept as it is


def varies(value: Any) -> bool:
    """Whether a number, pointer or tensor may differ from thread to thread."""
    if isinstance(value, Expr):
        return _expression_varies(value)
    if isinstance(value, (Dyn, Sym)):
        return varies(value.expr)
    if isinstance(value, Scalar):
        return varies(value.value)
    if isinstance(value, Pointer):
        return varies(value.offset)
    if isinstance(value, TensorVal):
        return varies(value.offset) or (value.pointer is not None and varies(value.pointer.offset))
    return isinstance(value, tuple) and any(varies(v) for v in value)


@lru_cache(maxsize=1 << 16)
def _expression_varies(e: Expr) -> bool:
    return any(v.name.startswith(_THREAD) or per_thread(v.name) for v in e.variables())


def of_shared(ctype: str, op: str, *operands: Value) -> Scalar:
    """What an operation gives that is not tracked: one value for all threads where all operands are."""
    texts = [_shared(v) for v in operands]
    if None in texts:
        return Scalar(None, ctype)
    text = f"{op}({', '.join(map(str, texts))})"
    return Shared(None, ctype, text if len(text) < _LARGEST else hashlib.sha256(text.encode()).hexdigest())


def is_shared(v: Value) -> bool:
    """Whether a number, tracked or not, is known to be one for all threads."""
    return _shared(v) is not None


def _shared(v: Value) -> str | None:
    """What tells a value from others that is the same in all threads; None of any other."""
    if isinstance(v, Shared):
        return v.of
    if isinstance(v, Pointer):
        known = not isinstance(v.offset, Unknown) and not varies(v.offset) and not per_thread(v.buffer)
        return f"{v.buffer} + {v.offset}" if known else None
    number = v.value if isinstance(v, Scalar) else v
    return str(number) if isinstance(number, (int, float, Dyn, Sym)) and not varies(number) else None


def untracked(m: Machine, ctype: str, name: str, shared: bool) -> Scalar:
    """A number that is not tracked: one for all threads, unlike any other, or of each thread its own."""
    return Shared(None, ctype, f"{name}#{m.number()}") if shared else Scalar(None, ctype)


def some(m: Machine, name: str, domain: Domain, varying: bool) -> Dyn:
    """A run-time integer that is not known: one for all threads, or of each thread its own."""
    return Dyn.named(f"{name}{PER_THREAD}{m.number()}", domain) if varying else m.fresh(name, domain)


def within(name: str, *values: Expr) -> str:
    """The name of a number that may be any of these: a marked one where they need not take all that lies between."""
    return name if all(takes_all(v.name) for e in values for v in e.variables()) else name + WITHIN


def lost(m: Machine, name: str, domain: Domain, varying: bool) -> Dyn:
    """A run-time integer of which no more is known than its domain: it may be any of it at any time."""
    made = m.made
    found = some(m, name, domain, varying)
    m.lose_since(made)
    return found


def is_lost(m: Machine, e: Expr) -> bool:
    """Whether an expression is one of these."""
    if len(e.terms) != 1 or e.terms[0][1] != 1 or len(e.terms[0][0]) != 1:
        return False
    atom = e.terms[0][0][0]
    return isinstance(atom, Var) and m.is_lost(atom.name)


def uniform(value: Value, name: str = "") -> Value:
    """The value where all threads have the same, as arguments of a kernel are: a host's loops tell none apart.

    ``name`` tells it from others.
    """
    if type(value) is Scalar and value.value is None and name:
        return Shared(None, value.ctype, name)
    if isinstance(value, Pointer) and value.space == "rmem":  # an array of the host's, which no thread has for itself
        value = replace(value, space="unknown")
    if isinstance(value, Expr):
        own = {v.name: ex.var(v.name.replace(PER_THREAD, "#"), v.domain) for v in value.variables()}
        return value.substitute({n: v for n, v in own.items() if per_thread(n)})
    if isinstance(value, Object) and value.pointer is None:
        parts = {n: uniform(v, name and f"{name}.{n}") for n, v in value.fields.items()}
        if all(parts[n] is v for n, v in value.fields.items()):
            return value
        made = Object(value.cls, {}, None, value.name, value.initial, value.zeroed)
        made.fields.update(parts)
        return made
    if type(value) in (tuple, Elements, Vector):
        items = tuple(uniform(v, name and f"{name}.{i}") for i, v in enumerate(value))
        return value if all(a is b for a, b in zip(items, value, strict=True)) else like(value, items)
    if not isinstance(value, (Scalar, Dyn, Sym, Pointer, TensorVal)) and not type(value).__module__.startswith(_MODEL):
        return value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    held = {f.name: getattr(value, f.name) for f in fields(value)}
    changed = {n: new for n, old in held.items() if (new := uniform(old)) is not old}
    if changed and type(value) is Typed:
        return Typed(changed["expr"], value.ctype)
    return replace(value, **changed) if changed else value


def differs(m: Machine, node: ir.Expr, cond: Value, env: Env) -> bool:
    """Whether threads of a warp may answer a condition differently, judged by its value or else by what it is made of.

    Members of objects that are not followed (parameters of a kernel) are taken as uniform; what a function answers that
    is not followed (``elect_one_sync()``) is not. What a kernel is made for is one for all.
    """
    if m.dialect.answers_early(node):
        return False
    number = cond.value if isinstance(cond, Scalar) else cond
    if isinstance(number, (int, Dyn, Sym)):
        return varies(number)
    return not isinstance(cond, Shared) and any(_leaf_differs(m, leaf, env) for leaf in _leaves(node))


def of_thread(cond: Value) -> Expr | None:
    """The value of a condition where threads differ in it by nothing but their indices."""
    number = cond.value if isinstance(cond, Scalar) else cond
    if not isinstance(number, (Dyn, Sym)):
        return None
    names = [v.name for v in number.expr.variables()]
    return number.expr if names and all(name.startswith(_THREAD) for name in names) else None


def followed(cond: Value) -> bool:
    """Whether a condition has a value, known or not, that says what it depends on."""
    return isinstance(cond.value if isinstance(cond, Scalar) else cond, (int, Dyn, Sym))


def answered(m: Machine, node: ir.Expr, cond: Value, env: Env) -> tuple[bool, Expr | None, bool]:
    """Whether threads may differ in a condition by what is not followed, its value by their indices, if none do."""
    parts, says = differs(m, node, cond, env), followed(cond) or m.dialect.answers_early(node)
    return parts and not says, of_thread(cond), says and not parts


def by_thread(m: Machine, node: ir.Expr | None, cond: Value, env: Env) -> bool:
    """Whether threads answer a condition each by its index or by an element in registers, in a run pass by pass."""
    if m.recorder.replaying is None:
        return False
    number = cond.value if isinstance(cond, Scalar) else cond
    if isinstance(number, (int, Dyn, Sym)):
        return varies(number)
    if isinstance(node, ir.Binary) and node.op in ("and", "or"):
        return any(by_thread(m, side, _again(m, side, env), env) for side in (node.left, node.right))
    return node is not None and any(_in_registers(m, leaf, env) for leaf in _leaves(node))


def _again(m: Machine, node: ir.Expr, env: Env) -> Value:
    with m.recorder.rehearsing():
        return m.eval(node, env)


def _in_registers(m: Machine, leaf: ir.Expr, env: Env) -> bool:
    """An element of a tensor of the thread's own: a predicate."""
    if not isinstance(leaf, ir.Call) or not isinstance(leaf.fn, ir.Name) or env.find_var(leaf.fn.ident) is None:
        return False
    with m.recorder.rehearsing():
        value = m.eval(leaf.fn, env)
    return isinstance(value, TensorVal) and value.space == "rmem"


def turns(m: Machine, node: ir.Expr, cond: Value, env: Env) -> bool:
    """Whether a condition is on what the loop around it changes: its passes may answer differently."""
    if m.loop is None:
        return False
    number = cond.value if isinstance(cond, Scalar) else cond
    since = m.loop.since if m.loop.turning is None else m.loop.turning
    if isinstance(number, (Dyn, Sym)):
        return _made_since(number.expr, since)
    with m.recorder.rehearsing():
        values = [m.eval(leaf, env) for leaf in _leaves(node) if not isinstance(leaf, ir.Call)]
    numbers = [v.value if isinstance(v, Scalar) else v for v in values]
    return any(_made_since(v.expr, since) for v in numbers if isinstance(v, (Dyn, Sym)))


def newest_number(value: Expr) -> int:
    """The greatest of the numbers that keep the names of its variables apart."""
    return max((int(hit) for v in value.variables() for hit in _NUMBER.findall(v.name)), default=0)


def _made_since(value: Expr, since: int) -> bool:
    return any(int(hit) >= since for v in value.variables() for hit in _NUMBER.findall(v.name))


def _leaf_differs(m: Machine, leaf: ir.Expr, env: Env) -> bool:
    if isinstance(leaf, ir.Name) and env.find_var(leaf.ident) is None:
        return False
    if isinstance(leaf, ir.Call):
        return True
    with m.recorder.rehearsing():
        value = m.eval(leaf, env)
    if isinstance(value, TensorVal):
        return value.space not in ("gmem", "smem") or varies(value)
    if isinstance(value, Scalar) and value.value is None:
        return isinstance(leaf, ir.Name) and not isinstance(value, Shared)
    return varies(value)


def _leaves(node: Any) -> Iterator[ir.Expr]:
    """The names of an expression, its members and calls of functions as a whole."""
    if isinstance(node, (ir.Name, ir.Attr)) or (isinstance(node, ir.Call) and not isinstance(node.fn, ir.Attr)):
        yield node
    elif isinstance(node, (tuple, list)):
        for item in node:
            yield from _leaves(item)
    elif is_dataclass(node):
        for name in node.__dataclass_fields__:
            if name not in ("span", "full_span"):
                yield from _leaves(getattr(node, name))
