"""``cutecheck check PATH...``: findings, proofs and what stayed unknown."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.cli.confirm import WARNING, add_tier_options, tiers
from cutecheck.cli.fix import add_fix_options, fixed, wanted
from cutecheck.cli.formats import FORMATS, TEXT, Style, rule_infos, write
from cutecheck.cli.options import add_output_options, add_source_options, settings_of
from cutecheck.cli.output import Out, fail, unwritten

if TYPE_CHECKING:
    from cutecheck.cli.confirm_tiers import TierOutcome
    from cutecheck.config import Settings
    from cutecheck.report.data import Report


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "check", help="check sources", description="Evaluate, prove or refute, and report.", allow_abbrev=False
    )
    add_source_options(parser)
    reading = parser.add_argument_group("part of a tree")
    reading.add_argument(
        "--tree",
        metavar="DIR",
        help="read this folder; the PATHs are its changed files: they and what includes them are reported",
    )
    reading.add_argument(
        "--stdin-filename", metavar="FILE", help="read standard input (PATH is -) in place of this file"
    )
    output = add_output_options(parser, FORMATS)
    output.add_argument(
        "--output", action="append", default=[], type=_output, metavar="FORMAT=FILE",
        help="write this format to a file besides; repeatable",
    )  # fmt: skip
    output.add_argument("--statistics", action="store_true", help="count findings by rule")
    rules = add_rule_options(parser)
    rules.add_argument("--fail-on", choices=("note", "warning", "error"), help="least severity that fails (warning)")
    rules.add_argument("--unknown", choices=("ignore", "warn", "error"), help="what unknowns do (warn)")
    rules.add_argument("--pedantic", action="store_true", help="notes count as warnings")
    rules.add_argument(
        "--require-suppression-reason", action="store_true", help="a suppression without a reason is a finding"
    )
    rules.add_argument("--show-proofs", action="store_true", help="list every obligation with its evidence")
    rules.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    rules.add_argument("--engine", metavar="NAME", help="ask one proof engine alone: nothing is then proved")
    rules.add_argument("--dump-smt", metavar="DIR", help="write the SMT-LIB text of every Z3 query there")
    add_fix_options(parser)
    known = parser.add_argument_group("known findings")
    known.add_argument("--baseline", metavar="FILE", help="findings of this file pass; stale entries fail")
    known.add_argument("--diff-base", metavar="REF", help="report what is new since the merge base with this commit")
    confirmation = add_tier_options(parser)
    confirmation.add_argument(
        "--confirm", type=tiers, metavar="TIERS",
        help="hold facts and findings against the real CuTe, too: some of host, isa, dsl, gpu (bare --confirm: host); "
        f"never by default: it {WARNING}",
    )  # fmt: skip
    parser.add_argument("--watch", action="store_true", help="check again whenever a file changes (extra `watch`)")
    parser.add_argument("--show-settings", action="store_true", help="show every setting and where it is from")
    parser.set_defaults(run=run)


def add_rule_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Which rules run and how long an obligation may take; the group they are in."""
    rules = parser.add_argument_group("rules and verdicts")
    for flag, text in (
        ("--select", "run only these rules (code prefix or name, comma separated)"),
        ("--ignore", "do not run these rules"),
        ("--extend-select", "run these as well"),
    ):
        rules.add_argument(flag, action="append", default=[], metavar="RULE", help=text)
    rules.add_argument("--timeout", type=_seconds, default=5.0, metavar="SECONDS", help="limit an obligation (5)")
    return rules


def _output(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not equals or not path or name not in FORMATS:
        raise argparse.ArgumentTypeError(f"give FORMAT=FILE, FORMAT one of {', '.join(FORMATS)}")
    return name, path


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def run(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        from cutecheck.cli.watch import watch

        return watch(arguments, _run)
    if "-" not in arguments.paths and arguments.stdin_filename is None:
        return _run(arguments)
    if arguments.stdin_filename is None:
        return fail("PATH - needs --stdin-filename FILE, the name of what is read", arguments.output_format == "json")
    if (arguments.fix or arguments.unsafe_fixes) and not arguments.diff:
        return fail("what standard input holds cannot be fixed in place; --diff shows the fixes",
                    arguments.output_format == "json")  # fmt: skip
    from cutecheck.source.files import held

    arguments.paths = [p for p in arguments.paths if p != "-"] + [arguments.stdin_filename]
    with held({Path(arguments.stdin_filename): sys.stdin.buffer.read()}):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.engine.run import blocking, check, inputs
    from cutecheck.engine.status import Exit, exit_code
    from cutecheck.findings import UnknownRuleError

    as_json = arguments.output_format == "json"
    if wanted(arguments) and (arguments.engine is not None or arguments.dump_smt is not None):
        return fail(
            "fixes are proved by all engines: no --engine or --dump-smt with --fix, --unsafe-fixes, --diff", as_json
        )
    if arguments.engine is not None:
        from cutecheck.model.prove.scheduler import engine_names

        if arguments.engine not in engine_names():
            return fail(f"no engine '{arguments.engine}'; there are {', '.join(engine_names())}", as_json)
    try:
        settings = settings_from(arguments)
        if arguments.show_settings:
            return _show_settings(settings)
        given = inputs(arguments.paths, arguments.tree)
        environment: dict[str, str] = {}
        if arguments.confirm:
            from cutecheck.cli import confirm_tiers

            settings, environment = confirm_tiers.prepared(arguments, given.named, settings)
        dump_smt = None if arguments.dump_smt is None else Path(arguments.dump_smt)
        if wanted(arguments):
            outcome = fixed(arguments, given, settings)
            if isinstance(outcome, int):
                return outcome
            report = outcome
        else:
            report = check(
                given, settings, arguments.timeout, arguments.engine, dump_smt, counts_alone=not arguments.confirm
            )
        if settings.baseline or arguments.diff_base is not None:
            from cutecheck.engine.gate import gate

            report = gate(report, given, settings, arguments.diff_base, lambda i, s: check(i, s, arguments.timeout))
        report, outcomes = _confirmed(arguments, report, given.paths, settings, environment)
    except (ConfigError, UnknownRuleError) as error:
        return fail(str(error), as_json)
    except OSError as error:
        return unwritten(error.filename, error, as_json)
    from cutecheck.engine.sources import Project, SourceLines
    from cutecheck.report.job import job

    project = Project(SourceLines((*given.paths, *(given.changed or ()))))
    style = Style(settings.unknown, arguments.show_proofs, arguments.statistics, project.near)
    outputs = [(arguments.output_format, arguments.output_file), *arguments.output]
    work = job(report, rule_infos() if any(name == "sarif" for name, _ in outputs) else (), project.place)
    if len({Path(file).absolute() for _, file in outputs if file}) < sum(file is not None for _, file in outputs):
        return fail("two outputs go to the same file", as_json)
    for name, file in outputs:
        try:
            with Out(file) as out:
                write(name, work, style, out)
        except OSError as error:
            return unwritten(file, error, as_json)
    said = [line for o in outcomes for line in (f"== confirmation: {o.tier}", *o.lines(False))]
    stream = sys.stdout if arguments.output_format in TEXT and not arguments.output_file else sys.stderr
    stream.writelines(line + "\n" for line in said)
    if arguments.statistics and arguments.output_format not in TEXT:
        from cutecheck.report.statistics import render

        sys.stderr.writelines(line.text + "\n" for line in render(work))
    if blocking(report.errors, given) or any(not e.path and e.message.startswith("interrupted") for e in report.errors):
        return Exit.ERROR
    if report.facts.files == 0 and not report.errors:
        print(f"cutecheck: no C++, CUDA or Python sources in {', '.join(arguments.paths)}", file=sys.stderr)
        return Exit.NO_INPUTS
    code = exit_code(report, settings.fail_on, settings.unknown, arguments.exit_zero)
    if code in (Exit.ERROR, Exit.DISAGREE):
        return code
    if any(o.contradicted for o in outcomes):
        return Exit.CONTRADICTED
    left = arguments.unavailable == "error" and any(o.left for o in outcomes)
    return Exit.FINDINGS if left and not arguments.exit_zero else code


def _confirmed(
    arguments: argparse.Namespace,
    report: Report,
    paths: tuple[Path, ...],
    settings: Settings,
    environment: dict[str, str],
) -> tuple[Report, list[TierOutcome]]:
    """The report with what the tiers of ``--confirm`` say of it; nothing is compiled where it was not given."""
    if not arguments.confirm:
        return report, []
    from cutecheck.cli import confirm_tiers
    from cutecheck.model.version import using_cute

    with using_cute(settings.cute):
        request = confirm_tiers.Request(report.facts, report.findings, paths, settings, environment, arguments)
        outcomes, interrupted = confirm_tiers.confirmed(arguments.confirm, request)
    findings = confirm_tiers.with_confirmations(request, outcomes)
    errors = (*report.errors, *interrupted)
    return replace(report, findings=findings, errors=errors, confirmation=tuple(o.document for o in outcomes)), outcomes


def settings_from(arguments: argparse.Namespace) -> Settings:
    """The configuration with the command line's options of reading, rules and gates. Raises ConfigError."""

    def split(values: list[str]) -> tuple[str, ...]:
        return tuple(v.strip() for text in values for v in text.split(",") if v.strip())

    base = settings_of(arguments)
    return replace(
        base,
        select=split(arguments.select) or base.select,
        ignore=(*base.ignore, *split(arguments.ignore)),
        extend_select=(*base.extend_select, *split(arguments.extend_select)),
        fail_on=getattr(arguments, "fail_on", None) or base.fail_on,
        unknown=getattr(arguments, "unknown", None) or base.unknown,
        baseline=arguments.baseline or base.baseline,
        pedantic=getattr(arguments, "pedantic", False) or base.pedantic,
        require_suppression_reason=getattr(arguments, "require_suppression_reason", False)
        or base.require_suppression_reason,
    )


def _show_settings(settings: Settings) -> int:
    from cutecheck.config import origins

    for name, value, origin in origins(settings):
        print(f"{name} = {value}  # {origin}")
    return 0
