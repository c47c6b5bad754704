"""``cutecheck baseline write|update|prune PATH...``: the findings that a gate is to let pass."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from cutecheck.cli.check import add_rule_options, settings_from
from cutecheck.cli.options import add_source_options
from cutecheck.cli.output import fail, unwritten

_ACTIONS = {
    "write": "write a new baseline of all findings",
    "update": "make the baseline say what is there now, within the given paths",
    "prune": "remove entries whose finding is gone; add none",
}


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser("baseline", help="keep known findings apart", description="Known findings of a tree.")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, text in _ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)
        action.add_argument(
            "--baseline", metavar="FILE", help="the file (of the configuration, cutecheck-baseline.json)"
        )
        add_source_options(action)
        add_rule_options(action)
        action.set_defaults(run=run, action=name)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.engine import baseline
    from cutecheck.engine.run import blocking, check, inputs
    from cutecheck.engine.sources import Project, SourceLines
    from cutecheck.engine.status import Exit
    from cutecheck.findings import UnknownRuleError
    from cutecheck.report.concise import error_line
    from cutecheck.rules import selected

    try:
        settings = settings_from(arguments)
        file = Path(arguments.baseline or settings.baseline or baseline.DEFAULT)
        if arguments.action == "write" and file.exists():
            return fail(f"{file}: exists; `cutecheck baseline update` changes it")
        old = () if arguments.action == "write" else baseline.read(file)
        given = inputs(arguments.paths)
        report = check(given, replace(settings, baseline=""), arguments.timeout)
        codes = [r.code for r in selected(settings.select, settings.ignore, settings.extend_select)]
    except (ConfigError, UnknownRuleError) as error:
        return fail(str(error))
    if blocking(report.errors, given) or report.failures:
        for problem in (*report.errors, *report.failures):
            fail(error_line(problem))
        return Exit.ERROR
    if report.facts.files == 0:
        fail(f"no C++, CUDA or Python sources in {', '.join(arguments.paths)}")
        return Exit.NO_INPUTS
    place = Project(SourceLines(given.paths)).place
    within = baseline.scope(given.paths, report, place, codes)
    gone = set(baseline.stale(old, report, place, within))
    kept = [e for e in old if e not in gone]
    if arguments.action != "prune":
        now = baseline.entries_of(report, place)
        kept = [*(e for e in kept if not within.covers(e)), *now]
    try:
        baseline.write(file, kept)
    except OSError as error:
        return unwritten(file, error)
    marks = {e.fingerprint for e in old}
    added = sum(e.fingerprint not in marks for e in kept)
    print(f"{file}: {len(kept)} known, {added} added, {len(gone)} removed")
    return Exit.CLEAN
