"""Copies by value between the two sides of a matrix instruction, which only the instruction itself brings together."""

from __future__ import annotations

from cutecheck.facts import Event, TensorFact
from cutecheck.model.algebra import coalesce, structure
from cutecheck.model.ints import CuteError, Dyn, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy

_MATRICES = ("ldmatrix", "stmatrix")
_ROW = 128  # bits of a row of a matrix, whose address a thread gives


def without_its_copy(event: Event) -> tuple[TensorFact, TensorFact, TiledCopy] | None:
    """Registers and shared memory that a plain copy takes one by one, as the two sides of one ldmatrix or stmatrix.

    The thread's part of shared memory are the rows that it gives the addresses of, its registers have elements of all
    rows. A part that has the elements of the registers (``partition_D`` of a load) does not begin with a whole row.
    """
    if event.kind != "copy" or event.tiled is not None or len(event.operands) != len("SD"):
        return None
    for registers, memory in (event.operands, event.operands[::-1]):
        tiled = registers.source
        if not isinstance(tiled, TiledCopy) or tiled.atom.kind not in _MATRICES or memory.source != tiled:
            continue
        if (registers.space, registers.provenance) != ("rmem", "retile") or memory.space != "smem":
            continue
        if memory.provenance == "partition" and _begins_with_a_row(memory):
            return registers, memory, tiled
    return None


def _begins_with_a_row(memory: TensorFact) -> bool:
    """The first mode, an instruction's, is 128 bits that lie side by side."""
    plain = memory.layout.b if isinstance(memory.layout, ComposedLayout) else memory.layout
    if not isinstance(plain, Layout) or memory.dtype is None or memory.dtype.bits is None:
        return False
    try:
        first = coalesce(structure.layout(plain, 0))
    except (CuteError, UndecidedError):
        return False
    if not isinstance(first, Layout) or not isinstance(first.shape, (int, Dyn)) or first.stride != 1:
        return False
    many = known_value(first.shape)
    return many is not None and many * memory.dtype.bits >= _ROW


__all__ = ["without_its_copy"]
