"""The files of a run that may be edited: regular files of the scanned trees, reached through no link."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cutecheck.engine.fixes.text import SourceText
from cutecheck.engine.sources import MAX_BYTES, SourceLines
from cutecheck.facts.span import EMBEDDED
from cutecheck.source.files import read_bytes


class Files:
    """Maps the path of a span to the text of its file; None for what may not be edited."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._roots = [Path(os.path.abspath(p)) for p in paths]  # noqa: PTH100 (links stay links)
        self._sources = SourceLines(paths)
        self._known: dict[str, SourceText | None] = {}

    def __call__(self, path: str) -> SourceText | None:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> SourceText | None:
        file = self._sources.file(path)
        if (
            file is None or EMBEDDED in path or not self.editable(file)
        ):  # of a string what is written is not what is read
            return None
        try:
            data = read_bytes(file)
        except OSError:
            return None
        lone = data.replace(b"\r\n", b"")
        if len(data) > MAX_BYTES or b"\0" in data or b"\r" in lone:
            return None
        return SourceText(path, file, data)

    def editable(self, file: Path) -> bool:
        """A regular file that was named, or lies below a named folder, with no symbolic link on the way."""
        whole = Path(os.path.abspath(file))  # noqa: PTH100
        if not whole.is_file() or whole.is_symlink():
            return False
        for root in self._roots:
            if whole == root:
                return True
            if root.is_dir() and whole.is_relative_to(root):
                between = list(whole.parents)[: len(whole.parts) - len(root.parts) - 1]
                return not any(p.is_symlink() for p in between)
        return False
