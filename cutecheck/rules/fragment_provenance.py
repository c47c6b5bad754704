"""CUT602 fragment-not-retiled."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import coalesce
from cutecheck.model.ints import CuteError, UndecidedError
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context, Rule


class FragmentNotRetiled(Rule):
    """A fragment of an MMA goes through a tiled copy that assigns its elements to other threads.

    What it checks
        A register fragment partitioned by a TiledMMA and copied through a TiledCopy was retiled by that copy, or the
        copy gives every thread exactly the elements that the MMA gives it.

    Why
        The threads of an MMA own scattered rows and columns. A copy with a thread layout of its own writes them to the
        places of that layout; where the shapes happen to agree it compiles and the result is permuted.

    Example
        auto cp = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_16, _8>>{}, ...);
        copy(cp, accumulators, cp.get_slice(threadIdx.x).partition_D(gC));

    Use instead
        auto cp = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint64_t>, float>{}, mma);
        auto thr = cp.get_slice(threadIdx.x);
        copy(cp, thr.retile_S(accumulators), thr.partition_D(gC));

    Assumptions
        None.

    Fix
        Build the copy with ``make_tiled_copy_A/B/C`` and retile the fragment, or partition the tensor with the MMA.

    References
        cute/atom/copy_atom.hpp (retile_S, make_tiled_copy_C); https://github.com/NVIDIA/cutlass/issues/1920
    """

    code = "CUT602"
    name = "fragment-not-retiled"
    family = "retile"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _16, _8>>;
        using GmemC = Layout<Shape<_128, _64>, Stride<_64, _1>>;
        __global__ void epilogue(float* C) {
          Mma mma;
          Tensor gC = make_tensor(make_gmem_ptr(C), GmemC{});
          Tensor acc = partition_fragment_C(mma, Shape<_128, _64>{});
          clear(acc);
          auto cp = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint64_t>, float>{}, mma);
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.retile_S(acc), t.partition_D(gC));
        }
        """,
    )
    invalid = (
        """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _16, _8>>;
        using GmemC = Layout<Shape<_128, _64>, Stride<_64, _1>>;
        __global__ void epilogue(float* C) {
          Mma mma;
          Tensor gC = make_tensor(make_gmem_ptr(C), GmemC{});
          Tensor acc = partition_fragment_C(mma, Shape<_128, _64>{});
          clear(acc);
          auto cp = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_16, _8>>{},
              Layout<Shape<_1, _1>>{});
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, acc, t.partition_D(gC));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if event.kind != "copy" or not isinstance(event.tiled, TiledCopy) or len(event.operands) < 2:
            return
        source, destination = event.operands[:2]
        for fragment, other, side in ((source, destination, "S"), (destination, source, "D")):
            if not unrelated(fragment, other, event.tiled):
                continue
            yield self.finding(
                event.span,
                f"`{fragment.name}` is a fragment of a TiledMMA but was not retiled: the copy's threads own other "
                f"elements than the MMA's",
                label=f"retile_{side} missing",
                help=f"build the copy with make_tiled_copy_A/B/C and pass `thr.retile_{side}({fragment.name})`",
                related=[
                    Related(fragment.span, f"fragment {fragment.layout}"),
                    Related(other.span, f"partition {other.layout}"),
                ],
                enclosing=event.enclosing,
                arch=event.arch,
            )


def unrelated(fragment: TensorFact, other: TensorFact, copy: TiledCopy) -> bool:
    """A fragment as an MMA made it, against a partition of this copy whose thread-value layout is not the MMA's."""
    if fragment.space != "rmem" or fragment.provenance == "retile" or not isinstance(fragment.source, TiledMMA):
        return False
    if other.provenance != "partition" or other.source != copy or isinstance(fragment.layout, Unknown):
        return False
    mma = fragment.source
    try:
        owners = [coalesce(getattr(mma, f"get_layout{x}_TV")(), (1, 1)) for x in "ABC"]
        own = coalesce(copy.layout_tv, (1, 1))
    except (CuteError, UndecidedError):
        return False
    return own not in owners
