"""Copies by ``cp.async`` of the Python DSL, which write zeros where their predicate is false.

``cute.copy(..., pred=p)`` of a ``CopyG2SOp`` becomes an instruction with a source of no bytes (PTX ISA, cp.async: the
rest of the destination is filled with zeros). In C++ ``copy_if`` leaves the instruction out.
"""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Event
from cutecheck.rules.derive.accesses import atom_of


def fills_zeros(event: Event) -> bool:
    """Whether the copy writes all of its destination, whatever its predicate says."""
    atom = atom_of(event.tiled)
    return event.predicate is not None and event.span.is_python and atom is not None and "CP_ASYNC" in atom.op


def as_written(event: Event) -> Event:
    """The copy as its destination sees it: without the predicate where that keeps nothing from being written."""
    return replace(event, predicate=None, predicated=False) if fills_zeros(event) else event
