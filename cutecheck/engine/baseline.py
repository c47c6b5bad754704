"""Baselines: findings that are known, by fingerprints that do not depend on line numbers.

The file is JSON, one entry a place, sorted, so that it merges well. An entry also has the severity, because a finding
that got worse is not known any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from cutecheck.config import ConfigError
from cutecheck.facts import Span
from cutecheck.findings import Severity
from cutecheck.records import record
from cutecheck.report.data import Report, Suppressed
from cutecheck.report.job import RANK, Alert, Place, alerts
from cutecheck.rules.own import StaleBaseline

DEFAULT = "cutecheck-baseline.json"
VERSION = 1
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One known place; ``path`` is relative to the project."""

    path: str
    code: str
    fingerprint: str
    severity: Severity
    message: str


@record(frozen=True, slots=True)
class Scope:
    """What a run could have found: the project's paths it read, and its rules. Other entries are left alone."""

    reads: Callable[[str], bool]
    codes: frozenset[str]

    def covers(self, entry: Entry) -> bool:
        return entry.code in self.codes and self.reads(entry.path)


def scope(paths: Iterable[Path], report: Report, place: Place, codes: Iterable[str]) -> Scope:
    """The scope of a run over ``paths``; files that could not be read are outside, and those it does not report."""
    broken = {place(e.path) for e in report.errors if e.span is None and e.path}
    some = report.facts.reported
    reported = None if some is None else {place(p) for p in {*some}.difference(report.facts.unfinished)}
    given = [(PurePosixPath(_within(p, place)), p.is_dir()) for p in paths]

    def reads(path: str) -> bool:
        file = PurePosixPath(path)
        if path in broken or (reported is not None and path not in reported):
            return False
        return any(file == p or (folder and file.is_relative_to(p)) for p, folder in given)

    return Scope(reads, frozenset(codes))


def _within(path: Path, place: Place) -> str:
    return place(path.absolute().as_posix())


def read(path: Path) -> tuple[Entry, ...]:
    """The entries of a file. Raises ConfigError when it cannot be read or is no baseline."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path}: too large for a baseline")
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: no JSON") from None
    if not isinstance(document, dict) or document.get("cutecheck_baseline") != VERSION:
        raise ConfigError(f"{path}: no baseline of version {VERSION}")
    entries = document.get("entries")
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: 'entries' must be a list")
    return tuple(_entry(e, path) for e in entries)


def _entry(value: object, path: Path) -> Entry:
    names = [f.name for f in fields(Entry)]
    if not isinstance(value, dict) or sorted(value) != sorted(names):
        raise ConfigError(f"{path}: an entry must have {', '.join(names)}")
    if not all(isinstance(v, str) for v in value.values()) or value["severity"] not in get_args(Severity):
        raise ConfigError(f"{path}: an entry of '{value['path']}' has a wrong value")
    return Entry(**value)


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write the file as a whole. OSError when it cannot be written."""
    document = {"cutecheck_baseline": VERSION, "entries": [asdict(e) for e in sorted(entries)]}
    draft = path.with_name(f"{path.name}.tmp")
    draft.write_text(json.dumps(document, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
    draft.replace(path)


def entries_of(report: Report, place: Place) -> tuple[Entry, ...]:
    """An entry for each place of the report."""
    return tuple(_of(a) for a in alerts(report, place) if a.finding.code != StaleBaseline.code)


def _of(alert: Alert) -> Entry:
    finding = alert.finding
    return Entry(alert.path, finding.code, alert.fingerprint, finding.severity, " ".join(finding.message.split()))


def stale(entries: Iterable[Entry], report: Report, place: Place, within: Scope) -> tuple[Entry, ...]:
    """The entries within the scope that nothing in the report answers to."""
    found = {a.fingerprint for a in alerts(report, place)}
    return tuple(e for e in entries if e.fingerprint not in found and within.covers(e))


def with_baseline(report: Report, path: Path, place: Place, within: Scope) -> Report:
    """The report without the findings that the baseline knows, and with a finding for each stale entry.

    Raises ConfigError when the file cannot be used.
    """
    entries = read(path)
    known = {e.fingerprint: e for e in entries}
    silenced = {
        (a.finding.code, a.finding.span)
        for a in alerts(report, place)
        if (e := known.get(a.fingerprint)) and RANK[a.finding.severity] >= RANK[e.severity]
    }
    old = [f for f in report.findings if (f.code, f.span) in silenced]
    gone = stale(entries, report, place, within)
    lines = path.read_text(encoding="utf-8").split("\n") if gone else []
    rule = StaleBaseline()
    complaints = [
        rule.finding(
            _span(e, lines, path),
            f"no {e.code} in {e.path} any more: {e.message}",
            label="stale",
            help="remove it: cutecheck baseline prune",
        )
        for e in gone
        if StaleBaseline.code in within.codes
    ]
    return replace(
        report,
        findings=tuple(f for f in (*report.findings, *complaints) if (f.code, f.span) not in silenced),
        suppressed=(*report.suppressed, *(Suppressed(f, path.name, "baseline") for f in old)),
    )


def _span(entry: Entry, lines: list[str], path: Path) -> Span:
    number = next((n for n, text in enumerate(lines, 1) if entry.fingerprint in text), 1)
    column = max(lines[number - 1].find(entry.fingerprint), 0) + 1
    return Span(path.as_posix(), number, column, number, column + len(entry.fingerprint))
