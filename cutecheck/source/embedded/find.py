"""The translation units in the strings of scanned programs, and the places of those that are not read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from cutecheck.records import record
from cutecheck.source import notebooks
from cutecheck.source.discover import DSL_SUFFIXES, SourceFile, imports
from cutecheck.source.embedded.paths import name
from cutecheck.source.embedded.units import MOST, Embedded, compiles, embedded, of_cell
from cutecheck.source.files import read_bytes

_SHOWN = 5


@record(frozen=True, slots=True)
class Found:
    """``files``: the units by their paths, as files of a tree; ``cute``: those with names of CuTe; ``unread``: where
    strings begin that are none.
    """

    files: Mapping[str, Path]
    cute: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def note(self) -> str:
        """What a report says of kernels in strings that are not read; empty for none."""
        if not self.unread:
            return ""
        left = len(self.unread) - _SHOWN
        shown = ", ".join(self.unread[:_SHOWN]) + (f" and {left} more" if left > 0 else "")
        return (
            f"{shown}: CUDA C++ in a string is not checked: nothing here compiles it, what fills it is not known, or a "
            f"file has over {MOST} (put it into a file of its own)"
        )


def find(files: tuple[SourceFile, ...]) -> Found:
    """Of programs that compile strings, and of those that they import."""
    cute: list[str] = []
    units: dict[str, Path] = {}
    unread: dict[str, list[str]] = {}
    scripts = {f.path: f.file for f in files if f.path.endswith(DSL_SUFFIXES)}
    imported: frozenset[str] | None = None  # by files that compile strings
    for source in files:
        if not source.strings:
            continue
        for shown, file, found in _parts(source, _read(source.file)):
            if found.unread and source.path.endswith(".py"):
                imported = _compiled(scripts) if imported is None else imported
            if found.unread and imported and _module(source.path) in imported:
                found = embedded(_read(source.file), python=True, compiled=True)
            unread.setdefault(source.path, []).extend(f"{shown}:{line}" for line in found.unread)
            units.update({name(shown, n): Path(name(file, n)) for n in range(1, len(found.units) + 1)})
            cute += (name(shown, n) for n, unit in enumerate(found.units, 1) if unit.cute)
    return Found(units, tuple(cute), tuple(place for places in unread.values() for place in places[:1]))


def _parts(source: SourceFile, data: bytes) -> list[tuple[str, str, Embedded]]:
    """The texts of a file: it, or the cells of a notebook, as they are shown and found on disk."""
    if not source.path.endswith(notebooks.SUFFIX):
        return [(source.path, str(source.file), embedded(data, source.path.endswith(".py")))]
    cells = notebooks.cells(data)
    compiled = any(compiles(line.encode(), python=True) for cell in cells for line in cell.lines)
    return [
        (notebooks.place(source.path, c.number), notebooks.place(str(source.file), c.number), of_cell(c, compiled))
        for c in cells
    ]


def _compiled(scripts: Mapping[str, Path]) -> frozenset[str]:
    """The words of all imports of Python files that compile strings."""
    compiling = (f for p, f in scripts.items() if p.endswith(".py") and compiles(_read(f), python=True))
    return frozenset().union(*(words for file in compiling for words in imports(file)))


def _module(path: str) -> str:
    at = PurePosixPath(path)
    return at.parent.name if at.stem == "__init__" else at.stem


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError:
        return b""


__all__ = ["Found", "find"]
