"""Kernels whose walk would say nothing of the files that a run reports.

Of a changed file only what stands in it, and in what includes it, is reported. A kernel of another file of the tree,
launched there, matters to it as far as its body, or a class that it is instantiated with, can reach a declaration of a
reported file; if it cannot, its facts are those of the run over the files that hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import field, fields, is_dataclass

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Sym
from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Entry
from cutecheck.source.eval.values import (
    Closure,
    EnumVal,
    FuncSet,
    Object,
    Scalar,
    ScalarType,
    Str,
    Tag,
    TemplateRef,
    Value,
    VoidType,
)
from cutecheck.source.relevance import Relevance

_PLAIN = frozenset({
    type(None), bool, int, float, str, Unknown, Expr, Dyn, Sym, Scalar, ScalarType, Tag, Str, EnumVal, VoidType
})  # fmt: skip
_MOST = 10_000  # parts of the arguments of a launch


@record(frozen=True, slots=True)
class Bystanders:
    """``others`` are the files of the tree that are not reported, ``reported`` those that are."""

    relevance: Relevance
    others: Set[str]
    reported: Set[str]
    _known: dict[frozenset[int], tuple[bool, object]] = field(default_factory=dict)  # with what must stay alive

    def wanted(self, kernel: Iterable[Entry], values: Iterable[Value], span: Span) -> bool:
        """Whether a kernel, launched at a place with these template arguments and arguments, is to be walked."""
        if span.path not in self.others:
            return True
        starts: list[tuple[ir.Decl, str]] = [(e.decl, e.unit.path) for e in kernel]
        for part in parts_of(values):
            if part is None:
                return True
            starts.append(part)
        key = frozenset(id(decl) for decl, _ in starts)
        if key not in self._known:
            self._known[key] = self.relevance.comes_to(starts, self.reported), starts
        return self._known[key][0]


def parts_of(values: Iterable[Value]) -> Iterator[tuple[ir.Decl, str] | None]:
    """The declarations that values are made of, with their files; None where that cannot be told."""
    todo = list(values)
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if type(value) in _PLAIN or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Closure) or len(seen) > _MOST:
            yield None
        elif isinstance(value, ClassInst):
            yield value.decl, value.entry.unit.path
            todo += [*value.args, *([value.outer] if value.outer is not None else [])]
        elif isinstance(value, Entry):
            if not isinstance(value.decl, tuple):
                yield value.decl, value.unit.path
        elif isinstance(value, Object):
            todo += [value.cls, value.pointer, *value.fields.values()]
        elif isinstance(value, (FuncSet, TemplateRef)):
            todo += [getattr(value, f.name) for f in fields(value)]
        elif isinstance(value, (tuple, list, frozenset)):
            todo += value
        elif isinstance(value, dict):
            todo += value.values()
        elif is_dataclass(value):
            todo += [getattr(value, f.name) for f in fields(value)]
        else:
            yield None
