"""Registers that fragments take together, and how many a thread can have."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.facts.core import FILLED
from cutecheck.facts.index import place_of
from cutecheck.facts.resources import registers
from cutecheck.model.algebra import size
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context
from cutecheck.rules.derive.uses import exclusive

REGISTERS = 255


FILE = 65536  # registers of a multiprocessor


def accumulators(call: Call) -> int | None:
    """32-bit registers of an accumulator fragment; None for anything else, and for narrower elements."""
    tensor = call.result
    narrow = isinstance(tensor, TensorFact) and tensor.dtype is not None and int(tensor.dtype.bits or 0) < 32
    return None if narrow else registers(call)


def most(call: Call, context: Context) -> tuple[int, str]:
    """Registers of one thread, and where that is fewer than the most: why."""
    mma = call.arguments[0] if call.arguments else None
    if isinstance(mma, TiledMMA) and "GMMA" in str(mma.atom.frg_types):
        return REGISTERS, ""  # setmaxnreg moves registers between warpgroups
    threads = [
        known_value(x.block_threads) for x in context.facts.launches
        if x.kernel == call.enclosing and x.arch == call.arch and x.block_threads is not None
    ]  # fmt: skip
    block = max((t for t in threads if t), default=0)
    share = FILE // block // 8 * 8 if block else REGISTERS
    return (share, f" in a block of {block}") if share < REGISTERS else (REGISTERS, "")


def together(call: Call, context: Context) -> list[Call]:
    """Accumulators of one instantiation of one function that are alive at once where they take the most registers, of
    those made in loops the largest alone; in the order in which they are made.

    From the first copy, product or ``clear`` that has a fragment to the last: one that nothing is seen to do with until
    another is made may be gone by then, and of branches of one condition a thread goes one way.
    """
    if "accumulators" not in context.memo:
        found: dict[object, list[Call]] = {}
        for c in context.facts.calls:
            if accumulators(c) is not None:
                found.setdefault((*place_of(c), c.bindings), []).append(c)
        context.memo["accumulators"] = {key: _heaviest(made, context) for key, made in found.items()}
    heaviest = cast("dict[object, list[Call]]", context.memo["accumulators"])
    return heaviest.get((*place_of(call), call.bindings), [])


def _heaviest(made: list[Call], context: Context) -> list[Call]:
    if len(made) == 1:
        return made
    lives = [(c, life) for c in made if (life := _life(c, context)) is not None]
    best: list[Call] = []
    for newest, (start, _) in lives:
        others = [c for c, life in lives if life[0] <= start <= life[1] and not exclusive(c, newest)]
        live = [c for c in others if not c.loops]
        live += sorted((c for c in others if c.loops), key=_taken)[-1:]  # those of a loop come and go
        best = max(best, live, key=lambda calls: sum(map(_taken, calls)))
    return [c for c in made if c in best] or made[-1:]


def _taken(call: Call) -> int:
    return accumulators(call) or 0


def _life(call: Call, context: Context) -> tuple[int, int] | None:
    """When the first and the last use of an accumulator is met; None where none is. What is made outside of a loop and
    used in it is alive in all of it."""
    uses = [u for u in _uses(context).get(_buffer(call.result, call), ()) if u.order > call.order]
    if not uses:
        return None
    own = len(call.loops)
    loops = {u.loops[own] for u in uses if len(u.loops) > own and u.loops[:own] == call.loops}
    ends = _ends(context)
    orders = [u.order for u in uses] + [x.entered for x in loops] + [ends[x.entered] for x in loops]
    return min(orders), max(orders)


def _buffer(tensor: object, used: Event | Call) -> tuple[str, str, str]:
    return used.kernel or used.enclosing, used.arch, (tensor.buffer or "") if isinstance(tensor, TensorFact) else ""


def _uses(context: Context) -> dict[tuple[str, str, str], list[Event | Call]]:
    """Copies and products by the registers that they read or write, and what sets all of these."""
    if "uses of registers" not in context.memo:
        found: dict[tuple[str, str, str], list[Event | Call]] = {}
        for event in context.facts.events:
            for operand in event.operands:
                if operand.space == "rmem":
                    found.setdefault(_buffer(operand, event), []).append(event)
        for call in context.facts.calls:
            if isinstance(call.result, Unknown) and call.result.reason == FILLED and call.arguments:
                found.setdefault(_buffer(call.arguments[0], call), []).append(call)
        context.memo["uses of registers"] = found
    return cast("dict[tuple[str, str, str], list[Event | Call]]", context.memo["uses of registers"])


def _ends(context: Context) -> dict[int, int]:
    """The last copy or product in each loop."""
    if "ends of loops" not in context.memo:
        last: dict[int, int] = {}
        for event in context.facts.events:
            for loop in event.loops:
                last[loop.entered] = max(event.order, last.get(loop.entered, loop.entered))
        context.memo["ends of loops"] = last
    return cast("dict[int, int]", context.memo["ends of loops"])


def of_operands(call: Call, context: Context) -> list[tuple[int, Call]]:
    """One step along K of the largest fragments of A and B of the same MMA; empty unless both are known."""
    mma = call.arguments[0] if call.arguments else None
    if "operands" not in context.memo:
        made: dict[object, list[Call]] = {}
        for c in context.facts.calls:
            if c.function.endswith(("_fragment_A", "_fragment_B")):
                made.setdefault((c.function[-1], *place_of(c), c.bindings), []).append(c)
        context.memo["operands"] = made
    fragments = cast("dict[object, list[Call]]", context.memo["operands"])
    found: list[tuple[int, Call]] = []
    for operand in "AB":
        sizes = [
            (n, c) for c in fragments.get((operand, *place_of(call), call.bindings), ())
            if c.arguments[:1] == (mma,) and (n := _step(c)) is not None
        ]  # fmt: skip
        found += [max(sizes, key=lambda pair: pair[0])] if sizes else []
    return found if len(found) == 2 else []


def _step(call: Call) -> int | None:
    """Registers of one step along K, the third mode, of an operand's fragment."""
    tensor = call.result
    if not isinstance(tensor, TensorFact) or tensor.space != "rmem" or isinstance(tensor.layout, Unknown):
        return None
    shape = tensor.layout.shape
    if not isinstance(shape, tuple) or len(shape) < 3 or tensor.dtype is None or tensor.dtype.bits is None:
        return None
    elements = known_value(size(Layout(shape[:2], 0)))
    return None if elements is None else -(-int(elements) * int(tensor.dtype.bits) // 32)
