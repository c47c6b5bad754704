"""CUT210 tile-past-the-end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.findings import Finding, Related
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Divides, Division
from cutecheck.rules.base import Context
from cutecheck.rules.derive.always_true import unasked
from cutecheck.rules.derive.bare import bare
from cutecheck.rules.derive.before_start import before_start
from cutecheck.rules.derive.block_walks import alone, walks
from cutecheck.rules.derive.coordinates import INDICES, block_modes, guarded
from cutecheck.rules.derive.guarded_stores import stored_element, unasked_store
from cutecheck.rules.derive.guards import inner, same_in_all_blocks
from cutecheck.rules.derive.overhang import overhang
from cutecheck.rules.derive.rounding import stored_whole
from cutecheck.rules.replayed import Replayed


class TilePastEnd(Replayed):
    """The last tile of a matrix sticks out of it, and its copy has no predicate.

    What it checks
        Every mode of a global tensor that is tiled by a block index, and whose extent the source says (a constant, or
        what the only launch passes), is a whole number of tiles, unless the copy is predicated or under a condition
        that blocks or threads may answer differently. In kernels that are run pass by pass (by one path for all
        threads): no copy without predicates takes a tile that the matrix does not have, the one behind the last or
        before the first, where the same numbers decide how many tiles there are and how many passes; nor one before the
        start of what the kernel is given, by a loop that goes down and has taken the second tile and the first. The
        only launch, of a grid that is known, has no block whose tile, or element, starts behind the end of its mode.
        What one copy takes under a predicate that compares coordinates with limits, no other takes without, nor other
        tiles of the same rows, nor the same tile of a matrix with the same extents, or tiled in the same way with
        extents of its own. Of a matrix that is moved back by what its extent lacks to whole tiles, so that the short
        one is the first, no copy takes what lies before the start. Of a mode that block indices walk, and of which one
        copy takes what lies before its end, no other copy of the kernel, or store of elements, stores whole tiles; nor
        the first tile of a mode that another copies the first tile of so. No copy without predicates takes all of a
        tile that is larger than the tensor. Predicates that are all ``true`` are none; and where there are such, no
        other tensor's copy asks for coordinates that the same block index walks in tiles of the same size, nor for
        those of a mode with one tile of the same size.

    Why
        ``local_tile`` rounds up: 1000 elements in tiles of 512 are two tiles, and the second has 24 elements that do
        not exist. Reading them is a fault or garbage, writing them overwrites what lies behind.

    Example
        Tensor mI = make_tensor(make_gmem_ptr(in), Int<1000>{});
        Tensor gI = local_tile(mI, Shape<_512>{}, make_coord(blockIdx.x));
        copy(load, thr.partition_S(gI), r);

    Use instead
        copy_if(load, pred, thr.partition_S(gI), r);   // pred: elem_less(coordinate, 1000)

    Assumptions
        The launch has a block for every tile.

    Fix
        Predicate the copy with an identity tensor tiled in the same way, or choose a tile that divides.

    References
        https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/0y_predication.md
    """

    kinds = ("past tile", "before")
    code = "CUT210"
    name = "tile-past-the-end"
    family = "tile-divisibility"
    severity = "error"
    confidence = "heuristic"
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_128>{},
            Layout<_4>{}));
        __global__ void __launch_bounds__(128) fill(float* out) {
          Tensor m = make_tensor(make_gmem_ptr(out), Int<1024>{});
          Tensor g = local_tile(m, Shape<_512>{}, make_coord(blockIdx.x));
          Tensor t = Load{}.get_slice(threadIdx.x).partition_D(g);
          Tensor r = make_fragment_like(t);
          clear(r);
          copy(Load{}, r, t);
        }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_128>{},
            Layout<_4>{}));
        __global__ void __launch_bounds__(128) fill(float* out) {
          Tensor m = make_tensor(make_gmem_ptr(out), Int<1000>{});
          Tensor g = local_tile(m, Shape<_512>{}, make_coord(blockIdx.x));
          Tensor t = Load{}.get_slice(threadIdx.x).partition_D(g);
          Tensor r = make_fragment_like(t);
          clear(r);
          copy(Load{}, r, t);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        over = overhang(event) if event.kernel else None
        if over is not None:
            tensor, along, most, here = over
            yield self.finding(
                event.span,
                f"global tensor `{tensor.name}` has {most} elements along mode {along}, and its tile {here}, of which "
                "the copy takes all: there are no such elements",
                label=f"{most} < {here}", help="predicate the copy, or choose a tile that is no larger",
                related=[Related(tensor.span, f"part of {tensor.root_layout}")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip
            return
        before = before_start(event, context) if event.kernel and event.kind == "copy" else None
        if before is not None:
            yield self.finding(
                event.span,
                f"`{before.tensor.name}` is copied from `{before.position}` on along mode {before.mode}, which is "
                f"negative where its extent `{before.extent}` is no whole number of tiles: there are no such elements",
                label="starts before the matrix",
                help=f"copy where the coordinate of mode {before.mode} is greater than -1",
                related=[Related(before.tensor.span, f"part of {before.tensor.root_layout}")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip
            return
        true = event.predicated and context.index.always(event)
        if event.kind != "copy" or (event.predicated and not true):
            return
        open_ = unasked(event, context) if true and event.kernel else None
        if true:
            event = replace(event, predicated=False, predicate=None)
        without = bare(event, context) if event.kernel else None
        if without is not None:
            tensor, other = without
            own = any(t.buffer == tensor.buffer for t in other.operands[:2])
            done = "read" if tensor == event.operands[0] else "stored"
            how = "under one that is always true" if true else "without"
            yield self.finding(
                event.span,
                f"`{tensor.name}` is copied under a predicate at line {other.span.line}, and here {how}: elements "
                "that the predicate leaves out are no part of the matrix"
                if own
                else f"`{tensor.name}` is {done} without a predicate{' that asks' if true else ''}, and at line "
                f"{other.span.line} the same tile of a matrix with the same extents is copied under one: elements that "
                "it leaves out are no part of either",
                label="always true" if true else "no predicate", help="copy_if with the same predicate",
                related=[Related(other.span, "only what the predicate allows is copied here")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip
            return
        if open_ is not None:
            its = guarded(open_.tensor)
            end = "" if its is None else str(its.extents[open_.mode])
            alike = f"coordinates that `{open_.index}` walks in such tiles" if open_.index else "columns of such a tile"
            yield self.finding(
                event.span,
                f"the predicates of `{open_.tensor.name}` are always true, though its extent `{end}` along mode "
                f"{open_.mode} need not be a multiple of its tile: the copy of `{open_.asked.name}` asks for the "
                f"{alike}",
                label="always true", help="compare the coordinates with the shape of the matrix",
                related=[Related(open_.other.span, "asks for coordinates")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip
            return
        whole = stored_whole(event, context) if event.kernel else None
        if whole is not None:
            yield self._stored_whole(event, *whole)
            return
        if not all(map(same_in_all_blocks, inner(event.guards))):
            return
        for tensor in event.operands[:2]:
            lost = self._no_such_block(event, tensor, context)
            if lost is not None:
                yield lost
                return
            part = guarded(tensor)
            if part is None:
                continue
            for mode in sorted(block_modes(part)):
                extent, tile = known_value(part.extents[mode]), known_value(part.tile[mode])
                if extent is None or tile is None:
                    continue
                payload = Divides((Division(f"mode {mode}", part.extents[mode], tile),), tensor.name)
                outcome = context.prove(
                    make_obligation(payload, (event.event_id,), arch=event.arch, span=event.span,
                                    hypotheses=[h.condition for h in event.hypotheses])
                )  # fmt: skip
                if outcome.verdict is Verdict.REFUTED:
                    yield self.finding(
                        event.span,
                        f"global tensor `{tensor.name}` has {extent} elements along mode {mode} in tiles of {tile}: "
                        f"the last has {extent % tile}, and the copy has no predicate",
                        label=f"{extent} % {tile} = {extent % tile}",
                        help="predicate the copy, or choose a tile that divides the extent",
                        witness=outcome.witness,
                        related=[Related(tensor.span, f"part of {tensor.root_layout}")],
                        enclosing=event.enclosing,
                        arch=event.arch,
                    )
                    return

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        event = stored_element(call, context)
        whole = None if event is None or not event.kernel else stored_whole(event, context)
        if event is not None and whole is not None:
            yield self._stored_whole(event, *whole)
            return
        event = unasked_store(call, context)
        if event is not None and event.kernel and all(map(same_in_all_blocks, inner(event.guards))):
            lost = self._no_such_block(event, event.operands[1], context)
            yield from () if lost is None else (lost,)

    def _stored_whole(self, event: Event, other: Event, limit: Expr) -> Finding:
        return self.finding(
            event.span,
            f"`{event.operands[1].name}` is stored as far as its tile goes, and at line {other.span.line} the same "
            f"rows or columns are copied only as far as {limit}: the last tile is stored past the end",
            label="no condition", help=f"store under the condition that the coordinate is below {limit}",
            related=[Related(other.span, f"only below {limit} here")],
            enclosing=event.enclosing, arch=event.arch,
        )  # fmt: skip

    def _no_such_block(self, event: Event, tensor: TensorFact, context: Context) -> Finding | None:
        """The grid has more blocks along an index than the mode that it walks has tiles."""
        launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
        root = tensor.root_layout
        if tensor.space != "gmem" or len(launches) != 1 or not isinstance(root, Layout):
            return None
        for mode, walk in enumerate(walks(_from_its_start(tensor)) or ()):
            by = alone(walk)
            extent = root.shape[mode] if isinstance(root.shape, tuple) else None
            if by is None or not isinstance(extent, (int, Dyn)) or "xyz".index(by[0][-1]) >= len(launches[0].grid):
                continue
            most, blocks = known_value(extent), known_value(launches[0].grid["xyz".index(by[0][-1])])
            if most is None or blocks is None or (blocks - 1) * by[1] < most or _begins_by(by[0], tensor):
                continue
            return self.finding(
                event.span,
                f"global tensor `{tensor.name}` has {most} elements along mode {mode}, and the grid {blocks} blocks "
                f"along {by[0]}, which goes {by[1]} on with each: the tile of block {blocks - 1} starts behind the end",
                label=f"mode {mode} by {by[0]}",
                help="give the tile the block indices in the order of the grid",
                related=[Related(launches[0].span, f"{blocks} blocks along {by[0][-1]}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
        return None


def _from_its_start(tensor: TensorFact) -> TensorFact:
    """Without what the offset has in common with the start of the whole tensor, of numbers that are read: of an expert,
    say."""
    start, bits = tensor.root_start_bits, tensor.root_bits
    if start is None or not bits or not isinstance(tensor.offset, (int, Dyn)):
        return tensor
    offset = as_expr(tensor.offset)
    common = [
        (monomial, factor)
        for monomial, factor in offset.terms
        if (monomial, factor * int(bits)) in as_expr(start).terms
        and monomial
        and not any(v.name.startswith(INDICES) for v in Expr(((monomial, factor),)).variables())
    ]
    rest = Expr(tuple(t for t in offset.terms if t not in common))
    return replace(tensor, offset=Dyn(rest)) if common else tensor


def _begins_by(index: str, tensor: TensorFact) -> bool:
    """Whether the whole tensor begins elsewhere in each block, or where is not known: it has no tiles of others."""
    start = tensor.root_start_bits
    return start is None or any(v.name == index for v in as_expr(start).variables())
