"""``cutecheck show FILE:LINE|EXPR``: draw a layout, a tiled copy or a tiled MMA."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.cli.options import add_reading_options, add_version_option, settings_of
from cutecheck.cli.output import fail, unwritten

if TYPE_CHECKING:
    from cutecheck.facts import Site, Span
    from cutecheck.model.picture import Picture

_PLACE = re.compile(r"(.+):([0-9]+)", re.S)
_TILE = re.compile(r"([1-9][0-9]*)\s*[x,]\s*([1-9][0-9]*)")
_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".cxx", ".inl", ".py")
_NO_TERMINAL_WIDTH = 120


class _Refused(Exception):
    """Nothing to draw; the message says why, ``listing`` what there is to choose from."""

    def __init__(self, message: str, listing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.listing = listing


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "show", help="draw a layout, copy or MMA", allow_abbrev=False,
        description="Draw the layout, tiled copy (who owns which element) or tiled MMA (A, B, C) of an expression, "
        "or of the configurations found at a line.",
    )  # fmt: skip
    parser.add_argument("target", metavar="FILE:LINE|EXPR", help="a place in a source, or a CuTe C++ expression")
    parser.add_argument("--symbol", metavar="NAME", help="which one, where several are at the line: its name or number")
    parser.add_argument(
        "--path", action="append", default=[], dest="more", metavar="PATH",
        help="also read these, where other files instantiate FILE; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--tv", type=_tile, metavar="MxN", help="draw a layout as (thread, value) over a tile of M x N elements"
    )
    drawing = parser.add_argument_group("drawing")
    drawing.add_argument("--svg", metavar="FILE", help="write an SVG picture there (- for stdout)")
    drawing.add_argument("--latex", metavar="FILE", help="write a LaTeX (TikZ) document there (- for stdout)")
    drawing.add_argument("--width", type=_count, metavar="COLUMNS", help="columns of text (the terminal's)")
    drawing.add_argument("--rows", type=_count, default=32, metavar="N", help="rows of text a grid, 0 for all (32)")
    add_reading_options(parser)
    add_version_option(parser)
    parser.set_defaults(run=run)


def _tile(text: str) -> tuple[int, int]:
    found = _TILE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"not a tile such as 16x8: {text!r}")
    return int(found[1]), int(found[2])


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.model.picture import NoPictureError, picture
    from cutecheck.model.version import using_cute

    try:
        place = _place(arguments.target)
        arguments.paths = [] if place is None else [str(place[0]), *arguments.more]
        settings = settings_of(arguments)
        with using_cute(settings.cute):
            value = _evaluated(arguments.target) if place is None else _found(*place, arguments)
            drawn = picture(value, arguments.tv)
    except _Refused as refused:
        sys.stdout.write("".join(f"{line}\n" for line in refused.listing))
        return fail(str(refused))
    except (ConfigError, NoPictureError) as error:
        return fail(str(error))
    return _draw(drawn, arguments)


def _draw(drawn: Picture, arguments: argparse.Namespace) -> int:
    if arguments.svg == "-" and arguments.latex == "-":
        return fail("only one of --svg and --latex can go to stdout")
    if arguments.svg:
        from cutecheck.report import picture_svg

        if code := _write(arguments.svg, picture_svg.render, drawn):
            return code
    if arguments.latex:
        from cutecheck.report import picture_latex

        if code := _write(arguments.latex, picture_latex.render, drawn):
            return code
    if not arguments.svg and not arguments.latex:
        from cutecheck.report import picture_terminal

        width = arguments.width or shutil.get_terminal_size((_NO_TERMINAL_WIDTH, 24)).columns
        picture_terminal.write(drawn, sys.stdout, width, arguments.rows)
    return 0


def _write(file: str, render: Callable[[Picture], str], drawn: Picture) -> int:
    text = render(drawn)
    if file == "-":
        sys.stdout.write(text)
        return 0
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        return unwritten(file, error)
    print(f"{file}: {drawn.title}, {drawn.cells} cells")
    return 0


def _place(target: str) -> tuple[Path, int] | None:
    """The file and line that the target names; None for an expression."""
    found = _PLACE.fullmatch(target)
    if found is not None:
        file = Path(found[1])
        if _is_file(file):
            return file, int(found[2])
        if file.suffix in _SUFFIXES:
            raise _Refused(f"{found[1]}: no such file")
    elif _is_file(Path(target)):
        raise _Refused(f"{target}: give a line, as in {target}:12")
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # an expression can be too long for a path
        return False


def _evaluated(expression: str) -> object:
    from cutecheck.facts import Unknown
    from cutecheck.model.atoms import UnknownAtomError, copy_op, is_mma_op, mma_op
    from cutecheck.model.ints import CuteError, NotModelledError
    from cutecheck.source.eval.values import CuteOp
    from cutecheck.source.evaluate import evaluate

    try:
        value = evaluate(expression)
        if isinstance(value, CuteOp):
            value = mma_op(expression) if is_mma_op(expression) else copy_op(expression)
    except (CuteError, NotModelledError, UnknownAtomError) as error:
        raise _Refused(" ".join(str(error).split())) from None
    except RecursionError:
        raise _Refused("nested too deeply") from None
    if isinstance(value, (Unknown, CuteError)):
        raise _Refused(" ".join(str(value).split()))
    return value


def _found(file: Path, line: int, arguments: argparse.Namespace) -> object:
    """The value of the one configuration at the line that ``--symbol`` leaves."""
    from cutecheck.engine.run import extract_facts, inputs
    from cutecheck.report.text import safe

    given = inputs(arguments.paths)
    if given.missing:
        raise _Refused(f"{given.missing[0].path}: {given.missing[0].message}")
    facts = extract_facts(given.paths, settings_of(arguments))
    at_line = [s for s in facts.sites if _in_file(s, file) and s.span.line == line]
    at_line = at_line or [s for s in facts.sites if _in_file(s, file) and _covers(s, line)]
    if not at_line:
        near = min((s.span.line for s in facts.sites if _in_file(s, file)), key=lambda n: abs(n - line), default=None)
        hint = f"; the closest one is at line {near}" if near else ""
        raise _Refused(f"{file}:{line}: no configuration is declared here{hint}")
    choices: dict[tuple[Span, object], list[Site]] = {}
    for site in sorted(at_line, key=lambda s: (s.span, _natural(s.symbol))):
        if site.status in ("resolved", "symbolic") and site.value is not None:
            choices.setdefault((site.span, site.value), []).append(site)
    if not choices:
        reasons = "; ".join(dict.fromkeys(f"{s.symbol} is {s.status}: {s.reason}" for s in at_line))
        raise _Refused(f"{file}:{line}: {safe(reasons)}")
    numbered = list(choices.values())
    picked = _picked(numbered, arguments.symbol)
    if len(picked) == 1:
        return picked[0][0].value
    listing = tuple(_listed(i, sites) for i, sites in enumerate(numbered, 1))
    if not picked:
        raise _Refused(f"{file}:{line}: no configuration is called {arguments.symbol!r}", listing)
    raise _Refused(
        f"{file}:{line}: {len(picked)} configurations; choose with --symbol NAME or --symbol NUMBER", listing
    )


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """A sort key under which ``T<8>`` comes before ``T<16>``."""
    return tuple((int(t), "") if t.isdecimal() else (-1, t) for t in re.split(r"([0-9]+)", text))


def _picked(choices: list[list[Site]], symbol: str | None) -> list[list[Site]]:
    """The choices that a number or a name, qualified or not, leaves."""
    if symbol is None:
        return choices
    if symbol.isdecimal():
        return choices[int(symbol) - 1 : int(symbol)] if int(symbol) else []
    return [c for c in choices if any(f"::{s.symbol}".endswith(f"::{symbol}") for s in c)]


def _listed(number: int, sites: list[Site]) -> str:
    from cutecheck.model.notation import show
    from cutecheck.report.text import safe

    first = sites[0]
    bindings = dict.fromkeys(", ".join(f"{k}={v}" for k, v in s.bindings) for s in sites)
    shown = [b for b in bindings if b][:3]
    where = f" [{'; '.join(shown)}{'; ...' if len(bindings) > len(shown) and shown else ''}]" if shown else ""
    return safe(f"{number}: {first.kind} {first.symbol}{where} {' '.join(show(first.value).split())}")


def _in_file(site: Site, file: Path) -> bool:
    """Display paths are relative to a scanned root: the tail of the file's own path."""
    parts = Path(site.span.file).parts
    return file.absolute().parts[-len(parts) :] == parts or file.resolve().parts[-len(parts) :] == parts


def _covers(site: Site, line: int) -> bool:
    return any(s.line <= line <= s.end_line for s in (site.span, site.call_span))
