"""What the pre-pass hands to the lowering."""

from __future__ import annotations

from cutecheck.records import record


@record(frozen=True, slots=True)
class Blank:
    """Text ``begin .. end`` that was blanked but carries a fact."""

    kind: str
    begin: int
    end: int


@record(frozen=True, slots=True)
class Regular:
    """``text`` is ASCII and as long as what it was made from, character by character."""

    text: str
    blanks: tuple[Blank, ...]
