"""Calls on the host whose walk would say nothing: they fill and compare arrays, print, or measure time.

A function that returns no value, a truth or a floating-point number gives CuTe nothing to compute with, if it writes
to none of its caller's variables and asserts nothing. Where its text can come to nothing of CuTe (source/relevance.py),
nor can the classes it is called with, and none of its arguments is a value of CuTe, it is not walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from cutecheck.facts import Unknown
from cutecheck.model.ints import Dyn
from cutecheck.source.bystanders import parts_of
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Telling
from cutecheck.source.eval.scope import ClassInst, Entry
from cutecheck.source.eval.values import (
    EnumVal,
    Extern,
    ExternType,
    Object,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Str,
    Value,
    VoidType,
)
from cutecheck.source.relevance import Relevance, Words

# arguments that cannot be of CuTe, or whose class tells
_FOREIGN = (
    bool, int, float, str, Unknown, Dyn, Scalar, ScalarType, VoidType, Str, EnumVal, Extern, ExternType, Pointer,
    PtrType, Object, ClassInst,
)  # fmt: skip

_WORKS = re.compile(
    r"make_(tiled|tma|im2col|cotiled)_\w+|copy(_if|_aligned)?|cooperative_copy|gemm|Tiled(MMA|Mma|Copy)"
)


@dataclass(frozen=True, slots=True)
class Chores:
    """Those of one translation unit."""

    relevance: Relevance
    words: Words
    coarse: bool = False
    _known: dict[int, tuple[bool, ir.Decl]] = field(default_factory=dict)  # with what must stay alive

    def one(self, entry: Entry, fn: ir.Function, values: Iterable[Value]) -> bool:
        """Whether a call of a function with these template arguments and arguments is one."""
        if not self._apart(fn, entry.unit.path) or self.relevance.asserts(fn, entry.unit.path):
            return False
        given = tuple(values)
        if not all(isinstance(value, _FOREIGN) for value in given):
            return False
        return all(part is not None and self._apart(*part) for part in parts_of(given))

    def tells(self, inst: ClassInst) -> Telling:
        """Whether instantiations over a class are of another kind than those over others (source/eval/alike.py).

        Functions of elements, such as activations, decide no layout. Where kinds are ``coarse``, of class templates
        only those tell that configure, copy or multiply in their own text, beside plain classes that serve as tags.
        """
        path = inst.entry.unit.path
        if self.coarse:
            if self._works(inst.decl, path):
                return Telling.WORKS
            return Telling.NOTHING if inst.args or inst.decl.bases else Telling.APART
        called = inst.args and any(isinstance(d, ir.Function) and d.name == "operator()" for d in inst.decl.members)
        return Telling.NOTHING if called and self._apart(inst.decl, path) else Telling.APART

    def _works(self, decl: ir.Decl, path: str) -> bool:
        return any(map(_WORKS.fullmatch, self.words.spelled(decl, path)[0]))

    def _apart(self, decl: ir.Decl, path: str) -> bool:
        known = self._known.get(id(decl))
        if known is None:
            known = self._known[id(decl)] = not self.relevance.matters(decl, path), decl
        return known[0]
