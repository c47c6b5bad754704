"""Registers that fragments take together, and how many a thread can have."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.facts.index import place_of
from cutecheck.facts.resources import registers
from cutecheck.model.algebra import size
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context

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


def alive(call: Call, context: Context) -> list[Call]:
    """Accumulators of one instantiation of one function."""
    if "accumulators" not in context.memo:
        found: dict[object, list[Call]] = {}
        for c in context.facts.calls:
            if accumulators(c) is not None:
                found.setdefault((*place_of(c), c.bindings), []).append(c)
        context.memo["accumulators"] = found
    made = cast("dict[object, list[Call]]", context.memo["accumulators"])
    return made.get((*place_of(call), call.bindings), [])


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
