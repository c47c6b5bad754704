"""Which declarations can come to anything of CuTe: the others need no evaluation.

A value of CuTe is made by a function or type of CuTe that some declaration spells. So a declaration matters if its own
text spells one, or a name (whatever it means there) of a declaration that matters. Names that other libraries have as
well (``Layout``, ``copy``) count where CuTe's namespace is open, or in front of them.

A partial specialisation whose arguments look into a member type of a parameter (``typename T::Policy::Kind``) is chosen
for types that have such a member: it counts once something that is reached declares one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from cutecheck.facts import Span
from cutecheck.records import record
from cutecheck.source.cpp.defines import Macro
from cutecheck.source.cpp.test_macros import TEST_MACROS
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import is_cute_header
from cutecheck.source.eval.scope import declared_names
from cutecheck.source.vocabulary import COMMON, OWN, cute_names_of, qualified, used_plainly

_WORD = re.compile(r"[^\W\d]\w*")
_TYPE_NAMES = re.compile(
    r"\busing\s+(\w+)[^;=]*=|\busing\s[^;=]*::\s*(\w+)\s*;|\btypedef\b[^;]*?(\w+)\s*;"
    r"|\b(?:struct|class|union|enum)\b[^;{}<>,=()]*?(\w+)\s*(?:final\s*)?[{:;<]"
)
_PASSED_ON = re.compile(r"\busing\s+(\w+)\s*=\s*(?:typename\s+)?\w+(?:\s*::\s*\w+)*?\s*::\s*\1\s*;")
# member types that CuTe's own types have
_GIVEN = words("Atom Traits MMA_Op MMA_Traits CopyOp Copy_Op CopyOperation Shape Stride Layout layout_type engine_type "
               "iterator type Engine value_type element_type Element TiledMma TiledMMA TiledCopy")  # fmt: skip
_ARGUMENT = r"(?:\d*|(?<![a-zA-Z0-9])\w*|(?=[A-Z])\w*)"  # a number, or begins where a part of a name begins
_PASTED = re.compile(r"\w+(?:\s*##\s*\w+)+")
_OPENED = re.compile(
    r"\busing\s+namespace\s+(?:::\s*)?cute\b|\bnamespace\s+\w+\s*=\s*(?:::\s*)?cute\b|\busing\s+(?:::\s*)?cute\s*::"
    r"|\bnamespace\s+cute\b"
)


@dataclass(slots=True)
class Words:
    """What the files of a tree declare and spell for one target; shared by its translation units."""

    tree: Tree
    arch: str
    _of: dict[int, tuple[frozenset[str], bool, bool, ir.Decl]] = field(default_factory=dict)
    _types: dict[int, frozenset[str]] = field(default_factory=dict)
    _opened: dict[str, bool] = field(default_factory=dict)
    _files: dict[str, File] = field(default_factory=dict)
    _own_functions: dict[str, frozenset[str]] = field(default_factory=dict)
    named: dict[str, list[_Named]] = field(default_factory=dict)  # of all files so far
    _spelt: dict[str, None] = field(default_factory=dict)  # these names, and those of macros
    _fitting: dict[re.Pattern[str], tuple[int, set[str]]] = field(default_factory=dict)

    def spelled(self, decl: ir.Decl, path: str) -> tuple[frozenset[str], bool, bool]:
        """The words of a declaration, whether it spells a name of CuTe, and whether it does if CuTe's are open."""
        found = self._of.get(id(decl))
        if found is None:
            text = self._text(decl, path)
            found_words = frozenset(_WORD.findall(text))
            own = not found_words.isdisjoint(OWN) or qualified(text)
            common = not found_words.isdisjoint(COMMON) and bool(
                used_plainly(text, getattr(decl, "name", "")) - self._taken(path)
            )
            found = self._of[id(decl)] = (found_words, own or (common and self.opened(path)), common, decl)
        return found[:3]

    def _taken(self, path: str) -> frozenset[str]:
        """The names of CuTe's that a file gives to functions of its own without CuTe: its calls mean these."""
        if path not in self._own_functions:
            known = self._files.get(path)
            mine: dict[str, bool] = {}
            for name, decl, _ in known.named if known is not None else ():
                if name in COMMON and isinstance(decl, ir.Function):
                    text = self._text(decl, path)
                    plain = OWN.isdisjoint(_WORD.findall(text)) and not qualified(text)
                    mine[name] = mine.get(name, True) and plain
            self._own_functions[path] = frozenset(n for n, plain in mine.items() if plain)
        return self._own_functions[path]

    def types(self, decl: ir.Decl, path: str) -> frozenset[str]:
        """The names of types that a declaration declares anywhere in its text, but for those that it only passes on."""
        found = self._types.get(id(decl))
        if found is None:
            self.spelled(decl, path)  # keeps the declaration alive
            text = _PASSED_ON.sub("", self._text(decl, path))
            found = self._types[id(decl)] = frozenset(n for g in _TYPE_NAMES.findall(text) for n in g if n)
        return found

    def launches(self, decl: ir.Decl, path: str) -> bool:
        """Whether a declaration spells a launch with its own syntax."""
        return "<<<" in self._text(decl, path)

    def _text(self, decl: ir.Decl, path: str) -> str:
        span: Span | None = getattr(decl, "full_span", None) or getattr(decl, "span", None)
        file = self.tree.file(path)
        if span is None or file is None:
            return ""
        done = self.tree.preprocessed(path, self.arch)
        if span.path == path:
            return done.between(*file.origin.offsets(span))
        fragments = [f for f in done.fragments if f.origin.path == span.path]
        text = "".join(f.stripped[slice(*f.origin.offsets(span))] for f in fragments)
        return "\n".join((text, *(f.stripped for f in done.fragments))) if "include" in text else text

    def opened(self, path: str) -> bool:
        """Whether the names of CuTe need no qualification somewhere in a file."""
        if path not in self._opened:
            file = self.tree.file(path)
            texts = [f.stripped for f in self.tree.preprocessed(path, self.arch).fragments]
            texts += [file.stripped] if file is not None else []
            self._opened[path] = any(_OPENED.search(text) for text in texts)
        return self._opened[path]

    def file(self, unit: ir.Unit) -> File:
        """What there is to know of a file, worked out once."""
        known = self._files.get(unit.path)
        if known is None:
            known = self._files[unit.path] = self._described(unit)
            self._spelt.update(dict.fromkeys(known.macros))
            if not known.cute:
                for named in known.named:
                    self.named.setdefault(named[0], []).append(named)
                    self._spelt[named[0]] = None
        return known

    def fit(self, form: re.Pattern[str]) -> Set[str]:
        """The names of CuTe's and of the files so far that are of a form."""
        seen, found = self._fitting.get(form, (0, set(cute_names_of(form))))
        if seen < len(self._spelt):
            found.update(n for n in islice(self._spelt, seen, None) if form.fullmatch(n))
            self._fitting[form] = len(self._spelt), found
        return found

    def _described(self, unit: ir.Unit) -> File:
        path = unit.path
        macros = {n: _bodies(m) for n, m in self.tree.preprocessed(path, self.arch).macros.every().items()}
        named = [(n, d, path) for n, d in _flat(unit.decls)]
        classes = [d for _, d, _ in named if isinstance(d, ir.Class) and d.spec_args]
        return File(
            unit,
            is_cute_header(path),
            any(isinstance(d, ir.Using) and _is_cute(d.target) for d in unit.decls),
            any(isinstance(d, ir.Instantiate) for d in _inside(unit.decls)),
            macros,
            named,
            [(d, p) for n, d, p in named if n.startswith("operator")],
            {id(d): needed for d in classes if (needed := _looked_into(d))},
        )


@record(frozen=True, slots=True)
class File:
    """``cute``: one of CuTe's own headers. ``opens`` CuTe's namespace for all that follows; ``asks`` for explicit
    instantiations. ``macros`` are those at its end, ``named`` what it declares in its namespaces. ``asleep`` are its
    specialisations that look into member types of their parameters, with the names of these."""

    unit: ir.Unit
    cute: bool
    opens: bool
    asks: bool
    macros: Mapping[str, _Body]
    named: Sequence[_Named]
    operators: Sequence[tuple[ir.Decl, str]]
    asleep: Mapping[int, frozenset[str]]


_Body = tuple[frozenset[str], tuple[re.Pattern[str], ...]]  # the words of a macro, and of what form those are it makes


def _bodies(macros: Sequence[Macro]) -> _Body:
    """The words and forms of all that a name stands for in a file."""
    if len(macros) == 1:
        return _body(macros[0])
    found = [_body(m) for m in macros]
    return frozenset().union(*(spelled for spelled, _ in found)), tuple(form for _, forms in found for form in forms)


@lru_cache(maxsize=8192)
def _body(macro: Macro) -> _Body:
    """The words that a macro spells. One that makes words of pieces (``##``) makes any in which its arguments fit."""
    given = {*(macro.params or ()), macro.variadic, "__VA_ARGS__"}
    forms = []
    for match in _PASTED.finditer(macro.body) if "##" in macro.body else ():
        pieces = (p.strip() for p in match.group().split("##"))
        forms.append(re.compile("".join(_ARGUMENT if p in given else re.escape(p) for p in pieces)))
    return frozenset(_WORD.findall(macro.body)), tuple(forms)


_Named = tuple[str, ir.Decl, str]  # with the path of the file


def _inside(decls: Sequence[ir.Decl]) -> Iterator[ir.Decl]:
    """Declarations, those of namespaces among them."""
    for decl in decls:
        if isinstance(decl, ir.Namespace):
            yield from _inside(decl.members)
        else:
            yield decl


def _flat(decls: Sequence[ir.Decl]) -> Iterator[tuple[str, ir.Decl]]:
    for decl in _inside(decls):
        yield from ((n, decl) for n, _ in declared_names(decl))


class Relevance:
    """Of one translation unit: which of its declarations matter.

    ``starts`` are the declarations that are evaluated for themselves; None where others are asked for by hand.
    ``wanted``: functions of other units that are as good as those of CuTe.
    """

    def __init__(
        self,
        spelled: Words,
        units: Sequence[ir.Unit],
        starts: Sequence[tuple[ir.Decl, str]] | None = None,
        wanted: frozenset[str] = frozenset(),
    ) -> None:
        self._words = spelled
        self._own = OWN | wanted
        files = [spelled.file(unit) for unit in units]
        own = [f for f in files if not f.cute]
        self._everywhere = any(f.opens for f in own)
        self._named = spelled.named
        self._meant: dict[str, list[tuple[ir.Decl, str]]] = {}
        self._paths = {f.unit.path for f in own}
        self._macros: dict[str, _Body] = dict(_GIVEN_MACROS)
        self._asleep: dict[int, frozenset[str]] = {}
        for f in files:
            self._macros.update(f.macros)
        self._yes: set[int] = set()
        self._no: set[int] = set()
        self._all = False
        operators = [o for f in own for o in f.operators]
        # files whose declarations are used without a name of theirs
        self._nameless = {path for _, path in operators} | {f.unit.path for f in files if f.cute}
        self._starts: list[tuple[ir.Decl, str]] | None = None
        if starts is not None:
            self._starts = [*starts, *operators]
            for f in own:
                self._asleep.update(f.asleep)
        self._all = any(self.matters(decl, path) for decl, path in operators)  # their use has no name

    def any_root(self, unit: ir.Unit) -> bool:
        """Whether a declaration of a file that is evaluated for itself matters."""
        found = self._words.file(unit)
        return not found.cute and any(self.matters(d, p) for _, d, p in found.named if is_root(d))

    def asserts(self, decl: ir.Decl, path: str) -> bool:
        """Whether a declaration states what must hold when it is compiled."""
        return "static_assert" in self._words.spelled(decl, path)[0]

    def _means(self, used: Set[str], asked: set[str]) -> Iterator[tuple[ir.Decl, str]]:
        """The declarations of the unit that words name. ``asked`` are the words of before: not looked up again."""
        fresh = (used & self._named.keys()) - asked
        asked |= fresh
        for word in fresh:
            found = self._meant.get(word)
            if found is None:
                found = self._meant[word] = [(d, p) for _, d, p in self._named[word] if p in self._paths]
            yield from found

    def matters(self, decl: ir.Decl, path: str) -> bool:
        """False only where nothing that the declaration's evaluation reaches is of CuTe."""
        first = id(decl)
        if self._all or first in self._no:
            return self._all
        parent: dict[int, int | None] = {first: None}
        todo = [(decl, path)]
        macros: set[str] = set()
        asked: set[str] = set()
        while todo:
            at, where = todo.pop()
            key = id(at)
            plain, own, common = self._words.spelled(at, where)
            own = own or (common and self._everywhere)
            used = self._expanded(plain, macros)
            if own or key in self._yes or not used.isdisjoint(self._own):
                step: int | None = key
                while step is not None:
                    self._yes.add(step)
                    step = parent[step]
                return True
            for other, there in self._means(used, asked):
                inner = id(other)
                if inner in self._asleep:
                    self._wake()
                if inner not in parent and inner not in self._no and inner not in self._asleep:
                    parent[inner] = key
                    todo.append((other, there))
        self._no.update(parent)
        return False

    def _wake(self) -> None:
        """Tell the specialisations that can be chosen from those that cannot, once."""
        if self._starts is None:
            return
        todo, self._starts = self._starts, None
        seen: set[int] = set()
        met: dict[int, tuple[ir.Decl, str]] = {}
        declared: set[str] = set(_GIVEN)
        macros: set[str] = set()
        asked: set[str] = set()
        while todo:
            at, where = todo.pop()
            if id(at) not in seen:
                seen.add(id(at))
                plain = self._words.spelled(at, where)[0]
                used = self._expanded(plain, macros)
                declared |= self._words.types(at, where)
                if used is not plain:
                    declared |= used - plain
                for other, there in self._means(used, asked):
                    if id(other) in self._asleep:
                        met[id(other)] = other, there
                    else:
                        todo.append((other, there))
            if not todo:
                awake = [key for key in met if self._asleep[key] <= declared]
                for key in awake:
                    todo.append(met.pop(key))
                    del self._asleep[key]

    def comes_to(self, starts: Iterable[tuple[ir.Decl, str]], files: Set[str]) -> bool:
        """False only where no declaration of these files is reached by the evaluation of ``starts``."""
        if any(path in files for path in self._nameless):
            return True
        seen: set[int] = set()
        todo = list(starts)
        macros: set[str] = set()
        asked: set[str] = set()
        while todo:
            at, where = todo.pop()
            if where in files:
                return True
            if id(at) in seen:
                continue
            seen.add(id(at))
            used = self._expanded(self._words.spelled(at, where)[0], macros)
            todo += self._means(used, asked)
        return False

    def _expanded(self, plain: frozenset[str], seen: set[str]) -> Set[str]:
        """The words with those of the macros among them, and those that these can make of pieces."""
        todo = [w for w in plain & self._macros.keys() if w not in seen]
        if not todo:
            return plain
        found = set(plain)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            more, forms = self._macros[name]
            made = {word for form in forms for word in self._words.fit(form)}
            todo += (more | made) & self._macros.keys()
            found |= more | made
        return found


_GIVEN_MACROS = {name: _body(Macro(name, *given, "__VA_ARGS__")) for name, given in TEST_MACROS.items()}


def is_root(decl: ir.Decl) -> bool:
    return not getattr(decl, "tparams", None)


def _looked_into(decl: ir.Class) -> frozenset[str]:
    """The member types of parameters that the arguments of a specialisation look into."""
    own = {p.name for p in decl.tparams or ()}
    found: set[str] = set()
    todo: list[Any] = list(decl.spec_args or ())
    while todo:
        node = todo.pop()
        if isinstance(node, ir.Scoped):
            inner, members = node.base, []
            while isinstance(inner, ir.Scoped):
                members.append(inner.ident)
                todo += inner.targs or ()
                inner = inner.base
            if isinstance(inner, ir.Name) and inner.ident in own:
                found.update(members)
            elif inner is not None:
                todo.append(inner)
            todo += node.targs or ()
        elif isinstance(node, ir.Name):
            todo += node.targs or ()
        elif is_dataclass(node):
            todo += [getattr(node, f.name) for f in fields(node)]
        elif isinstance(node, (tuple, list)):
            todo += node
    return frozenset(found)


def _is_cute(target: ir.Expr) -> bool:
    return isinstance(target, (ir.Name, ir.Scoped)) and target.ident == "cute"
