"""Include folders, macros and targets of a ``compile_commands.json`` (clang.llvm.org/docs/JSONCompilationDatabase)."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cutecheck.config import ConfigError
from cutecheck.records import record

NAME = "compile_commands.json"
MAX_BYTES = 64 << 20
_ARCH = re.compile(r"(?:sm|compute)_(\d+[af]?)")
_SEPARATE = {"-I": "include", "-isystem": "include", "--include-path": "include", "-iquote": "include", "-D": "define",
             "--define-macro": "define", "-gencode": "arch", "--generate-code": "arch", "-arch": "arch",
             "--gpu-architecture": "arch", "--cuda-gpu-arch": "arch"}  # fmt: skip


@record(frozen=True, slots=True)
class CompileFlags:
    """What the commands of the scanned files say.

    ``define`` holds the macros that all of them give one value, ``units`` those of each source besides, by its real
    path. A source that several commands compile has those of the first; ``again`` are the ones that others differ for.
    """

    file: Path
    include: tuple[str, ...]
    define: tuple[str, ...]
    arch: tuple[str, ...]
    units: tuple[tuple[str, tuple[str, ...]], ...]
    again: tuple[str, ...]


def find_database(paths: Sequence[Path]) -> Path | None:
    """The closest database: in a scanned folder or one above it up to the repository's top, or in their ``build``."""
    for path in paths:
        start = path.absolute() if path.is_dir() else path.absolute().parent
        for folder in (start, *start.parents):
            for candidate in (folder / NAME, folder / "build" / NAME):
                if candidate.is_file():
                    return candidate
            if (folder / ".git").exists():
                break
    return None


def read_flags(file: Path, paths: Sequence[Path]) -> CompileFlags:
    """The flags of the commands that compile a file below one of the paths; of all when there is none.

    Raises ConfigError for what is no database.
    """
    entries = _entries(file)
    scanned = [os.path.realpath(p) for p in paths]
    own = [e for e in entries if any(_within(_source(e, file), s) for s in scanned)]
    used = own or entries
    flags = [list(_flags(e, file)) for e in used]
    macros = [dict(_split(v) for kind, v in found if kind == "define") for found in flags]
    common = {n: v for n, v in macros[0].items() if all(m.get(n) == v for m in macros)} if macros else {}
    units: dict[str, tuple[str, ...]] = {}
    again: dict[str, None] = {}
    for entry, given in zip(used, macros, strict=True):
        more = tuple(f"{n}={v}" for n, v in given.items() if n not in common)
        if units.setdefault(_source(entry, file), more) != more:
            again[_source(entry, file)] = None
    return CompileFlags(
        file,
        tuple(dict.fromkeys(v for found in flags for kind, v in found if kind == "include")),
        tuple(f"{n}={v}" for n, v in common.items()),
        tuple(sorted({f"sm_{a}" for found in flags for kind, v in found if kind == "arch" for a in _ARCH.findall(v)})),
        tuple((source, more) for source, more in units.items() if more),
        tuple(again),
    )


def _entries(file: Path) -> list[dict[str, Any]]:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{file}: over the limit of {MAX_BYTES} bytes")
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{file}: not valid JSON") from None
    if not isinstance(document, list) or not all(
        isinstance(e, dict) and isinstance(e.get("file"), str) for e in document
    ):
        raise ConfigError(f"{file}: not a compilation database: a list of objects with `file` was expected")
    return document


def _source(entry: dict[str, Any], file: Path) -> str:
    return os.path.realpath(_folder(entry, file) / str(entry["file"]))


def _folder(entry: dict[str, Any], file: Path) -> Path:
    folder = entry.get("directory")
    return file.parent / folder if isinstance(folder, str) else file.parent


def _within(source: str, top: str) -> bool:
    return source == top or source.startswith(top.rstrip(os.sep) + os.sep)


def _flags(entry: dict[str, Any], file: Path) -> Iterator[tuple[str, str]]:
    """(kind, value) of every flag that matters here, in order; include folders absolute."""
    words = iter(_words(entry))
    for word in words:
        kind, value = _flag(word, words)
        if kind == "include":
            yield kind, os.path.normpath(_folder(entry, file) / value)
        elif kind:
            yield kind, value


def _words(entry: dict[str, Any]) -> list[str]:
    arguments = entry.get("arguments")
    if isinstance(arguments, list):
        return [a for a in arguments if isinstance(a, str)]
    command = entry.get("command")
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # an open quote
        return []


def _flag(word: str, rest: Iterable[str]) -> tuple[str, str]:
    if word in _SEPARATE:
        return _SEPARATE[word], next(iter(rest), "")
    for flag, kind in _SEPARATE.items():
        if word.startswith(flag + "=") or (flag in ("-I", "-D", "-isystem") and word.startswith(flag)):
            return kind, word[len(flag) :].removeprefix("=")
    return "", ""


def _split(definition: str) -> tuple[str, str]:
    name, equals, value = definition.partition("=")
    return name, value if equals else "1"
