"""The C++ files of a run: their text, includes and lowered units, each read once an architecture."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cutecheck.source.cpp.defines import Defines, Macro
from cutecheck.source.cpp.directives import depends_on_arch, preprocess
from cutecheck.source.cpp.strip import strip_comments
from cutecheck.source.cpp.unit import decode, load
from cutecheck.source.eval import ir

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
TRANSLATION_UNITS = (".cu", ".cpp", ".cc", ".cxx")


@dataclass(slots=True)
class _File:
    path: str
    file: Path
    text: str
    stripped: str
    arch_dependent: bool


@dataclass(slots=True)
class Tree:
    """``files`` maps display paths to files on disk; ``include_dirs`` are searched after the tree."""

    files: dict[str, Path]
    include_dirs: tuple[Path, ...] = ()
    user: tuple[tuple[str, str], ...] = ()
    _read: dict[str, _File | None] = field(default_factory=dict)
    _units: dict[tuple[str, str], ir.Unit] = field(default_factory=dict)
    _macros: dict[tuple[str, str], dict[str, Macro]] = field(default_factory=dict)
    _includes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _suffixes: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.files:
            self._suffixes.setdefault(PurePosixPath(path).name, []).append(path)

    def text(self, path: str) -> str:
        found = self.file(path)
        return "" if found is None else found.text

    def file(self, path: str) -> _File | None:
        """The file of a display path, read once; None when it cannot be read."""
        if path not in self._read:
            self._read[path] = None
            try:
                text = decode(self.files[path].read_bytes())[0]
            except (OSError, KeyError):
                return None
            stripped = strip_comments(text)[0]
            self._read[path] = _File(path, self.files[path], text, stripped, depends_on_arch(text))
        return self._read[path]

    def resolve(self, include: str, from_path: str, is_system: bool) -> str | None:
        """The display path an include names: beside the includer, in the tree, or on the include path."""
        target = PurePosixPath(include)
        parent = PurePosixPath(from_path).parent
        if not is_system:
            beside = _normal(parent / target)
            if beside in self.files:
                return beside
            disk = self.files[from_path].parent / include if from_path in self.files else None
            if disk is not None and disk.is_file():
                return self._adopt(beside, disk)
        matches = [p for p in self._suffixes.get(target.name, ()) if p == include or p.endswith("/" + include)]
        if matches:
            return max(matches, key=lambda p: (_common(p, from_path), -len(p)))
        for folder in self.include_dirs:
            disk = folder / include
            if disk.is_file():
                return self._adopt(include, disk)
        return None

    def _adopt(self, path: str, disk: Path) -> str:
        if path not in self.files:
            self.files[path] = disk
            self._suffixes.setdefault(PurePosixPath(path).name, []).append(path)
        return path

    def _key(self, path: str, arch: str) -> tuple[str, str]:
        found = self.file(path)
        return path, arch if found is not None and found.arch_dependent else ""

    def includes(self, path: str, arch: str) -> tuple[str, ...]:
        """Files of the tree that a file includes directly."""
        self._scan(path, arch, ())
        return self._includes.get((path, arch), ())

    def _scan(self, path: str, arch: str, stack: tuple[str, ...]) -> dict[str, Macro]:
        """Macros that stand at the end of a file, those of its includes among them."""
        key = (path, arch)
        if key in self._macros:
            return self._macros[key]
        found = self.file(path)
        if found is None or path in stack or len(stack) > 200:
            return {}
        self._macros[key] = {}
        first = preprocess(found.stripped, Defines(arch, self.user))
        targets = []
        macros: dict[str, Macro] = {}
        for inc in first.includes:
            target = self.resolve(inc.text, path, inc.is_system)
            if target is not None and target != path:
                targets.append(target)
                macros.update(self._scan(target, arch, (*stack, path)))
        self._includes[key] = tuple(dict.fromkeys(targets))
        macros.update(first.macros.final())
        self._macros[key] = macros
        return macros

    def closure(self, path: str, arch: str) -> list[str]:
        """A file and everything it includes, includes first."""
        out: dict[str, None] = {}
        stack = [(path, iter(self.includes(path, arch)))]
        seen = {path}
        while stack:
            at, rest = stack[-1]
            for target in rest:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(self.includes(target, arch))))
                    break
            else:
                out[at] = None
                stack.pop()
        return list(out)

    def reaching(self, targets: frozenset[str]) -> frozenset[str]:
        """Files from which a chain of ``#include`` lines leads to one of the targets, conditions ignored."""
        includers: dict[str, list[str]] = {}
        for path in list(self.files):
            for quote, text in self._include_lines(path):
                target = self.resolve(text, path, quote == "<")
                if target is not None:
                    includers.setdefault(target, []).append(path)
        found = set(targets)
        stack = list(targets)
        while stack:
            for path in includers.get(stack.pop(), ()):
                if path not in found:
                    found.add(path)
                    stack.append(path)
        return frozenset(found)

    def _include_lines(self, path: str) -> list[tuple[str, str]]:
        try:
            data = self.files[path].read_bytes()
        except OSError:
            return []
        return [(q.decode(), t.decode("utf-8", "replace")) for q, t in _INCLUDE.findall(data)]

    def unit(self, path: str, arch: str) -> ir.Unit | None:
        """The lowered file."""
        found = self.file(path)
        if found is None:
            return None
        key = self._key(path, arch)
        if key not in self._units:
            macros: dict[str, Macro] = {}
            for target in self.includes(path, arch):
                macros.update(self._scan(target, arch, (path,)))
            self._units[key] = load(path, found.text, Defines(arch, self.user, macros))
        return self._units[key]


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for p in path.parts:
        if p == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif p != ".":
            parts.append(p)
    return "/".join(parts)


def _common(a: str, b: str) -> int:
    count = 0
    for x, y in zip(a.split("/"), b.split("/"), strict=False):
        if x != y:
            break
        count += 1
    return count


def translation_units(paths: Iterable[str], tree: Tree, arch: str) -> list[str]:
    """Files to evaluate on their own: sources, then headers that no source of the run includes."""
    ordered = list(paths)
    sources = [p for p in ordered if p.endswith(TRANSLATION_UNITS)]
    covered: set[str] = set()
    for p in sources:
        covered.update(tree.closure(p, arch))
    headers = [p for p in ordered if p not in covered]
    included = {t for p in headers for t in tree.closure(p, arch) if t != p}
    return sources + [p for p in headers if p not in included]
