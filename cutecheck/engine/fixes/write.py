"""Edited sources on disk, or as a unified difference."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cutecheck.engine.fixes.apply import FixRun
from cutecheck.engine.fixes.text import SourceText


class RefusedError(Exception):
    """A file is no longer what was checked; the message names it."""


def write_all(run: FixRun) -> list[Path]:
    """Replace each file by its edited content, whole or not at all. OSError, RefusedError before anything is lost."""
    for file, original in run.originals.items():
        if file.is_symlink() or file.read_bytes() != original.data:
            raise RefusedError(f"{file}: changed while it was checked, nothing written")
    written = []
    for file in sorted(run.originals):
        if run.contents[file] != run.originals[file].data:
            _replace(file, run.contents[file])
            written.append(file)
    return written


def _replace(file: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        temporary.chmod(file.stat().st_mode & 0o7777)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def difference(run: FixRun) -> Iterator[str]:
    """Unified difference of all edited files, in the order of their paths; lines keep their own ends."""
    for file in sorted(run.originals):
        old = run.originals[file]
        new = SourceText(old.path, file, run.contents[file])
        if new.data == old.data:
            continue
        before, after = (_lines(s.text) for s in (old, new))
        for line in difflib.unified_diff(before, after, f"a/{old.path}", f"b/{old.path}"):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends, split at line feeds alone."""
    return [f"{x}\n" for x in text.split("\n")[:-1]] + ([last] if (last := text.rsplit("\n", maxsplit=1)[-1]) else [])
