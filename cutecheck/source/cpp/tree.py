"""The C++ files of a run: their text, includes and lowered units, each under the macros of what it includes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar, cast

from cutecheck.source.cpp import completed
from cutecheck.source.cpp.defines import Defines, Macro
from cutecheck.source.cpp.directives import Fragment, Preprocessed, preprocess
from cutecheck.source.cpp.splice import TRANSLATION_UNITS, Splicer, guarded, of_library
from cutecheck.source.cpp.strip import Comment, strip_comments
from cutecheck.source.cpp.text import Origin
from cutecheck.source.cpp.unit import decode, finish
from cutecheck.source.cpp.words import WORD
from cutecheck.source.eval import ir
from cutecheck.source.files import is_file, read_bytes

_T = TypeVar("_T")
PRELUDE = Path(__file__).with_name("prelude")  # what stands for headers of CUTLASS that are nowhere else
# what an include line names, or a macro that names a file, which such a line may name in turn
_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*(?:include[ \t]*|define[ \t]+\w+[ \t]+(?=[<"][\w./-]+\.\w+[>"][ \t]*$))(?:<([^>\n]+)>|"([^"\n]+)")',
    re.MULTILINE,
)
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# begins with its own character, so that the search skips all others: every file of the tree is looked through
_INCLUDE_LINE = re.compile(
    rb"#[ \t]*(?:include[ \t]*|define[ \t]+\w+[ \t]+(?=[<\"][\w./-]+\.\w+[>\"]\s))([<\"])([^>\"\n]+)[>\"]"
)


@dataclass(slots=True)
class _File:
    """A file without its comments, the same for every target; ``includes`` are those of every ``#if`` branch."""

    path: str
    file: Path
    origin: Origin
    stripped: str
    comments: tuple[Comment, ...]
    includes: tuple[str, ...] = ()
    asked: tuple[tuple[str, bool], ...] = ()  # as written: the text, and whether in angle brackets

    @property
    def text(self) -> str:
        return self.origin.text


@dataclass(slots=True)
class Tree:
    """``files`` maps display paths to files on disk; ``include_dirs`` are searched after the tree.

    Units are kept by target; two targets that see the same text get the very same unit, lowered bodies included.
    """

    files: dict[str, Path]
    include_dirs: tuple[Path, ...] = ()
    user: tuple[tuple[str, str], ...] = ()
    own: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)  # macros of single translation units
    _read: dict[str, _File | None] = field(default_factory=dict)
    _bytes: dict[str, bytes | None] = field(default_factory=dict)
    _closures: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _units: dict[tuple[str, str], ir.Unit] = field(default_factory=dict)
    _same: dict[tuple[str, str], ir.Unit] = field(default_factory=dict)
    _done: dict[tuple[str, str], Preprocessed] = field(default_factory=dict)
    _reach: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _resolved: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _looked: dict[tuple[str, Callable[[str], object]], object] = field(default_factory=dict)
    _includes: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _includers: dict[str, list[str]] = field(default_factory=dict)  # by what any of their include lines names
    _computed: dict[str, completed.Lines] = field(default_factory=dict)  # files whose include lines ask macros
    _scanned: set[str] = field(default_factory=set)  # files whose include lines are among these
    unfound: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # what such a line names, and by whom
    _suffixes: dict[str, list[str]] = field(default_factory=dict)
    _real: dict[str, str] = field(default_factory=dict)  # files of the tree by where they are on disk
    _spelled: dict[str, frozenset[str]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)  # files that the include path leads to

    def __post_init__(self) -> None:
        for path in self.files:
            self._suffixes.setdefault(PurePosixPath(path).name, []).append(path)

    # ------------------------------------------------------------ text

    def text(self, path: str) -> str:
        data = self.data(path)
        return "" if data is None else decode(data)[0]

    def data(self, path: str) -> bytes | None:
        """The bytes of a file, the same all through a run; None when it cannot be read."""
        if path not in self._bytes:
            try:
                self._bytes[path] = read_bytes(self.files[path])
            except (OSError, KeyError):
                self._bytes[path] = None
        return self._bytes[path]

    def once(self, path: str, look: Callable[[str], _T]) -> _T:
        """What a function says of the text of a file, asked once."""
        key = (path, look)
        if key not in self._looked:
            self._looked[key] = look(self.text(path))
        return cast(_T, self._looked[key])

    def lines(self, path: str) -> list[str]:
        """The lines of a file without its comments; none when it is not of the tree."""
        if path not in self._lines:
            found = self.file(path) if path in self.files else None
            self._lines[path] = [] if found is None else found.stripped.split("\n")
        return self._lines[path]

    def code(self, path: str) -> str:
        """What evaluation may see of a file: each line without comments and what is blank at its end, and what is
        addressed to cutecheck, with its place. Empty for a file that cannot be read."""
        found = self.file(path)
        if found is None:
            return ""
        lines = (line if (bare := line.rstrip()).endswith("\\") else bare for line in self.lines(path))
        orders = [f"{found.origin.span(c.begin, c.end)} {c.word} {c.text}" for c in found.comments]
        return "\n".join((*lines, *orders, "" if "cutecheck:" in found.origin.text else "no orders"))

    def file(self, path: str) -> _File | None:
        """The file of a display path, read once; None when it cannot be read."""
        if path not in self._read:
            self._read[path] = None
            data = self.data(path)
            if data is None:
                return None
            text = decode(data)[0]
            stripped, comments = strip_comments(text)
            found = _File(path, self.files[path], Origin(path, text), stripped, comments)
            self._read[path] = found
            targets: dict[str, None] = {}
            found.asked = tuple((m.group(1) or m.group(2), m.group(1) is not None) for m in _INCLUDE.finditer(stripped))
            for text, is_system in found.asked:
                target = self.resolve(text, path, is_system)
                if target is not None and target != path:
                    targets[target] = None
            found.includes = tuple(targets)
        return self._read[path]

    # ------------------------------------------------------------ includes

    def resolve(self, include: str, from_path: str, is_system: bool) -> str | None:
        """The display path an include names: beside the includer, in the tree, or on the include path.

        Of several files of the tree with that trailing path the one nearest to the includer, then the one with the
        shortest path; between equals the include path decides, or nothing.
        """
        parent = from_path.rpartition("/")[0]
        key = (include, "<>" if is_system and "/" in include else parent + (" <>" if is_system else ""))
        if key not in self._resolved:
            self._resolved[key] = self._resolve(include, from_path, parent, is_system)
        return self._resolved[key]

    def _resolve(self, include: str, from_path: str, parent: str, is_system: bool) -> str | None:
        if not is_system:
            beside = _beside(parent, include)
            if beside in self.files:
                return beside
            disk = self.files[from_path].parent / include if from_path in self.files else None
            if disk is not None and is_file(disk):
                return self._adopt(beside, disk)
        name = include.rpartition("/")[2]
        matches = [p for p in self._suffixes.get(name, ()) if p == include or p.endswith("/" + include)]
        if matches:
            ranked = sorted(matches, key=lambda p: (-_common(p, from_path), p.count("/")))
            equal = len(ranked) > 1 and all(
                _common(p, from_path) == _common(ranked[0], from_path) and p.count("/") == ranked[0].count("/")
                for p in ranked[:2]
            )
            if not equal:
                return ranked[0]
        for folder in self.include_dirs:
            disk = folder / include
            if is_file(disk):
                found = self._adopt(include, disk)
                if found == include:
                    self.outer.add(found)
                return found
        return None

    def _adopt(self, path: str, disk: Path) -> str:
        """The display path of a file found on disk: that of the tree if it is one of its files under another name."""
        if not self._real:
            self._real = {os.path.realpath(f): p for p, f in self.files.items()}
        known = self._real.get(os.path.realpath(disk))
        if known is not None:
            return known
        if path not in self.files:
            self.files[path] = disk
            self._suffixes.setdefault(PurePosixPath(path).name, []).append(path)
        return path

    def includes(self, path: str, arch: str) -> tuple[str, ...]:
        """Files of the tree that a file includes directly, in the branches active for ``arch``."""
        key = (path, arch)
        if key not in self._includes:
            found: dict[str, None] = {}
            if self.file(path) is not None:
                for inc in self.preprocessed(path, arch).includes:
                    target = self.resolve(inc.text, inc.within or path, inc.is_system)
                    if target is not None and target != path:
                        found[target] = None
            self._includes[key] = tuple(found)
        return self._includes[key]

    def closure(self, path: str, arch: str) -> list[str]:
        """A file and everything it includes that stands for itself, includes first; cycles are cut."""
        key = (path, arch)
        if key not in self._closures:
            found = _postorder(path, lambda name: self.includes(name, arch))
            once = {f.origin.path for p in found for f in self._fragments(p, arch) if guarded(f.stripped)}
            self._closures[key] = [p for p in found if p not in once] if once else found
        return self._closures[key]

    def fragments(self, path: str, arch: str) -> dict[str, str]:
        """The files whose text stands in a file, or in one that it includes, each with the file that it stands in."""
        return {f.origin.path: p for p in self.closure(path, arch) for f in self._fragments(p, arch)}

    def configured(self, path: str, arch: str) -> frozenset[str]:
        """The files whose text stands in a translation unit itself, as its own macros say."""
        return frozenset(f.origin.path for f in self._fragments(path, arch))

    def _fragments(self, path: str, arch: str) -> tuple[Fragment, ...]:
        return () if self.file(path) is None else self.preprocessed(path, arch).fragments

    def spelled(self, path: str) -> frozenset[str]:
        """The words of a file, comments apart."""
        if path not in self._spelled:
            found = self.file(path)
            self._spelled[path] = frozenset(WORD.findall(found.stripped)) if found is not None else frozenset()
        return self._spelled[path]

    def defined_with(self, path: str) -> frozenset[str]:
        """The macros that a file, or one that it includes, defines in some branch."""
        return frozenset(name for p in self.read_with(path) for name in self.once(p, _defined))

    def read_with(self, path: str) -> list[str]:
        """The file and everything that any of its branches may include."""
        return [*self._behind(path), path]

    def reaching(self, targets: frozenset[str]) -> frozenset[str]:
        """Files from which a chain of ``#include`` lines may lead to one of the targets, conditions ignored.

        A line that a macro completes may name any file, where its definitions do not say which; in the library's
        headers only its own.
        """
        self.scan(self.files)
        self._complete()
        its_own = any(of_library(t) for t in targets)
        found = {*targets, *(p for p in self._computed if its_own or not of_library(p))}
        todo = list(found)
        while todo:
            more = [p for p in self._includers.get(todo.pop(), ()) if p not in found]
            found.update(more)
            todo += more
        return frozenset(found)

    def scan(self, paths: Iterable[str]) -> None:
        """Note what the include lines of these files name, and which of them name no file."""
        fresh = [p for p in paths if p not in self._scanned]
        self._scanned.update(fresh)
        for path in fresh:
            for quote, text in self._include_lines(path):
                target = self.resolve(text, path, quote == "<")
                if target is not None:
                    self._includers.setdefault(target, []).append(path)
                else:
                    self.unfound.setdefault((quote, text), []).append(path)

    def _complete(self) -> None:
        """Note what include lines name that a macro completes, where its definitions in the tree say it."""
        given = {name.encode() for name, _ in (*self.user, *(macro for own in self.own.values() for macro in own))}
        for path, names in completed.named(self._computed, given, [*self.files.values()]).items():
            del self._computed[path]
            found = (self.resolve(text, path, quote == b"<") for quote, text in names)
            for target in filter(None, found):
                self._includers.setdefault(target, []).append(path)

    def _include_lines(self, path: str) -> list[tuple[str, str]]:
        """The include lines of a file that need not be read as a whole for this."""
        try:
            data = read_bytes(self.files[path])
        except OSError:
            return []
        asked = completed.lines(data)
        if asked != ():
            self._computed[path] = asked
        return [
            (m[1].decode(), m[2].decode("utf-8", "replace"))
            for m in _INCLUDE_LINE.finditer(data)
            if not data[data.rfind(b"\n", 0, m.start()) + 1 : m.start()].strip(b" \t\xef\xbb\xbf")
        ]

    # ------------------------------------------------------------ macros and units

    def _behind(self, path: str) -> tuple[str, ...]:
        """Everything that a file may include in any branch, innermost first."""
        if path not in self._reach:

            def targets(name: str) -> tuple[str, ...]:
                found = self.file(name)
                return () if found is None else found.includes

            self._reach[path] = tuple(_postorder(path, targets)[:-1])
        return self._reach[path]

    def preprocessed(self, path: str, arch: str) -> Preprocessed:
        """The directives of a readable file evaluated under the macros of its includes."""
        key = (path, arch)
        if key not in self._done:
            macros: dict[str, Macro] = {}
            for name in self._behind(path):
                behind = self.file(name)
                if behind is None or "#" not in behind.stripped:
                    continue
                if (name, arch) not in self._done:  # innermost first: what it needs is in `macros`
                    defines = Defines(arch, self.user, dict(macros))
                    self._done[name, arch] = preprocess(behind.stripped, defines, Splicer(self, name))
                done = self._done[name, arch]
                macros.update(done.macros.final())
                macros.pop(done.guard, None)
            found = self.file(path)
            stripped = "" if found is None else found.stripped
            own = self.own.get(path, ())
            self._done[key] = preprocess(stripped, Defines(arch, self.user, macros), Splicer(self, path), own)
        return self._done[key]

    def unit(self, path: str, arch: str) -> ir.Unit | None:
        """The lowered file; None when it cannot be read."""
        found = self.file(path)
        if found is None:
            return None
        key = (path, arch)
        if key not in self._units:
            done = self.preprocessed(path, arch)
            self._units[key] = finish(found.origin, found.stripped, found.comments, done, self._share)
        return self._units[key]

    def _share(self, path: str, parsed: str, make: Callable[[], ir.Unit]) -> ir.Unit:
        key = (path, parsed)
        if key not in self._same:
            self._same[key] = make()
        return self._same[key]


def _defined(text: str) -> frozenset[str]:
    return frozenset(_DEFINED.findall(text))


def _postorder(start: str, targets: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Everything reachable from ``start``, what a name leads to before the name itself."""
    out: list[str] = []
    stack = [(start, iter(targets(start)))]
    seen = {start}
    while stack:
        at, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(targets(target))))
                break
        else:
            out.append(at)
            stack.pop()
    return out


def _beside(parent: str, include: str) -> str:
    """The display path of an include line's text, seen from a folder; an absolute one keeps its root."""
    path = include if include.startswith("/") else f"{parent}/{include}" if parent else include
    parts: list[str] = ["/"] if path.startswith("/") else []
    for p in path.split("/"):
        if p == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif p not in ("", "."):
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
        covered.update(tree.closure(p, arch), tree.fragments(p, arch))
    headers = [p for p in ordered if p not in covered]
    included = {t for p in headers for t in (*tree.closure(p, arch), *tree.fragments(p, arch)) if t != p}
    return sources + [p for p in headers if p not in included]
