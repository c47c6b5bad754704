"""``cutecheck confirm PATH|FILE:LINE...``: hold extracted facts against the real CuTe.

Compiles and runs code derived from the sources; besides ``check --confirm`` no other command does.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from cutecheck.cli.confirm_places import places
from cutecheck.cli.options import add_output_options, add_source_options, archs, settings_of
from cutecheck.cli.output import Out, dump, fail, unwritten

TIERS = ("host", "isa", "dsl", "gpu")
WARNING = "compiles and runs code derived from the sources: only for a tree that you trust"
_GPU_FORMATS = ("junit", "sarif", "html")


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "confirm",
        help="hold facts against the real CuTe (compiles and runs code)",
        description="Build the extracted configurations with the real CuTe, and compare what it prints, what the "
        f"compiler emits or what a GPU does with what was extracted. This {WARNING}.",
        epilog="exit codes: 0 nothing contradicted, 2 usage or internal error, 3 no inputs, 5 contradicted",
        allow_abbrev=False,
    )
    add_source_options(parser)
    add_output_options(parser, ("full", "concise", "json", *_GPU_FORMATS))
    tier = add_tier_options(parser)
    tier.add_argument(
        "--tier", type=tiers, default=("host",), metavar="TIERS",
        help="some of host, isa, dsl, gpu, separated by commas (host). host: a C++ compiler prints layouts; isa: PTX "
        "and SASS of a device compiler; dsl: the Python DSL in a child process; gpu: reference kernels on a GPU",
    )  # fmt: skip
    tier.add_argument(
        "--output", action="append", default=[], metavar="FORMAT=FILE",
        help="gpu: write this format to a file besides; repeatable",
    )  # fmt: skip
    parser.set_defaults(run=run)


def add_tier_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What the tiers need; the group they are in."""
    tier = parser.add_argument_group("confirmation")
    tier.add_argument(
        "--cutlass", metavar="DIR",
        help="CUTLASS checkout or include folder (the tree's own headers, else the nvidia-cutlass wheel)",
    )  # fmt: skip
    tier.add_argument("--cxx", metavar="COMPILER", help="host compiler ($CXX, g++)")
    tier.add_argument(
        "--counters", choices=("auto", "ncu", "cupti", "cycles"), default="auto",
        help="gpu: what measures wavefronts (auto: Nsight Compute, else CUPTI, else timing)",
    )  # fmt: skip
    tier.add_argument("--dsl-python", metavar="PYTHON", help="interpreter with nvidia-cutlass-dsl (this one)")
    tier.add_argument(
        "--isa-arch", type=archs, metavar="SMS",
        help="compile for these, separated by commas (sm_80,sm_90a,sm_100a,sm_120a)",
    )  # fmt: skip
    tier.add_argument(
        "--unavailable", choices=("ignore", "error"), default="ignore",
        help="error: exit 1 when a resolved fact could not be confirmed (ignore)",
    )  # fmt: skip
    return tier


def tiers(text: str) -> tuple[str, ...]:
    """The tiers of a comma-separated list, each once. Raises ArgumentTypeError."""
    found = tuple(dict.fromkeys(t.strip() for t in text.split(",")))
    wrong = [t for t in found if t not in TIERS]
    if wrong:
        raise argparse.ArgumentTypeError(f"no tier {wrong[0]!r}; there are {', '.join(TIERS)}")
    return found


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.cli import confirm_tiers
    from cutecheck.config import ConfigError
    from cutecheck.engine.run import blocking, extract_facts, inputs
    from cutecheck.engine.status import Exit
    from cutecheck.model.version import using_cute

    as_json = arguments.output_format == "json"
    arguments.paths, asked = places(arguments.paths)
    try:
        if arguments.tier != ("gpu",) and arguments.output_format in _GPU_FORMATS:
            raise ValueError(f"--output-format {arguments.output_format} is for --tier gpu")
        if arguments.tier != ("gpu",) and arguments.output:
            raise ValueError("--output is for --tier gpu")
        given = inputs(arguments.paths)
        settings, environment = confirm_tiers.prepared(arguments, given.paths, settings_of(arguments))
        if arguments.tier == ("gpu",):
            from cutecheck.cli import confirm_gpu

            return confirm_gpu.run(arguments, environment, asked, settings)
        from cutecheck.exec.isa.from_facts import is_descriptor

        findings: tuple[Any, ...] = ()
        with using_cute(settings.cute):
            if "gpu" in arguments.tier:
                from cutecheck.engine.run import check

                report = check(given, settings)
                facts, findings = report.facts, report.findings
            else:
                facts = extract_facts(given.paths, settings)
            if not given.missing:
                asked.require(facts, findings)
            facts = replace(
                facts, sites=tuple(s for s in facts.sites if asked.hold(s.span, s.call_span)),
                events=tuple(e for e in facts.events if asked.hold(e.span)),
                calls=tuple(c for c in facts.calls if not is_descriptor(c) or asked.hold(c.span)),
                errors=(*given.missing, *facts.errors),
            )  # fmt: skip
            request = confirm_tiers.Request(facts, findings, given.paths, settings, environment, arguments)
            outcomes, interrupted = confirm_tiers.confirmed(arguments.tier, request)
            facts = replace(facts, errors=(*facts.errors, *interrupted))
    except (ConfigError, ValueError) as error:
        return fail(str(error), as_json)
    try:
        with Out(arguments.output_file) as out:
            if as_json:
                out.write(dump(confirm_tiers.document(outcomes, facts.errors)))
            else:
                full = arguments.output_format == "full"
                out.write("".join(line + "\n" for line in confirm_tiers.lines(outcomes, facts.errors, full)))
    except OSError as error:
        return unwritten(arguments.output_file, error, as_json)
    if interrupted or blocking(facts.errors, given):
        return Exit.ERROR
    if facts.files == 0 and not facts.errors:
        print(f"cutecheck: no C++, CUDA or Python sources in {', '.join(arguments.paths)}", file=sys.stderr)
        return Exit.NO_INPUTS
    if any(o.contradicted for o in outcomes):
        return Exit.CONTRADICTED
    return Exit.FINDINGS if any(o.left for o in outcomes) and arguments.unavailable == "error" else Exit.CLEAN
