"""Functions that one translation unit defines and others call: what these check before the call holds in it.

A library declares ``template <class T, int D> void run(Params&, cudaStream_t);`` in a header, instantiates it in many
files, and calls it from one that checks strides and shapes. By their text alone it is told which names a unit defines
that others spell; the callers are evaluated first (also those without CuTe), and the calls that they make are where
evaluation of the definition starts (source/eval/handed.py). That is so only where every call in the tree was met: a
name that is spelled and not called, a call that no walk came to, and a walk that was cut, leave the function open.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from cutecheck.records import field_names
from cutecheck.source.cpp.splice import TRANSLATION_UNITS, of_library
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.scope import Scope, declared_names

_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_TARGS = r"(?:<[^;{}()]*>\s*)?"
_TYPE = r"(?<=[\w>*&])[\s*&\\]+(?:\w+\s*(?:<[^;{}()]*>\s*)?::\s*)*"
_AFTER = r"\s*(?:const\b\s*)?(?:noexcept\b\s*)?"
_INSTANTIATES = re.compile(rf"\btemplate\b(?!\s*<)[^;{{}}()#]*?{_TYPE}(\w+)\s*{_TARGS}\(")
_DEFINES = re.compile(rf"{_TYPE}(\w+)\s*{_TARGS}{_ARGUMENTS}{_AFTER}\{{")
_DECLARES = re.compile(rf"{_TYPE}(\w+)\s*{_TARGS}{_ARGUMENTS}{_AFTER};")
_MEMBER = re.compile(rf"\b(\w+)\s*(?:<(?:[^<>;{{}}()]|<[^<>;{{}}()]*>)*>\s*)?::\s*(\w+)\s*{_ARGUMENTS}{_AFTER}\{{")
_CLASS = re.compile(r"\btemplate\s+(?:struct|class)\s+(?:\w+\s*::\s*)*(\w+)\s*<")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^()\n]*\))?((?:\\\n|[^\n])*)", re.MULTILINE)
_NO_TYPE = re.compile(r"\b(?:return|else|throw|new|delete|co_return|case|goto|do)\b|&&|__global__|DEVICE\b|__device__")
_KEPT = re.compile(rf"{_NO_TYPE.pattern}|\bstatic\b")  # what no other file has
_CUDA = re.compile(r"cu(?:da)?[A-Z]")
_LIBRARIES = re.compile(r"\bnamespace\s+std\b")
_TYPE_ALONE = re.compile(r"[\w\s:<>,*&\\\[\]\"]*")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:define[ \t]+\w+(?:\([^()\n]*\))?|(?!define)[^\n]*\n)", re.MULTILINE)
_LINES = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*\n", re.MULTILINE)  # a directive with the lines that go on
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
_PASTED = re.compile(r"\w+(?:\s*##\s*\w+)+")
_HEAD = re.compile(r"\btemplate\s*<[^;{}()]*>")
_NO_NAME = frozenset(
    ["if", "for", "while", "switch", "return", "sizeof", "main", "decltype", "defined", "catch", "alignof"]
)
_LONGEST = 400  # characters before the name of a function


def _places(pattern: re.Pattern[str], text: str, refused: re.Pattern[str] = _NO_TYPE) -> Iterator[tuple[str, int]]:
    """Names that stand behind nothing but a type, with where they do."""
    ends = [m.end() for m in _LINES.finditer(text)]
    for m in pattern.finditer(text):
        at = m.start(1)
        begin = max(text.rfind(end, max(0, at - _LONGEST), at) for end in ";{}")
        done = bisect_right(ends, at)  # what a macro ends with, `} while (0)`, is no part of what follows
        begin = max(begin, ends[done - 1] - 1) if done else begin
        before = _HEAD.sub("", text[max(begin + 1, at - _LONGEST, 0) : at])
        before = _DIRECTIVE.sub("", before)
        if m[1] not in _NO_NAME and _TYPE_ALONE.fullmatch(before) and not refused.search(before):
            yield m[1], at


@lru_cache(maxsize=4096)
def _defined(stripped: str) -> frozenset[str]:
    return frozenset(n for form in (_DEFINES, _INSTANTIATES) for n, _ in _places(form, stripped))


@lru_cache(maxsize=4096)
def _lent(stripped: str) -> frozenset[str]:
    """The functions that a file defines for others: none where it has the libraries' own, as what a compiler wrote."""
    if any(map(_CUDA.match, _defined(stripped))) or _LIBRARIES.search(stripped):
        return frozenset()
    return frozenset(n for form in (_DEFINES, _INSTANTIATES) for n, _ in _places(form, stripped, _KEPT))


@lru_cache(maxsize=4096)
def _declared(stripped: str) -> frozenset[str]:
    return frozenset(n for n, _ in _places(_DECLARES, stripped))


@lru_cache(maxsize=4096)
def _macros(stripped: str) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Of macros the functions that they define, and the classes that they instantiate."""
    found = {m[1]: (_defined(f" {m[2]}"), _classes(m[2])) for m in _MACRO.finditer(stripped)}
    return {name: defines for name, defines in found.items() if any(defines)}


@lru_cache(maxsize=4096)
def _members(stripped: str) -> frozenset[tuple[str, str]]:
    """The methods that are defined outside of their classes, each after the name of the class."""
    return frozenset(_MEMBER.findall(stripped))


@lru_cache(maxsize=4096)
def _pasted(text: str) -> tuple[re.Pattern[str], ...]:
    """The names that macros of a text put together: what is no parameter stands for itself."""
    found: set[str] = set()
    for macro in _MACRO.finditer(text) if "##" in text else ():
        params = _WORD.findall(text[macro.end(1) : macro.start(2)])
        for parts in _PASTED.findall(macro[2]):
            found.add("".join(r"(\w+)" if p in params else p for p in re.split(r"\s*##\s*", parts)))
    return tuple(map(re.compile, sorted(found)))


def _spelled(tree: Tree, path: str, names: frozenset[str]) -> frozenset[str]:
    """Those of the names that a file spells, or that macros may make of what it spells."""
    words = tree.spelled(path)
    forms = {form for p in tree.read_with(path) for form in _pasted(_text(tree, p))}
    made = (
        n
        for n in names - words
        for f in forms
        if (m := f.fullmatch(n)) and all(g.isdigit() or g in words for g in m.groups())
    )
    return (names & words).union(made)


def _classes(stripped: str) -> frozenset[str]:
    return frozenset(_CLASS.findall(stripped))


def _defined_by(tree: Tree, unit: str) -> frozenset[str]:
    """The functions that a translation unit defines or instantiates, also by a macro or as methods of a class."""
    text = _text(tree, unit)
    found, classes = _defined(text), _classes(text)
    words = tree.spelled(unit)
    behind = [p for p in tree.read_with(unit) if not of_library(p)]
    for path in behind:
        for name, (functions, instantiated) in _macros(_text(tree, path)).items():
            if name in words:
                found, classes = found | functions, classes | instantiated
    if classes:
        found |= {name for p in behind for cls, name in _members(_text(tree, p)) if cls in classes}
    return found


@dataclass(slots=True)
class Links:
    """``defines``: of units the names that they define and others call; ``callers``: of these the units that do.

    ``helpers``: names that others call, of each the one file without CuTe that defines it.
    """

    defines: dict[str, frozenset[str]] = field(default_factory=dict)
    callers: dict[str, frozenset[str]] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, units: Iterable[str], callers: Iterable[str]) -> None:
        known = self.callers.get(name, frozenset()) | frozenset(callers)
        if known:
            self.callers[name] = known
            for u in units:
                self.defines[u] = self.defines.get(u, frozenset()) | {name}

    def handing(self, unit: str) -> frozenset[str]:
        """The functions whose calls a unit is to note."""
        return frozenset(n for n, units in self.callers.items() if unit in units)

    def before(self, unit: str) -> list[str]:
        """The units whose calls are wanted for one."""
        return sorted({v for n in self.defines.get(unit, ()) for v in self.callers[n]} - {unit})

    def helped(self, tree: Tree, unit: str) -> tuple[tuple[str, str], ...]:
        """The functions of other files that a unit spells, with those of these files in turn."""
        found: dict[str, str] = {}
        todo = [unit]
        while todo:
            at = todo.pop()
            words = frozenset(w for p in tree.read_with(at) for w in tree.spelled(p))
            for name, path in self.helpers.items():
                if name in words and name not in found and path != unit:
                    found[name] = path
                    todo.append(path)
        return tuple(sorted(found.items()))

    def stages(self, units: Iterable[str]) -> dict[str, int]:
        """Of each unit the number of others, one after the other, that are evaluated before it; a cycle is cut."""
        found: dict[str, int] = {}
        for start in units:
            stack = [(start, iter(self.before(start)))]
            around = {start}
            while stack:
                at, rest = stack[-1]
                following = next((v for v in rest if v not in found and v not in around), None)
                if following is not None:
                    around.add(following)
                    stack.append((following, iter(self.before(following))))
                    continue
                found[at] = max((1 + found[v] for v in self.before(at) if v in found), default=0)
                around.discard(at)
                stack.pop()
        return found


def links(tree: Tree, units: Sequence[str]) -> Links:
    """Between the translation units of a tree, ``units`` those of them that are evaluated for themselves."""
    own = [p for p in tree.files if not p.endswith((".py", ".ipynb")) and not of_library(p)]
    found = Links()
    declared: frozenset[str] | None = None
    fresh = {u for u in units if u.endswith(TRANSLATION_UNITS)}
    seen: set[str] = set()
    while fresh:
        seen |= fresh
        defined = {u: _defined_by(tree, u) for u in fresh}
        names = frozenset(n for found_there in defined.values() for n in found_there)
        if names and declared is None:
            declared = frozenset(n for p in own for n in _declared(_text(tree, p)))
        for name in sorted(names & declared) if declared else ():
            found.add(name, {u for u in fresh if name in defined[u]}, _callers(tree, own, name))
        fresh = {v for callers in found.callers.values() for v in callers} - seen
    calling = frozenset(v for callers in found.callers.values() for v in callers)
    others = [p for p in own if p.endswith(TRANSLATION_UNITS) and p not in units and p not in calling]
    if others and declared is None:
        declared = frozenset(n for p in own for n in _declared(_text(tree, p)))
    where: dict[str, list[str]] = {}
    for path in others:
        for name in _lent(_text(tree, path)) & (declared or frozenset()):
            where.setdefault(name, []).append(path)
    of_units = frozenset(n for u in units for n in _defined_by(tree, u))
    found.helpers = {n: paths[0] for n, paths in where.items() if len(paths) == 1 and n not in of_units}
    return found


def _callers(tree: Tree, own: Sequence[str], name: str) -> set[str]:
    """The translation units that have more of a function than what declares, defines and instantiates it."""
    spelling = frozenset(p for p in own if _spelled(tree, p, frozenset([name])) and _uses(tree, p, name))
    reach = tree.reaching(spelling) if spelling else frozenset()
    return {
        p
        for p in reach
        if p.endswith(TRANSLATION_UNITS) and not of_library(p) and not spelling.isdisjoint(tree.read_with(p))
    }


def _text(tree: Tree, path: str) -> str:
    found = tree.file(path)
    return "" if found is None else found.stripped


def _uses(tree: Tree, path: str, name: str) -> bool:
    text = _INCLUDE.sub("", _text(tree, path))
    if name not in tree.spelled(path):
        return True
    known = {at for form in (_DECLARES, _DEFINES, _INSTANTIATES) for n, at in _places(form, text) if n == name}
    return any(m.start() not in known for m in re.finditer(rf"\b{name}\b", text))


def join(program: Program, units: Sequence[ir.Unit], path: str) -> bool:
    """Add a file that defines functions which a program declares, unless a name of its own means another thing there.

    What it opens with ``using`` is not opened for the others: what it finds by that alone is not known.
    """
    fresh = [u for u in units if u.path not in program.units]
    if any(_taken(program.root, u.decls) for u in fresh if u.path == path):
        return False
    for unit in fresh:
        program.add(replace(unit, decls=tuple(d for d in unit.decls if not isinstance(d, ir.Using))))
    return True


def _taken(scope: Scope | None, decls: Sequence[ir.Decl], internal: bool = False) -> bool:
    """Whether a declaration has the name of one that is there, and is not the definition of a declared function.

    ``internal``: the declarations are of an anonymous namespace.
    """
    static = {d.name for d in decls if isinstance(d, ir.Function) and (internal or "static" in d.flags)}
    for decl in decls:
        if isinstance(decl, ir.Namespace):
            at = scope
            for part in [p for p in decl.name.split("::") if p]:
                at = at.children.get(part) if at is not None else None
            if _taken(at, decl.members, internal or not decl.name):
                return True
        elif scope is not None:
            for name, _ in declared_names(decl):
                known = [e.decl for e in scope.decls.get(name, ())]
                if any(not isinstance(d, ir.Function) or d.body is not None for d in known):
                    return True
                if known and (not isinstance(decl, ir.Function) or name in static):
                    return True
    return False


def unmet(
    units: Iterable[ir.Unit],
    names: frozenset[str],
    met: set[int] | None,
    tree: Tree,
    left: AbstractSet[tuple[int, str]] = frozenset(),
) -> set[str]:
    """The functions that some unit names without calling them, or of which it has a call that was not met.

    With its namespace one that the unit declares there, of which it takes the address: no other of that name.

    ``met`` None: the calls do not matter. ``left``: branches of ``if constexpr`` that were not taken, which, outside of
    templates, none ever takes: a macro that dispatches, ``SWITCH(split, kSplit, [&] { ... })``, has its argument twice.
    """
    found: set[str] = set()
    units = list(units)
    own = _Own([d for unit in units for d in unit.decls]) if names and met is not None else None
    for unit in units:
        here = _spelled(tree, unit.path, names)
        for node, called, within in _mentions(unit.decls, left) if here else ():
            if called is None and own is not None and isinstance(node, ir.Name) and own.means(node.ident, within):
                continue  # another function of that name, which this unit defines
            plain = isinstance(node, ir.Name) and node.targs is None and node.ident in here
            if called is None and own is not None and plain:
                scope = None if _opens(tree, unit.path, node.ident) else own.declares(node.ident, within)
                if scope is not None:
                    found.add(of_scope(scope, node.ident))  # one that the unit itself declares
                    continue
            if isinstance(node, _UNREAD):
                text = "\n".join(tree.lines(node.span.path)[node.span.line - 1 : node.span.end_line])
                found |= {name for name in here if name in text}
            elif node.ident in here and (called is None or (met is not None and id(called) not in met)):
                found.add(node.ident)
    return found


_UNREAD = (ir.Opaque,)


def of_scope(scope: str, name: str) -> str:
    """How :func:`unmet` tells a function of one namespace from others of its name."""
    return f"{scope}::{name}"


def _opens(tree: Tree, path: str, name: str) -> bool:
    """A file, or a function in it, may take a name from another namespace."""
    return re.search(rf"\busing\b[^;=]*\b(?:namespace|{name})\b", _text(tree, path)) is not None


class _Own:
    """The functions that namespaces have, as far as a name without any in front of it is looked up there."""

    def __init__(self, decls: Sequence[ir.Decl]) -> None:
        self._defined: dict[tuple[str, ...], set[str]] = {}
        self._declared: dict[tuple[str, ...], set[str]] = {}
        self._opens = False  # names of other namespaces may be found as well
        self._walk(decls, ())

    def _walk(self, decls: Sequence[ir.Decl], within: tuple[str, ...]) -> None:
        for decl in decls:
            if isinstance(decl, ir.Namespace):
                self._walk(decl.members, _inside(within, decl))
            elif isinstance(decl, ir.Using):
                self._opens |= decl.kind in ("namespace", "name")
            elif isinstance(decl, ir.Function):
                found = self._declared if decl.body is None else self._defined
                found.setdefault(within, set()).add(decl.name)

    def means(self, name: str, within: tuple[str, ...]) -> bool:
        """Whether it is a function that the unit defines."""
        for at in self._around(within):
            if name in self._declared.get(at, ()):
                return False
            if name in self._defined.get(at, ()):
                return True
        return False

    def declares(self, name: str, within: tuple[str, ...]) -> str | None:
        """The namespace of the function that it is, where the unit declares that one; None of any other."""
        for at in self._around(within):
            if name in self._declared.get(at, ()) or name in self._defined.get(at, ()):
                return "::".join(at) if name in self._declared.get(at, ()) and "" not in at else None
        return None

    def _around(self, within: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [] if self._opens else [within[:n] for n in range(len(within), -1, -1)]


def _inside(within: tuple[str, ...], namespace: ir.Namespace) -> tuple[str, ...]:
    return (*within, *(namespace.name.split("::") if namespace.name else [""]))


def _mentions(
    root: object, left: AbstractSet[tuple[int, str]]
) -> Iterator[tuple[Any, ir.Call | None, tuple[str, ...]]]:
    """The names in declarations, each with the call whose function it names, and what could not be read.

    With them the namespaces that they stand in.
    """
    todo: list[tuple[Any, ir.Call | None, tuple[str, ...], bool]] = [(root, None, (), False)]
    while todo:
        node, call, within, open_ = todo.pop()  # in a template, of which there may be other instantiations
        if isinstance(node, ir.Lazy):
            node = node.get()
        if isinstance(node, (tuple, list)):
            todo += [(part, None, within, open_) for part in node]
        elif isinstance(node, (ir.Instantiate, ir.Using)):
            continue
        else:
            within = _inside(within, node) if isinstance(node, ir.Namespace) else within
            open_ = open_ or _is_template(node)
            if isinstance(node, (ir.Name, ir.Scoped, ir.Attr, *_UNREAD)):
                yield node, call, within
            for name in field_names(type(node)):  # none where it is no part of a program
                if not open_ and (id(node), name) in left and isinstance(node, ir.If):
                    continue
                plain = isinstance(node, ir.Call) and name == "fn" and node.launch is None
                part = getattr(node, name)
                todo.append((part, node if plain and isinstance(node, ir.Call) else None, within, open_))


def _is_template(node: object) -> bool:
    if isinstance(node, ir.Lambda):
        return bool(node.tparams) or any(p.type is None for p in node.params)
    return isinstance(node, (ir.Function, ir.Class)) and bool(node.tparams or node.owner_tparams)


__all__ = ["Links", "links", "of_scope", "unmet"]
