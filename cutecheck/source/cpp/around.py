"""Functions around one instruction: what it does is a step of the function that calls them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.cpp.lower.instructions import SPECIAL
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Frame

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

SILENT = ("mapa", "elect", "other", "canceled", *SPECIAL)  # operations of assembly that do nothing with a barrier


@contextmanager
def as_step(m: Machine, span: Span) -> Iterator[tuple[Span, list[str]]]:
    """Where the step is one of its function, and the functions around that do nothing else."""
    frame = m.recorder.frame
    within: list[Span] = []
    around: list[str] = []
    while frame is not None and frame.caller is not None and frame.called is not None and _only(frame):
        assert frame.function is not None
        within.append(frame.function.full_span)
        around.append(frame.function.name)
        frame, span = frame.caller, frame.called
    if frame is None or not within:
        yield span, around
        return
    with m.recorder.outside(frame, within):
        yield span, around


def _only(frame: Frame) -> bool:
    """A function that does one thing with a barrier, and asks no condition but whether that is done."""
    fn = frame.function
    if fn is None or fn.body is None or "kernel" in fn.flags or not frame.kernel:
        return False
    acts = [s for s in fn.body.get().body if not isinstance(s, (ir.Local, ir.Return, ir.Assert)) and not _nothing(s)]
    if len(acts) == 1 and isinstance(acts[0], ir.Loop):
        return _one_in(acts[0])
    return len(acts) <= 1 and not any(isinstance(s, ir.If) for s in acts)


def _one_in(loop: ir.Loop) -> bool:
    """A loop around one step, perhaps until it is done: not one over tiles, in which a role does all that it does."""
    acts = [s for s in loop.body.body if not isinstance(s, (ir.Local, ir.Assert, ir.If)) and not _nothing(s)]
    counts = loop.kind == "foreach" or loop.step is not None
    return len(acts) <= (1 if counts else 2) and not any(isinstance(s, ir.Loop) for s in acts)


def _nothing(stmt: ir.Stmt) -> bool:
    """Assembly that does nothing with a barrier."""
    opaque = stmt.expr if isinstance(stmt, ir.ExprStmt) else None
    if not isinstance(opaque, ir.Opaque) or opaque.operations is None:
        return False
    return all(one.name in SILENT for one in opaque.operations)


__all__ = ["SILENT", "as_step"]
