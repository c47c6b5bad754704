"""Which build files concern which sources, and which macros these then have.

The nearest ``setup.py`` or ``CMakeLists.txt`` in a source's folder or above it says so, both of them where they stand
in one folder. A ``CMakeLists.txt`` without a ``project()`` is part of the build above it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.records import record
from cutecheck.source.builds import cmake, setup_py
from cutecheck.source.builds.said import Given, Said, united, within
from cutecheck.source.files import is_file, read_bytes

SETUP, LISTS = "setup.py", "CMakeLists.txt"
_SHOWN = 8  # macros that a note names


@record(frozen=True, slots=True)
class BuildMacros:
    """``common`` of all sources, ``units`` besides of single ones by display path; ``NAME=VALUE``."""

    common: tuple[str, ...] = ()
    units: tuple[tuple[str, tuple[str, ...]], ...] = ()
    note: str = ""


def build_macros(files: Mapping[str, Path], roots: Sequence[Path], user: Sequence[str]) -> BuildMacros:
    """The macros of ``files`` (by display path), but those that the user gives."""
    search = _Search(tuple(os.path.abspath(r) for r in roots))  # noqa: PTH100 - links stay links
    theirs = {d.partition("=")[0] for d in user}
    given = {
        path: {g.name: g for g in search.of(os.path.dirname(os.path.abspath(file))) if g.name not in theirs}  # noqa: PTH100, PTH120
        for path, file in files.items()
    }
    if not any(given.values()):
        return BuildMacros()
    first = next(iter(given.values()))
    common = {n: g for n, g in first.items() if all(n in o and o[n].value == g.value for o in given.values())}
    units = {p: tuple(f"{n}={g.value}" for n, g in own.items() if n not in common) for p, own in given.items()}
    return BuildMacros(
        tuple(f"{n}={g.value}" for n, g in common.items()),
        tuple((path, own) for path, own in units.items() if own),
        _note(dict.fromkeys(g for own in given.values() for g in own.values()), search.shown),
    )


def _note(given: Mapping[Given, None], shown: Callable[[Path], str]) -> str:
    told = [f"{g.name}{'' if g.value == '1' else '=' + g.value} ({shown(g.file)}:{g.line})" for g in given]
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return f"macros of the build files, as nothing else gives them: {', '.join(told[:_SHOWN])}{more}"


@dataclass(slots=True)
class _Search:
    """Each folder is asked once."""

    roots: tuple[str, ...]
    _known: dict[str, tuple[Given, ...]] = field(default_factory=dict)
    _tops: dict[str, str] = field(default_factory=dict)
    _setups: dict[str, Said | None] = field(default_factory=dict)
    _lists: dict[str, cmake.Lists | None] = field(default_factory=dict)

    def of(self, folder: str) -> tuple[Given, ...]:
        """The macros of the sources of a folder."""
        if folder not in self._known:
            self._known[folder] = self._of(folder)
        return self._known[folder]

    def shown(self, file: Path) -> str:
        """A file as the report names it: from the folder that was scanned."""
        tops = [Path(r if os.path.isdir(r) else os.path.dirname(r)) for r in self.roots]  # noqa: PTH112, PTH120
        around = next((t for t in tops if file.is_relative_to(t)), tops[0] if tops else file.parent)
        return Path(os.path.relpath(file, around)).as_posix()

    def _of(self, folder: str) -> tuple[Given, ...]:
        top = self._top(folder)
        levels: list[Said] = []
        at, inner = folder, True
        while True:
            setup, lists = self._setup(at), self._cmake(at, top)
            parts = [] if setup is None else [setup]
            if lists is not None:
                parts += [lists.folder, lists.targets] if inner else [lists.folder]
                inner = False  # the targets of an outer one are not the sources here
            levels.append(united(parts))
            above = os.path.dirname(at)  # noqa: PTH120
            if setup is not None or (lists is not None and lists.top) or at in (top, above):
                break
            at = above
        found = levels.pop()
        while levels:
            found = within(levels.pop(), found)
        return tuple(g for g in found.given if g.name not in found.open)

    def _top(self, folder: str) -> str:
        """How far up: to the repository's top, else to what is scanned."""
        above = [folder, *(str(p) for p in Path(folder).parents)]
        for at in above:
            if at not in self._tops:
                self._tops[at] = at if os.path.exists(os.path.join(at, ".git")) else ""  # noqa: PTH110, PTH118
            if self._tops[at]:
                return at
        around = [at for at in above if at in self.roots]
        return around[-1] if around else folder

    def _setup(self, folder: str) -> Said | None:
        if folder not in self._setups:
            file = Path(folder, SETUP)
            self._setups[folder] = setup_py.read(_text(file), file) if is_file(file) else None
        return self._setups[folder]

    def _cmake(self, folder: str, top: str) -> cmake.Lists | None:
        if folder not in self._lists:
            file = Path(folder, LISTS)
            self._lists[folder] = cmake.read(file, Path(top)) if is_file(file) else None
        return self._lists[folder]


def _text(file: Path) -> str:
    try:
        data = read_bytes(file)
    except OSError:
        return ""
    return data.decode("utf-8", "replace") if len(data) <= cmake.MAX_BYTES else ""
