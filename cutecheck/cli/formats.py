"""Every format ``check`` writes, by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from cutecheck.report.job import Job, RuleInfo

FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "rdjson")
TEXT = ("full", "concise")


@dataclass(frozen=True, slots=True)
class Style:
    """What the command line asks of the formats for people: what unknowns do, proofs, counts by rule, shown paths."""

    unknown: str
    show_proofs: bool = False
    statistics: bool = False
    near: Callable[[str], str] = str


def write(name: str, job: Job, style: Style, out: TextIO) -> None:
    """Write the job in one format."""
    if name == "full":
        from cutecheck.report import full, statistics, terminal
        from cutecheck.report.relocate import relocate

        lines = [*full.render(relocate(job.report, style.near), style.unknown, style.show_proofs)]
        if style.statistics:
            lines += statistics.render(job)
        terminal.write([replace(line, text=_inert(line.text)) for line in lines], out)
    elif name == "concise":
        from cutecheck.report import concise, statistics
        from cutecheck.report.relocate import relocate

        texts = [*concise.render(relocate(job.report, style.near), style.unknown)]
        if style.statistics:
            texts += [line.text for line in statistics.render(job)]
        out.writelines(_inert(text) + "\n" for text in texts)
    else:
        out.write(_machine(name, style)(job))


def _inert(line: str) -> str:
    """A line that the log of a GitHub workflow does not take for a command, whatever name a file has."""
    bare = line.lstrip()
    if bare.startswith("::") and not bare.startswith(":::"):
        indent = line[: len(line) - len(bare)]
        line = f"{indent}{'| ' if indent else './'}{bare}"
    return line.replace("##[", "##(") if os.environ.get("GITHUB_ACTIONS") else line


def _machine(name: str, style: Style) -> Callable[[Job], str]:
    if name == "json":
        from cutecheck.cli.output import dump
        from cutecheck.report.json import check_json

        return lambda job: dump(check_json(job.report))
    if name == "json-lines":
        from cutecheck.report import jsonl

        return jsonl.render
    if name == "sarif":
        from cutecheck.report import sarif

        return sarif.render
    if name == "github":
        from cutecheck.report import github

        return lambda job: github.render(job, style.unknown)
    if name == "gitlab":
        from cutecheck.report import gitlab

        return gitlab.render
    if name == "junit":
        from cutecheck.report import junit

        return lambda job: junit.render(job, style.unknown)
    from cutecheck.report import rdjson

    return rdjson.render


def rule_infos() -> tuple[RuleInfo, ...]:
    """Every rule as the reports describe it."""
    from cutecheck.report.job import RuleInfo
    from cutecheck.rules import RULES, documentation

    docs = [(rule, documentation(rule)) for rule in RULES]
    return tuple(
        RuleInfo(r.code, r.name, r.family, r.severity, r.confidence, doc.summary, doc.sections) for r, doc in docs
    )
