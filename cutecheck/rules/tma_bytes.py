"""CUT805 tma-wrong-transaction-bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from cutecheck.facts import Call, Event, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import filter_zeros, size
from cutecheck.model.ints import Condition, CuteError, Dyn, Rel, Sym, UndecidedError, as_expr, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.tma_box import tensor_map_of

_EXPECTS = (
    "set_barrier_transaction_bytes", "arrive_and_expect_tx", "expect_transaction", "mbarrier_arrive_and_expect_tx",
    "mbarrier_expect_tx",
)  # fmt: skip


@dataclass(slots=True)
class Announced:
    """Calls that announce bytes, one after the other, and the TMA loads that follow before the next such call."""

    calls: list[Call] = field(default_factory=list)
    loads: list[Event] = field(default_factory=list)


class TmaTransactionBytes(Rule):
    """A barrier is told to expect other bytes than its TMA copies bring.

    What it checks
        Where a function announces a number of bytes (``set_barrier_transaction_bytes``, ``arrive_and_expect_tx``,
        ``mbarrier_arrive_and_expect_tx``): the TMA loads that follow, up to the next announcement, bring that many
        bytes to the CTA's shared memory, the parts of other CTAs in a multicast included.

    Why
        With too many announced the wait never ends. With too few the phase flips before the data is there, and the
        kernel computes with what was in the tile before; both compile.

    Example
        set_barrier_transaction_bytes(bar, sizeof(half_t) * size(SmemA{}));
        copy(tma_a.with(bar), tAgA, tAsA);
        copy(tma_b.with(bar), tBgB, tBsB);

    Use instead
        set_barrier_transaction_bytes(bar, sizeof(half_t) * (size(SmemA{}) + size(SmemB{})));

    Assumptions
        The copies that follow an announcement signal the barrier that it is for. Announcements whose number, or copies
        whose size, the source does not say, copies under a condition of their own, and several announcements before
        the first copy are not judged.

    Fix
        Compute the bytes from the layouts of all tiles that the barrier waits for.

    References
        PTX ISA, mbarrier.expect_tx; cute/arch/copy_sm90_desc.hpp (set_barrier_transaction_bytes)
    """

    code = "CUT805"
    name = "tma-wrong-transaction-bytes"
    family = "tma-limits"
    severity = "error"
    confidence = "heuristic"
    valid = (
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t bar;
          Tensor mA = tma.get_tma_tensor(Shape<_512, _64>{});
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(0);
          set_barrier_transaction_bytes(bar, size(Smem{}) * sizeof(half_t));
          copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          fill<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}));
        }
        """,
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t bar;
          Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(blockIdx.x % 2);
          set_barrier_transaction_bytes(bar, size(Smem{}) * sizeof(half_t));  // each CTA fetches half, for both
          copy(tma.with(bar, uint16_t(3)), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          fill<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}, Shape<_128, _64>{}, _2{}));
        }
        """,
    )
    invalid = (
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t bar;
          Tensor mA = tma.get_tma_tensor(Shape<_512, _64>{});
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(0);
          set_barrier_transaction_bytes(bar, size(Smem{}));
          copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          fill<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if call.function not in _EXPECTS:
            return
        group = next((g for g in _groups(context)[(call.enclosing, call.arch)] if call in g.calls), None)
        if group is None or group.calls[-1] is not call or not group.loads:
            return
        expected = [_bytes(c) for c in group.calls]
        brought = [_moved(e) for e in group.loads]
        guards = {g for c in group.calls for g in c.guards}
        if None in expected or None in brought or any(not set(e.guards) <= guards for e in group.loads):
            return
        if len(group.calls) > 1:
            return  # the copies between the announcements are not known, or all follow the last
        loops = {e.loop_depth for e in group.loads}
        have, want = sum(cast("list[int]", brought)), sum(cast("list[int]", expected))
        payload = Holds((Condition(Rel.EQ, as_expr(want), as_expr(have)),), "bytes of the barrier")
        outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
        if outcome.verdict is not Verdict.REFUTED or len(loops) != 1:
            return
        parts = " + ".join(f"{b}" for b in brought)
        yield self.finding(
            call.span,
            f"the barrier is told to expect {want} bytes, the TMA copies that follow bring {have}"
            + (f" ({parts})" if len(brought) > 1 else "")
            + (": the wait ends before they are there" if want < have else ": the wait never ends"),
            label=f"{want} bytes, {have} arrive",
            help="sum the bytes of the shared tiles of all copies that signal this barrier",
            related=[Related(e.span, f"{b} bytes") for e, b in zip(group.loads, brought, strict=True)],
            enclosing=call.enclosing,
            arch=call.arch,
        )


def _groups(context: Context) -> dict[tuple[str, str], list[Announced]]:
    """Announcements and loads of each function in the order they are reached."""
    if "announced" not in context.memo:
        steps: dict[tuple[str, str], list[Call | Event]] = defaultdict(list)
        for call in context.facts.calls:
            if call.function in _EXPECTS:
                steps[(call.enclosing, call.arch)].append(call)
        for event in context.facts.events:
            if _is_load(event):
                steps[(event.enclosing, event.arch)].append(event)
        found: dict[tuple[str, str], list[Announced]] = defaultdict(list)
        for key, items in steps.items():
            for item in sorted(items, key=lambda x: x.order):
                groups = found[key]
                if isinstance(item, Call):
                    if not groups or groups[-1].loads:
                        groups.append(Announced())
                    groups[-1].calls.append(item)
                elif groups:
                    groups[-1].loads.append(item)
        context.memo["announced"] = found
    return cast("dict[tuple[str, str], list[Announced]]", context.memo["announced"])


def _is_load(event: Event) -> bool:
    atom = atom_of(event.tiled)
    return event.kind == "copy" and atom is not None and "TMA_LOAD" in atom.op


def _bytes(call: Call) -> int | None:
    numbers = [a for a in call.arguments if isinstance(a, (int, Dyn, Sym)) and not isinstance(a, bool)]
    return known_value(numbers[-1]) if numbers else None


def _moved(event: Event) -> int | None:
    """Bytes that a load brings to one CTA; None where that is not known."""
    atom, found = atom_of(event.tiled), tensor_map_of(event.tiled)
    tensor = event.operands[1] if len(event.operands) > 1 else None
    if atom is None or found is None or "2SM" in atom.op or tensor is None or tensor.space != "smem":
        return None
    if isinstance(tensor.layout, Unknown) or tensor.dtype is None or not tensor.dtype.bits:
        return None
    try:
        whole = tensor.layout.b if isinstance(tensor.layout, ComposedLayout) else tensor.layout
        elements = known_value(size(filter_zeros(whole)))  # a mode of stride 0 is brought once
    except (CuteError, UndecidedError):
        return None
    # With a multicast too: partitions keep the whole tile, of which each CTA fetches a part for all of them.
    return None if elements is None else elements * int(tensor.dtype.bits) // 8
