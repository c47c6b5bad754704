"""CUT218 stage-not-advanced."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import cast

from cutecheck.facts import NOT_WALKED, Call, Event, Loop, TensorFact, Unknown
from cutecheck.facts.core import ELEMENT_READ, ELEMENT_STORED
from cutecheck.findings import Finding, Related
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import ComposedLayout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.lone_tiles import lone
from cutecheck.rules.derive.protocol import cut_short
from cutecheck.rules.derive.reloaded import reloaded
from cutecheck.rules.derive.resident import one_tile, read_in_some_passes
from cutecheck.rules.derive.stages import one_stage, stages_of, stays
from cutecheck.rules.replayed import Replayed

Use = tuple[Event, TensorFact]
_MOST = 256  # combinations of the variables of small loops, which are tried one by one

_EXAMPLE = """
        using Rows = Layout<Shape<_16, _64, _2>, Stride<_64, _1, Int<16 * 64>>>;
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) sum(half_t const* A, half_t* out, int tiles) {
          __shared__ alignas(128) half_t smem[cosize_v<Rows>];
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(tiles * 16, _64{}), LayoutRight{});
          Tensor gA = local_tile(mA, Shape<_16, _64>{}, make_coord(_, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Rows{});
          auto load = Load{}.get_slice(threadIdx.x);
          auto read = Read{}.get_slice(threadIdx.x ^ 1);
          Tensor from = load.partition_S(gA), to = load.partition_D(sA), mine = read.partition_S(sA);
          Tensor regs = make_fragment_like(mine(_, _, _, 0));
          copy(Load{}, from(_, _, _, 0), to(_, _, _, 0));
          cp_async_fence();
          int stage = 0;
          for (int i = 0; i < tiles - 1; ++i) {
            copy(Load{}, from(_, _, _, i + 1), to(_, _, _, %s));
            cp_async_fence();
            cp_async_wait<1>();
            __syncthreads();
            copy(Read{}, mine(_, _, _, %s), regs);
            out[threadIdx.x] = regs(0);
            __syncthreads();
            stage ^= 1;
          }
        }
        void run(half_t const* A, half_t* out, int tiles) { sum<<<1, 128>>>(A, out, tiles); }
        """


class StageNeverChanges(Replayed):
    """A loop fills the stages of a shared buffer and reads always the same one, or the other way round.

    What it checks
        Of shared buffers with stages (a third or later mode): in a loop that goes on, copies into stages that change
        with the loop are read at stages that change, too, and the other way round; a stage that each pass fills is read
        somewhere; and a loop whose copies all go to one stage, from sources that change, reads it in between. Kernels
        that are run pass by pass (by one path for all threads, with cp.async or plain copies) overwrite no tile that
        was never read, sum up no product of two tiles twice, and multiply a tile of A with one tile of B in one sum.
        A stage that is not filled again while the other operand's is meets no more than one of its tiles in one sum,
        but where its matrix has no other tile. No tile is copied to where another matrix's tiles go in other passes
        and to a place of its own as well, but where two matrices take turns in both.
        In kernels of the Python DSL no stage is read before anything has been copied there.
        Where the same numbers decide how many tiles an operand has and how many passes a loop, none is left out, and
        none is loaded that nothing multiplies. Where
        the run is one of each role: TMA does not load some tiles of a mode twice and others never, in as many steps as
        the mode has tiles, which another tensor has as well or the mode's extent alone decides, nor tiles that are
        ahead of the other operand's up to one that does not exist; where a mode's extent alone decides what is loaded,
        it leaves out neither the first nor the last tile along it, and no other mode's extent, along which nothing
        goes, decides how many tiles are loaded; and WGMMAs between two waits, or UMMAs before a commit, do not multiply
        one slice of an operand with several of the other in one sum; nor do products of fragments that are read from
        shared memory, of which no slice of a tile is copied to two slices, and another to none; nor is each slice of A
        multiplied with one of B that lies before or behind its own, as far in all tiles; some product takes each slice
        along K that both operands have; and of two loads that tell the same barriers none starts again at its first
        tiles while the other goes on, by tiles of the same size or of one element for each of the other's (scales of
        blocks of K). Nor does a loop copy one tile, which neither blocks nor passes choose, in each pass to one place,
        where it goes on along a mode of the same extent in another tensor.

    Why
        The stage index is an integer beside the loop's counter. One that is not advanced, or a constant where the index
        should be, compiles; the kernel computes with the first tile again and again, or with one that is being written.

    Example
        for (int k = 0; k < tiles; ++k) {
          copy(load, gA(_, _, _, k + 1), sA(_, _, _, stage ^ 1));
          copy(read, sA(_, _, _, 0), regs);

    Use instead
        for (int k = 0; k < tiles; ++k) {
          copy(load, gA(_, _, _, k + 1), sA(_, _, _, stage ^ 1));
          copy(read, sA(_, _, _, stage), regs);

    Assumptions
        A buffer of which elements are read or stored one by one, or of which not all accesses are known, is not judged.

    Fix
        Index the shared tensor by the stage, and advance the stage in each pass.

    References
        examples/cute/tutorial/sgemm_sm80.cu
    """

    kinds = (
        "blank", "lost", "unused", "twice", "mixed", "stale", "missed", "unwalked", "ahead", "miscounted", "unpaired",
        "shifted", "doubled", "astray", "unmultiplied", "wrapped",
    )  # fmt: skip
    code = "CUT218"
    name = "stage-not-advanced"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it compares the places of a loop's copies."
    arch = ("sm_80",)
    valid = (_EXAMPLE % ("stage ^ 1", "stage"),)
    invalid = (_EXAMPLE % ("stage ^ 1", "0"), _EXAMPLE % ("0", "stage"), _EXAMPLE % ("1", "0"))

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        alone = lone(event, context)
        if alone is not None:
            stays, moves = alone.stays, alone.moves
            yield self.finding(
                alone.at.span,
                f"each pass of the loop {'loads' if alone.loads else 'multiplies'} another tile of `{moves.name}`, and "
                f"the same one of `{stays.name}`, for one sum: in it each tile of A meets one tile of B",
                label=f"`{stays.name}` stays at one tile", help="index both by the pass of the loop",
                related=[Related(moves.span, f"`{moves.name}` goes on")],
                enclosing=alone.at.enclosing, arch=alone.at.arch,
            )  # fmt: skip
        again = reloaded(event, context)
        if again is not None:
            yield self.finding(
                event.span,
                f"each pass of the loop copies the same tile of `{again.tensor.name}` to the same place, and another "
                f"one of `{again.other.name}`, along a mode of as many elements (`{again.extent}`): one copy before "
                "the loop would do, or this tile has to go on, too",
                label=f"`{again.tensor.name}` stays at one tile",
                help="index both by the pass of the loop, or copy the tile once",
                related=[Related(again.other.span, f"`{again.other.name}` goes on")],
                enclosing=event.enclosing, arch=event.arch, severity="warning",
            )  # fmt: skip
        for at, tensor in enumerate(event.operands):
            if event.kind != "copy" or at != 1 or tensor.buffer is None or not event.kernel:
                continue
            writes, reads = _uses(context).get((tensor.buffer, event.kernel, event.arch), ([], []))
            if not writes or (event, tensor) not in writes or not self._first(event, writes):
                continue
            found = _fault(writes, reads)
            if found is not None:
                (place, of), message, other = found
                yield self.finding(
                    place.span, message, label=f"`{of.name}` stays at one stage",
                    help="index the shared tensor by the stage of the pass",
                    related=[Related(other[0].span, f"`{other[1].name}`")] if other is not None else [],
                    enclosing=place.enclosing, arch=place.arch,
                )  # fmt: skip
            return

    def _is_said(self, fault: Fault, call: Call, context: Context) -> bool:
        """A matrix that is one tile can but stay, and all tiles of the other operand are summed up by it; and tiles may
        be loaded ahead, and then left out as a condition of the pass says."""
        meant = (fault.kind in ("stale", "mixed") and one_tile(fault, call, context)) or (
            fault.kind in ("lost", "unused") and read_in_some_passes(fault, call, context)
        )
        return meant or super()._is_said(fault, call, context)

    def _first(self, event: Event, writes: list[Use]) -> bool:
        return min((w for w, _ in writes), key=lambda w: w.order) is event


def _fault(writes: list[Use], reads: list[Use]) -> tuple[Use, str, Use | None] | None:
    for write in writes:
        loop = next((x for x in write[0].loops if x.trips is None), None)
        if loop is not None:
            found = _in_loop([w for w in writes if loop in w[0].loops], [r for r in reads if loop in r[0].loops], reads)
            if found is not None:
                return found
        if _overwritten(write, reads):
            message = (
                f"each pass of the loop copies another tile to the same stage of `{write[1].name}`, and nothing reads "
                "it in between: all but the last are lost"
            )
            return write, message, None
    return None


def _in_loop(writes: list[Use], reads: list[Use], every: list[Use]) -> tuple[Use, str, Use | None] | None:
    if not writes or not reads:
        return None
    written, read = {_stage(t) for _, t in writes}, {_stage(t) for _, t in reads}
    steps = _deeper(writes, reads), _deeper(reads, writes)  # of loops inside, that may go from stage to stage
    if len(read) == 1 and None not in read and written == {None} and not steps[0]:
        return (
            reads[0], f"the loop fills stages of the buffer that change with it, and `{reads[0][1].name}` reads the "
            "same one in each pass: the tiles in the others are never used", writes[0],
        )  # fmt: skip
    if len(written) == 1 and None not in written and read == {None} and not steps[1]:
        return (
            writes[0], f"the loop reads stages of the buffer that change with it, and `{writes[0][1].name}` fills the "
            "same one in each pass: what it reads in the others is old", reads[0],
        )  # fmt: skip
    anywhere = {_stage(t) for _, t in every}
    if not any(steps) and None not in written and None not in anywhere and len(written) == 1 and not written & anywhere:
        return (
            writes[0], f"the loop fills a stage of the buffer that nothing reads: `{reads[0][1].name}` reads another "
            "one in each pass", reads[0],
        )  # fmt: skip
    return None


def _deeper(uses: list[Use], others: list[Use]) -> bool:
    """Whether some are in a loop that none of the others is in: its steps may go through a stage, not from one on."""
    return any(all(loop not in e.loops for e, _ in others) for u, _ in uses for loop in u.loops)


def _overwritten(write: Use, reads: list[Use]) -> bool:
    event, tensor = write
    loop = event.loops[-1] if event.loops else None
    source = event.operands[0]
    if loop is None or (loop.trips is not None and loop.trips < 2) or not stays(tensor) or _inside(loop, reads):
        return False
    offset = source.offset
    changes = not isinstance(offset, (Unknown, tuple)) and not stays(source)
    return source.space == "gmem" and changes and bool(reads)


def _inside(loop: Loop, uses: list[Use]) -> bool:
    return any(loop in e.loops for e, _ in uses)


def _stage(tensor: TensorFact) -> int | None:
    """The stage that a tensor is of, in elements from the first; None where it changes."""
    found = stages_of(tensor)
    if found is None:
        return None
    inner = tensor.layout.offset if isinstance(tensor.layout, ComposedLayout) else 0
    offsets = [as_expr(o) for o in (tensor.offset, inner) if isinstance(o, (int, Dyn))]
    if not stays(tensor):
        counted = tensor.provenance != "fragment" and tensor.dtype is not None and tensor.root_bits in (
            None, tensor.dtype.bits,
        )  # fmt: skip
        return _within(offsets, *found) if counted else None  # descriptors and recasts count in other units
    first = sum(next((c for m, c in o.terms if not m), 0) for o in offsets)
    return int(first) * found[0] // max(found[1], 1)


def _within(offsets: list[Expr], stages: int, whole: int) -> int | None:
    """The stage where what moves a tensor (the block of k) moves it inside of one: at each value of small loops."""
    variables = {v for o in offsets for v in o.variables()}
    moving = sorted((v for v in variables if not v.name.startswith(INDICES)), key=lambda v: v.name)
    spans = [v.domain.bounds() for v in moving]
    if any(lo is None or hi is None for lo, hi in spans):
        return None
    ranges = [range(lo, hi + 1) for lo, hi in spans if lo is not None and hi is not None]
    if not 0 < prod(map(len, ranges)) <= _MOST:
        return None
    still = {v.name: 0 for v in variables if v not in moving}
    try:
        found = {
            sum(o.evaluate({**still, **dict(zip((v.name for v in moving), values, strict=True))}) for o in offsets)
            * stages // max(whole, 1)
            for values in product(*ranges)
        }  # fmt: skip
    except (KeyError, ZeroDivisionError, ValueError):
        return None
    return next(iter(found)) if len(found) == 1 else None


def _uses(context: Context) -> dict[tuple[str, str, str], tuple[list[Use], list[Use]]]:
    """Copies into each buffer of stages, and what reads it, one stage at a time; by buffer, kernel and architecture."""
    if "stage uses" not in context.memo:
        found: dict[tuple[str, str, str], tuple[list[Use], list[Use]]] = {}
        left: set[tuple[str, str, str]] = set()
        unread: set[tuple[str, str]] = set()
        for call in context.facts.calls:
            reason = call.result.reason if isinstance(call.result, Unknown) else ""
            if reason in (ELEMENT_READ, ELEMENT_STORED):
                left |= {(t.buffer or "", call.kernel, call.arch) for t in call.arguments if isinstance(t, TensorFact)}
            elif reason == NOT_WALKED:
                unread.add((call.kernel, call.arch))
        for event in sorted(context.facts.events, key=lambda e: e.order):
            for at, tensor in enumerate(event.operands):
                if tensor.space != "smem" or tensor.buffer is None:
                    continue
                key = (tensor.buffer, event.kernel, event.arch)
                stages = stages_of(tensor)
                whole = stages is None or not one_stage(tensor, stages[0])
                if (
                    whole
                    or event.reason is not None
                    or (event.kernel, event.arch) in unread
                    or cut_short(context, event)
                ):
                    left.add(key)
                written = event.kind == "copy" and at == 1
                found.setdefault(key, ([], []))[0 if written else 1].append((event, tensor))
        for buffer in context.facts.buffers:
            if not buffer.accesses_complete:
                left |= {k for k in found if k[0] == buffer.buffer_id and k[2] == buffer.arch}
        context.memo["stage uses"] = {k: v for k, v in found.items() if k not in left}
    return cast("dict[tuple[str, str, str], tuple[list[Use], list[Use]]]", context.memo["stage uses"])
