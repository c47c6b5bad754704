"""``copy(src, dst)`` of what each thread has, without a TiledCopy: where it starts is an expression in its index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from cutecheck.exec.spell import type_of
from cutecheck.model.algebra import offsets
from cutecheck.model.atoms import CopyAtom, copy_op
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Expr
from cutecheck.model.layout import AnyLayout
from cutecheck.model.prove.properties import THREAD

Side = Literal["src", "dst"]
_OP = "AutoVectorizingCopyWithAssumedAlignment"
_SLICE = """    template <class T> CUTE_DEVICE auto partition_{}(T const& whole) const {{
      return make_tensor(whole.data() + ({}), whole.layout());
    }}
"""
_COPY = (
    "template <class S, class A, class D, class B> CUTE_DEVICE void copy(CheckedCopy const&, Tensor<S, A> const& from, "
    "Tensor<D, B>{} to) {{ cute::copy({}from, to); }}"
)


@dataclass(frozen=True)
class PlainCopy:
    """The copy of ``num_thr`` threads; ``starts``: elements at which each begins in source and destination.

    A side in registers starts nowhere. ``static``: both layouts are, and CuTe assumes that pointers are aligned to 16
    bytes; else it moves element by element (``copy`` in cute/algorithm/copy.hpp). ``given``: the atom where the copy
    has one.
    """

    num_thr: int
    starts: tuple[Expr | None, Expr | None]
    static: bool
    dtype: DType
    given: CopyAtom | None = None

    @cached_property
    def atom(self) -> CopyAtom:
        """The atom of the copy, or that which CuTe chooses."""
        return self.given or copy_op(_OP, (128 if self.static else 8,), self.dtype)

    def start(self, side: Side) -> Expr:
        """Of registers the places are those of the other side."""
        first, second = self.starts if side == "src" else self.starts[::-1]
        found = first if first is not None else second
        assert found is not None
        return found

    def table(self, side: Side, layout: AnyLayout) -> list[int]:
        """Offsets in elements: entry ``value * threads + thread``."""
        start = self.start(side)
        begins = [start.evaluate({THREAD: t}) for t in range(self.num_thr)]
        return [b + o for o in offsets(layout) for b in begins]

    @property
    def text(self) -> str:
        """A class of C++ that the reference kernels use as they use a TiledCopy."""
        parts = _SLICE.format("S", self._written("src")) + _SLICE.format("D", self._written("dst"))
        atom = "" if self.given is None else f"{type_of(self.given)}{{}}, "
        return (
            "struct CheckedCopy {\n  struct Slice {\n    int thread;\n" + parts + "  };\n"
            "  CUTE_DEVICE Slice get_slice(int thread) const { return {thread}; }\n};\n"
            f"CUTE_DEVICE constexpr Int<{self.num_thr}> size(CheckedCopy const&) {{ return {{}}; }}\n"
            + "\n".join(_COPY.format(end, atom) for end in ("&", " const&"))
        )

    def _written(self, side: Side) -> str:
        return str(self.start(side)).replace(THREAD, "thread")


__all__ = ["PlainCopy"]
