"""What a kernel that is run pass by pass writes by other means than CuTe's: elements, and what loops may set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import ir, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_of_contents, parts_in
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Closure, Object, ObjectPointer, Pointer, Reference, Scalar, TensorVal, Value

_FRAGMENT = "rmem@"  # how the buffers of tensors are named that own their registers
_INNER = ("base", "fn", "operand", "left")  # fields of an expression that says of what it takes an element


def registers(node: ir.Loop, env: Env) -> dict[str, str]:
    """Tensors in registers that a loop names, and their names."""
    found: dict[str, str] = {}
    for name, value in _reached(node, env):
        if isinstance(value, TensorVal) and value.space == "rmem" and value.pointer is not None:
            found.setdefault(value.pointer.buffer, name)
    return found


def apart(node: ir.Loop, env: Env) -> bool:
    """Whether all that a loop names are numbers, arrays and memory that no fragment has, of which functions that it
    calls get no more: the running sums of a softmax, say."""
    called = (x.fn for part in (node, *(x.body.get() for x in _lambdas(node))) for x in parts_in(part) if _calls(x))
    if any(not isinstance(fn, (ir.Name, ir.Scoped)) for fn in called):
        return False  # a method: members that nothing has named yet are in no field
    return all(_is_apart(value) for _, value in _reached(node, env))


def _calls(node: object) -> bool:
    return isinstance(node, ir.Call)


def _is_apart(value: Value) -> bool:
    if isinstance(value, TensorVal):
        return value.space != "rmem"
    if isinstance(value, Pointer):
        return bool(value.buffer) and not value.buffer.startswith(_FRAGMENT)
    return isinstance(value, (Scalar, Object, ObjectPointer, Closure, tuple))


def named(replay: Replaying, node: ir.Loop, env: Env) -> None:
    """Shared memory that a loop names, which is not run, may be written there."""
    for _, value in _reached(node, env):
        if isinstance(value, Reference):
            replay.anything()
        pointer = _pointer(value)
        if pointer is not None and pointer.space == "smem":
            replay.touched(pointer.buffer, "smem")


def _reached(node: Any, env: Env) -> Iterator[tuple[str, Value]]:
    """What the names in a loop mean, and what that leads to: names in the bodies of lambdas, members of objects."""
    todo: list[tuple[str, Value]] = list(_named(node, env))
    seen = set[int]()
    while todo:
        name, value = todo.pop()
        if isinstance(value, Reference) and len(value.cells) == 1:
            value = value.cells[0][0].get(value.cells[0][1])
        yield name, value
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Closure):
            todo += _named(value.node.body.get(), value.env)
        elif isinstance(value, Object):
            todo += value.fields.items()
        elif isinstance(value, ObjectPointer):
            todo.append((name, value.to))
        elif isinstance(value, tuple):
            todo += ((name, part) for part in value)


def _named(node: Any, env: Env) -> Iterator[tuple[str, Value]]:
    """The names in a node, those of lambdas that are written in it too; members of the object whose function it is."""
    parts = (node, *(x.body.get() for x in _lambdas(node)))
    names = {name for part in parts for name in names_of_contents(part)}
    for name in names:
        at = env.find_var(name)
        if at is not None:
            yield name, at.vars.get(name)
    this = _self(env)
    if isinstance(this, Object):
        names |= {x.ident for part in parts for x in parts_in(part) if isinstance(x, ir.Attr)}
        functions = {d.name for d in this.cls.decl.members if isinstance(d, ir.Function)}
        every = bool(this.cls.decl.bases) or not functions.isdisjoint(names)
        yield from ((name, value) for name, value in this.fields.items() if every or name in names)


def _lambdas(node: Any) -> Iterator[ir.Lambda]:
    for part in parts_in(node):
        if isinstance(part, ir.Lambda):
            yield part
            yield from _lambdas(part.body.get())


def _self(env: Env | None) -> Value:
    while env is not None and env.kind != "function":
        env = env.parent
    return None if env is None else env.self_


def assigned(m: Machine, target: ir.Expr, env: Env) -> None:
    """What is assigned to is an element or a member of an array or object, or where a pointer leads."""
    replay = m.recorder.acts()
    if replay is None:
        return
    moves = isinstance(target, ir.Call) and isinstance(target.fn, ir.Attr) and target.fn.ident == "data"
    while not isinstance(target, ir.Name):
        inner = next((getattr(target, f) for f in _INNER if hasattr(target, f)), None)
        if inner is None or isinstance(inner, str):
            replay.anything()
            return
        target = inner
    value = places.whole(m, target, env)
    pointer = _pointer(value)
    if pointer is not None and moves and isinstance(value, TensorVal):
        replay.moves(pointer.buffer, pointer.space)
    elif pointer is not None:
        replay.touched(pointer.buffer, pointer.space)
    elif isinstance(value, Unknown):
        replay.anything()


def _pointer(value: Value) -> Pointer | None:
    pointer = value.pointer if isinstance(value, (TensorVal, Object)) else value
    return pointer if isinstance(pointer, Pointer) else None
