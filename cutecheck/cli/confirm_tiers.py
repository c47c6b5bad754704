"""The tiers one after the other, each with its text, its JSON and what it says of findings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutecheck.config import Settings
    from cutecheck.facts import Event, Facts, SourceError, Span
    from cutecheck.findings import Confirmed, Finding


@dataclass(frozen=True, slots=True)
class Request:
    """What is confirmed, and with what. ``environment`` names headers and compilers."""

    facts: Facts
    findings: tuple[Finding, ...]
    paths: tuple[Path, ...]
    settings: Settings
    environment: Mapping[str, str]
    arguments: argparse.Namespace


@dataclass(frozen=True, slots=True)
class Judged:
    """One fact's result, for findings about its place or about a call that uses its ``value``."""

    span: Span
    arch: str
    status: str
    reason: str
    value: object = None


@dataclass(frozen=True, slots=True)
class TierOutcome:
    """One tier. ``left``: something resolved could not be confirmed. ``findings``: of the tier's own, by finding."""

    tier: str
    lines: Callable[[bool], Iterator[str]]
    document: dict[str, Any]
    judged: tuple[Judged, ...]
    left: bool
    findings: Mapping[Finding, tuple[str, str]] | None = None

    @property
    def contradicted(self) -> bool:
        own = self.findings or {}
        return any(j.status == "contradicted" for j in self.judged) or any(
            status == "contradicted" for status, _ in own.values()
        )

    def about(self, finding: Finding, events: Sequence[Event] = ()) -> tuple[str, str]:
        """(status, reason) of a finding: the tier's own, else that of what it rests on.

        It rests on the facts at its place and at places it names, and on the tiled objects and layouts that the copies
        and MMAs at its place use.
        """
        if self.findings is not None:
            return self.findings.get(finding, ("unavailable", "the tier says nothing of it"))
        used = [v for e in events if _same_arch(e.arch, finding) and _overlap(e.span, finding.span) for v in _values(e)]
        here = [j for j in self.judged if _at(j, finding)]
        here += [j for j in self.judged if j.value is not None and _same_arch(j.arch, finding) and j.value in used]
        for status in ("contradicted", "confirmed"):
            if found := next((j for j in here if j.status == status), None):
                what = "what it rests on" if status == "confirmed" else "what it rests on is not what CuTe does"
                return status, f"{what}: {found.reason}" if found.reason else what
        reason = next((j.reason for j in here if j.reason), "no configuration or call at its place was confirmed")
        return "unavailable", reason


def _values(event: Event) -> list[object]:
    """The tiled object, and the layouts of whole tensors, that a call uses."""
    layouts = [x for t in event.operands for x in (t.root_layout, t.tile_layout)]
    return [v for v in (event.tiled, *layouts) if v is not None]


def _same_arch(arch: str, finding: Finding) -> bool:
    return "" in (arch, finding.arch) or arch == finding.arch


def _at(j: Judged, finding: Finding) -> bool:
    return _same_arch(j.arch, finding) and any(
        _overlap(j.span, s) for s in (finding.span, *(r.span for r in finding.related))
    )


def _overlap(a: Span, b: Span) -> bool:
    return a.path == b.path and a.line <= b.end_line and b.line <= a.end_line


def prepared(
    arguments: argparse.Namespace, paths: Sequence[Path], settings: Settings
) -> tuple[Settings, dict[str, str]]:
    """Settings that follow the CuTe whose headers are compiled, and the environment that names those headers.

    Raises ConfigError for a compilation database that is none.

    ``--cutlass`` or ``CUTECHECK_CUTLASS``, else the headers that the tree itself is written against, else the wheel.
    A version that was asked for is never overruled.
    """
    from cutecheck.engine.cute_version import detect
    from cutecheck.engine.run import compile_flags
    from cutecheck.exec.headers import NoHeaders, find_headers

    named = {"CUTECHECK_CUTLASS": arguments.cutlass, "CUTECHECK_CXX": arguments.cxx}
    environment = {**os.environ, **{k: v for k, v in named.items() if v}}
    if not environment.get("CUTECHECK_CUTLASS"):
        flags = compile_flags(paths, settings)
        found = detect(paths, tuple(map(Path, (*settings.include, *(flags.include if flags is not None else ())))))
        include = None if found is None else found.header.parent.parent.resolve()
        if include is not None and (include / "cute/tensor.hpp").is_file():
            environment["CUTECHECK_CUTLASS"] = str(include)
    headers = find_headers(environment)
    if settings.cutlass_version or isinstance(headers, NoHeaders) or headers.version == "unknown":
        return settings, environment
    return replace(settings, cutlass_version=_modelled(headers.version)), environment


def _modelled(version: str) -> str:
    """The version, empty where it is not modelled: the reference is then followed."""
    from cutecheck.model.version import REFERENCE, parse_version

    try:
        return version if parse_version(version) <= REFERENCE else ""
    except ValueError:
        return ""


def confirmed(tiers: Sequence[str], request: Request) -> tuple[list[TierOutcome], tuple[SourceError, ...]]:
    """Every tier, in order; and what is to be said where an interrupt came: the rest is unavailable then."""
    from cutecheck.cli import confirm_dsl, confirm_gpu, confirm_host, confirm_isa
    from cutecheck.exec.child import stoppable

    made = {"host": confirm_host.outcome, "isa": confirm_isa.outcome, "dsl": confirm_dsl.outcome,
            "gpu": confirm_gpu.outcome}  # fmt: skip
    with stoppable() as stopped:
        return [made[t](request) for t in tiers], interruption(stopped.is_set())


def interruption(was: bool) -> tuple[SourceError, ...]:
    """What a report says of an interrupt."""
    from cutecheck.exec.child import INTERRUPTED
    from cutecheck.facts import SourceError

    return (SourceError("", INTERRUPTED),) if was else ()


def document(outcomes: Sequence[TierOutcome], errors: Sequence[SourceError]) -> dict[str, Any]:
    """The JSON document: of the one tier, or of all in a list."""
    listed = [
        {"path": e.path, "message": e.message, "line": e.span.line if e.span is not None else None} for e in errors
    ]
    if len(outcomes) == 1:
        return {**outcomes[0].document, "errors": listed}
    return {"schema_version": 1, "tiers": [o.document for o in outcomes], "errors": listed}


def lines(outcomes: Sequence[TierOutcome], errors: Sequence[SourceError], full: bool) -> Iterator[str]:
    """The text of all tiers, then what could not be read."""
    from cutecheck.report.concise import error_line

    for outcome in outcomes:
        if len(outcomes) > 1:
            yield f"== {outcome.tier}"
        yield from outcome.lines(full)
    yield from map(error_line, errors)


def with_confirmations(request: Request, outcomes: Sequence[TierOutcome]) -> tuple[Finding, ...]:
    """The findings, each with what every tier says of it."""
    events = request.facts.events
    return tuple(replace(f, confirmations=tuple(_confirmed(o, f, events) for o in outcomes)) for f in request.findings)


def _confirmed(outcome: TierOutcome, finding: Finding, events: Sequence[Event]) -> Confirmed:
    from cutecheck.findings import Confirmed

    status, reason = outcome.about(finding, events)
    return Confirmed(outcome.tier, status, reason)
