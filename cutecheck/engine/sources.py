"""Lines and files of scanned sources, by the paths their spans show."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cutecheck.source import notebooks
from cutecheck.source.files import exists, read_bytes, size_bytes

MAX_BYTES = 16 << 20


class SourceLines:
    """Maps the path of a span (relative to the folder it was found under) back to the lines of its file."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._cache: dict[str, list[str] | None] = {}
        self._files: dict[str, Path | None] = {}

    def __call__(self, path: str) -> list[str] | None:
        """The lines without their ends, or None where the file cannot be read any more."""
        if path not in self._cache:
            self._cache[path] = self._read(path)
        return self._cache[path]

    def file(self, path: str) -> Path | None:
        """The file that a path of a span shows, or None where there is none."""
        path = notebooks.split(path)[0]
        if path not in self._files:
            self._files[path] = next(
                (f for f in self._candidates(path) if f.is_file() or (not f.is_dir() and exists(f))), None
            )
        return self._files[path]

    def _candidates(self, path: str) -> Iterator[Path]:
        """The scanned files and folders in their order, as discovery met them; then those of longer shown paths."""
        for given in self._paths:
            if not given.is_dir():
                if given.name == path:
                    yield given
            else:
                yield given / path
        for given in self._paths:
            whole = given.absolute()
            if not given.is_dir():
                if whole.as_posix().endswith(f"/{path}"):
                    yield given
            else:
                yield from (f for p in whole.parents if (f := p / path).is_relative_to(whole))
        for given in self._paths:
            yield (given if given.is_dir() else given.parent) / path
        yield Path(path)

    def _read(self, path: str) -> list[str] | None:
        file = self.file(path)
        try:
            if file is None or size_bytes(file) > MAX_BYTES:
                return None
            number = notebooks.split(path)[1]
            if number is not None:
                found = notebooks.cells(read_bytes(file))
                return next((list(c.lines) for c in found if c.number == number), None)
            return read_bytes(file).decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")
        except OSError:
            return None


class Project:
    """The folder that outputs name their paths from: ``root``, or the git work tree
    around the current folder, or that folder."""

    def __init__(self, sources: SourceLines, root: Path | None = None) -> None:
        here = Path.cwd()
        self.root = root or next((f for f in (here, *here.parents) if (f / ".git").exists()), here)
        self._here = here
        self._sources = sources

    def near(self, path: str) -> str:
        """The path from the current folder for a file below it; else the path as it was scanned."""
        file = self._sources.file(path)
        try:
            if file is None:
                return path
            number = notebooks.split(path)[1]
            shown = Path(os.path.abspath(file)).relative_to(self._here).as_posix()  # noqa: PTH100
            return shown if number is None else notebooks.place(shown, number)
        except ValueError:
            return path

    def place(self, path: str) -> str:
        """The path from the project's folder, POSIX; absolute for a file outside it."""
        absolute = os.path.abspath(self._sources.file(path) or path)  # noqa: PTH100 (links stay links)
        try:
            return Path(absolute).relative_to(self.root).as_posix()
        except ValueError:
            return Path(absolute).as_posix()
