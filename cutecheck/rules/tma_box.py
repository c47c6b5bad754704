"""CUT803 tma-box-not-legal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.layout import Swizzle, SwizzleUnit
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import TmaLimits
from cutecheck.model.tiled import TiledCopy
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.model.units import Bytes
from cutecheck.rules.base import Context
from cutecheck.rules.derive.vectors import plain
from cutecheck.rules.rejected import Rejected

_MOST = 256
_SPAN = Bytes(16)  # that a swizzle of no bits spans, shifted left by its bits
_WIDE = Bytes(128)  # what swizzles of 32 and 64 bytes span (get_tma_swizzle_bits in copy_traits_sm90_tma_swizzle.hpp)


class TmaBox(Rejected):
    """The box of a TMA copy is not one that a tensor map can have.

    What it checks
        For every TMA copy whose tensor map follows from the sources: at most 256 elements along each mode of the box;
        an innermost extent of a whole number of 16 bytes, and of no more bytes than the swizzle spans (128, 64, 32);
        the contiguous mode of shared memory is the contiguous one of global memory, with stride 1.
        The shared tensor of the copy has the swizzle that the tensor map was made with.

    Why
        The box follows from the tile and the shared layout, and no assertion of the compiler looks at it:
        ``cuTensorMapEncodeTiled`` refuses at run time, and the kernel reads through an invalid descriptor.

    Example
        make_tma_copy(SM90_TMA_LOAD{}, gA, Layout<Shape<Int<512>, _32>, Stride<_32, _1>>{})   // box 32 x 512

    Use instead
        make_tma_copy(SM90_TMA_LOAD{}, gA, Layout<Shape<_256, _32>, Stride<_32, _1>>{})

    Assumptions
        None.

    Fix
        Split the tile into boxes of 256 at most, and give rows as wide as the swizzle atom a mode of their own
        (``tile_to_shape`` of ``GMMA::Layout_K_SW128_Atom`` does).

    References
        CUDA driver API, cuTensorMapEncodeTiled; cute/atom/copy_traits_sm90_tma.hpp (make_tma_copy_desc)
    """

    code = "CUT803"
    name = "tma-box-not-legal"
    family = "tma-limits"
    pattern = re.compile(r"common tile-gmem vectorization|TMA: |TMA requires|Majorness")
    advice = "give shared memory the contiguous mode of global memory, and a swizzle that TMA knows"
    valid = (
        """
        using Smem = Layout<Shape<_256, _32>, Stride<_32, _1>>;
        inline auto make_load(half_t const* A, int m) {
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, _64{}), make_stride(_64{}, _1{}));
          return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
        }
        void instantiate() { (void)make_load(nullptr, 4096); }
        """,
    )
    invalid = (
        """
        using Smem = Layout<Shape<_512, _32>, Stride<_32, _1>>;
        inline auto make_load(half_t const* A, int m) {
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, _64{}), make_stride(_64{}, _1{}));
          return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
        }
        void instantiate() { (void)make_load(nullptr, 4096); }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        found, smem = tensor_map_of(event.tiled), _smem_swizzle(event)
        if found is None or smem is None or found.swizzle.bits == smem[1].bits:
            return
        tensor, swizzle = smem
        yield self.finding(
            event.span,
            f"the tensor map of this TMA copy has {found.swizzle}, its shared tensor `{tensor.name}` has {swizzle}: "
            "its elements are taken from other places than the copy puts them",
            label=f"{found.swizzle} against {swizzle}",
            help="make the TMA copy with the layout of the shared tensor",
            related=[Related(tensor.span, f"part of {tensor.root_layout or tensor.layout}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        found = tensor_map_of(call.result)
        if found is None:
            return
        tensor = next((a for a in call.arguments if isinstance(a, TensorFact)), None)
        if tensor is not None and found.other_major() and not call.unevaluated:
            first = found.gmem_stride_bytes[0]
            yield self.finding(
                call.span,
                f"the tile in shared memory is contiguous along another mode than `{tensor.name}` of layout "
                f"{tensor.layout}: the tensor map's first stride is {first} bytes, not one element "
                '(CuTe asserts "Majorness of smem doesn\'t match majorness of gmem" at run time)',
                label="majors differ",
                help="use a layout in shared memory of the same major, or give the global tensor its strides in order",
                related=[Related(tensor.span, f"global tensor {tensor.layout}")],
                enclosing=call.enclosing,
                arch=call.arch,
            )
            return
        swizzle = found.swizzle
        span = Bytes(0) if not swizzle.bits else _SPAN * (1 << swizzle.bits) if swizzle.base == 4 else _WIDE
        for possible in found.boxes():
            payload = TmaLimits(possible, found.internal_bits, swizzle_bytes=span, what="box of the TMA copy")
            outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
            if outcome.verdict is Verdict.REFUTED and found.num_multicast is None:
                reason = "how many CTAs share the transfer is known at run time alone"
                context.record(replace(outcome, verdict=Verdict.UNKNOWN, reason=reason, witness=None))
                return
        if outcome.verdict is not Verdict.REFUTED:
            return
        box = [int(b) for b in found.box]
        inner = box[0] * int(found.internal_bits) // 8
        large = next(((i, b) for i, b in enumerate(box) if b > _MOST), None)
        if large is not None:
            what = f"{large[1]} elements along mode {large[0]}, a tensor map has {_MOST} at most"
        elif span and inner > int(span):
            what = f"an innermost extent of {inner} bytes, {swizzle} spans {span}"
        elif len(box) > 5:
            what = f"{len(box)} modes, a tensor map has 5 at most"
        else:
            what = f"an innermost extent of {inner} bytes, which is no multiple of 16"
        shown = "x".join(map(str, box))
        yield self.finding(
            call.span,
            f"the box {shown} of this TMA copy has {what}: cuTensorMapEncodeTiled refuses it at run time",
            label=f"box {shown}",
            help="make the tile of one copy smaller, or tile the shared layout from an atom as wide as the swizzle",
            witness=outcome.witness,
            related=[Related(tensor.span, f"global tensor {tensor.layout}")] if tensor is not None else [],
            enclosing=call.enclosing,
            arch=call.arch,
        )


def _smem_swizzle(event: Event) -> tuple[TensorFact, Swizzle] | None:
    """The shared operand and the swizzle of its pointer."""
    tensor = next((t for t in event.operands[:2] if t.space == "smem"), None)
    whole = None if tensor is None else tensor.root_layout or tensor.layout
    if tensor is None or whole is None or isinstance(whole, Unknown):
        return None
    parts = plain(whole)
    if parts is not None and parts.swizzle is None and tensor.span.is_python:
        return _of_pointer(tensor)
    if parts is None or parts.swizzle is None or parts.swizzle.unit is not SwizzleUnit.BYTE:
        return None
    return tensor, parts.swizzle


def _of_pointer(tensor: TensorFact) -> tuple[TensorFact, Swizzle] | None:
    """In Python a partition's pointer has the swizzle, which its layout shows in elements."""
    parts = None if isinstance(tensor.layout, Unknown) else plain(tensor.layout)
    if parts is None or parts.swizzle is None or tensor.dtype is None or tensor.dtype.bits is None:
        return None
    swizzle, size = parts.swizzle, int(tensor.dtype.bits) // 8
    if swizzle.unit is SwizzleUnit.ELEMENT and size:
        swizzle = Swizzle(swizzle.bits, swizzle.base + size.bit_length() - 1, swizzle.shift, SwizzleUnit.BYTE)
    return tensor, swizzle


def tensor_map_of(value: object) -> TensorMap | None:
    """The tensor map of a TMA copy."""
    atom = value.atom if isinstance(value, TiledCopy) else value
    found = atom.tensor_map if isinstance(atom, CopyAtom) else None
    return found if isinstance(found, TensorMap) else None
