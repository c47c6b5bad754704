"""A check as a gate sees it: the baseline and the base of a diff taken away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.baseline import scope, with_baseline
from cutecheck.engine.diffbase import base_of, base_paths, base_settings, compare, extract_tree
from cutecheck.engine.run import Inputs
from cutecheck.engine.sources import Project, SourceLines
from cutecheck.report.data import Report
from cutecheck.rules import selected

Checker = Callable[[Inputs, Settings], Report]


def gate(report: Report, given: Inputs, settings: Settings, diff_base: str | None, checker: Checker) -> Report:
    """The report with known findings set apart. ``checker`` runs the same check on the base. Raises ConfigError."""
    project = Project(SourceLines(given.paths))
    if settings.baseline:
        codes = [r.code for r in selected(settings.select, settings.ignore, settings.extend_select)]
        within = scope(given.paths, report, project.place, codes)
        report = with_baseline(report, Path(settings.baseline), project.place, within)
    if diff_base is None:
        return report
    base = base_of(diff_base, project.root)
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as folder:
        into = Path(folder).resolve()
        extract_tree(base, project.root, into)
        paths = tuple(base_paths(given.paths, project.root, into))
        sources = SourceLines(paths)
        changed = None if given.changed is None else tuple(base_paths(given.changed, project.root, into))
        before = checker(Inputs(paths, (), changed), base_settings(settings, project.root, into))
        there = Project(sources, into)
        return compare(report, project.place, before, there.place, base)
