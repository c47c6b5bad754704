"""Preprocessor directives: conditions, definitions, includes. Inactive text and directives are blanked in place."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Protocol

from cutecheck.records import record
from cutecheck.source.cpp.conditions import evaluate
from cutecheck.source.cpp.defines import ARCH_NAME, Defines, Macro
from cutecheck.source.cpp.strip import blank

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:[^\\\n]|\\\r?\n|\\.)*)", re.MULTILINE)
_SPLICE = re.compile(r"\\\r?\n")
_DEFINE = re.compile(r"[ \t]*([^\W\d]\w*)(\(([^()]*)\))?")
_INCLUDE = re.compile(r"[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")")
_WORD = re.compile(r"[^\W\d]\w*")
MAX_NESTING = 400


@record(frozen=True, slots=True)
class Include:
    text: str
    is_system: bool
    begin: int
    end: int


@dataclass(slots=True)
class MacroScope:
    """Macros by place: those of the file from their line on, before that what :class:`Defines` knows."""

    defines: Defines
    events: dict[str, list[tuple[int, Macro | None]]] = field(default_factory=dict)

    def at(self, name: str, offset: int) -> Macro | None:
        """The macro ``name`` at ``offset`` of the file, or None."""
        events = self.events.get(name)
        if events is not None:
            index = bisect_right(events, offset, key=lambda event: event[0])
            if index:
                return events[index - 1][1]
        return self.defines.lookup(name)

    def add(self, name: str, offset: int, macro: Macro | None) -> None:
        self.events.setdefault(name, []).append((offset, macro))

    def final(self) -> dict[str, Macro]:
        """The macros that stand at the end of the file."""
        return {name: events[-1][1] for name, events in self.events.items() if events[-1][1] is not None}


@record(frozen=True, slots=True)
class Preprocessed:
    """``text`` has the length of the input; ``guard`` is the name of the include guard, if any."""

    text: str
    macros: MacroScope
    includes: tuple[Include, ...]
    problems: tuple[tuple[str, int, int], ...]
    guard: str = ""


def define(line: str) -> Macro | None:
    """The macro of ``#define`` followed by ``line``."""
    match = _DEFINE.match(line)
    if match is None:
        return None
    body = _SPLICE.sub(" ", line[match.end() :]).strip()
    if body.startswith("#pragma"):
        body = ""
    if match.group(2) is None:
        return Macro(match.group(1), None, body)
    params = tuple(p.strip() for p in _SPLICE.sub(" ", match.group(3)).split(",") if p.strip())
    variadic = ""
    if params and params[-1].endswith("..."):
        variadic = params[-1][:-3].strip() or "__VA_ARGS__"
        params = params[:-1]
    return Macro(match.group(1), params, body, variadic)


def preprocess(text: str, defines: Defines) -> Preprocessed:
    """Evaluate the directives of comment-free ``text`` for one target."""
    scope = MacroScope(defines)
    includes: list[Include] = []
    problems: list[tuple[str, int, int]] = []
    out: list[str] = []
    # one entry an open #if: (text around is active, some branch was taken, this branch is active)
    stack: list[tuple[bool, bool, bool]] = []
    active = True
    last = 0
    guard, first_directive = "", True
    for match in DIRECTIVE.finditer(text):
        word, rest = match.group(1), match.group(2)
        begin, end = match.span()
        part = text[last:begin]
        out.append(part if active else blank(part))
        out.append(blank(match.group()))
        last = end
        if word in ("if", "ifdef", "ifndef"):
            if len(stack) >= MAX_NESTING:
                problems.append((f"#if nested deeper than {MAX_NESTING}", begin, end))
                break
            taken = active and condition(word, rest, scope, begin)
            if first_directive and word == "ifndef":
                guard = rest.strip()
            stack.append((active, taken, taken))
            active = taken
        elif word in ("elif", "elifdef", "elifndef", "else"):
            if not stack:
                problems.append((f"#{word} without #if", begin, end))
                continue
            outer, taken, _ = stack[-1]
            now = outer and not taken
            if now and word != "else":
                now = condition({"elif": "if"}.get(word, word[2:]), rest, scope, begin)
            stack[-1] = (outer, taken or now, now)
            active = now
        elif word == "endif":
            if not stack:
                problems.append(("#endif without #if", begin, end))
                continue
            active = stack.pop()[0]
        elif active:
            _plain(match, scope, includes)
        first_directive = False
    part = text[last:]
    out.append(part if active else blank(part))
    if stack:
        problems.append(("#if without #endif", len(text), len(text)))
    return Preprocessed("".join(out), scope, tuple(includes), tuple(problems), guard)


def _plain(match: re.Match[str], scope: MacroScope, includes: list[Include]) -> None:
    word, rest = match.group(1), match.group(2)
    begin, end = match.span()
    if word == "define":
        macro = define(rest)
        if macro is not None:
            scope.add(macro.name, end, macro)
    elif word == "undef":
        name = rest.strip()
        if name:
            scope.add(name, end, None)
    elif word in ("include", "include_next"):
        found = _INCLUDE.match(rest)
        if found is not None:
            is_system = found.group(1) is not None
            includes.append(Include(found.group(1) or found.group(2), is_system, begin, match.start(2) + found.end()))


class Scope(Protocol):
    """What knows the macros of a place."""

    def at(self, name: str, offset: int) -> Macro | None: ...


def included(rest: str) -> tuple[str, bool] | None:
    """What an include line names, and whether in angle brackets; None where macros name it."""
    found = _INCLUDE.match(rest)
    return None if found is None else (found.group(1) or found.group(2), found.group(1) is not None)


def condition(word: str, rest: str, scope: Scope, offset: int) -> bool:
    """Whether the condition of an ``#if``, ``#ifdef`` or ``#ifndef`` holds."""
    if word in ("ifdef", "ifndef"):
        name = _WORD.search(rest)
        known = name is not None and scope.at(name.group(), offset) is not None
        return known == (word == "ifdef")
    return evaluate(_SPLICE.sub(" ", rest), lambda name: scope.at(name, offset))


def depends_on_arch(text: str, macros: dict[str, Macro] | None = None) -> bool:
    """Whether some condition of ``text`` can differ between architectures (also through ``macros``).

    A file for which this is False is the same program on every architecture.
    """
    names: set[str] = set()
    for match in DIRECTIVE.finditer(text):
        if match.group(1) in ("if", "elif", "ifdef", "ifndef"):
            names.update(_WORD.findall(match.group(2)))
    seen: set[str] = set()
    while names:
        name = names.pop()
        if ARCH_NAME.fullmatch(name):
            return True
        if name in seen:
            continue
        seen.add(name)
        macro = (macros or {}).get(name)
        if macro is not None:
            names.update(_WORD.findall(macro.body))
    return "__CUDA_ARCH__" in text
