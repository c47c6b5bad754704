"""``cutecheck facts PATH...``: everything that was extracted, and what was not and why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cutecheck.cli.options import add_output_options, add_source_options, settings_of
from cutecheck.cli.output import Out, dump, fail, unwritten

if TYPE_CHECKING:
    from cutecheck.facts import Facts
    from cutecheck.facts.resources import KernelResources

_NAME = 80  # characters of a qualified name before its template arguments are elided
_WHERE = 160  # characters of the bindings of a site


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "facts", help="list what was extracted", description="List every configuration, copy and gemm found.",
        allow_abbrev=False,
    )  # fmt: skip
    add_source_options(parser)
    add_output_options(parser, ("text", "json", "graphml"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from cutecheck.config import ConfigError
    from cutecheck.engine.run import blocking, extract_facts, inputs
    from cutecheck.engine.status import Exit
    from cutecheck.facts.json import facts_json
    from cutecheck.facts.printed import printed
    from cutecheck.model.version import using_cute

    as_json = arguments.output_format == "json"
    try:
        given = inputs(arguments.paths)
        settings = settings_of(arguments)
        facts = extract_facts(given.paths, settings)
    except ConfigError as error:
        return fail(str(error), as_json)
    facts = replace(facts, errors=(*given.missing, *facts.errors))
    try:
        with using_cute(facts.cutlass_version or settings.cute), Out(arguments.output_file) as out:
            if arguments.output_format == "graphml":
                from cutecheck.report.graph import graphml

                out.write(graphml(facts))
            else:
                out.write(
                    dump(facts_json(facts, lambda value: printed(value).json()))
                    if as_json
                    else "".join(f"{t}\n" for t in text(facts))
                )
    except OSError as error:
        return unwritten(arguments.output_file, error, as_json)
    if blocking(facts.errors, given):
        return Exit.ERROR
    if facts.files == 0 and not facts.errors:
        print(f"cutecheck: no C++, CUDA or Python sources in {', '.join(arguments.paths)}", file=sys.stderr)
        return Exit.NO_INPUTS
    return Exit.CLEAN


def text(facts: Facts) -> Iterator[str]:
    """One block a fact, in the order of the sources."""
    from cutecheck.facts import Unknown
    from cutecheck.facts.resources import resources
    from cutecheck.model.notation import show
    from cutecheck.report.concise import error_line
    from cutecheck.report.data import Report, summarise
    from cutecheck.report.summary import extraction_line
    from cutecheck.report.text import safe

    for site in facts.sites:
        yield safe(f"{site.span}: {site.kind} {elided(site.symbol)} {site.arch} {site.status}")
        if site.bindings:
            where = ", ".join(f"{k}={elided(str(v))}" for k, v in site.bindings)
            yield safe(f"    where {where if len(where) <= _WHERE else where[:_WHERE] + '...'}")
        if site.reason:
            yield safe(f"    {site.reason}")
        if site.value is not None:
            yield from (f"    {safe(line)}" for line in show(site.value).splitlines())
    for event in facts.events:
        yield safe(f"{event.span}: {event.kind} {event.callee} in {elided(event.enclosing)} {event.arch}")
        if event.reason:
            yield safe(f"    {event.reason}")
        for tensor in event.operands:
            known = f"unknown: {tensor.layout}" if isinstance(tensor.layout, Unknown) else show(tensor.layout)
            kind = tensor.dtype.name if tensor.dtype else "?"
            yield safe(f"    {tensor.name}: {tensor.space} {kind} {known}")
    for buffer in facts.buffers:
        size = buffer.size_bytes if buffer.size_bytes is not None else "?"
        complete = "" if buffer.accesses_complete else ", accesses incomplete"
        yield safe(f"{buffer.span}: shared {buffer.name} {size} bytes, {len(buffer.accesses)} accesses{complete}")
    for taken in resources(facts):
        shown = "; ".join(f"{what} {number}" for what, number in _counts(taken) if number is not None)
        yield safe(f"{taken.span}: kernel {elided(taken.kernel)} {taken.arch}" + (f": {shown}" if shown else ""))
    for kernel, count in facts.dropped:
        yield safe(
            f"{kernel}: {count} further instantiations were not walked "
            "(--max-instantiations, --max-flag-combinations, --max-alike)"
        )
    for error in facts.errors:
        yield error_line(error)
    yield from map(safe, facts.notes)
    yield extraction_line(summarise(Report(facts, errors=facts.errors)))


def _counts(kernel: KernelResources) -> list[tuple[str, int | None]]:
    return [
        ("threads", kernel.threads),
        ("static shared bytes", kernel.static_smem_bytes),
        ("dynamic shared bytes", kernel.dynamic_smem_bytes),
        ("accumulator registers", kernel.accumulator_registers),
        ("operand registers", kernel.operand_registers),
        ("tensor memory columns", kernel.tmem_columns),
        ("allocated columns", kernel.tmem_allocated),
    ]


def elided(name: str) -> str:
    """A qualified name for a line of a terminal: template arguments longer than a few words become ``<...>``.

    The JSON has them whole.
    """
    while len(name) > _NAME:
        depth, opened, best = 0, 0, (0, 0)
        for at, char in enumerate(name):
            if char == "<":
                if depth == 0:
                    opened = at
                depth += 1
            elif char == ">" and depth:
                depth -= 1
                if depth == 0 and at - opened > max(best[1] - best[0], len("<...>")):
                    best = (opened, at)
        if best == (0, 0):
            return name
        name = f"{name[: best[0]]}<...>{name[best[1] + 1 :]}"
    return name
