"""``cutlass.cute.experimental``: buffers that are allocated where they are named, in any space; marks for profilers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl import storage
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.eval.values import EnumVal, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NAMES = ("type", "address_space", "layout", "alignment", "is2cta")


@builtin("cute_ext.allocate")
def _allocate(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A tensor of its own; the swizzle of a composed layout is one on addresses, as for the tensors of a pointer."""
    given = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
    kind, layout, space = given.get("type"), given.get("layout"), given.get("address_space")
    bad = next((v for v in (kind, layout, space) if isinstance(v, Unknown)), None)
    if bad is not None:
        return bad
    if not isinstance(kind, ScalarType) or not isinstance(space, EnumVal):
        return Unknown("the element type or the space of this allocation is not known", span)
    plain = layout.b if isinstance(layout, ComposedLayout) else layout
    if not isinstance(plain, Layout):
        return Unknown("the layout of this allocation is not known", span)
    made: Any
    if space.name in ("rmem", "tmem"):
        made = m.recorder.registers(m, plain, kind.dtype, span, "view", None, space.name)  # type: ignore[arg-type]
        align = given.get("alignment")
        known = made.pointer is not None and isinstance(align, int)
        return replace(made, pointer=replace(made.pointer, align=align)) if known else made
    if space.name != "smem":
        return Unknown(f"a buffer in {space.name}", span)
    wanted = {"layout": plain, "byte_alignment": given.get("alignment", 1)}
    if isinstance(layout, ComposedLayout):
        wanted["swizzle"] = layout.a
    return storage.allocate(m, storage.Allocator(), [kind], wanted, span, "allocate_tensor")


@builtin("iket.mark")
def _mark(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A mark for the profiler, which computes nothing."""
    return None


@builtin("cute.core._pack_shape", "cute.core._pack_tile", "cute.core._pack_coord", "cute.core._pack_stride")
def _packed(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """What the compiler's bindings take for a tuple."""
    return args[0] if args else Unknown("nothing to pack", span)


__all__: list[str] = []
