"""``cutecheck explain FILE:LINE``: how the values at a line came about."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.cli.options import add_reading_options, add_version_option, settings_of
from cutecheck.cli.output import dump, fail

if TYPE_CHECKING:
    from cutecheck.facts.explanation import Definition, Trace

_PLACE = re.compile(r"(.+):([0-9]+)", re.S)
_SHOWN = 3  # instantiations of one name
_DEPTH = 8  # definitions behind definitions
_WIDTH = 150  # characters of a value


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "explain", help="how a value came about", allow_abbrev=False,
        description="The definitions behind the values at a line, each with its place, and the calls and "
        "instantiations that lead there from a root.",
    )  # fmt: skip
    parser.add_argument("target", metavar="FILE:LINE", help="a place in a source")
    parser.add_argument(
        "--path", action="append", default=[], dest="more", metavar="PATH",
        help="also read these, where other files instantiate FILE; repeatable",
    )  # fmt: skip
    parser.add_argument("--symbol", metavar="NAME", help="only names or instantiations that contain this")
    parser.add_argument("--all", action="store_true", help=f"every instantiation, not the first {_SHOWN}")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    add_reading_options(parser)
    add_version_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.engine.run import explain, inputs

    as_json = arguments.output_format == "json"
    found = _PLACE.fullmatch(arguments.target)
    if found is None:
        return fail(f"{arguments.target}: give a file and a line, as in kernel.cu:12", as_json)
    file, line = Path(found[1]), int(found[2])
    arguments.paths = [str(file), *arguments.more]
    given = inputs(arguments.paths)
    if given.missing:
        return fail(f"{given.missing[0].path}: {given.missing[0].message}", as_json)
    try:
        trace = explain(given.paths, settings_of(arguments))
    except ConfigError as error:
        return fail(str(error), as_json)
    own = [d for d in trace.definitions if _is(d.span.file, file)]
    here = [d for d in own if d.span.line == line] or [
        d for d in own if d.full_span.line <= line <= d.full_span.end_line
    ]
    if arguments.symbol:
        here = [d for d in here if arguments.symbol in f"{d.symbol}::{d.name}"]
    if not here:
        near = min((d.span.line for d in own), key=lambda n: abs(n - line), default=None)
        hint = f"; the closest definition with a value is at line {near}" if near else ""
        return fail(f"{file}:{line}: nothing that was evaluated is defined here{hint}", as_json)
    links = Links(trace)
    if as_json:
        sys.stdout.write(dump({"schema_version": 1, "explanations": [_json(d, links) for d in here]}))
        return 0
    shown = here if arguments.all else here[:_SHOWN]
    for definition in shown:
        sys.stdout.writelines(f"{line}\n" for line in text(definition, links))
    if len(shown) < len(here):
        print(f"and {len(here) - len(shown)} more instantiations; --all shows them, --symbol NAME picks")
    return 0


def _is(path: str, file: Path) -> bool:
    """Display paths are relative to a scanned root: the tail of the file's own path."""
    parts = Path(path).parts
    return file.absolute().parts[-len(parts) :] == parts or file.resolve().parts[-len(parts) :] == parts


class Links:
    """From the uses inside a definition to the definitions they name."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._named: dict[tuple[str, str], list[Definition]] = {}
        for d in trace.definitions:
            self._named.setdefault((d.name, d.arch), []).append(d)

    def behind(self, definition: Definition) -> list[tuple[str, str, Definition | None]]:
        """(name, value, its definition or None) of what a definition uses, in source order.

        Names of CuTe and of the language, which nothing in the sources defines, are left out unless they are unknown.
        """
        found = [(u.name, u.value, self._of(u.name, u.value, definition)) for u in definition.uses]
        return [f for f in found if f[2] is not None or f[1].startswith("unknown: ")]

    def _of(self, name: str, value: str, user: Definition) -> Definition | None:
        """The definition of that name and value in the user's own place, else in one around or beside it."""
        found = [d for d in self._named.get((name, user.arch), ()) if d.span != user.span and d.value == value]

        def distance(d: Definition) -> tuple[bool, bool, int]:
            return (
                d.symbol != user.symbol or d.bindings != user.bindings,
                not user.symbol.startswith(d.symbol),
                abs(d.span.line - user.span.line) if d.span.path == user.span.path else 1 << 30,
            )

        return min(found, key=distance, default=None)


def text(definition: Definition, links: Links) -> Iterator[str]:
    """The lines of one explanation."""
    from cutecheck.cli.facts import elided
    from cutecheck.report.text import safe

    d = definition
    yield safe(f"{d.span}: {d.name} in {elided(d.symbol) or 'its namespace'}, {d.arch}")
    yield safe(f"  = {_short(d.value)}")
    if (call := dict(d.bindings).get("supposed")) is not None:
        yield safe(f"  under the supposed call {call}")
    lines = list(_behind(d, links, 1, {d}))
    if lines:
        yield "  from"
        yield from lines
    way = links.trace.way(d.symbol, d.arch)
    if way:
        yield "  reached by"
        for step in way:
            where = ", ".join(f"{k} = {_short(v, 40)}" for k, v in step.bindings)
            yield safe(f"    {step.span}: {elided(step.inner)}{f' with {_short(where)}' if where else ''}")


def _behind(d: Definition, links: Links, depth: int, seen: set[Definition]) -> Iterator[str]:
    from cutecheck.report.text import safe

    for name, value, found in links.behind(d):
        place = f"  {found.span}" if found is not None else ""
        yield safe(f"  {'  ' * depth}{name} = {_short(value)}{place}")
        if found is not None and found not in seen and depth < _DEPTH:
            seen.add(found)
            yield from _behind(found, links, depth + 1, seen)


def _short(value: str, limit: int = _WIDTH) -> str:
    line = " ".join(value.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _json(d: Definition, links: Links) -> dict[str, Any]:
    from cutecheck.facts.json import span_json

    uses = [
        {"name": n, "value": v, "definition": None if f is None else span_json(f.span)} for n, v, f in links.behind(d)
    ]
    way = [
        {"inner": s.inner, "outer": s.outer, "bindings": dict(s.bindings), **span_json(s.span)}
        for s in links.trace.way(d.symbol, d.arch)
    ]
    return {
        "name": d.name, "symbol": d.symbol, "bindings": dict(d.bindings), "arch": d.arch, **span_json(d.span),
        "value": d.value, "uses": uses, "way": way,
    }  # fmt: skip
