"""``cutecheck check PATH...``: findings, proofs and what stayed unknown."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.cli.options import add_output_options, add_source_options, settings_of
from cutecheck.cli.output import Out, dump, fail

if TYPE_CHECKING:
    from cutecheck.config import Settings
    from cutecheck.report.data import Report


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "check", help="check sources", description="Evaluate, prove or refute, and report.", allow_abbrev=False
    )
    add_source_options(parser)
    add_output_options(parser, ("full", "concise", "json", "sarif", "github"))
    rules = parser.add_argument_group("rules and verdicts")
    for flag, text in (
        ("--select", "run only these rules (code prefix or name, comma separated)"),
        ("--ignore", "do not run these rules"),
        ("--extend-select", "run these as well"),
    ):
        rules.add_argument(flag, action="append", default=[], metavar="RULE", help=text)
    rules.add_argument("--fail-on", choices=("note", "warning", "error"), help="least severity that fails (warning)")
    rules.add_argument("--unknown", choices=("ignore", "warn", "error"), help="what unknowns do (warn)")
    rules.add_argument("--show-proofs", action="store_true", help="list every obligation with its evidence")
    rules.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    rules.add_argument("--timeout", type=_seconds, default=5.0, metavar="SECONDS", help="limit an obligation (5)")
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.engine import Exit, exit_code
    from cutecheck.engine.run import blocking, check, inputs
    from cutecheck.rules import UnknownRuleError

    as_json = arguments.output_format == "json"
    try:
        settings = _settings(arguments)
        given = inputs(arguments.paths)
        report = check(given, settings, arguments.timeout)
    except (ConfigError, UnknownRuleError) as error:
        return fail(str(error), as_json)
    try:
        with Out(arguments.output_file) as out:
            _write(report, arguments, settings, out)
    except OSError as error:
        return fail(f"{arguments.output_file}: cannot be written: {error.strerror}", as_json)
    if blocking(report.errors, given):
        return Exit.ERROR
    if report.facts.files == 0 and not report.errors:
        print(f"cutecheck: no C++, CUDA or Python sources in {', '.join(arguments.paths)}", file=sys.stderr)
        return Exit.NO_INPUTS
    return exit_code(report, settings.fail_on, settings.unknown, arguments.exit_zero)


def _settings(arguments: argparse.Namespace) -> Settings:
    def split(values: list[str]) -> tuple[str, ...]:
        return tuple(v.strip() for text in values for v in text.split(",") if v.strip())

    base = settings_of(arguments)
    return replace(
        base,
        select=split(arguments.select) or base.select,
        ignore=(*base.ignore, *split(arguments.ignore)),
        extend_select=(*base.extend_select, *split(arguments.extend_select)),
        fail_on=arguments.fail_on or base.fail_on,
        unknown=arguments.unknown or base.unknown,
    )


def _write(report: Report, arguments: argparse.Namespace, settings: Settings, out: Any) -> None:
    if arguments.output_format == "json":
        from cutecheck.report.json import check_json

        out.write(dump(check_json(report)))
    elif arguments.output_format == "sarif":
        from cutecheck import __version__
        from cutecheck.cli.rule import rule_json
        from cutecheck.report.sarif import sarif
        from cutecheck.rules import RULES

        out.write(dump(sarif(report, [rule_json(r) for r in RULES], __version__)))
    elif arguments.output_format in ("concise", "github"):
        from cutecheck.report import concise, github

        render = concise.render if arguments.output_format == "concise" else github.render
        out.write("".join(line + "\n" for line in render(report, settings.unknown)))
    else:
        from cutecheck.report import full, terminal

        terminal.write(full.render(report, settings.unknown, arguments.show_proofs), out)
