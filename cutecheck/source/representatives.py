"""Of many files that only instantiate templates of others by name, those that stand for the rest.

Libraries write (or generate) a file for each instantiation of a kernel, hundreds of them. Template arguments choose the
tiles, element types and flags, and each of these is met where each value of an argument is met once, and each pair of
values of two arguments that are no flags: pairwise coverage, as in combinatorial testing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from cutecheck.facts.span import Span
from cutecheck.records import field_names
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.eval import ir
from cutecheck.source.eval.limits import SOME_UNITS, Limits

_DEFINES = re.compile(r"#[ \t]*(?:define|undef)\b")  # what it includes may mean something else there
_INSTANTIATES = re.compile(r"(?<![.>:])\btemplate\s+(?!<)")  # most files declare templates, and need not be parsed
_Met = tuple[object, ...]  # a template with what stands around its instantiations, and a value or two


@dataclass(slots=True)
class LeftOut:
    """``paths`` of ``among`` are not evaluated; ``counts``: how many instantiations these are, by the first of the same
    template."""

    paths: frozenset[str] = frozenset()
    counts: dict[str, int] = field(default_factory=dict)
    among: int = 0

    @property
    def note(self) -> str:
        """What a report says of it; empty where all were evaluated."""
        if not self.paths:
            return ""
        return (
            f"{min(self.paths)} and {len(self.paths) - 1} more of {self.among} files that only instantiate templates: "
            "not evaluated, since others have their template arguments, one by one and types and numbers in pairs "
            "(`max-flag-combinations` for more)"
        )


def left_out(asked: Mapping[str, Sequence[str]], tree: Tree, limits: Limits) -> LeftOut:
    """The translation units (with their architectures) for which others stand, where there are many of the kind."""
    found = {p: made for p, archs in asked.items() if (made := _instantiations(p, archs, tree))}
    if len(found) <= SOME_UNITS:
        return LeftOut()
    seen: Counter[_Met] = Counter()
    first: dict[_Met, str] = {}
    paths: set[str] = set()
    counts: dict[str, int] = {}
    for path, made in found.items():
        new = {met for one in made for met in one.mets() if seen[met] < limits.a_value}
        if new:
            seen.update({met for one in made for met in one.mets()})
        else:
            paths.add(path)
        for one in made:
            name = first.setdefault(one.template, f"{one.span}:{one.name}")
            if not new:
                counts[name] = counts.get(name, 0) + 1
    return LeftOut(frozenset(paths), counts, len(found))


@dataclass(frozen=True, slots=True)
class _Instantiation:
    template: _Met
    name: str
    values: tuple[tuple[str, bool], ...]  # as written, and whether that is a flag
    span: Span

    def mets(self) -> Iterator[_Met]:
        """What is met with it."""
        placed = list(enumerate(self.values))
        for at, (value, _) in placed:
            yield (self.template, at, value)
        numbers = [(at, value) for at, (value, flag) in placed if not flag]
        for pair in combinations(numbers, 2):
            yield (self.template, *pair)


def _instantiations(path: str, archs: Sequence[str], tree: Tree) -> list[_Instantiation]:
    """Those of a file that says nothing else; none of any other."""
    text = tree.text(path)
    if not _INSTANTIATES.search(text) or "cutecheck:" in text or _DEFINES.search(text) or tree.own.get(path):
        return []
    made: list[_Instantiation] = []
    for arch in archs:
        unit = tree.unit(path, arch)
        if unit is None or unit.calls or unit.notes:
            return []
        around = (arch, tree.includes(path, arch))
        found: list[_Instantiation] = []
        if not _collect(unit.decls, around, found) or not found:
            return []
        made += found
    return made


def _collect(decls: Iterable[ir.Decl], around: _Met, found: list[_Instantiation]) -> bool:
    """Whether there are only namespaces, using declarations and instantiations of names with arguments."""
    for decl in decls:
        if isinstance(decl, ir.Namespace):
            if not _collect(decl.members, (*around, decl.name), found):
                return False
        elif isinstance(decl, ir.Using):
            around = (*around, _said(decl))
        elif isinstance(decl, ir.Instantiate) and isinstance(decl.target, (ir.Name, ir.Scoped)) and decl.target.targs:
            target = decl.target
            outer = _said(target.base) if isinstance(target, ir.Scoped) else ""
            values = tuple((_said(v), isinstance(v, ir.Lit) and isinstance(v.value, bool)) for v in target.targs or ())
            key = (*around, outer, target.ident, len(values), _open(decl.params, values))
            found.append(_Instantiation(key, target.ident, values, decl.span))
        else:
            return False
    return True


def _open(params: tuple[ir.Param, ...] | None, values: Iterable[tuple[str, bool]]) -> str:
    """The parameters of a function, which tell overloads apart, with its template arguments by their places."""
    said = _said(params)
    for place, (value, _) in enumerate(values):
        said = said.replace(value, f"argument {place}")
    return said


def _said(node: object) -> str:
    """The same for nodes of one text."""
    if isinstance(node, Span):
        return ""
    if isinstance(node, tuple):
        return f"({', '.join(map(_said, node))})"
    names = field_names(type(node))
    return f"{type(node).__name__}({', '.join(_said(getattr(node, n)) for n in names)})" if names else repr(node)


__all__ = ["LeftOut", "left_out"]
