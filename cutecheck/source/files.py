"""Reading scanned files: from disk, or from what an editor or standard input holds in their place."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from errno import ENOENT
from pathlib import Path
from typing import TypeVar

from cutecheck.cache import digest
from cutecheck.facts.span import EMBEDDED
from cutecheck.source.notebooks import split

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")
_HELD: ContextVar[Mapping[str, bytes] | None] = ContextVar("held", default=None)
_WATCH: ContextVar[dict[str, str] | None] = ContextVar("watch", default=None)
FILE, FOLDER, NEITHER = "file", "folder", ""
_LISTING = "/\0"  # in no path: before the suffixes of what is asked for in a folder


@contextmanager
def held(contents: Mapping[Path, bytes]) -> Iterator[None]:
    """Within it, :func:`read_bytes` gives these contents for these files, which need not exist on disk; they nest."""
    inner = {_key(file): data for file, data in contents.items()}
    token = _HELD.set({**(_HELD.get() or {}), **inner} or None)
    try:
        yield
    finally:
        _HELD.reset(token)


def holds() -> bool:
    """Whether some files are read from elsewhere than disk."""
    return _HELD.get() is not None


@contextmanager
def watched() -> Iterator[dict[str, str]]:
    """Within it, what is asked of the disk is noted: for each path the digest of what was read, or what stood there.

    They nest; the outer one learns what the inner one noted.
    """
    seen: dict[str, str] = {}
    token = _WATCH.set(seen)
    try:
        yield seen
    finally:
        _WATCH.reset(token)
        noted(seen)


def noted(seen: Mapping[str, str]) -> None:
    """Note what was asked in a part of the run that is remembered."""
    inside = _WATCH.get()
    if inside is not None:
        inside.update({p: a for p, a in seen.items() if a != FILE or p not in inside})


def once(table: dict[_K, tuple[_V, dict[str, str]]], key: _K, make: Callable[[], _V]) -> _V:
    """What ``make`` comes to, which is asked for the first time only; what it asked of the disk is noted each time."""
    found = table.get(key)
    if found is None:
        with watched() as seen:
            value = make()
        found = table[key] = (value, seen)
    else:
        noted(found[1])
    return found[0]


def same(seen: Mapping[str, str], known: dict[str, str] | None = None) -> bool:
    """Whether the disk would answer all that as it did. ``known``: what it was asked in this run."""
    known = {} if known is None else known
    return all(_now(path, answer in (FILE, FOLDER, NEITHER), known) == answer for path, answer in seen.items())


def _now(path: str, kind: bool, known: dict[str, str]) -> str:
    key = f"{path}/" if kind else path  # no name of a file
    if key not in known:
        folder, is_listing, suffixes = path.partition(_LISTING)
        try:
            if is_listing:
                known[key] = _names(Path(folder), tuple(suffixes.split()))
            else:
                known[key] = _kind(Path(path)) if kind else digest(Path(path).read_bytes())
        except OSError:
            known[key] = NEITHER
    return known[key]


def _note(file: Path, answer: str) -> None:
    seen = _WATCH.get()
    if seen is not None and (answer != FILE or os.path.abspath(file) not in seen):  # noqa: PTH100
        seen[os.path.abspath(file)] = answer  # noqa: PTH100 - links stay links


def read_bytes(file: Path) -> bytes:
    """The bytes of a file, or of a unit in a string of one. Raises OSError as reading it does."""
    if EMBEDDED in file.name:
        return _embedded(file)
    contents = _HELD.get()
    if contents is not None:
        data = contents.get(_key(file))
        if data is not None:
            return data
    try:
        data = file.read_bytes()
    except OSError:
        _note(file, NEITHER)
        raise
    if _WATCH.get() is not None:
        _note(file, digest(data))
    return data


def _embedded(file: Path) -> bytes:
    from cutecheck.source.embedded.units import unit  # parses

    path = str(file)
    text = unit(read_bytes(Path(split(path)[0])), path)
    if text is None:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(file))
    return text.encode("utf-8", "replace")


def is_file(file: Path) -> bool:
    """Whether a file stands there on disk."""
    found = _kind(file)
    _note(file, found)
    return found == FILE


def listed(folder: Path, suffixes: tuple[str, ...]) -> None:
    """Note which files of these suffixes and which folders stand in a folder."""
    seen = _WATCH.get()
    if seen is not None:
        seen[f"{os.path.abspath(folder)}{_LISTING}{' '.join(suffixes)}"] = _names(folder, suffixes)  # noqa: PTH100


def _names(folder: Path, suffixes: tuple[str, ...]) -> str:
    with suppress(OSError), os.scandir(folder) as entries:
        return digest(*sorted(e.name for e in entries if e.name.endswith(suffixes) or _leads_on(e)))
    return NEITHER


def _leads_on(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith((".", "__pycache__")) and entry.is_dir()


def _kind(file: Path) -> str:
    # not of Path: a name that is too long is no file, and no error
    return FILE if os.path.isfile(file) else FOLDER if os.path.isdir(file) else NEITHER  # noqa: PTH112, PTH113


def exists(file: Path) -> bool:
    """Whether :func:`read_bytes` has something to read there, or a folder stands there."""
    contents = _HELD.get()
    return (contents is not None and _key(file) in contents) or os.path.exists(file)  # noqa: PTH110


def size_bytes(file: Path) -> int:
    """The size of a file. Raises OSError as asking for it does."""
    contents = _HELD.get()
    data = contents.get(_key(file)) if contents is not None else None
    return file.stat().st_size if data is None else len(data)


def _key(file: Path) -> str:
    return os.path.realpath(file)
