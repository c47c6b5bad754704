"""What the author of the scanned code guarantees."""

from __future__ import annotations

from typing import Literal

from cutecheck.facts.span import Span
from cutecheck.model.ints import Condition
from cutecheck.records import record

Origin = Literal["static_assert", "assert", "contract", "config", "launch-bounds", "guard"]


@record(frozen=True, slots=True)
class Hypothesis:
    """A condition that dominates a site; ``assert`` and ``contract`` origins hold at run time only."""

    condition: Condition
    span: Span | None
    origin: Origin
    scope: str = ""
