"""CUT602 fragment-not-retiled."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import coalesce
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.origins import fragment_owner, retiled_owner
from cutecheck.rules.derive.ownership import differing_owner, differing_thread, misordered
from cutecheck.rules.derive.without_copy import without_its_copy


class FragmentNotRetiled(Rule):
    """A fragment of an MMA goes through a tiled copy that assigns its elements to other threads.

    What it checks
        A register fragment partitioned by a TiledMMA and copied through a TiledCopy was retiled by that copy, or the
        copy gives every thread exactly the elements that the MMA gives it. A retiled fragment, or another view of its
        registers, goes through a copy whose threads have the fragment's elements: rows of A and B, elements of C; so
        does one that was made like a part of retiled accumulators (of another type, say). An MMA gets its own fragments
        of A and B in their order. The two sides of a copy by ldmatrix or stmatrix are given to ``copy`` with it.

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
    unasked = "None: it compares the elements of each thread, one by one."
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
        if len(event.operands) < 2:
            return
        if event.kind == "gemm":
            yield from self._product(event, context)
            return
        tiled = _copy_of(event)
        if tiled is None:
            yield from self._by_value(event)
            return
        source, destination = event.operands[:2]
        for fragment, other, side in ((source, destination, "S"), (destination, source, "D")):
            if unrelated(fragment, other, tiled):
                yield self._reported(
                    event, fragment, other,
                    f"`{fragment.name}` is a fragment of a TiledMMA but was not retiled: the copy's threads own other "
                    "elements than the MMA's",
                    f"retile_{side} missing",
                    f"build the copy with make_tiled_copy_A/B/C and pass `thr.retile_{side}({fragment.name})`",
                )  # fmt: skip
                continue
            if other.provenance != "partition" or not isinstance(other.source, TiledCopy):
                continue
            owner = fragment_owner(fragment, event, context)
            if owner is None and side == "S":
                owner = retiled_owner(fragment, event, context)
            thread = None if owner is None else differing_thread(owner.mma, owner.operand, other.source)
            if owner is not None and thread is not None and other.source != tiled:
                yield self._reported(
                    event, fragment, other,
                    f"`{other.name}` was partitioned by another TiledCopy than the one that copies: its threads have "
                    f"other elements than those of operand {owner.operand} in `{fragment.name}`: thread {thread} is "
                    "the first",
                    f"partition_{'D' if side == 'S' else 'S'} of another copy",
                    f"partition it by a slice of the copy made with make_tiled_copy_{owner.operand}",
                )  # fmt: skip
            elif other.source == tiled and misordered(fragment, tiled):
                yield self._reported(
                    event, fragment, other,
                    f"`{fragment.name}` was retiled by another TiledCopy than the one that copies: its elements come "
                    "in another order than the copy moves them",
                    f"retile_{side} of another copy",
                    f"retile it by the slice of the copy that partitions `{other.name}`",
                )  # fmt: skip
            elif owner is not None and thread is not None:
                yield self._reported(
                    event, fragment, other,
                    f"`{fragment.name}` holds operand {owner.operand} of a TiledMMA, but the copy gives its threads "
                    f"other elements: thread {thread} is the first",
                    f"not the {owner.operand} fragment of this copy's threads",
                    f"build the copy with make_tiled_copy_{owner.operand} from the MMA of the fragment, and retile it",
                )  # fmt: skip

    def _by_value(self, event: Event) -> Iterable[Finding]:
        """A plain copy between the two sides of an ldmatrix or stmatrix."""
        found = without_its_copy(event)
        if found is not None:
            registers, memory, tiled = found
            yield self._reported(
                event, registers, memory,
                f"`copy` is not given the TiledCopy that partitions `{memory.name}` and retiles `{registers.name}`: "
                f"without {tiled.atom.op} each thread takes the row whose address it has for its own elements",
                "the TiledCopy is missing",
                "give the copy its TiledCopy: `copy(tiled_copy, source, destination)`",
            )  # fmt: skip

    def _product(self, event: Event, context: Context) -> Iterable[Finding]:
        """Fragments of A and B given to an MMA in each other's place."""
        if not isinstance(event.tiled, TiledMMA) or len(event.operands) < 3:
            return
        places = "ABC" if len(event.operands) == 3 else "DABC"
        for place, fragment in zip(places, event.operands, strict=False):
            owner = fragment_owner(fragment, event, context)
            if owner is None or {owner.operand, place} != {"A", "B"} or owner.mma != event.tiled:
                continue
            yield self._reported(
                event, fragment, event.operands[-1],
                f"`{fragment.name}` is a fragment of operand {owner.operand}, but stands for operand {place}",
                f"operand {place} expected",
                "give gemm the fragments in the order A, B, C",
            )  # fmt: skip
            return
        yield from self._of_another(event, context)

    def _of_another(self, event: Event, context: Context) -> Iterable[Finding]:
        """One of A and B is a fragment of the product's own MMA, the other of one whose threads hold other elements."""
        assert isinstance(event.tiled, TiledMMA)
        pair = event.operands[-3:-1]
        owners = [fragment_owner(t, event, context) for t in pair]
        if any(o is None or o.operand != place for o, place in zip(owners, "AB", strict=True)):
            return
        threads = [differing_owner(o.mma, event.tiled, o.operand) for o in owners if o is not None]
        for at, (fragment, thread) in enumerate(zip(pair, threads, strict=True)):
            if thread is not None and threads[1 - at] is None:
                operand, other = "AB"[at], "AB"[1 - at]
                yield self._reported(
                    event, fragment, event.operands[-1],
                    f"`{fragment.name}` is a fragment of operand {operand} of another TiledMMA, whose threads hold "
                    f"other elements than this one's; operand {other} is this one's: thread {thread} is the first",
                    f"not the {operand} fragment of this MMA's threads",
                    "partition both operands by the MMA that multiplies them",
                )  # fmt: skip

    def _reported(
        self, event: Event, fragment: TensorFact, other: TensorFact, message: str, label: str, hint: str
    ) -> Finding:
        return self.finding(
            event.span,
            message,
            label=label,
            help=hint,
            related=[
                Related(fragment.span, f"fragment {fragment.layout}"),
                Related(other.span, f"{other.provenance} {other.layout}"),
            ],
            enclosing=event.enclosing,
            arch=event.arch,
        )


def _copy_of(event: Event) -> TiledCopy | None:
    """The tiled copy that is given, or that partitioned an operand where its atom alone is given."""
    if isinstance(event.tiled, TiledCopy):
        return event.tiled
    found = [
        t.source for t in event.operands[:2]
        if t.provenance == "partition" and isinstance(t.source, TiledCopy) and t.source.atom == event.tiled
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


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
    except (CuteError, NotModelledError, UndecidedError):
        return False
    return own not in owners
