"""Which file a dotted module is: below a folder, or below one that the tree puts on Python's path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cutecheck.source.files import is_file, read_bytes


def file_of(folder: Path | None, parts: list[str]) -> Path | None:
    """The file of a module below a folder."""
    if folder is None:
        return None
    base = folder.joinpath(*parts)
    for candidate in (base.with_suffix(".py") if base.name else base, base / "__init__.py"):
        if is_file(candidate):
            return candidate
    return None


def is_package(folder: Path, parts: list[str]) -> bool:
    """Whether a folder has a folder of this name."""
    is_file(folder.joinpath(*parts))  # noted
    return folder.joinpath(*parts).is_dir()


def tops(files: Iterable[Path]) -> dict[str, set[Path]]:
    """The folders that hold a package, or a module that is in no package, by the names of these."""
    files = [f for f in files if f.suffix == ".py"]
    packages = {f.parent for f in files if f.name == "__init__.py"}
    found: dict[str, set[Path]] = {}
    for p in packages:
        if p.parent not in packages:
            found.setdefault(p.name, set()).add(p.parent)
    for f in files:
        if f.parent not in packages:
            found.setdefault(f"{f.stem}.py", set()).add(f.parent)
    return found


_CLIMBS = re.compile(rb"sys\.path\b[^#]*?(?:\.\./|\.\.[\"']|dirname|parent)|(?:dirname|parent)[^#]*?sys\.path\b")
_MOST_ABOVE = 8


def above(parts: list[str], importer: Path | None) -> Path | None:
    """A module in a folder above the scanned ones, where the importing script puts such a folder on Python's path."""
    try:
        climbs = importer is not None and _CLIMBS.search(read_bytes(importer)) is not None
    except OSError:
        return None
    folders = list(importer.resolve().parents)[:_MOST_ABOVE] if importer is not None and climbs else []
    return next((found for folder in folders[:-1] if (found := file_of(folder, parts)) is not None), None)


def on_the_path(known: Mapping[str, set[Path]], parts: list[str], importer: Path | None) -> Path | None:
    """A module below a folder that is installed (`src/`), or that the importing script adds to Python's path.

    Only where one folder alone can be meant.
    """
    folders = known.get(parts[0], set())
    if not folders and importer is not None and len(parts) == 1:
        try:
            folders = known.get(f"{parts[0]}.py", set()) if b"sys.path" in read_bytes(importer) else set()
        except OSError:
            return None
    return file_of(next(iter(folders)), parts) if len(folders) == 1 else None
