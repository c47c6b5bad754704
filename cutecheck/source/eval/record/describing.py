"""Values as facts hold them, and the text of the places where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cutecheck.facts import (
    Space,
    Span,
    TensorFact,
    Unknown,
)
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn, Int
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.units import Bits, Bytes
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import (
    Address,
    Closure,
    CuteOp,
    EnumVal,
    Extern,
    ExternType,
    FuncSet,
    Object,
    ObjectPointer,
    Pointer,
    Scalar,
    Slice,
    TemplateRef,
    TensorVal,
    Value,
    ValueType,
)

_LONGEST = 5_000  # names and numbers in the text of a layout or an offset
_NO_FACTS = (
    Address,
    Object,
    ObjectPointer,
    Extern,
    Pointer,
    ClassInst,
    FuncSet,
    Closure,
    TemplateRef,
)


class Describing:
    """``source`` gives the text of a file for names in reports."""

    def __init__(self, source: Callable[[str], list[str]]) -> None:
        self.source = source

    def text(self, node: Any) -> str:
        """The source text of a node, one line, shortened."""
        span = getattr(node, "span", node)
        lines = self.source(span.path)
        if not lines or span.line > len(lines):
            return ""
        if span.line == span.end_line:
            out = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        else:
            middle = lines[span.line : span.end_line - 1]
            out = " ".join(
                [
                    lines[span.line - 1][span.column - 1 :],
                    *middle,
                    lines[min(span.end_line, len(lines)) - 1][: span.end_column - 1],
                ]
            )
        out = " ".join(out.split())
        return out if len(out) <= 160 else out[:157] + "..."

    def _fact(self, v: Value, span: Span) -> object:
        """A value as facts hold it: model values, tensors, or Unknown."""
        if isinstance(v, TensorVal):
            fact = self.tensor_fact(v, span)
            return replace(fact, name=v.name) if v.name else fact
        if isinstance(v, ValueType):
            v = v.value
        if isinstance(v, Scalar):
            return v.value if v.value is not None else Unknown(f"a {v.ctype} that is not known", span)
        if isinstance(v, Slice):
            return self._fact(v.tiled, span)
        if isinstance(v, tuple):
            parts = tuple(self._part(x, span) for x in v)
            return v if all(x is y for x, y in zip(v, parts, strict=True)) else parts
        if isinstance(v, EnumVal):
            return v if v.of is None else replace(v, of=None)  # which holds the program
        if isinstance(v, CuteOp):
            named = tuple(ExternType(spell(x)) if isinstance(x, _NO_FACTS) else self._part(x, span) for x in v.args)
            return v if all(x is y for x, y in zip(named, v.args, strict=True)) else replace(v, args=named)
        if isinstance(v, _NO_FACTS):
            return Unknown(f"a value of type {type(v).__name__.lower()}", span)
        return v

    def _part(self, v: Value, span: Span) -> object:
        """A part of a tuple as facts hold it."""
        return self._fact(v, span) if isinstance(v, (*_NO_FACTS, tuple, CuteOp, EnumVal)) else v

    def tensor_fact(self, v: TensorVal, span: Span) -> TensorFact:
        offset: Any = v.offset
        space: Space = v.space
        align = None
        buffer = None
        if v.pointer is not None:
            buffer, align = v.pointer.buffer, None if v.pointer.align is None else Bytes(v.pointer.align)
            space = v.pointer.space if v.pointer.space != "unknown" else v.space
            if isinstance(v.pointer.offset, Unknown) or isinstance(offset, Unknown):
                offset = v.pointer.offset if isinstance(v.pointer.offset, Unknown) else offset
            elif v.pointer.offset != 0:
                offset = offset + v.pointer.offset
        start, bits = _whole(v)
        layout, offset, root, tile = (_written(x, span) for x in (v.layout, offset, v.root, v.tile))
        return TensorFact(
            self.text(span) or v.name, span, space, layout, v.dtype, buffer, offset, align, v.provenance,
            v.source.tiled if isinstance(v.source, Slice) else v.source, None if isinstance(root, Unknown) else root,
            None if isinstance(tile, Unknown) else tile, v.thread, start, bits,
        )  # fmt: skip


def _written(v: Any, span: Span) -> Any:
    """A layout or number, but for what nobody could read: run-time extents divided again and again."""
    return Unknown("its run-time numbers are too long to be written down", span) if _length(v) > _LONGEST else v


def _length(v: Any) -> int:
    if isinstance(v, tuple):
        return sum(map(_length, v))
    if isinstance(v, (Layout, ComposedLayout)):
        return _length_of_layout(v)
    return v.expr.length if isinstance(v, Dyn) else 0


@once
def _length_of_layout(v: Layout | ComposedLayout) -> int:
    if isinstance(v, Layout):
        return _length(v.shape) + _length(v.stride)
    return _length(v.offset) + _length(v.b)


def _whole(v: TensorVal) -> tuple[Int | None, Bits | None]:
    """Bits from the start of the buffer to the first element of the whole tensor, and bits of an element of it."""
    begins, pointer = v.begins(), v.pointer
    if begins is None or pointer is None or isinstance(pointer.offset, Unknown):
        return None, None
    start = begins[0]
    if pointer.offset != 0:
        if v.dtype is None or not v.dtype.bits:
            return None, None
        start = start + pointer.offset * int(v.dtype.bits)
    return (None, None) if _length(start) > _LONGEST else (start, Bits(begins[1]))
