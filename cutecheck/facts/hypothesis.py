"""What the author of the scanned code guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutecheck.facts.span import Span
from cutecheck.model.ints import Condition

Origin = Literal["static_assert", "assert", "contract", "config", "launch-bounds", "guard"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A condition that dominates a site; ``assert`` and ``contract`` origins hold at run time only."""

    condition: Condition
    span: Span | None
    origin: Origin
    scope: str = ""
