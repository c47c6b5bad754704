"""Jupyter notebooks: their code cells as Python, and the names of the places in them.

A place in a notebook is named ``folder/book.ipynb:cell 3``, with lines of that cell; cells count from 1, text cells
too, as the notebook shows them.
"""

from __future__ import annotations

import json
import re

from cutecheck.facts.span import outer
from cutecheck.records import record

SUFFIX = ".ipynb"
_PLACE = re.compile(r"(.*\.ipynb):cell (\d+)", re.DOTALL)
_MAGIC = re.compile(r"^(\s*)(%|!|\?)|^(\s*)\w+\s*=\s*(%|!)")
_KEPT_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")  # magics that run the rest of the cell as Python


@record(frozen=True, slots=True)
class Cell:
    """A code cell: its number, its lines, and where it starts in the joined text (0-based)."""

    number: int
    lines: tuple[str, ...]
    start: int


def cells(data: bytes) -> tuple[Cell, ...]:
    """The code cells of a notebook; none where the file is no notebook."""
    try:
        book = json.loads(data.decode("utf-8-sig", errors="replace"))
        found = book["cells"] if "cells" in book else [c for w in book.get("worksheets", ()) for c in w["cells"]]
        language = str(book.get("metadata", {}).get("kernelspec", {}).get("language", "python"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ()
    if language.lower() != "python" or not isinstance(found, list):
        return ()
    out: list[Cell] = []
    at = 0
    for number, cell in enumerate(found, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        lines = text.replace("\r\n", "\n").split("\n")
        out.append(Cell(number, tuple(lines), at))
        at += len(lines)
    return tuple(out)


def python(found: tuple[Cell, ...]) -> str:
    """The cells as one Python text of as many lines; what is no Python is blank."""
    return "\n".join("\n".join(_code(c)) for c in found)


def _code(cell: Cell) -> list[str]:
    first = next((line for line in cell.lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_KEPT_CELLS):
        return ["" for _ in cell.lines]
    return [_MAGIC.sub(lambda m: (m.group(1) or m.group(3) or "") + "pass #", line, count=1) if _MAGIC.match(line)
            else line for line in cell.lines]  # fmt: skip


def place(path: str, number: int) -> str:
    """How spans name a cell."""
    return f"{path}:cell {number}"


def split(path: str) -> tuple[str, int | None]:
    """The file of a span's path (that with the string, of a unit in one), and the number of the cell that it names."""
    path = outer(path)
    found = _PLACE.fullmatch(path)
    return (found.group(1), int(found.group(2))) if found is not None else (path, None)
