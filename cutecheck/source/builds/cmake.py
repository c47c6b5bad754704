"""The macros of a ``CMakeLists.txt`` and of the files that it includes. Nothing of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.records import record
from cutecheck.source.builds.said import Given, Said, definition, names
from cutecheck.source.files import is_file, read_bytes

MAX_BYTES = 1 << 20
_DEEPEST = 4  # include() in what is included
_FILES = 32  # that one file includes in all
_NESTED = 16  # generator expressions
_TOKEN = re.compile(
    r"""\#?\[(=*)\[ | \#[^\n]* | "(?:\\.|[^"\\])*" | [()] | [^\s()\#"]+""",
    re.DOTALL | re.VERBOSE,
)
_OPENING = frozenset({"if", "foreach", "while", "function", "macro"})
_CLOSING = frozenset(f"end{word}" for word in _OPENING)
_HERE = re.compile(r"\$\{(?:CMAKE_CURRENT_SOURCE_DIR|CMAKE_CURRENT_LIST_DIR|PROJECT_SOURCE_DIR|CMAKE_SOURCE_DIR)\}/")
_FOR_CUDA = re.compile(r"\$<\$<COMPILE_LANGUAGE:CUDA>:([^$<>]*)>")
_GENERATED = re.compile(r"\$<[^$<>]*>")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FLAGS = ("CMAKE_CUDA_FLAGS", "CUDA_NVCC_FLAGS")
_HOST_FLAGS = re.compile(r"CMAKE_(?:C|CXX)_FLAGS(?:_\w+)?")
_SCOPES = ("PRIVATE", "PUBLIC", "INTERFACE", "BEFORE", "SYSTEM")
_TARGET = re.compile(r"\w*add_(?:library|executable|module)")
_NO_OBJECTS = frozenset({"INTERFACE", "IMPORTED", "ALIAS"})


@record(frozen=True, slots=True)
class Lists:
    """What a ``CMakeLists.txt`` says: of its folder and those below, and of its own targets.

    ``top``: it has a ``project()``, so that it is built by itself, or so that what includes it does not matter.
    """

    folder: Said
    targets: Said
    top: bool


@record(frozen=True, slots=True)
class _Command:
    name: str
    arguments: tuple[str, ...]
    line: int


def read(file: Path, root: Path) -> Lists:
    """What the file says; those that it includes are read where they are below ``root``."""
    reader = _Reader(file.parent, os.path.join(os.path.realpath(root), ""))  # noqa: PTH118 - with its separator
    reader.through(file, 0, 0)
    left = frozenset(reader.open)
    folder = tuple(g for g in reader.folder.values() if g.name not in left)
    return Lists(Said(folder, left), _of_targets(reader, left), reader.top)


def _of_targets(reader: _Reader, left: frozenset[str]) -> Said:
    """The macros that every target of the file has, with one value; others are open."""
    every = reader.declared | reader.targets.keys()
    given = [g for of in reader.targets.values() for g in of.values()]
    values: dict[str, set[str | None]] = {}
    for name in dict.fromkeys(g.name for g in given):
        values[name] = {of[name].value if (of := reader.targets.get(t, {})) and name in of else None for t in every}
    first = {g.name: g for g in reversed(given)}
    held = {n for n, found in values.items() if len(found) == 1 and n not in left}
    return Said(tuple(g for n, g in first.items() if n in held), frozenset(values.keys() - held))


@dataclass(slots=True)
class _Reader:
    here: Path
    inside: str
    folder: dict[str, Given] = field(default_factory=dict)
    targets: dict[str, dict[str, Given]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    top: bool = False
    _by_variable: dict[str, set[str]] = field(default_factory=dict)
    _file: Path = Path()
    _included: int = 0

    def through(self, file: Path, depth: int, nested: int) -> None:
        """Go through a file; ``depth`` is in how many conditions, loops and functions it is."""
        text = _text(file)
        for command in _commands(text):
            if command.name in _OPENING:
                depth += 1
            elif command.name in _CLOSING:
                depth = max(0, depth - 1)
            elif command.name == "return" and not depth:
                return
            else:
                self._file = file
                self._command(command, depth, nested)

    def _command(self, command: _Command, depth: int, nested: int) -> None:
        name, given = command.name, command.arguments
        if name == "project":
            self.top = True
        elif _TARGET.fullmatch(name) and given:
            if _NO_OBJECTS.isdisjoint(given):
                self.declared.add(given[0])
        elif name == "include" and given:
            self._include(given[0], depth, nested)
        elif name in ("add_compile_definitions", "add_definitions", "add_compile_options"):
            self._take(given, command.line, depth, self.folder, bare=name == "add_compile_definitions")
        elif name in ("target_compile_definitions", "target_compile_options") and given:
            own = _own(given[1:])
            if own:
                where = self.targets.setdefault(given[0], {})
                self._take(own, command.line, depth, where, bare=name.endswith("definitions"))
        else:
            self._variable(command, depth)

    def _variable(self, command: _Command, depth: int) -> None:
        name, given = command.name, command.arguments
        adding = name in ("list", "string") and given[:1] in (("APPEND",), ("PREPEND",))
        variable = given[1:2] if adding else given[:1] if name == "set" else ()
        if variable and _HOST_FLAGS.fullmatch(variable[0]):
            return  # of the host's compiler alone
        if not variable or variable[0] not in _FLAGS:
            self.open |= names(" ".join(given))
            return
        words = given[2:] if adding else given[1:]
        known = self._by_variable.setdefault(variable[0], set())
        if not adding and f"${{{variable[0]}}}" not in " ".join(words):
            self.open |= known  # it begins anew
        before = {*self.folder}
        self._take(words, command.line, depth, self.folder, bare=False)
        known |= self.folder.keys() - before

    def _take(self, given: Sequence[str], line: int, depth: int, where: dict[str, Given], *, bare: bool) -> None:
        """Take definitions, or the ``-D`` of options; under conditions only that their names are open."""
        text = _FOR_CUDA.sub(r"\1", ";".join(given))
        for _ in range(_NESTED):
            for part in _GENERATED.findall(text):
                self.open |= {*_WORD.findall(part)} if bare else names(part.replace(":-", " -"))
            text = _GENERATED.sub("", text)
        words = iter(re.split(r"[;\s]+", text.replace("SHELL:", "")))
        for word in words:
            option = word[:2] in ("-D", "/D")
            if word[:2] == "-U":
                self.open.add(word[2:] or next(words, ""))
            if not word or not (option or bare):
                continue
            what = (word[2:] or next(words, "")) if option else word
            found = definition(what)
            if found is None or depth:
                self.open |= {*_WORD.findall(what)[:1]}
            elif where.setdefault(found[0], Given(*found, self._file, line)).value != found[1]:
                self.open.add(found[0])

    def _include(self, named: str, depth: int, nested: int) -> None:
        file = self.here / _HERE.sub("", named)
        known = nested < _DEEPEST and self._included < _FILES and named.endswith(".cmake") and "$" not in str(file)
        if known and os.path.realpath(file).startswith(self.inside) and is_file(file):
            self._included += 1
            self.through(file, depth, nested + 1)


def _own(arguments: Sequence[str]) -> tuple[str, ...]:
    """What a target itself is compiled with: not what is for its users alone."""
    kept, scope = [], ""
    for argument in arguments:
        if argument in _SCOPES:
            scope = argument
        elif scope != "INTERFACE":
            kept.append(argument)
    return tuple(kept)


def _text(file: Path) -> str:
    try:
        data = read_bytes(file)
    except OSError:
        return ""
    return data.decode("utf-8", "replace") if len(data) <= MAX_BYTES else ""


def _commands(text: str) -> Iterator[_Command]:
    """``name(arguments)``, as far as the text is that."""
    name, line, depth = "", 0, 0
    arguments: list[str] = []
    end, counted, lines = 0, 0, 1
    at = 0
    while (match := _TOKEN.search(text, at)) is not None:
        token, at = match.group(), match.end()
        if token.endswith("[") and match[1] is not None:
            closing = f"]{match[1]}]"
            close = text.find(closing, at)
            if close < 0:
                return
            at = close + len(closing)
            if not token.startswith("#") and depth:
                arguments.append(text[match.end() : close])
            continue
        if token.startswith("#"):
            continue
        if token == "(":
            depth += 1
            if depth == 1:
                arguments = []
                lines += text.count("\n", counted, match.start())
                line, counted = lines, match.start()
        elif token == ")":
            depth -= 1
            if depth == 0:
                yield _Command(name.lower(), tuple(arguments), line)
            depth = max(depth, 0)
        elif not depth:
            name = token
        elif arguments and match.start() == end and text[end - 1] not in "()":
            arguments[-1] += token  # -DA="b": one argument, with its quotes
        else:
            arguments.append(token[1:-1] if token.startswith('"') else token)
        end = match.end()
