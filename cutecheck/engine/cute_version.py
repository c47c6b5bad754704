"""Which CuTe a tree is written against: the ``cutlass/version.h`` among its include paths, in it, or above it.

What is named (``--cutlass-version``, ``cutlass-version`` in the configuration) is never overruled. A version older than
any that is modelled, or newer than the reference, is told and the reference followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cutecheck.config.settings import Settings
from cutecheck.model.version import REFERENCE, parse_version
from cutecheck.records import record

_HEADER = Path("cutlass", "version.h")
_CHECKOUTS = ("cutlass", "third_party/cutlass", "third-party/cutlass", "3rdparty/cutlass", "extern/cutlass",
              "external/cutlass", "csrc/cutlass", "deps/cutlass", "submodules/cutlass")  # fmt: skip
_SKIPPED = frozenset({".git", "node_modules", "build", "__pycache__", "docs", "media"})
_DEPTH, _FOLDERS, _ABOVE = 4, 400, 4


@record(frozen=True, slots=True)
class Found:
    """``major.minor.patch`` as a header says it, and which header."""

    version: str
    header: Path


def detect(paths: Sequence[Path], include: Sequence[Path]) -> Found | None:
    """The version of the first header found: include paths first, then the scanned tree, then the folders above it."""
    for header in _candidates(paths, include):
        version = _read(header)
        if version is not None:
            return Found(version, header)
    return None


def _candidates(paths: Sequence[Path], include: Sequence[Path]) -> Iterator[Path]:
    for folder in include:
        yield folder / _HEADER
        yield folder / "include" / _HEADER
    roots = [p if p.is_dir() else p.parent for p in paths]
    for root in roots:
        yield from _in_project(root)
    for root in roots:
        yield from _below(root)
    yield from _above(roots)


def around(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The include directories with CUTLASS's headers in the folders above what is scanned, nearest first."""
    roots = [p if p.is_dir() else p.parent for p in paths]
    return tuple(dict.fromkeys(h.parent.parent for h in _above(roots) if h.is_file()))


def _above(roots: Sequence[Path]) -> Iterator[Path]:
    for root in roots:
        for above in list(root.resolve().parents)[:_ABOVE]:
            yield from _in_project(above)
            if (above / ".git").exists():
                break


def _in_project(root: Path) -> Iterator[Path]:
    yield root / "include" / _HEADER
    yield root / _HEADER
    for checkout in _CHECKOUTS:
        yield root / checkout / "include" / _HEADER


def _below(root: Path) -> Iterator[Path]:
    """A bounded search, nearest folders first."""
    level, seen = [root], 0
    for _ in range(_DEPTH):
        following: list[Path] = []
        for folder in level:
            seen += 1
            if seen > _FOLDERS:
                return
            try:
                inner = sorted(e.name for e in os.scandir(folder) if e.is_dir(follow_symlinks=False))
            except OSError:
                continue
            if "cutlass" in inner:
                yield folder / _HEADER
                yield folder / "cutlass" / "include" / _HEADER
            following += [folder / n for n in inner if n not in _SKIPPED]
        level = following


def _read(header: Path) -> str | None:
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    parts = [re.search(rf"#define\s+CUTLASS_{p}\s+(\d+)", text) for p in ("MAJOR", "MINOR", "PATCH")]
    return None if parts[0] is None or parts[1] is None else ".".join(m[1] for m in parts if m is not None)


def with_version(settings: Settings, paths: Sequence[Path], include: Sequence[Path] = ()) -> tuple[Settings, str]:
    """The settings with the version of CuTe to follow, and a note where the one found is not modelled."""
    if settings.cutlass_version:
        return settings, ""
    found = detect(paths, (*map(Path, settings.include), *include))
    if found is None:
        return settings, ""
    reference = ".".join(map(str, REFERENCE))
    try:
        version = parse_version(found.version)
    except ValueError as error:
        return settings, f"{found.header}: {error}; {reference} is followed"
    if version > REFERENCE:
        newer = f"{found.header}: CUTLASS {found.version} is newer than {reference}, which is followed"
        return settings, newer
    return replace(settings, cutlass_version=found.version), ""
