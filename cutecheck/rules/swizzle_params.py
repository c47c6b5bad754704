"""CUT501 swizzle-wrong-parameters."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.model.units import Bits
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive import bank
from cutecheck.rules.derive.accesses import Access, accesses
from cutecheck.rules.derive.alignment import swizzle_splits


class SwizzleParams(Rule):
    """The parameters of a swizzle were made for another element type or access width.

    What it checks
        ``Swizzle<B, M, S>`` keeps 2^M elements together. A vector of the copies that use the layout must fit in them,
        and where it is larger than a vector of 16 bytes and bank conflicts remain, the parameters are at fault.

    Why
        ``Swizzle<3, 3, 3>`` is right for 16-bit elements. On ``int8_t`` it breaks the 16-byte rows that ldmatrix and
        cp.async need, and the code does not compile; on ``float`` it compiles, moves 32-byte pieces, and leaves half
        of the conflicts.

    Example
        composition(Swizzle<3, 3, 3>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{})  // of float

    Use instead
        composition(Swizzle<3, 2, 3>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{})

    Assumptions
        As for bank-conflict-read.

    Fix
        Set M to log2(16 bytes / size of an element): 4 for 8 bits, 3 for 16, 2 for 32, 1 for 64.

    References
        cute/swizzle.hpp
    """

    code = "CUT501"
    name = "swizzle-wrong-parameters"
    family = "swizzle-params"
    severity = "warning"
    confidence = "proved"
    valid = (
        """
        using Elem = float;
        using Smem = decltype(composition(Swizzle<3, 2, 3>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{}));
        using Cols = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{},
            Layout<Shape<_32, _8>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void read_cols(Elem* out) {
          __shared__ alignas(128) Elem smem[32 * 32];
          Tensor s = make_tensor(make_smem_ptr(smem), Smem{});
          Cols cp;
          auto t = cp.get_slice(threadIdx.x);
          Tensor src = t.partition_S(s);
          Tensor r = make_fragment_like(src);
          copy(cp, src, r);
          out[threadIdx.x] = r(0);
        }
        """,
    )
    invalid = (
        """
        using Elem = float;
        using Smem = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{}));
        using Cols = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{},
            Layout<Shape<_32, _8>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void read_cols(Elem* out) {
          __shared__ alignas(128) Elem smem[32 * 32];
          Tensor s = make_tensor(make_smem_ptr(smem), Smem{});
          Cols cp;
          auto t = cp.get_slice(threadIdx.x);
          Tensor src = t.partition_S(s);
          Tensor r = make_fragment_like(src);
          copy(cp, src, r);
          out[threadIdx.x] = r(0);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for access in accesses(event):
            if not access.instruction.automatic and swizzle_splits(access):
                yield self._split(access)
        for conflict in bank.conflicts(event, context):
            if conflict.cause == "swizzle":
                access = conflict.access
                swizzle = access.root_swizzle
                assert swizzle is not None
                granule = int(access.element_bits << swizzle.base) // 8
                yield self.finding(
                    event.span,
                    f"{bank.message(conflict)}: `{swizzle}` keeps {granule} bytes of {access.dtype.name} together, "
                    f"the access is {access.width_bytes} bytes wide",
                    label=f"{conflict.wavefronts} wavefronts, {conflict.ideal} would do",
                    help=_help(access),
                    severity=bank.severity(conflict, context),
                    witness=conflict.outcome.witness,
                    related=bank.related(conflict),
                    enclosing=event.enclosing,
                    arch=event.arch,
                )

    def _split(self, access: Access) -> Finding:
        swizzle, event = access.root_swizzle, access.event
        assert swizzle is not None
        granule = int(access.element_bits << swizzle.base) // 8
        then = f'CuTe stops with "{access.side} failed to vectorize into registers"'
        if event.span.is_python:  # whose compiler lets it pass
            then = "no one access reaches all elements of a vector where the layout has them"
        return self.finding(
            event.span,
            f"`{swizzle}` keeps only {granule} bytes of {access.dtype.name} together, {access.instruction.name} needs "
            f"{access.width_bytes}: {then}",
            label=f"{access.count} contiguous elements of `{access.tensor.name}` needed",
            help=_help(access),
            severity="error",
            related=[Related(access.tensor.span, f"layout {access.tensor.layout}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )


def _help(access: Access) -> str:
    base = (Bits(128) // access.element_bits).bit_length() - 1
    return f"for {access.element_bits}-bit elements and 16-byte accesses the second parameter is {base}"
