"""Probes of copies without a TiledCopy: what each thread has, as the event says it."""

from __future__ import annotations

import re
from typing import Any

from cutecheck.exec import sample
from cutecheck.exec.gpu.from_facts_copies import NoProbeError
from cutecheck.exec.gpu.plain import PlainCopy
from cutecheck.facts import Event, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD
from cutecheck.model.tiled import TiledCopy

_TEXT = re.compile(r"[\d\s+*/%&|^<>()-]*")


def plain_copy(event: Event, numbers: dict[str, int]) -> tuple[PlainCopy, list[Layout]]:
    """The copy of an event, and what a thread has of source and destination; NoProbeError where it is not known."""
    atom = event.tiled.atom if isinstance(event.tiled, TiledCopy) else event.tiled
    if event.callee.rpartition("::")[2] != "copy" or (atom is not None and not isinstance(atom, CopyAtom)):
        raise NoProbeError("a copy without a TiledCopy: there is no tile to partition")
    if atom is not None and atom.kind not in ("universal", "auto", "cp_async"):
        raise NoProbeError(f"a copy by {atom.op} without a tile that it partitions")
    if any(not g.alike and not g.host for g in event.guards):
        raise NoProbeError("it stands under a condition that threads may answer differently")
    operands = event.operands[:2]
    starts = tuple(None if t.space == "rmem" else _start(t, numbers) for t in operands)
    threads = known_value(event.threads) if event.threads is not None else None
    used = {v for s in starts if s is not None for v in s.variables()}
    if threads is None or any(v.domain.bounds()[1] not in (None, threads - 1) for v in used):
        raise NoProbeError("the threads of its block are not counted by `threadIdx.x` alone")
    types = {t.dtype for t in operands}
    dtype = operands[0].dtype
    if len(types) != 1 or dtype is None:
        raise NoProbeError("it converts elements")
    static = all(isinstance(t.layout, Layout) and it.is_static((t.layout.shape, t.layout.stride)) for t in operands)
    made = PlainCopy(threads, (starts[0], starts[1]), static, dtype, atom)
    return made, [_held(t, numbers) for t in operands]


def _held(tensor: TensorFact, numbers: dict[str, int]) -> Layout:
    layout = tensor.layout
    if not isinstance(layout, Layout) or any(_of_threads(v.name) for v in sample.names(layout)):
        raise NoProbeError(f"what a thread has of `{tensor.name}` is no layout alike in all threads")
    made: Any = sample.at(layout, numbers)
    assert isinstance(made, Layout)
    return made


def _start(tensor: TensorFact, numbers: dict[str, int]) -> Expr:
    """Where a thread begins; what is added for all threads alike, blocks and passes of loops, is 0."""
    if not isinstance(tensor.offset, (int, Dyn)):
        raise NoProbeError(f"where a thread begins in `{tensor.name}` is not known")
    whole = as_expr(tensor.offset)
    own = ex.Expr(tuple(t for t in whole.terms if any(v.name == THREAD for v in ex.Expr((t,)).variables())))
    strides = {v.name for v in own.variables()}
    others = {v.name: numbers[v.name] if v.name in strides else 0 for v in whole.variables() if v.name != THREAD}
    if any(_of_threads(name) for name in others):
        raise NoProbeError(f"where a thread begins in `{tensor.name}` depends on more than `threadIdx.x`")
    made = as_expr(sample.at(Dyn(whole), others))
    if not _TEXT.fullmatch(str(made).replace(THREAD, "")):
        raise NoProbeError(f"where a thread begins in `{tensor.name}` has no text in C++: {made}")
    return made


def _of_threads(name: str) -> bool:
    return per_thread(name) or name.startswith("threadIdx")


__all__ = ["plain_copy"]
