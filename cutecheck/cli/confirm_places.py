"""``FILE:LINE`` arguments of ``cutecheck confirm``: what is held against the real CuTe is what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecheck.facts import Facts, Span
    from cutecheck.findings import Finding

_PLACE = re.compile(r"(.+):(\d+)")


@dataclass(frozen=True, slots=True)
class Places:
    """(argument, line) of each ``FILE:LINE``; ``whole``: other files or folders were named without a line."""

    asked: tuple[tuple[str, int], ...]
    whole: bool

    def hold(self, *spans: Span) -> bool:
        """Whether a fact at these spans of one file was asked for."""
        of_file = [line for name, line in self.asked if Path(name).name == Path(spans[0].file).name]
        if not of_file:
            return self.whole or not self.asked
        first, last = min(s.line for s in spans), max(s.end_line for s in spans)
        return any(first <= line <= last for line in of_file)

    def require(self, facts: Facts, findings: Iterable[Finding] = ()) -> None:
        """Raises ValueError for a place at which nothing stands that any tier could confirm."""
        spans = [*_spans(facts), *((f.span,) for f in findings)]
        for name, line in self.asked:
            own = [s for s in spans if Path(s[0].file).name == Path(name).name]
            if not any(Places(((name, line),), False).hold(*s) for s in own):
                near = min((s[0].line for s in own), key=lambda n: abs(n - line), default=None)
                hint = f"; the closest is at line {near}" if near else ""
                raise ValueError(f"{name}:{line}: no configuration, copy or gemm stands here{hint}")


def places(paths: Sequence[str]) -> tuple[list[str], Places]:
    """Paths without their ``:LINE``, and the places that were asked for."""
    names: dict[str, None] = {}
    asked: list[tuple[str, int]] = []
    whole = False
    for path in paths:
        match = None if Path(path).exists() else _PLACE.fullmatch(path)
        if match:
            asked.append((match[1], int(match[2])))
        else:
            whole = True
        names[match[1] if match else path] = None
    return list(names), Places(tuple(asked), whole)


def _spans(facts: Facts) -> Iterable[tuple[Span, ...]]:
    yield from ((s.span, s.call_span) for s in facts.sites)
    yield from ((e.span,) for e in facts.events)
    yield from ((c.span,) for c in facts.calls)
