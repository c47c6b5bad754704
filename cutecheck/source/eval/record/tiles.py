"""A kernel run once more for the tiles of global memory alone: which of them its copies take, whatever orders them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, TensorFact
from cutecheck.facts.replayed import Place, Step
from cutecheck.source.eval.record.past import extent_names
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

MOST_PASSES = 520  # of one loop: those of long rows
MOST_COST = 40_000  # steps of the evaluation


class TileWalk(Replaying):
    """The run of all threads of a kernel of whose shared memory, barriers or WGMMAs not all is known.

    It has copies of global memory and products as its steps, the latter without places.
    """

    def __init__(self, m: Machine, given: bool = False) -> None:
        super().__init__(m, given, passes=MOST_PASSES)

    def passed_over(self, span: Span, buffers: dict[str, str]) -> None:
        """Registers are not followed."""

    def makes(self, buffer: str, span: Span) -> None:
        """Nor are they here."""

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        """Nor here."""

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        """Nor here."""

    def named(self, way: str, arguments: tuple[Value, ...], span: Span, where: str) -> None:
        """Whom it holds back is not asked."""

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        """Nor here."""

    def barrier(
        self, kind: str, buffer: str, span: Span, where: str, arguments: tuple[Value, ...],
        arrives: int | None = None, commits: bool = False,
    ) -> None:  # fmt: skip
        """Nor here."""

    def pipelined(self, name: str, of: str, span: Span, where: str, keywords: tuple[tuple[str, object], ...]) -> None:
        """Nor here."""

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact],
        past: list[tuple[int, int] | None], predicated: bool, depth: int, signals: str = "", adds: bool | None = None,
    ) -> None:  # fmt: skip
        """A copy or gemm: which tiles of global memory it takes."""
        if not all(self.under):
            self.end()
        places = tuple(
            Place(f.name, f.span, "gmem", f.buffer or "", 0, past=end)
            for f, end in zip(facts, past, strict=True) if f.space == "gmem"
        )  # fmt: skip
        if not places and kind != "gemm":
            return
        self.slices.extents.update(n for f in facts if f.space == "gmem" for n in extent_names(f.root_layout))
        self.add(Step(kind, span, where, name, None, places, False, bool(self.under) or predicated))
