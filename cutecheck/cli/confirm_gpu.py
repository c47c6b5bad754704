"""``cutecheck confirm --tier gpu``: copies and MMAs of the checked code, run as reference kernels on a GPU."""

from __future__ import annotations

import argparse
import html
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from cutecheck.cli.confirm_places import Places
from cutecheck.cli.confirm_tiers import Judged, Request, TierOutcome, interruption
from cutecheck.cli.output import Out, dump, unwritten

if TYPE_CHECKING:
    from cutecheck.config import Settings
    from cutecheck.exec.gpu.tier import EventResult, FindingResult, GpuReport

FORMATS = ("full", "concise", "json", "junit", "sarif", "html")
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def run(arguments: argparse.Namespace, environment: dict[str, str], places: Places, settings: Settings) -> int:
    """The exit code: 5 where a measurement contradicts what was found. Raises ValueError for a place with nothing."""
    from cutecheck.engine.run import blocking, check, inputs
    from cutecheck.engine.status import Exit
    from cutecheck.exec.child import stoppable
    from cutecheck.exec.gpu import tier
    from cutecheck.exec.gpu.devices import find_bench
    from cutecheck.report.concise import error_line

    reports = _reports(arguments)
    given = inputs(arguments.paths)
    report = check(given, settings)
    if not given.missing:
        places.require(report.facts, report.findings)
    facts = replace(report.facts, events=tuple(e for e in report.facts.events if places.hold(e.span)))
    findings = tuple(f for f in report.findings if places.hold(f.span))
    with stoppable() as stopped:
        bench = find_bench(environment, arguments.counters)
        if isinstance(bench, str):
            arch = next(iter(settings.arch), "sm_90a")
            made = tier.unavailable(facts, findings, arch, bench)
        else:
            made = tier.confirm(facts, findings, bench, _folders(map(Path, arguments.paths)))
        interrupted = interruption(stopped.is_set())
    for kind, file in reports:
        try:
            with Out(file) as out:
                out.write(_RENDER[kind](made))
        except OSError as error:
            return unwritten(file, error, arguments.output_format == "json")
    for unread in (*report.errors, *interrupted):
        print(error_line(unread), file=sys.stderr)
    if interrupted or blocking(report.errors, given):
        return Exit.ERROR
    if facts.files == 0 and not report.errors:
        print(f"cutecheck: no C++, CUDA or Python sources in {', '.join(arguments.paths)}", file=sys.stderr)
        return Exit.NO_INPUTS
    if made.contradicted:
        return Exit.CONTRADICTED
    left = made.unavailable or any(r.status == "unavailable" for r in made.events)
    return Exit.FINDINGS if left and arguments.unavailable == "error" else Exit.CLEAN


def _folders(paths: Iterable[Path]) -> list[Path]:
    """What the paths in findings are relative to."""
    return list(dict.fromkeys(p if p.is_dir() else p.parent for p in paths))


def _reports(arguments: argparse.Namespace) -> list[tuple[str, str | None]]:
    """(format, file) of every report; ValueError for an unknown format or no file."""
    out: list[tuple[str, str | None]] = [(arguments.output_format, arguments.output_file)]
    for text in arguments.output:
        kind, _, file = text.partition("=")
        if kind not in FORMATS or not file:
            raise ValueError(f"--output {text}: expected FORMAT=FILE with a format of {', '.join(FORMATS)}")
        out.append((kind, file))
    return out


def outcome(request: Request) -> TierOutcome:
    """The tier among others, or after a check."""
    from cutecheck.exec.gpu import tier
    from cutecheck.exec.gpu.devices import find_bench

    bench = find_bench(request.environment, request.arguments.counters)
    if isinstance(bench, str):
        arch = next(iter(request.settings.arch), "sm_90a")
        made = tier.unavailable(request.facts, request.findings, arch, bench)
    else:
        made = tier.confirm(request.facts, request.findings, bench, _folders(request.paths))
    judged = tuple(Judged(e.event.span, e.event.arch, e.status, e.reason) for e in made.events)
    left = bool(made.unavailable) or any(e.status == "unavailable" for e in made.events)
    findings = {f.finding: (f.status, f.reason) for f in made.findings}
    lines = _text(made, True), _text(made, False)
    return TierOutcome("gpu", lambda full: iter(lines[not full].splitlines()), _document(made), judged, left, findings)


def _rows(report: GpuReport) -> Iterator[tuple[str, str, str, EventResult | FindingResult]]:
    """(place, what, reason, result) of every event and finding."""
    for e in report.events:
        yield str(e.event.span), f"{e.event.kind} {e.event.callee}", e.reason, e
    for f in report.findings:
        yield str(f.finding.span), f"{f.finding.code} {f.finding.name}", f.reason, f


_TOOLS = {"ncu": "Nsight Compute", "cupti": "CUPTI", "cycles": "timing (lower confidence)"}


def _model(report: GpuReport) -> str:
    """How far the report can be trusted: the evidence of the access model, and what measured the wavefronts."""
    said = f"access model of {report.arch}: {report.evidence}"
    if report.devices:
        tools = ", ".join(_TOOLS[t] for t in report.tools) or "not measured"
        said += f"; wavefronts by {tools}; {report.devices} GPU{'s' if report.devices > 1 else ''}"
    return said


def _text(report: GpuReport, full: bool) -> str:
    from cutecheck.report.text import safe

    lines = []
    for place, what, reason, result in _rows(report):
        lines.append(safe(f"{place}: {result.status} {what}" + (f": {reason}" if reason else "")))
        measured = getattr(result, "measured", None)
        if full and measured is not None:
            lines += [
                f"    {c.name}: predicted {c.predicted}"
                + (f" to {c.most}" if c.most else "")
                + f", measured {c.measured}"
                for c in measured.counted
            ]
            if measured.no_counters:
                lines.append(safe(f"    no counters: {measured.no_counters}"))
    for name, counts in report.totals().items():
        lines.append(f"{name}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    lines.append(_model(report))
    if report.unavailable:
        lines.append(safe(f"GPU tier unavailable: {report.unavailable}"))
    return "".join(line + "\n" for line in lines)


def _json(report: GpuReport) -> str:
    return dump(_document(report))


def _document(report: GpuReport) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "tier": "gpu",
        "arch": report.arch,
        "access_model": report.evidence,
        "devices": report.devices,
        "tools": list(report.tools),
        "unavailable": report.unavailable,
        "events": [_event(e) for e in report.events],
        "findings": [
            {"code": f.finding.code, "path": f.finding.span.file, "line": f.finding.span.line, "status": f.status,
             "severity": f.finding.severity, "reason": f.reason}
            for f in report.findings
        ],
        "summary": report.totals(),
    }  # fmt: skip


def _event(e: EventResult) -> dict[str, Any]:
    out: dict[str, Any] = {
        "event_id": e.event.event_id, "path": e.event.span.file, "line": e.event.span.line, "kind": e.event.kind,
        "status": e.status, "reason": e.reason,
    }  # fmt: skip
    if e.measured is not None:
        out |= {
            "outcome": e.measured.outcome,
            "checks": list(e.measured.checks),
            "counters": [
                {"name": c.name, "predicted": c.predicted, "most": c.most, "measured": c.measured}
                for c in e.measured.counted
            ],
            "tool": e.measured.tool,
            "no_counters": e.measured.no_counters,
        }
    return out


def _junit(report: GpuReport) -> str:
    from cutecheck.report.text import safe

    suite = Xml.Element("testsuite", name="cutecheck confirm gpu")
    counts = {"failure": 0, "skipped": 0}
    for place, what, reason, result in _rows(report):
        case = Xml.SubElement(suite, "testcase", name=safe(f"{what} {place}"), classname=safe(place.partition(":")[0]))
        tag = {"contradicted": "failure", "unavailable": "skipped"}.get(result.status)
        if tag:
            Xml.SubElement(case, tag, message=safe(reason))
            counts[tag] += 1
    suite.attrib |= {"tests": str(len(suite)), "failures": str(counts["failure"]), "skipped": str(counts["skipped"])}
    Xml.SubElement(suite, "system-out").text = safe(_model(report))
    root = Xml.Element("testsuites", name="cutecheck")
    root.append(suite)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _sarif(report: GpuReport) -> str:
    kinds = {"confirmed": ("pass", "none"), "contradicted": ("fail", "error"), "unavailable": ("notApplicable", "none")}
    results = []
    for _, what, reason, result in _rows(report):
        kind, level = kinds[result.status]
        span = result.event.span if hasattr(result, "event") else result.finding.span
        region = {"startLine": span.line, "startColumn": span.column}
        place = {"artifactLocation": {"uri": span.file}, "region": region}
        results.append({
            "ruleId": "gpu-confirmation", "kind": kind, "level": level,
            "message": {"text": f"{what}: {result.status}" + (f": {reason}" if reason else "")},
            "locations": [{"physicalLocation": place}],
        })  # fmt: skip
    driver = {"name": "cutecheck", "rules": [{"id": "gpu-confirmation", "name": "GpuConfirmation"}]}
    properties = {"arch": report.arch, "accessModel": report.evidence, "tools": list(report.tools)}
    run = {"tool": {"driver": driver}, "results": results, "properties": properties}
    return dump({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def _html(report: GpuReport) -> str:
    cells = "".join(
        "<tr class='{0}'><td>{1}</td><td>{2}</td><td>{0}</td><td>{3}</td></tr>\n".format(
            result.status, *(html.escape(x) for x in (place, what, reason))
        )
        for place, what, reason, result in _rows(report)
    )
    head = html.escape(f"{_model(report)}. {report.unavailable}")
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>cutecheck: GPU confirmation</title>\n"
        "<style>body{font:14px sans-serif}td,th{text-align:left;padding:2px 8px}.contradicted{background:#fdd}"
        f".confirmed{{background:#dfd}}</style></head><body>\n<h1>GPU confirmation</h1><p>{head}</p>\n"
        f"<table><tr><th>place</th><th>what</th><th>status</th><th>why</th></tr>\n{cells}</table></body></html>\n"
    )


_RENDER: dict[str, Callable[[GpuReport], str]] = {
    "full": lambda r: _text(r, True),
    "concise": lambda r: _text(r, False),
    "json": _json,
    "junit": _junit,
    "sarif": _sarif,
    "html": _html,
}
