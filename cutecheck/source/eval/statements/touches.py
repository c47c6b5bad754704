"""What a kernel that is run pass by pass writes by other means than CuTe's: elements, and what loops may set."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.source.eval import ir, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_of_contents
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Object, Pointer, Reference, TensorVal, Value

_INNER = ("base", "fn", "operand", "left")  # fields of an expression that says of what it takes an element


def registers(node: ir.Loop, env: Env) -> dict[str, str]:
    """Tensors in registers that a loop names, and their names."""
    found: dict[str, str] = {}
    for name in names_of_contents(node):
        at = env.find_var(name)
        value = at.vars.get(name) if at is not None else None
        if isinstance(value, Reference) and len(value.cells) == 1:
            value = value.cells[0][0].get(value.cells[0][1])
        if isinstance(value, TensorVal) and value.space == "rmem" and value.pointer is not None:
            found.setdefault(value.pointer.buffer, name)
    return found


def named(replay: Replaying, node: ir.Loop, env: Env) -> None:
    """Shared memory that a loop names, which is not run, may be written there."""
    for name in names_of_contents(node):
        at = env.find_var(name)
        value = at.vars.get(name) if at is not None else None
        if isinstance(value, Reference) and len(value.cells) == 1:
            value = value.cells[0][0].get(value.cells[0][1])
        if isinstance(value, Reference):
            replay.anything()
        pointer = _pointer(value)
        if pointer is not None and pointer.space == "smem":
            replay.touched(pointer.buffer, "smem")


def assigned(m: Machine, target: ir.Expr, env: Env) -> None:
    """What is assigned to is an element or a member of an array or object, or where a pointer leads."""
    replay = m.recorder.acts()
    if replay is None:
        return
    while not isinstance(target, ir.Name):
        inner = next((getattr(target, f) for f in _INNER if hasattr(target, f)), None)
        if inner is None or isinstance(inner, str):
            replay.anything()
            return
        target = inner
    value = places.whole(m, target, env)
    pointer = _pointer(value)
    if pointer is not None:
        replay.touched(pointer.buffer, pointer.space)
    elif isinstance(value, Unknown):
        replay.anything()


def _pointer(value: Value) -> Pointer | None:
    pointer = value.pointer if isinstance(value, (TensorVal, Object)) else value
    return pointer if isinstance(pointer, Pointer) else None
