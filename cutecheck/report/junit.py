"""JUnit XML: a suite a file, a failed case a finding, an error a file that could not be read."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from cutecheck.report.data import summarise
from cutecheck.report.job import Alert, Job, message
from cutecheck.report.summary import summary_lines
from cutecheck.report.text import safe


def render(job: Job, unknown: str = "warn") -> str:
    """The document. Control characters, which XML cannot hold, are shown as ``\\xNN``."""
    root = Xml.Element("testsuites", name="cutecheck")
    suites: dict[str, Xml.Element] = {}

    def suite(path: str) -> Xml.Element:
        if path not in suites:
            suites[path] = Xml.SubElement(root, "testsuite", name=safe(path))
        return suites[path]

    for error in (*job.report.errors, *job.report.failures):
        place = job.place(error.path) if error.path else "cutecheck"
        line = f":{error.span.line}" if error.span else ""
        case = Xml.SubElement(suite(place), "testcase", name=f"error{line}", classname=safe(place))
        Xml.SubElement(case, "error", type="error", message=safe(error.message))
    for alert in job.alerts:
        _case(suite(alert.path), alert)
    if not suites:
        Xml.SubElement(suite("cutecheck"), "testcase", name="check", classname="cutecheck")
    for element in root:
        cases = list(element)
        counts = {"failure": 0, "error": 0}
        for case in cases:
            for result in case:
                counts[result.tag] += 1
        element.attrib |= {"tests": str(len(cases)), "failures": str(counts["failure"]), "errors": str(counts["error"])}
    last = Xml.SubElement(root[-1], "system-out")
    last.text = "\n".join(safe(line) for line in summary_lines(summarise(job.report), unknown))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(e.get(name, "0")) for e in root)))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _case(suite: Xml.Element, alert: Alert) -> None:
    finding, span = alert.finding, alert.finding.span
    name = f"{finding.code} {finding.name} {span.line}:{span.column}"
    case = Xml.SubElement(suite, "testcase", name=name, classname=safe(alert.path))
    case.set("line", str(span.line))
    failure = Xml.SubElement(case, "failure", type=finding.severity, message=safe(message(alert)))
    parts = [f"{alert.path}:{span.line}:{span.column}"]
    if finding.witness:
        parts += [f"witness: {finding.witness.summary}", *finding.witness.lines]
    if finding.help:
        parts.append(f"help: {finding.help}")
    failure.text = "\n".join(map(safe, parts))
