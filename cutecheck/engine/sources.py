"""Lines of scanned files, for snippets and suppression comments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MAX_BYTES = 16 << 20


class SourceLines:
    """Maps the path of a span (relative to the folder it was found under) back to the lines of its file."""

    def __init__(self, paths: Sequence[Path]) -> None:
        roots = [p if p.is_dir() else p.parent for p in paths]
        self._roots = list(dict.fromkeys([*roots, Path()]))
        self._cache: dict[str, list[str] | None] = {}

    def __call__(self, path: str) -> list[str] | None:
        """The lines without their ends, or None where the file cannot be read any more."""
        if path not in self._cache:
            self._cache[path] = self._read(path)
        return self._cache[path]

    def _read(self, path: str) -> list[str] | None:
        for root in self._roots:
            file = root / path
            try:
                if file.is_file() and file.stat().st_size <= MAX_BYTES:
                    text = file.read_bytes().decode("utf-8", errors="replace")
                    return text.replace("\r\n", "\n").split("\n")
            except OSError:
                continue
        return None
