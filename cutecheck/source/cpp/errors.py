"""The ``#error`` that a translation unit meets: its directives in the order of a compiler, through all it includes.

Files are lowered under the macros of what they include, whoever includes them (``tree.py``). Whether an ``#error`` is
reached depends on what stands before an include line as well, so units whose files have one are gone through again.
One is told only where everything that decides on it is known: not what the compiler defines by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cutecheck.records import record
from cutecheck.source.cpp.conditions import HAS
from cutecheck.source.cpp.defines import ARCH_NAME, Defines, Macro, predefined
from cutecheck.source.cpp.directives import DIRECTIVE, condition, define, included
from cutecheck.source.cpp.splice import TRANSLATION_UNITS, installed, of_library
from cutecheck.source.cpp.tree import Tree

_SAYS = re.compile(r"^[ \t]*#[ \t]*error\b", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w*")
_COMPILERS = re.compile(r"__|_[A-Z]")
_DEPTH = 200
_WORDS = frozenset({"defined", "true", "false", "and", "or", "not"})


@record(frozen=True, slots=True)
class Refused:
    """``#error text`` is reached. ``undefined``: names that decide on it and that nothing defines; ``absent``: a header
    before it that is not there, and could."""

    path: str
    line: int
    text: str
    undefined: tuple[str, ...] = ()
    absent: str = ""


def refused(tree: Tree, path: str, arch: str) -> Refused | None:
    """The first ``#error`` that a translation unit reaches in a file that is not CUTLASS's.

    None for a header by itself: whoever includes it may define what it asks for.
    """
    if not path.endswith(TRANSLATION_UNITS) or not any(
        not of_library(p) and tree.once(p, _says_error) for p in tree.read_with(path)
    ):
        return None
    run = _Run(tree, arch, Defines(arch, tree.user))
    try:
        run.file(path, False, 0)
    except _Reached as reached:
        return reached.what
    return None


def _says_error(text: str) -> bool:
    return _SAYS.search(text) is not None


class _Reached(Exception):
    def __init__(self, what: Refused) -> None:
        super().__init__()
        self.what = what


@dataclass(slots=True)
class _Branch:
    """An open ``#if``: whether the text around is active, some branch was taken; what its conditions asked for."""

    outer: bool
    taken: bool
    doubt: bool
    names: list[str]


@dataclass(slots=True)
class _Run:
    tree: Tree
    arch: str
    defines: Defines
    macros: dict[str, Macro | None] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)  # names whose definition depends on what is not known
    once: set[str] = field(default_factory=set)
    absent: str = ""

    def at(self, name: str, offset: int = 0) -> Macro | None:
        """The macro that a name is now."""
        return self.macros[name] if name in self.macros else self.defines.lookup(name)

    def file(self, path: str, doubt: bool, depth: int) -> None:
        """Go through a file; ``doubt``: whether it is included is not known."""
        found = self.tree.file(path)
        if found is None or path in self.once or depth > _DEPTH:
            return
        guard = self.tree.preprocessed(path, self.arch).guard
        if guard and self.at(guard) is not None:
            return
        stack: list[_Branch] = []
        active = True
        for match in DIRECTIVE.finditer(found.stripped):
            word, rest = match.group(1), match.group(2)
            if word in ("if", "ifdef", "ifndef"):
                branch = _Branch(active, False, doubt or any(b.doubt for b in stack), [])
                stack.append(branch)
                active = self._takes(branch, word, rest, path)
            elif word in ("elif", "elifdef", "elifndef", "else") and stack:
                branch = stack[-1]
                rule = {"elif": "if", "else": ""}.get(word, word[2:])
                active = self._takes(branch, rule, rest, path)
            elif word == "endif" and stack:
                active = stack.pop().outer
            elif word in ("define", "undef"):
                self._define(word, rest, active, doubt or any(b.doubt for b in stack))
            elif active and word == "pragma" and rest.split() == ["once"]:
                self.once.add(path)
            elif active and word in ("include", "include_next"):
                self._include(path, rest, doubt or any(b.doubt for b in stack), depth)
            elif active and word == "error" and not (of_library(path) or doubt or any(b.doubt for b in stack)):
                names = dict.fromkeys(
                    n for b in stack for n in b.names if self.at(n) is None and not ARCH_NAME.fullmatch(n)
                )
                line = found.origin.span(match.start(), match.end()).line
                raise _Reached(Refused(path, line, " ".join(rest.split()), tuple(names), self.absent))

    def _takes(self, branch: _Branch, word: str, rest: str, path: str) -> bool:
        """Whether the next branch is active; an empty word is ``else``."""
        now = branch.outer and not branch.taken
        if now and word:
            names = self._asked(rest)
            branch.names += [n for n in names if n not in _WORDS]
            branch.doubt = branch.doubt or any(map(self._in_doubt, names))
            now = condition(word, rest, self, 0, lambda name, system: self._finds(name, path, system))
        branch.taken = branch.taken or now
        return now

    def _finds(self, name: str, path: str, is_system: bool) -> bool:
        return installed(name) or self.tree.resolve(name, path, is_system) is not None

    def _asked(self, text: str) -> list[str]:
        """The names of a condition, and of the macros in it."""
        names: dict[str, None] = {}
        todo = _NAME.findall(text)
        while todo:
            name = todo.pop(0)
            if name not in names:
                names[name] = None
                macro = self.at(name)
                todo += _NAME.findall(macro.body) if macro is not None else ()
        return list(names)

    def _in_doubt(self, name: str) -> bool:
        """Whether what a name is depends on the compiler, beside the architecture, or on such a name."""
        if ARCH_NAME.fullmatch(name) or any(name == key for key, _ in self.defines.user):
            return False
        if name in HAS or name in self.doubtful:
            return True
        if name in self.macros:
            return False
        return bool(_COMPILERS.match(name)) or predefined(name, self.arch) is not None

    def _define(self, word: str, rest: str, active: bool, doubt: bool) -> None:
        macro = define(rest) if word == "define" else None
        name = macro.name if macro is not None else rest.strip()
        if not name:
            return
        if doubt:
            self.doubtful.add(name)
        elif active:
            self.doubtful.discard(name)
        if active:
            self.macros[name] = macro

    def _include(self, path: str, rest: str, doubt: bool, depth: int) -> None:
        named = included(rest)
        if named is None:
            return
        text, is_system = named
        target = self.tree.resolve(text, path, is_system)
        if target is not None:
            if target != path:
                self.file(target, doubt, depth + 1)
        elif not (self.absent or installed(text) or of_library(path)):
            self.absent = text


def notes(found: dict[str, dict[str, Refused | None]], by_name: bool) -> list[str]:
    """What a report says of them, by unit and architecture. ``by_name``: architectures were asked for by name.

    Else they were guessed: a unit that refuses some of them alone is not for these.
    """
    places: dict[Refused, dict[str, list[str]]] = {}
    for unit, archs in found.items():
        if not by_name and len(set(archs.values())) > 1:
            continue
        for arch, what in archs.items():
            if what is not None:
                places.setdefault(what, {}).setdefault(unit, []).append(arch)
    return [_note(what, units) for what, units in sorted(places.items(), key=lambda p: (p[0].path, p[0].line))]


def _note(what: Refused, units: dict[str, list[str]]) -> str:
    archs = ", ".join(sorted({a for names in units.values() for a in names}))
    others = [u for u in units if u != what.path]
    more = "" if len(others) < 2 else f" and {len(others) - 1} more"
    where = f" of {others[0]}{more}" if others else ""
    why = ""
    if what.undefined:
        why = f"; {' and '.join(what.undefined)} {'is' if len(what.undefined) == 1 else 'are'} not defined (-D)"
        why += f", unless by {what.absent}, which is not found" if what.absent else ""
    return f"{what.path}:{what.line}: preprocessing{where} reaches `#error {what.text}` ({archs}){why}"
