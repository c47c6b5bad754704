"""A kernel run once more for what it takes and leaves, whatever orders it: tiles of global memory that its copies take,
and registers and shared memory that it reads and nothing writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import NOT_WALKED, Span, TensorFact
from cutecheck.facts.replayed import Place, Step
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Numbers
from cutecheck.source.eval.record.running import MORE_PASSES
from cutecheck.source.eval.record.unwritten import Unwritten
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

MOST_COST = 64_000  # steps of the evaluation
_LEAST = 384  # of run-time numbers: some tiles, a multiple of most of their extents
FEW_TILES = 96  # where they are too many, of numbers in memory


class TileWalk(Replaying):
    """The run of all threads of a kernel, of whose barriers and asynchronous instructions not all need be known.

    Its steps are copies of global memory and products, with places in global memory and those stages in shared memory
    that do not exist, and what it reads that nothing wrote.
    """

    unwritten: Unwritten

    def __init__(self, m: Machine, given: bool = False, numbers: Numbers | None = None) -> None:
        super().__init__(m, given, least=_LEAST, passes=MORE_PASSES, numbers=numbers)
        self.foresees = True
        self.unwritten = Unwritten(self, self.add)

    def passed_over(self, span: Span, buffers: dict[str, str], apart: bool = False) -> None:
        self.unwritten.passed_over(buffers)

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        self.unwritten.overwritten(name, facts)

    def follows_elements(self) -> bool:
        return False

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        self.touched(fact.buffer or "", fact.space)

    def named(self, way: str, arguments: tuple[Value, ...], span: Span, where: str) -> None:
        """Whom it holds back is not asked."""

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        if what == NOT_WALKED:
            self.end()

    def barrier(
        self, kind: str, buffer: str, span: Span, where: str, arguments: tuple[Value, ...],
        arrives: int | None = None, commits: bool = False,
    ) -> None:  # fmt: skip
        """Whom it holds back is not asked."""

    def pipelined(self, name: str, of: str, span: Span, where: str, keywords: tuple[tuple[str, object], ...]) -> None:
        """Nor here."""

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact],
        past: list[tuple[int, int] | None], predicated: bool, depth: int, signals: str = "", adds: bool | None = None,
    ) -> None:  # fmt: skip
        """A copy or gemm."""
        if not all(self.under):
            self.end()
        self.unwritten.happened(kind, span, where, tiled, facts, self.at.get(depth - 1))
        places = tuple(
            Place(f.name, f.span, f.space, f.buffer or "", 0, past=end)
            for f, end in zip(facts, past, strict=True) if f.space == "gmem" or (f.space == "smem" and end is not None)
        )  # fmt: skip
        if not places and kind != "gemm":
            return
        self.slices.uses(facts)
        self.add(Step(kind, span, where, name, None, places, False, bool(self.under) or predicated))
