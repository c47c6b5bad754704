"""Tables of small programs with what a compiler prints of them (``cutecheck/tests/data/programs``).

A file has declarations after ``=== decls`` and programs after ``=== items``, one a line: ``statements => number ## what
is printed``, or ``statements =L> layout ## ...`` for what ``cute::print`` shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

FOLDER = Path(__file__).parents[1] / "data" / "programs"
_LINE = re.compile(r"(?P<body>.*?)\s*=(?P<layout>L?)>\s+(?P<shown>.*?)(?:\s+##\s*(?P<printed>.*))?$")


@dataclass(frozen=True, slots=True)
class Program:
    """Statements of a kernel with ``n``, ``x = 0`` and ``y = 8``, and an expression after them."""

    body: str
    shown: str
    layout: bool
    printed: str


@dataclass(frozen=True, slots=True)
class Table:
    declarations: str
    programs: tuple[Program, ...]


def read(path: Path) -> Table:
    _, declarations, items = re.split(r"^=== \w+\n", path.read_text(), flags=re.MULTILINE)
    found = [_LINE.match(line if not line.startswith("=") else f" {line}") for line in items.splitlines() if line]
    lines = [m for m in found if m is not None]
    programs = (Program(m["body"].strip(), m["shown"], bool(m["layout"]), m["printed"] or "") for m in lines)
    return Table(declarations, tuple(programs))


def source(table: Table) -> tuple[str, int]:
    """A file with a kernel for each program, and the line of the first."""
    text = f"#include <cute/tensor.hpp>\nusing namespace cute;\n{table.declarations}\n"
    first = text.count("\n") + 1
    for i, p in enumerate(table.programs):
        place, layout = ("s", p.shown) if p.layout else (f"s + ({p.shown})", "Layout<_8>{}")
        text += f"__global__ void k_{i}(int n) {{ __shared__ half_t s[65536]; int x = 0, y = 8; {p.body} "
        text += f"auto seen = make_tensor(make_smem_ptr({place}), {layout}); copy(seen, seen); }}\n"
    launches = "".join(f"k_{i}<<<1, 32>>>(n);\n" for i in range(len(table.programs)))
    return f"{text}void host(int n) {{\n{launches}}}\n", first


def said(table: Table, folder: Path, include: tuple[Path, ...] = ()) -> list[str]:
    """What cutecheck says of each program: a number or layout, or ``?`` and why it is not known."""
    text, first = source(table)
    (folder / "k.cu").write_text(text)
    facts = extract(ExtractRequest((folder,), ("sm_80",), include_dirs=include))
    found: dict[int, set[str]] = {}
    for event in facts.events:
        at = event.span.line - first
        operand = event.operands[0]
        value = operand.layout if table.programs[at].layout else operand.offset
        if isinstance(value, Unknown):
            shown = f"? {value.reason}"
        elif table.programs[at].layout:
            shown = str(value)
        else:
            number = as_expr(value).constant  # type: ignore[arg-type]
            shown = f"? {value}" if number is None else str(number)
        found.setdefault(at, set()).add(shown)
    every = (found.get(i, {"? nothing is met"}) for i in range(len(table.programs)))
    return [shown.pop() if len(shown) == 1 else f"? {sorted(shown)}" for shown in every]


def agrees(program: Program, said: str) -> bool:
    """Whether what is said is what is printed; of a tuple that stands for a layout its shape is."""
    if program.layout and ":" not in program.printed:
        said = said.rpartition(":")[0]
    return said == program.printed
