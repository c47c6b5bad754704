"""The declarations of a tree, merged by namespace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cutecheck.model.dtype import dtype
from cutecheck.source.eval import ir
from cutecheck.source.eval.outside import Definitions, owner_names
from cutecheck.source.eval.scope import Entry, Env, Scope, declared_names

# as an include path names them; a project may have a folder `cute` of its own
_FOUND = re.compile(
    r"cute/((algorithm|arch|atom|container|numeric|util)/.*|"
    r"(config|int_tuple|layout|layout_composed|pointer\w*|stride|swizzle\w*|tensor\w*|underscore))\.hpp$"
)
_WIDTH = "sizeof_bits"
WIDTHS = "sizeof_bits of classes"  # the program's own templates of that name, for types that are none of the library's


class Program:
    """All units of one run under one architecture. Names of CuTe's own headers are left out: they are intrinsics."""

    def __init__(self) -> None:
        self.root = Scope("", None)
        self.units: dict[str, ir.Unit] = {}
        self.outside = Definitions()
        self.internal: set[int] = set()  # what anonymous namespaces hold, by ``id``: of its translation unit alone
        self.instantiate: list[tuple[ir.Instantiate, Scope, ir.Unit]] = []
        self.value_layouts = False  # of TiledMMA, as CuTe's headers have them up to 3.3

    def add(self, unit: ir.Unit, module: str | None = None) -> None:
        """Add a unit; ``module`` is the dotted name of a Python module, which gets a scope of its own."""
        if unit.path in self.units:
            return
        self.units[unit.path] = unit
        scope = self.root if module is None else self.root.child(module)
        own_cute = is_cute_header(unit.path)
        self._declare(unit.decls, scope, unit, own_cute)

    def _declare(
        self, decls: Iterable[ir.Decl], scope: Scope, unit: ir.Unit, own_cute: bool, internal: bool = False
    ) -> None:
        for decl in decls:
            if isinstance(decl, ir.Namespace):
                target = scope
                for part in [p for p in decl.name.split("::") if p]:
                    target = target.child(part)
                self._declare(decl.members, target, unit, own_cute, internal or not decl.name)
            elif isinstance(decl, ir.Using):
                scope.usings.append((decl.kind, decl.target, decl.name))
            elif isinstance(decl, ir.Instantiate):
                self.instantiate.append((decl, scope, unit))
            elif isinstance(decl, ir.Function) and decl.owner is not None:
                self._declare_outside(decl, scope, unit)
            elif not (own_cute and scope.path.startswith("cute")):
                for name, item in declared_names(decl):
                    known = scope.path == "cutlass" and is_element(name)
                    if not known or name == _WIDTH:
                        scope.add(WIDTHS if known else name, Entry(item, scope.env, unit))
                        if internal:
                            self.internal.add(id(item))

    def _declare_outside(self, fn: ir.Function, scope: Scope, unit: ir.Unit) -> None:
        """A function that is declared with a qualified name: of a namespace, or a member of a class."""
        at: Scope | None = scope
        for name in owner_names(fn.owner):
            at = at.children.get(name) if at is not None else None
        if at is None:
            self.outside.add(fn, scope, unit)
        else:
            at.add(fn.name, Entry(replace(fn, owner=None), at.env, unit))  # as if it stood there

    def entries(self, scope: Scope | None = None) -> Iterator[Entry]:
        scope = scope or self.root
        for entries in scope.decls.values():
            yield from entries
        for child in scope.children.values():
            yield from self.entries(child)


def is_element(name: str) -> bool:
    """Element types and their sizes, which the evaluator knows: CUTLASS's classes of these names are its storage."""
    return name == _WIDTH or dtype(name) is not None


def takes_value_layouts(text: str) -> bool:
    """Whether the ``cute/atom/mma_atom.hpp`` is one of before 3.4, in which a TiledMMA has a layout of values."""
    return "ValLayoutMNK" in text


def is_cute_header(path: str) -> bool:
    """Whether a file is one of CuTe's own: below an ``include`` folder, or found through one (``cute/layout.hpp``)."""
    return "include/cute/" in path or _FOUND.match(path) is not None


__all__ = ["Env", "Program"]
