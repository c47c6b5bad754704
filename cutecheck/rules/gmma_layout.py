"""CUT503 gmma-layout-not-canonical."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import get
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import GmmaCanonical, Major
from cutecheck.model.tiled import TiledMMA
from cutecheck.model.units import Bits
from cutecheck.rules.base import Context
from cutecheck.rules.rejected import Rejected

_OPERANDS = {"make_fragment_A": 0, "make_fragment_B": 1, "partition_fragment_A": 0, "partition_fragment_B": 1}
_DESCRIPTOR = re.compile(r"SM90::GMMA::smem_desc<.*Major::(K|MN)>|^GMMA::smem_desc<.*Major::(K|MN)>")


class GmmaLayout(Rejected):
    """A shared-memory operand of WGMMA or UMMA is not one of the layouts its descriptor can state.

    What it checks
        The layout of every shared-memory operand that an SM90 or SM100 MMA makes a descriptor of is canonical for its
        major mode, with one of the swizzles ``Sw<0..3,4,3>`` on byte addresses.

    Why
        The instruction takes no strides, only a swizzle mode and two offsets between core matrices of 8 rows by 16
        bytes. A plain row-major tile, an element-wise swizzle or a shift of 4 cannot be stated.

    Example
        using SmemA = Layout<Shape<_64, _64>, Stride<_64, _1>>;

    Use instead
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));

    Assumptions
        None.

    Fix
        Tile one of ``GMMA::Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom`` to the shape.

    References
        PTX ISA, wgmma matrix descriptors; cute/arch/mma_sm90_desc.hpp; https://github.com/NVIDIA/cutlass/issues/3078
    """

    code = "CUT503"
    name = "gmma-layout-not-canonical"
    family = "gmma-layout"
    pattern = re.compile(r"canonical [GU]MMA|Unsupported layout swizzle|Not a canonical|layout_type")
    advice = "tile one of GMMA::Layout_K_SW128_Atom and its like to the shape"
    valid = (
        """
        using Elem = half_t;
        using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_64, _64>{}));
        __global__ void descs() {
          __shared__ alignas(1024) Elem smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Mma mma;
          auto t = mma.get_slice(threadIdx.x);
          Tensor tCsA = t.partition_A(sA);
          Tensor dA = t.make_fragment_A(tCsA);
          (void)dA;
        }
        """,
    )
    invalid = (
        """
        using Elem = half_t;
        using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
        using SmemA = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        __global__ void descs() {
          __shared__ alignas(1024) Elem smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Mma mma;
          auto t = mma.get_slice(threadIdx.x);
          Tensor tCsA = t.partition_A(sA);
          Tensor dA = t.make_fragment_A(tCsA);
          (void)dA;
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        stated = descriptor_operand(call)
        if stated is None:
            yield from super().on_call(call, context)
            return
        tensor, layout, major, bits = stated
        payload = GmmaCanonical(layout, bits, major, what=tensor.name)
        outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
        if outcome.verdict is Verdict.REFUTED:
            shown = tensor.root_layout if tensor.root_layout is not None else tensor.layout
            yield self.finding(
                call.span,
                f"operand {call.function[-1]} `{tensor.name}`: {_why(layout)} is no canonical {major}-major "
                "layout of a WGMMA descriptor",
                label=f"layout {shown}",
                help=self.advice,
                witness=outcome.witness,
                related=[Related(tensor.span, f"operand {tensor.layout}")] if tensor.span != call.span else [],
                enclosing=call.enclosing,
                arch=call.arch,
            )
        else:
            yield from super().on_call(call, context)


def descriptor_operand(call: Call) -> tuple[TensorFact, AnyLayout, Major, Bits] | None:
    """The operand a descriptor is made of: its tensor, (MN, K) of one instruction, its major mode, element bits."""
    operand = _OPERANDS.get(call.function)
    mma = next((a for a in call.arguments if isinstance(a, TiledMMA)), None)
    tensor = next((a for a in call.arguments if isinstance(a, TensorFact)), None)
    if operand is None or mma is None or tensor is None or call.function.startswith("partition"):
        return None
    found = _DESCRIPTOR.search(mma.atom.frg_types[operand])
    if found is None or tensor.dtype is None or tensor.dtype.bits is None or isinstance(tensor.layout, Unknown):
        return None
    layout = tensor.layout
    if isinstance(layout, Layout):
        part: AnyLayout = get(layout, 0)
    elif isinstance(layout.b, Layout):
        part = ComposedLayout(layout.a, layout.offset, get(layout.b, 0))
    else:
        return None
    major: Major = "K" if (found[1] or found[2]) == "K" else "MN"
    return tensor, part, major, tensor.dtype.bits


def _why(layout: AnyLayout) -> str:
    if isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle):
        sw = layout.a
        where = "on bytes" if sw.unit.value == "byte" else "on elements"
        if (sw.base, sw.shift) != (4, 3) or sw.bits > 3 or sw.unit.value != "byte":
            return f"the swizzle {sw} {where} (WGMMA knows Sw<0..3,4,3> on bytes)"
        return f"{layout}"
    return f"the plain tile {layout}"
