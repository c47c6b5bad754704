"""Preprocessor directives: conditions, definitions, includes. Inactive text and directives are blanked in place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cutecheck.records import record
from cutecheck.source.cpp.conditions import Has, evaluate
from cutecheck.source.cpp.defines import ARCH_NAME, EXTENDED, SELECTORS, Defines, Macro
from cutecheck.source.cpp.strip import Comment, blank
from cutecheck.source.cpp.text import Origin, Stretch

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:[^\\\n]|\\\r?\n|\\.)*)", re.MULTILINE)
_SPLICE = re.compile(r"\\\r?\n")
_DEFINE = re.compile(r"[ \t]*([^\W\d]\w*)(\(([^()]*)\))?")
_INCLUDE = re.compile(r"[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")")
_GTEST = re.compile(
    r"(TYPED_)?TEST(_[FP])?|(INSTANTIATE_)?(TYPED_)?TEST_(SUITE|CASE)(_P)?|(EXPECT|ASSERT)_[A-Z0-9_]+|GTEST_SKIP|SCOPED_TRACE"
)
_GTEST_BODY = re.compile(r"\bGTEST_|\btesting::|\b(EXPECT|ASSERT)_PRED")
_KEPT = re.compile(r"\s*(push|pop)_macro\s*\(\s*\"([^\W\d]\w*)\"\s*\)")
_PACK = re.compile(r"\s*pack\s*\(([^()]*)\)")
_WORD = re.compile(r"[^\W\d]\w*")
MAX_NESTING = 400


@record(frozen=True, slots=True)
class Include:
    """An include line whose file stands for itself. ``within``: the fragment that has the line, "" for the file."""

    text: str
    is_system: bool
    begin: int
    end: int
    within: str = ""


@record(frozen=True, slots=True)
class Fragment:
    """A file whose text takes the place of the line that includes it."""

    origin: Origin
    stripped: str
    comments: tuple[Comment, ...]


@dataclass(slots=True)
class MacroScope:
    """Macros by place: those of the file from their line on, before that what :class:`Defines` knows."""

    defines: Defines
    events: dict[str, list[tuple[int, Macro | None]]] = field(default_factory=dict)
    kept: dict[str, list[Macro | None]] = field(default_factory=dict)  # by ``#pragma push_macro``
    packs: list[tuple[int, int]] = field(default_factory=list)  # from where on how far ``#pragma pack`` aligns
    packs_kept: list[int] = field(default_factory=list)  # by ``#pragma pack(push)``

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
        if name == EXTENDED:
            for selector, renamed in SELECTORS.items():
                self.add(selector, offset, None if macro is None else renamed)

    def every(self) -> dict[str, tuple[Macro, ...]]:
        """All that the names of the file's macros stand for somewhere in it."""
        return {
            name: macros
            for name, events in self.events.items()
            if (macros := tuple(dict.fromkeys(macro for _, macro in events if macro is not None)))
        }

    def final(self) -> dict[str, Macro]:
        """The macros that stand at the end of the file."""
        return {name: events[-1][1] for name, events in self.events.items() if events[-1][1] is not None}


@dataclass(slots=True)
class Progress:
    """How far the directives of a file, and of the fragments in it, are gone through.

    Offsets are those of the text that comes out: the file's own but where fragments stand in it.
    """

    scope: MacroScope
    out: list[str] = field(default_factory=list)
    length: int = 0
    stretches: list[Stretch] = field(default_factory=lambda: [Stretch(0, None, 0)])
    includes: list[Include] = field(default_factory=list)
    problems: list[tuple[str, int, int]] = field(default_factory=list)
    unread: list[tuple[str, int, int]] = field(default_factory=list)
    fragments: dict[str, Fragment] = field(default_factory=dict)
    within: list[Fragment] = field(default_factory=list)  # those around

    def add(self, text: str) -> None:
        self.out.append(text)
        self.length += len(text)


class Opener(Protocol):
    """What decides which included files are fragments."""

    def named(self, rest: str, so_far: Progress) -> tuple[str, bool] | None:
        """What an include line names, and whether in angle brackets, also where macros name it."""

    def fragment(self, named: tuple[str, bool], so_far: Progress) -> Fragment | None:
        """The file that is named, if its text belongs in the place of the line."""

    def present(self, named: tuple[str, bool], so_far: Progress) -> bool:
        """Whether a line that names this would find a file."""


@record(frozen=True, slots=True)
class Preprocessed:
    """``text`` has the length of the input, or that of ``raw`` where fragments stand in it.

    ``guard`` is the name of the include guard, if any. ``unread``: include lines whose text is missing in their place.
    """

    text: str
    macros: MacroScope
    includes: tuple[Include, ...]
    problems: tuple[tuple[str, int, int], ...]
    guard: str = ""
    raw: str = ""
    stretches: tuple[Stretch, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    unread: tuple[tuple[str, int, int], ...] = ()

    def between(self, begin: int, end: int) -> str:
        """The text from one offset of the file to another, with the fragments between."""
        own = [(s.at, s.start) for s in self.stretches if s.origin is None]
        if own:
            begin, end = (at + next(start - low for low, start in reversed(own) if low <= at) for at in (begin, end))
        return self.text[begin:end]


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


def preprocess(
    text: str, defines: Defines, opener: Opener | None = None, own: Sequence[tuple[str, str]] = ()
) -> Preprocessed:
    """Evaluate the directives of comment-free ``text`` for one target; ``own``: macros as if defined before it."""
    so_far = Progress(MacroScope(defines))
    for name, value in own:
        so_far.scope.add(name, 0, Macro(name, None, value))
    guard = _through(text, so_far, opener)
    done = Preprocessed(
        "".join(so_far.out),
        so_far.scope,
        tuple(so_far.includes),
        tuple(so_far.problems),
        guard,
        unread=tuple(so_far.unread),
    )
    if not so_far.fragments:
        return done
    return replace(
        done,
        raw=_raw(text, so_far),
        stretches=tuple(so_far.stretches),
        fragments=tuple(so_far.fragments.values()),
    )


def _raw(text: str, so_far: Progress) -> str:
    """The text with its fragments, and with directives and what is inactive."""
    texts: dict[Origin | None, str] = {None: text, **{f.origin: f.stripped for f in so_far.fragments.values()}}
    ends = [*(stretch.start for stretch in so_far.stretches[1:]), so_far.length]
    # where a fragment is included on the last line of a file, the line's end is not in the file
    parts = (
        texts[s.origin][s.at : s.at + end - s.start].ljust(end - s.start, "\n")
        for s, end in zip(so_far.stretches, ends, strict=True)
    )
    return "".join(parts)


def _through(text: str, so_far: Progress, opener: Opener | None) -> str:
    """Go through the directives of a file or fragment; the name of its include guard, if any."""
    scope, problems = so_far.scope, so_far.problems
    has = None if opener is None else lambda name, system: opener.present((name, system), so_far)
    # one entry an open #if: (text around is active, some branch was taken, this branch is active)
    stack: list[tuple[bool, bool, bool]] = []
    active = True
    last = 0
    guard, first_directive = "", True
    for match in DIRECTIVE.finditer(text):
        word, rest = match.group(1), match.group(2)
        part, line = text[last : match.start()], match.group()
        begin = so_far.length + len(part)
        end = so_far.length = begin + len(line)
        so_far.out.append(part if active else blank(part))
        so_far.out.append(blank(line) if "\n" in line else " " * len(line))
        last = match.end()
        if word in ("if", "ifdef", "ifndef"):
            if len(stack) >= MAX_NESTING:
                problems.append((f"#if nested deeper than {MAX_NESTING}", begin, end))
                break
            taken = active and condition(word, rest, scope, begin, has)
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
                now = condition({"elif": "if"}.get(word, word[2:]), rest, scope, begin, has)
            stack[-1] = (outer, taken or now, now)
            active = now
        elif word == "endif":
            if not stack:
                problems.append(("#endif without #if", begin, end))
                continue
            active = stack.pop()[0]
        elif active and word in ("include", "include_next"):
            _include(match, so_far, opener)
        elif active:
            _plain(word, rest, end, scope)
        first_directive = False
    part = text[last:]
    so_far.add(part if active else blank(part))
    if stack:
        problems.append(("#if without #endif", so_far.length, so_far.length))
    return guard


def _include(match: re.Match[str], so_far: Progress, opener: Opener | None) -> None:
    """The file that a line includes: for itself, or its text in place of the line."""
    rest = match.group(2)
    named = included(rest) if opener is None else opener.named(rest, so_far)
    if named is None:
        return
    fragment = None if opener is None else opener.fragment(named, so_far)
    if fragment is not None:
        _splice(fragment, match.end(), so_far, opener)
        return
    begin = so_far.length - len(match.group())
    found = _INCLUDE.match(rest)
    end = so_far.length if found is None else begin + match.start(2) + found.end() - match.start()
    within = so_far.within[-1].origin.path if so_far.within else ""
    so_far.includes.append(Include(*named, begin, end, within))


def _splice(fragment: Fragment, after: int, so_far: Progress, opener: Opener | None) -> None:
    """The text of a fragment on lines of its own; the text of the file around goes on at ``after``."""
    so_far.fragments.setdefault(fragment.origin.path, fragment)
    so_far.add("\n")
    so_far.stretches.append(Stretch(so_far.length, fragment.origin, 0))
    so_far.within.append(fragment)
    _through(fragment.stripped, so_far, opener)
    so_far.within.pop()
    so_far.stretches.append(Stretch(so_far.length, so_far.within[-1].origin if so_far.within else None, after))


def _of_gtest(macro: Macro) -> bool:
    """GoogleTest's own macros of tests and checks: they are understood by name, what they stand for is not followed."""
    return _GTEST.fullmatch(macro.name) is not None and _GTEST_BODY.search(macro.body) is not None


def _plain(word: str, rest: str, end: int, scope: MacroScope) -> None:
    if word == "define":
        macro = define(rest)
        if macro is not None and not _of_gtest(macro):
            scope.add(macro.name, end, macro)
    elif word == "undef":
        name = rest.strip()
        if name:
            scope.add(name, end, None)
    elif word == "pragma" and (kept := _KEPT.match(rest)) is not None:
        name = kept.group(2)
        if kept.group(1) == "push":
            scope.kept.setdefault(name, []).append(scope.at(name, end))
        elif scope.kept.get(name):
            scope.add(name, end, scope.kept[name].pop())
    elif word == "pragma" and (pack := _PACK.match(rest)) is not None:
        _pack([w.strip() for w in pack.group(1).split(",")], end, scope)


def _pack(words: list[str], end: int, scope: MacroScope) -> None:
    """``#pragma pack(push, 1)``; 0 is the alignment that types have."""
    now = scope.packs[-1][1] if scope.packs else 0
    if words[0] == "push":
        scope.packs_kept.append(now)
    elif words[0] == "pop":
        now = scope.packs_kept.pop() if scope.packs_kept else 0
    elif words == [""]:
        now = 0
    asked = next((int(w) for w in words if w.isdecimal()), now)
    scope.packs.append((end, asked))


class Scope(Protocol):
    """What knows the macros of a place."""

    def at(self, name: str, offset: int) -> Macro | None: ...


def included(rest: str) -> tuple[str, bool] | None:
    """What an include line names, and whether in angle brackets; None where macros name it."""
    found = _INCLUDE.match(rest)
    return None if found is None else (found.group(1) or found.group(2), found.group(1) is not None)


def condition(word: str, rest: str, scope: Scope, offset: int, has: Has | None = None) -> bool:
    """Whether the condition of an ``#if``, ``#ifdef`` or ``#ifndef`` holds; ``has``: what ``__has_include`` asks."""
    if word in ("ifdef", "ifndef"):
        name = _WORD.search(rest)
        known = name is not None and scope.at(name.group(), offset) is not None
        return known == (word == "ifdef")
    return evaluate(_SPLICE.sub(" ", rest), lambda name: scope.at(name, offset), has)


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
