"""``cutecheck confirm PATH|FILE:LINE...``: hold extracted facts against the real CuTe.

Compiles and runs code derived from the sources; no other command does.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.cli.options import add_output_options, add_source_options, settings_of
from cutecheck.cli.output import Out, dump, fail

if TYPE_CHECKING:
    from cutecheck.config import Settings
    from cutecheck.exec.confirmation import Confirmation
    from cutecheck.exec.headers import Headers, NoHeaders
    from cutecheck.facts import Facts, Site

_PLACE = re.compile(r"(.+):(\d+)")


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "confirm",
        help="hold facts against the real CuTe (compiles and runs code)",
        description="Compile the extracted configurations with a host compiler and CuTe's headers, run them, and "
        "compare what CuTe prints with what was extracted. Compiles and runs code derived from the sources.",
        epilog="exit codes: 0 nothing contradicted, 2 usage or internal error, 3 no inputs, 5 contradicted",
        allow_abbrev=False,
    )
    add_source_options(parser)
    add_output_options(parser, ("full", "concise", "json", "junit", "sarif", "html"))
    tier = parser.add_argument_group("confirmation")
    tier.add_argument(
        "--tier", choices=("host", "gpu"), default="host",
        help="host: a C++ compiler, no GPU (default); gpu: reference kernels on a GPU (extra gpu)",
    )  # fmt: skip
    tier.add_argument(
        "--counters", choices=("auto", "ncu", "cupti", "cycles"), default="auto",
        help="gpu: what measures wavefronts (auto: Nsight Compute, else CUPTI, else timing)",
    )  # fmt: skip
    tier.add_argument(
        "--also", action="append", default=[], metavar="FORMAT=FILE",
        help="gpu: write the same run in that format to a file, too (repeatable)",
    )  # fmt: skip
    tier.add_argument("--cutlass", metavar="DIR", help="CUTLASS checkout or include folder (the nvidia-cutlass wheel)")
    tier.add_argument("--cxx", metavar="COMPILER", help="host compiler ($CXX, g++)")
    tier.add_argument(
        "--unavailable", choices=("ignore", "error"), default="ignore",
        help="error: exit 1 when a resolved fact could not be confirmed (ignore)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.engine import Exit
    from cutecheck.engine.run import blocking, extract_facts, inputs
    from cutecheck.exec.headers import find_headers
    from cutecheck.model.version import using_cute

    as_json = arguments.output_format == "json"
    arguments.paths, places = _places(arguments.paths)
    headers = find_headers(_environment(arguments))
    try:
        settings = _following(settings_of(arguments), headers)
        if arguments.tier == "gpu":
            from cutecheck.cli import confirm_gpu

            return confirm_gpu.run(arguments, _environment(arguments), places, settings)
        if arguments.output_format in ("junit", "sarif", "html"):
            raise ValueError(f"--output-format {arguments.output_format} is for --tier gpu")
        given = inputs(arguments.paths)
        with using_cute(settings.cute):
            facts = extract_facts(given.paths, settings)
            facts = replace(facts, sites=_asked(facts.sites, places), errors=(*given.missing, *facts.errors))
            confirmations = _confirm(facts, headers, given.paths, settings.include, settings.define)
    except (ConfigError, ValueError) as error:
        return fail(str(error), as_json)
    try:
        with Out(arguments.output_file) as out:
            if as_json:
                out.write(dump(_json(facts, confirmations, headers)))
            else:
                full = arguments.output_format == "full"
                out.write("".join(line + "\n" for line in _text(facts, confirmations, headers, full)))
    except OSError as error:
        return fail(f"{arguments.output_file}: cannot be written: {error.strerror}", as_json)
    if blocking(facts.errors, given):
        return Exit.ERROR
    if facts.files == 0 and not facts.errors:
        print(f"cutecheck: no C++, CUDA or Python sources in {', '.join(arguments.paths)}", file=sys.stderr)
        return Exit.NO_INPUTS
    if any(c.status == "contradicted" for c in confirmations):
        return Exit.CONTRADICTED
    left = any(c.status == "unavailable" and c.site.status == "resolved" for c in confirmations)
    return Exit.FINDINGS if left and arguments.unavailable == "error" else Exit.CLEAN


def _environment(arguments: argparse.Namespace) -> dict[str, str]:
    given = {"CUTECHECK_CUTLASS": arguments.cutlass, "CUTECHECK_CXX": arguments.cxx}
    return {**os.environ, **{k: v for k, v in given.items() if v}}


def _places(paths: Sequence[str]) -> tuple[list[str], dict[str, set[int]]]:
    """Paths without their ``:LINE``, and the lines asked for by path."""
    out: dict[str, None] = {}
    lines: dict[str, set[int]] = {}
    for path in paths:
        match = None if Path(path).exists() else _PLACE.fullmatch(path)
        name = match[1] if match else path
        out[name] = None
        if match:
            lines.setdefault(Path(name).name, set()).add(int(match[2]))
    return list(out), lines


def _asked(sites: Sequence[Site], places: dict[str, set[int]]) -> tuple[Site, ...]:
    """The sites at the lines that were asked for; all of a file for which no line was."""
    if not places:
        return tuple(sites)
    return tuple(
        s
        for s in sites
        if any(
            min(s.span.line, s.call_span.line) <= n <= max(s.span.end_line, s.call_span.end_line)
            for n in places.get(Path(s.span.path).name, ())
        )
    )


def _following(settings: Settings, headers: Headers | NoHeaders) -> Settings:
    """Follow the CuTe whose headers are compiled, unless another version was asked for."""
    from cutecheck.exec.headers import NoHeaders

    if settings.cutlass_version or isinstance(headers, NoHeaders) or headers.version == "unknown":
        return settings
    return replace(settings, cutlass_version=headers.version)


def _confirm(
    facts: Facts, headers: Headers | NoHeaders, paths: Sequence[Path], include: Sequence[str], define: Sequence[str]
) -> tuple[Confirmation, ...]:
    from cutecheck.exec.host import HostOptions, confirm

    roots = list(dict.fromkeys([*(p if p.is_dir() else p.parent for p in paths), Path()]))
    options = (*(f"-I{Path(i).resolve()}" for i in include), *(f"-D{d}" for d in define))

    def file_of(path: str) -> Path | None:
        return next((r / path for r in roots if (r / path).is_file()), None)

    return confirm(facts, headers, file_of, HostOptions(options=options))


def _text(
    facts: Facts, confirmations: Sequence[Confirmation], headers: Headers | NoHeaders, full: bool
) -> Iterator[str]:
    """A line a site; in full, the fields that differ and the reasons below it."""
    from cutecheck.exec.headers import NoHeaders
    from cutecheck.report.concise import error_line
    from cutecheck.report.text import safe

    for c in confirmations:
        if full and c.status == "unavailable" and c.site.status != "resolved":
            continue  # counted below
        how = f" ({', '.join(c.routes)})" if c.status != "unavailable" else ""
        why = f": {c.reason}" if c.reason else ""
        yield safe(f"{c.site.span}: {c.status}{how} {c.site.kind} {c.site.symbol} {c.site.arch}{why}")
        if full and c.note and c.status == "confirmed":
            yield safe(f"    note: {c.note}")
        points = dict(p for a in c.attempts if a.status == c.status for p in a.point)
        if full and points:
            yield safe(f"    at {', '.join(f'{name}={n}' for name, n in points.items())}")
        for attempt in c.attempts:
            for d in attempt.differences:
                yield safe(f"    {attempt.route}: {d.field}: CuTe {d.cute}, cutecheck {d.ours}")
    for error in facts.errors:
        yield error_line(error)
    counts = Counter(c.status for c in confirmations)
    resolved = sum(c.site.status == "resolved" for c in confirmations)
    yield (
        f"{counts['confirmed']} confirmed, {counts['contradicted']} contradicted, {counts['unavailable']} unavailable "
        f"of {len(confirmations)} sites ({resolved} resolved)"
    )
    if isinstance(headers, NoHeaders):
        yield f"host tier unavailable: {headers.reason}"
    else:
        yield safe(f"host tier: {headers.compiler}, CUTLASS {headers.version}")


def _json(facts: Facts, confirmations: Sequence[Confirmation], headers: Headers | NoHeaders) -> dict[str, Any]:
    from cutecheck.exec.headers import NoHeaders

    counts = Counter(c.status for c in confirmations)
    missing = isinstance(headers, NoHeaders)
    return {
        "schema_version": 1,
        "tier": "host",
        "compiler": None if missing else headers.compiler,  # type: ignore[union-attr]
        "cutlass_version": None if missing else headers.version,  # type: ignore[union-attr]
        "confirmations": [_one(c) for c in confirmations],
        "errors": [
            {"path": e.path, "message": e.message, "line": e.span.line if e.span is not None else None}
            for e in facts.errors
        ],
        "summary": {
            "sites": len(confirmations),
            "resolved": sum(c.site.status == "resolved" for c in confirmations),
            **{status: counts[status] for status in ("confirmed", "contradicted", "unavailable")},
            "routes": dict(Counter(c.routes[0] for c in confirmations if c.status == "confirmed")),
        },
    }


def _one(c: Confirmation) -> dict[str, Any]:
    return {
        "site_id": c.site.site_id,
        "path": c.site.span.path,
        "line": c.site.span.line,
        "column": c.site.span.column,
        "kind": c.site.kind,
        "symbol": c.site.symbol,
        "arch": c.site.arch,
        "site_status": c.site.status,
        "status": c.status,
        "routes": list(c.routes) if c.status != "unavailable" else [],
        "reason": c.reason,
        "note": c.note,
        "attempts": [
            {
                "route": a.route,
                "status": a.status,
                "reason": a.reason,
                "point": dict(a.point),
                "differences": [{"field": d.field, "ours": d.ours, "cute": d.cute} for d in a.differences],
            }
            for a in c.attempts
        ],
    }
