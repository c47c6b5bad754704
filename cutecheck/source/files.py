"""Reading scanned files: from disk, or from what an editor or standard input holds in their place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_HELD: ContextVar[Mapping[str, bytes] | None] = ContextVar("held", default=None)


@contextmanager
def held(contents: Mapping[Path, bytes]) -> Iterator[None]:
    """Within it, :func:`read_bytes` gives these contents for these files, which need not exist on disk; they nest."""
    inner = {_key(file): data for file, data in contents.items()}
    token = _HELD.set({**(_HELD.get() or {}), **inner} or None)
    try:
        yield
    finally:
        _HELD.reset(token)


def read_bytes(file: Path) -> bytes:
    """The bytes of a file. Raises OSError as reading it does."""
    contents = _HELD.get()
    if contents is not None:
        data = contents.get(_key(file))
        if data is not None:
            return data
    return file.read_bytes()


def exists(file: Path) -> bool:
    """Whether :func:`read_bytes` has something to read there, or a folder stands there."""
    contents = _HELD.get()
    return (contents is not None and _key(file) in contents) or file.exists()


def size_bytes(file: Path) -> int:
    """The size of a file. Raises OSError as asking for it does."""
    contents = _HELD.get()
    data = contents.get(_key(file)) if contents is not None else None
    return file.stat().st_size if data is None else len(data)


def _key(file: Path) -> str:
    return os.path.realpath(file)
