"""Confirmations: what the real CuTe said about an extracted fact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutecheck.facts import Site

# How a fact was held against CuTe, the strongest first: the author's own name in the author's own file; the recorded
# call, made again from its arguments; the value itself, spelled as a type.
Route = Literal["named", "rebuilt", "spelled"]
Status = Literal["confirmed", "contradicted", "unavailable"]
ROUTES: tuple[Route, ...] = ("named", "rebuilt", "spelled")


@dataclass(frozen=True, slots=True)
class Difference:
    """A printed field in which CuTe's answer differs; a text is None where that side has no such field."""

    field: str
    ours: str | None
    cute: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way of asking CuTe. ``reason`` says why there is no answer, empty when there is one.

    ``point``: numbers put in for run-time names, where the value is a formula.
    """

    route: Route
    status: Status
    reason: str = ""
    differences: tuple[Difference, ...] = ()
    point: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The result for one site: contradicted by any attempt, else confirmed by the strongest that answered."""

    site: Site
    attempts: tuple[Attempt, ...]
    note: str = ""  # what the confirmation does not cover

    @property
    def status(self) -> Status:
        found = {a.status for a in self.attempts}
        return "contradicted" if "contradicted" in found else "confirmed" if "confirmed" in found else "unavailable"

    @property
    def routes(self) -> tuple[Route, ...]:
        """The routes that gave this status."""
        return tuple(a.route for a in self.attempts if a.status == self.status)

    @property
    def reason(self) -> str:
        """Why nothing was confirmed, each different reason once; empty otherwise."""
        if self.status != "unavailable":
            return ""
        return "; ".join(dict.fromkeys(a.reason for a in self.attempts if a.reason))
