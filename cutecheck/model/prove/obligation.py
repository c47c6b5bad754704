"""Obligations, verdicts and their evidence: pure data, JSON-serialisable."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Literal, TypeAlias, Union

from cutecheck.model.ints import Condition
from cutecheck.records import record


class Verdict(Enum):
    """The answer to one obligation."""

    PROVED = "proved"  # two engines with disjoint code agree and the hypotheses are satisfiable
    REFUTED = "refuted"  # a witness, replayed by plain integer evaluation
    UNKNOWN = "unknown"  # with its reason and the largest scope that was proved
    VACUOUS = "vacuous"  # the hypotheses contradict each other
    DISAGREE = "disagree"  # engines differ: an internal error with its own exit code
    NOT_APPLICABLE = "not_applicable"  # the property has no meaning here
    ASSUMED = "assumed"  # the goal follows from one hypothesis alone


@record(frozen=True, slots=True)
class FiniteSet:
    values: tuple[int, ...]


@record(frozen=True, slots=True)
class Multiple:
    """Multiples of ``of`` between ``lo`` and ``hi`` (None: unbounded)."""

    of: int
    lo: int | None = None
    hi: int | None = None


@record(frozen=True, slots=True)
class Range:
    lo: int | None = None
    hi: int | None = None


ParamDomain: TypeAlias = Union[FiniteSet, Multiple, Range]


@record(frozen=True, slots=True)
class Obligation:
    """A property of model objects that must hold for all parameters in their domains.

    ``objects`` is the property's own frozen payload (see ``properties``); ``subjects`` are fact ids. ``span`` is
    opaque here: the model does not know sources, rules put a ``facts.Span`` in it.
    """

    id: str
    property: str
    subjects: tuple[str, ...]
    objects: object
    params: tuple[tuple[str, ParamDomain], ...] = ()
    hypotheses: tuple[Condition, ...] = ()
    assumptions: tuple[str, ...] = ()
    scope: str = ""
    arch: str = ""
    span: object | None = None


@record(frozen=True, slots=True)
class Witness:
    """A concrete counterexample: numbers by name, and a one-line account in the user's words."""

    summary: str
    values: tuple[tuple[str, str | int], ...] = ()
    lines: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class EngineRun:
    engine: str
    answer: Literal["holds", "fails", "unknown"]
    milliseconds: float
    detail: str = ""


@record(frozen=True, slots=True)
class Outcome:
    """The verdict on one obligation with its evidence.

    ``measure`` holds the numbers a message needs (wavefronts, ideal, excess, missed, doubled ...). ``question`` is the
    hash of what was asked, equal where one answer served several obligations; empty without a cache.
    """

    obligation: Obligation
    verdict: Verdict
    runs: tuple[EngineRun, ...] = ()
    witness: Witness | None = None
    reason: str = ""
    scope: str = ""
    assumptions: tuple[str, ...] = ()
    reductions: tuple[str, ...] = ()
    measure: tuple[tuple[str, int], ...] = field(default=())
    question: str = ""

    def number(self, name: str) -> int | None:
        return dict(self.measure).get(name)
