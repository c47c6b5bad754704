"""``check --fix``, ``--unsafe-fixes`` and ``--diff``: what is said of fixes, and where they go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cutecheck.cli.output import fail

if TYPE_CHECKING:
    from cutecheck.config import Settings
    from cutecheck.engine.fixes import Applied, FixRun
    from cutecheck.engine.run import Inputs
    from cutecheck.report.data import Report


def add_fix_options(parser: argparse.ArgumentParser) -> None:
    """``--fix``, ``--unsafe-fixes``, ``--diff``."""
    fixes = parser.add_argument_group("fixes")
    fixes.add_argument("--fix", action="store_true", help="apply safe fixes; each is checked and proved again")
    fixes.add_argument(
        "--unsafe-fixes", action="store_true", help="apply also fixes that may change what is computed or laid out"
    )
    fixes.add_argument("--diff", action="store_true", help="show the fixes as a difference and change nothing")


def wanted(arguments: argparse.Namespace) -> bool:
    """True when the command line asks for fixes."""
    return bool(arguments.fix or arguments.unsafe_fixes or arguments.diff)


def fixed(arguments: argparse.Namespace, given: Inputs, settings: Settings) -> Report | int:
    """Fix; the report of what is left, or the exit code of ``--diff`` or of a failure. OSError: nothing is written."""
    from cutecheck.engine.fixes import RefusedError, difference, write_all
    from cutecheck.engine.run import check_and_fix

    run = check_and_fix(given, settings, arguments.unsafe_fixes, arguments.timeout)
    if arguments.diff:
        from cutecheck.cli.output import Out

        text = "".join(difference(run))
        with Out(arguments.output_file) as out:
            out.write(text)
        _say(run, "would fix")
        return 1 if text else 0
    try:
        write_all(run)
    except RefusedError as error:
        return fail(str(error), arguments.output_format == "json")
    _say(run, "fixed")
    return run.report


def _say(run: FixRun, verb: str) -> None:
    """One line a fix on stderr: standard output is the report's."""
    from cutecheck.report.text import safe

    lines = [*_lines(run.applied, verb), *_lines(run.rolled_back, "rolled back")]
    sys.stderr.writelines(f"cutecheck: {safe(line)}\n" for line in dict.fromkeys(lines))


def _lines(fixes: Iterable[Applied], verb: str) -> list[str]:
    return [
        f"{verb}: {a.finding.span} {a.finding.code} {a.fix.title}" + (f" ({a.problem})" if a.problem else "")
        for a in fixes
    ]
