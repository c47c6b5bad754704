"""CUT219 tile-of-wrong-block."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import as_expr, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.block_walks import alone, in_same_tile, walks
from cutecheck.rules.derive.coordinates import guarded
from cutecheck.rules.derive.crossed_tiles import crossed, nowhere
from cutecheck.rules.derive.divided import divided, of_pairs
from cutecheck.rules.derive.few_blocks import by_own_index, covered, reach
from cutecheck.rules.derive.grids import other_grid
from cutecheck.rules.derive.holes import hole
from cutecheck.rules.derive.matrices import FIRST, matrix_modes
from cutecheck.rules.derive.mma_slices import RESULT
from cutecheck.rules.derive.rounding import rounded_down
from cutecheck.rules.derive.selected import other_element
from cutecheck.rules.derive.stored_by_all import stored_by_all
from cutecheck.rules.derive.swapped_tiles import equal, names_of, swapped
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.tile_walks import (
    RESULTS,
    Product,
    extent_of,
    kept_by_all,
    moved,
    product_of,
    result_of,
    result_stored,
    stored,
    stored_alike,
)
from cutecheck.rules.derive.unasked_blocks import unasked_blocks
from cutecheck.rules.derive.walked import named, walked
from cutecheck.rules.examples import PRODUCT
from cutecheck.rules.launched_blocks import at_launch
from cutecheck.rules.replayed import Replayed

_FRESH = re.compile(r"#\d+")
_LONG = 120  # of an expression in a message
_GRID = "m / 128, n / 128"


class TileOfAnotherBlock(Replayed):
    """A block stores its product to the tile of another block.

    What it checks
        In a kernel with one product whose operands come from tiles of global memory that block indices choose: the rows
        of C are walked by the index that walks the rows of A, and its columns by that of the rows of B, in as large
        steps, whether C is stored from registers, by ``axpby`` or by way of shared memory. Where these are computed of
        an index (``x / n``, ``x % n``), or said by a scheduler, the rows of the two operands are not both what says one
        of C's modes, nor are C's the same for all of them. Stores by TMA to a tile take all parts of it that its steps
        leave. A grid whose extents are computed from the rows of A and of B has its blocks along the axes of the
        indices that walk them. In kernels that only copy, and of what TMA stores, or threads of kernels that multiply
        (outside of loops): each block index that says which tile is read says where it is stored, and goes along the
        same extent there; the grid has its blocks along the axes of the indices that walk them, also those of what is
        stored where operands are computed (dequantized, say). Each axis along which a launch has a run-time number of
        blocks that the kernel is given is one whose index it asks for, where it asks for another. The only launch, of a
        grid that is known, or that follows from the mode's extent alone, has a block for each tile of what is stored;
        nor has a grid along an index, in all launches, the blocks for an extent that no tensor has along it, where
        those for the mode that this index alone walks are along another axis, or nowhere;
        where a copy stores a tile only as far as the mode goes, which nothing says is a multiple of the tile, the grid
        does not round their number down. A head, or a matrix of a batch, that operands with the same mode are taken at
        is the same of all of them, and no block index divided by the extent of its own mode. Of kernels that are run by
        role: along a mode that an operand has as well, by its extent's name, each tile that TMA stores lies where a
        tile of the operand was loaded, whatever computes the coordinates; what is loaded beside the operands (scales,
        a source) lies where one of theirs does, also in the next block of a cluster where that makes the same steps,
        and that block does not store all of the first one's tiles; two tensors with a mode of one name, loaded as
        often, the one along that mode, are loaded of the same tiles, heads and batches of it, if both are first, or
        both second, operands (K and V); and of several tensors with a mode of one element each (a group, a head, a
        batch) none alone is taken at other elements than the rest. Where an index only says which numbers are
        read from memory, and these what is loaded, tiles are not stored to the same place for all of it.

        Where the host has numbers for the extents (tensors of torch in a test or program of the DSL), or, of single
        elements, where all of them and the grid are the program's, all blocks of the launch are gone through, those of
        a persistent kernel as if each had one tile: no two of them store to one place what they load from different
        ones, unless a load tells the blocks apart just as the store does (each computes the same for itself then); no
        head or matrix of a batch is taken, and no single element stored, that its mode does not have; and of no mode of
        several is the first element taken by all, where blocks take each of as many in another tensor.

    Why
        Nothing connects the tile that is stored with those that are loaded but the coordinates that the kernel gives
        them. ``blockIdx.x`` and ``blockIdx.y`` the other way round in one of the three compile, and are right for
        a matrix of one tile, or for the diagonal.

    Example
        Tensor gA = local_tile(mA, tile_mk, make_coord(blockIdx.x, _));
        Tensor gB = local_tile(mB, tile_nk, make_coord(blockIdx.y, _));
        Tensor gC = local_tile(mC, tile_mn, make_coord(blockIdx.y, blockIdx.x));

    Use instead
        Tensor gC = local_tile(mC, tile_mn, make_coord(blockIdx.x, blockIdx.y));

    Assumptions
        A mode that several indices walk, an index divided or computed (but as said), a tile scheduler's coordinates,
        and a kernel with several products are not judged.

    Fix
        Make one coordinate (m, n, k) and take all tiles by it: ``local_tile(mC, tiler, coord, Step<_1, _1, X>{})``.

    References
        examples/cute/tutorial/sgemm_1.cu
    """

    kinds = ("displaced", "mislaid", "apart", "odd", "of both", "of neighbour")
    code = "CUT219"
    name = "tile-of-wrong-block"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it compares the block indices in offsets."
    arch = ("sm_80",)
    valid = (PRODUCT % ("blockIdx.x, blockIdx.y", _GRID),)
    invalid = (
        PRODUCT % ("blockIdx.y, blockIdx.x", _GRID),
        PRODUCT % ("blockIdx.x, blockIdx.x", _GRID),
        PRODUCT % ("blockIdx.x, blockIdx.y", "n / 128, m / 128"),
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        yield from at_launch(self, call, context)
        for launch, axis in unasked_blocks(call, context):
            many = _FRESH.sub("", str(launch.grid["xyz".index(axis)]))
            yield self.finding(
                launch.span, f"the grid has `{many}` blocks along {axis}, and the kernel never asks for "
                f"blockIdx.{axis}: all of them load and store the same",
                label=f"blocks along {axis}", help=f"take a tile by blockIdx.{axis}, or launch one block along {axis}",
                related=[Related(call.span, "the kernel")], enclosing=call.kernel, arch=call.arch,
            )  # fmt: skip
        result = result_of(call, context) if call.function in RESULTS else None
        if result is not None and result.space == "gmem" and call.kernel:
            yield from self._compare(call, result, context)
        target = call.arguments[RESULT] if call.function == "axpby" and len(call.arguments) > RESULT else None
        if isinstance(target, TensorFact) and call.kernel:
            yield from self._left_out(call, target, context)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for _, tensor in stored([event]) if event.kernel else ():
            yield from self._compare(event, tensor, context)
            if (left := hole(event, context)) is not None:
                yield self.finding(
                    event.span, left.message, label=left.label, help="store all parts of the tile, each to its place",
                    enclosing=event.enclosing, arch=event.arch,
                )  # fmt: skip
        result = result_stored(event, context) if event.kernel else None
        if result is not None:
            yield from self._compare(event, result, context)
        lost = None
        if event.kernel:
            lost = moved(event, context) or stored_alike(event, context) or kept_by_all(event, context)
            lost = lost or stored_by_all(event, context)
        if lost is not None and not self._alone_along(event, lost[1], context):
            yield self._same_place(event, *lost)
        yield from self._elsewhere(event, context) if event.kernel else ()
        yield from at_launch(self, event, context)
        yield from self._of_a_group(event, context)
        yield from self._other_element(event, context)
        if event.kernel and event.kind == "copy" and len(event.operands) > 1:
            yield from self._left_out(event, event.operands[1], context)
        yield from self._rounded_down(event, context) if event.kernel else ()
        yield from self._other_grid(event, context) if event.kernel else ()
        stores = event.kind == "copy" and len(event.operands) > 1 and event.operands[1].space == "gmem"
        if stores and event.kernel and product_of(event.kernel, event.arch, context) is None:
            yield from self._both_axes(event, event.operands[1], context)
        made = product_of(event.kernel, event.arch, context) if event.kind == "gemm" and event.kernel else None
        if made is not None and made.gemm is event:
            yield from self._grid(event, made.a, made.b, context)

    def _of_a_group(self, event: Event, context: Context) -> Iterable[Finding]:
        tensor = next((t for t in event.operands[:2] if divided(t) is not None), None)
        by = divided(tensor) if tensor is not None and event.kernel and event.kind == "copy" else None
        if tensor is not None and by is not None and not of_pairs(by, event, context):
            said = (
                f"`{_FRESH.sub('', str(by.coordinate))}` says which of the `{by.extent}` coordinates of mode {by.mode}"
            )
            yield self.finding(
                event.span, f"{said} of `{tensor.name}` a block takes: its values do not end where the mode does",
                label=f"not by {by.extent}", help=f"divide by how many blocks share each of the {by.extent}",
                related=[Related(tensor.span, f"part of {tensor.root_layout}")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip

    def _compare(self, at: Call | Event, result: TensorFact, context: Context) -> Iterable[Finding]:
        made, mine = product_of(at.kernel, at.arch, context), walks(result)
        if made is None or mine is None:
            return
        whole = all(matrix_modes(t) == FIRST for t in (result, made.a, made.b))
        along = matrix_modes(result)
        for mode, (operand, what) in enumerate(((made.a, "rows of A"), (made.b, "rows of B"))):
            theirs = walks(operand)
            rows = matrix_modes(operand)
            have = alone(mine[along[mode]]) if len(along) > mode else None
            want = alone(theirs[rows[0]]) if theirs is not None and rows else None
            side = "columns" if mode else "rows"
            if whole and want is not None and mine[mode] == {} and _as_many(result, mode, made, want[1]):
                yield self._nowhere(at, result, side, operand, want[0], what)
                return
            partner = (made.b, made.a)[mode]
            for place in made.places[mode] if whole and have is None and want is None else ():
                if (by := crossed(place, partner, result, mode)) is not None:
                    yield self._crossed(at, result, side, place, what, str(by))
                    return
                if (by := nowhere(place, partner, result, mode)) is not None and not _adds(at):
                    yield self._nowhere(at, result, side, place, str(by), what)
                    return
            if have is None or want is None or have == want:
                continue
            if have[0] == want[0]:
                message = (
                    f"each step of {have[0]} goes {want[1]} {what} on, and {have[1]} {side} of C: "
                    "blocks store to other tiles than those of their product"
                )
            else:
                message = (
                    f"{want[0]} says which {what} a block multiplies, and {have[0]} which {side} of C it stores: the "
                    "product is stored to the tile of another block"
                )
            yield self.finding(
                at.span, message, label=f"`{result.name}`, {side} by {have[0]}",
                help=f"take the {side} of C by {want[0]}, in the steps of A's and B's tiles",
                related=[Related(operand.span, f"`{operand.name}`, rows by {want[0]}")],
                enclosing=at.enclosing, arch=at.arch,
            )  # fmt: skip
            return

    def _crossed(
        self, at: Call | Event, result: TensorFact, side: str, operand: TensorFact, what: str, by: str
    ) -> Finding:
        other = "rows" if side == "columns" else "columns"
        by = text if len(text := _FRESH.sub("", by)) < _LONG else f"{text[:_LONG]} ..."
        return self.finding(
            at.span, f"`{by}` says which {what} a block multiplies, and which {other} of C it stores, and not which "
            f"{side}: the product is of other {side} than those that it is stored to",
            label=f"`{result.name}`, {other} from `{by}`",
            help=f"take the tile of the operand by the coordinate that says the {side} of C",
            related=[Related(operand.span, f"`{operand.name}`, rows from `{by}`")],
            enclosing=at.enclosing, arch=at.arch,
        )  # fmt: skip

    def _other_element(self, event: Event, context: Context) -> Iterable[Finding]:
        """A head, or a matrix of a batch, that is not the one of the kernel's other operands."""
        found = other_element(event, context)
        if found is not None:
            mine, other = found
            what = "stores to" if mine.stored else "takes"
            yield self.finding(
                event.span, f"of `{mine.extent}`, a mode of both, a block {what} element `{mine.at}` of {mine.name}, "
                f"and takes `{other.at}` of {other.name}",
                label=f"`{mine.at}` of `{mine.extent}`", help="choose the element of both by the same number",
                related=[Related(other.event.span, f"`{other.at}` of `{other.extent}`")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip

    def _elsewhere(self, event: Event, context: Context) -> Iterable[Finding]:
        """A copy whose tile is stored where that of other coordinates belongs, and a grid whose axes are swapped."""
        found = swapped(event, context)
        if found is not None:
            yield self.finding(
                event.span, f"{found.index} goes along `{found.loaded}` elements of `{found.source.name}`, and along "
                f"`{found.stored}` of `{event.operands[1].name}`: unless the two are equal, some tiles are stored "
                "behind the end, and nothing is stored to others",
                label=f"`{event.operands[1].name}`, tiles of `{found.stored}` by {found.index}",
                help="swap the coordinates of one of the two tiles",
                related=[Related(found.source.span, f"tiles of `{found.loaded}` by {found.index}")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip
            return
        target = event.operands[1] if event.kind == "copy" and len(event.operands) > 1 else None
        if target is not None and target.space in ("gmem", "coord") and len(walks(target) or ()) == 2:
            made = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == (event.kernel, event.arch, "gemm")]
            by = [alone(walk) for walk in walks(target) or ()]
            rows, columns = ((b[0], names_of(target, i)) if b else None for i, b in enumerate(by))
            if not made and rows is not None and columns is not None:
                yield from self._along(event, (target, *rows), (target, *columns), context)

    def _left_out(self, at: Event | Call, target: TensorFact, context: Context) -> Iterable[Finding]:
        """The only launch has fewer blocks along an index than the mode of the result that it alone walks has tiles."""
        launches = [x for x in context.index.launches_of.get(at.kernel, []) if x.origin == "launch"]
        if len(launches) != 1:
            return
        paired = by_own_index(target)
        target = paired or target
        part = guarded(target)
        stores = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == (at.kernel, at.arch, "copy")]
        others = [e.operands[-1] for e in stores if e is not at and e.operands[-1].buffer == target.buffer]
        again = any(
            c.span != at.span
            and c.function == "axpby"
            and c.kernel == at.kernel
            and len(c.arguments) > RESULT
            and getattr(c.arguments[RESULT], "space", "") != "rmem"
            for c in context.facts.calls
        )
        for mode, walk in enumerate(walks(target) or ()) if part is not None and not again else ():
            by, grid = alone(walk), launches[0].grid
            if by is None or part is None or mode >= len(part.extents) or "xyz".index(by[0][-1]) >= len(grid):
                continue
            if not all(in_same_tile(target, by_own_index(other) or other, mode, by) for other in others):
                continue  # another copy may store to what this one leaves
            tile = known_value(part.tile[mode]) if paired is None else reach(target, mode)
            short = covered(grid["xyz".index(by[0][-1])], tile, part.extents[mode]) if tile == by[1] else None
            if short is None:
                continue
            blocks, end, most = short
            where = (
                ""
                if known_value(part.extents[mode]) is not None
                else f", where `{_FRESH.sub('', str(as_expr(part.extents[mode])))}` is {most}"
            )
            yield self.finding(
                launches[0].span, f"the grid has {blocks} blocks along {by[0][-1]}{where}, and `{target.name}`, whose "
                f"tiles of {tile} {by[0]} walks, has {most} elements there: nothing is stored to those behind {end}",
                label=f"{blocks} * {tile} < {most}", help="round up: (extent + tile - 1) / tile blocks",
                related=[Related(at.span, f"stored here, by {by[0]}")], enclosing=at.enclosing, arch=at.arch,
            )  # fmt: skip
            return

    def _rounded_down(self, event: Event, context: Context) -> Iterable[Finding]:
        """The kernel stores its last tile in part, and the grid has no block for it."""
        found = rounded_down(event, context)
        if found is not None:
            yield self.finding(
                found.launch.span, f"the grid has {found.extent} / {found.tile} blocks along {found.index[-1]}, "
                f"rounded down, and `{found.target.name}`, whose tiles of {found.tile} {found.index} walks, has "
                f"{found.extent} elements there, which the kernel guards: nothing is stored to the last "
                f"{found.extent} % {found.tile}",
                label="the last tile has no block", help="round up: (extent + tile - 1) / tile blocks",
                related=[Related(event.span, f"stored here, as far as {found.extent} goes")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip

    def _other_grid(self, event: Event, context: Context) -> Iterable[Finding]:
        found = other_grid(event, context)
        if found is not None:
            there = f": those that it needs are along {found.along}" if found.along else ""
            yield self.finding(
                found.launch.span,
                f"the grid has blocks along {found.index[-1]} for `{found.blocks}`, and {found.index} "
                f"walks `{found.extent}` elements of `{found.target.name}`{there}: unless the two are equal, tiles are "
                "missing, or others do not exist",
                label=f"blocks along {found.index[-1]} from `{found.blocks}`",
                help="give each axis the blocks for the extent that its index walks",
                related=[Related(event.span, f"stored here, by {found.index}")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip

    def _alone_along(self, event: Event, index: str, context: Context) -> bool:
        """One block along an index is all that some launch has, or it is not known which launches there are."""
        launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
        at = "xyz".index(index[-1])
        extents = [x.grid[at] if at < len(x.grid) else 1 for x in launches]
        return not extents or any(known_value(n) == 1 for n in extents)

    def _same_place(self, event: Event, source: TensorFact, index: str) -> Finding:
        target = event.operands[1]
        loads, stores = ("loads", "stores") if target.space == "coord" else ("copies", "is stored")
        return self.finding(
            event.span, f"{index} says which tile of `{source.name}` a block {loads}, and not where it {stores}: "
            f"blocks 0 and 1 along it store two tiles to the same elements of `{target.name}`, and nothing to others",
            label=f"`{target.name}`, the same for all {index}",
            help=f"take the tile that is stored by {index}, too",
            related=[Related(source.span, f"`{source.name}`, by {index}")], enclosing=event.enclosing, arch=event.arch,
        )  # fmt: skip

    def _nowhere(
        self, at: Call | Event, result: TensorFact, side: str, operand: TensorFact, index: str, what: str
    ) -> Finding:
        return self.finding(
            at.span, f"{index} says which {what} a block multiplies, and not which {side} of C it stores: blocks 0 and "
            f"1 along it store two products to the same {side}, and nothing is stored to others",
            label=f"`{result.name}`, the same {side} for all {index}",
            help=f"take the {side} of C by {index}, in the steps of the operand's tiles",
            related=[Related(operand.span, f"`{operand.name}`, rows by {index}")],
            enclosing=at.enclosing, arch=at.arch,
        )  # fmt: skip

    def _grid(self, gemm: Event, a: TensorFact, b: TensorFact, context: Context) -> Iterable[Finding]:
        rows, columns = walked(a, 0), walked(b, 0)
        if rows is not None and columns is not None:
            yield from self._along(gemm, (a, *rows), (b, *columns), context)

    def _both_axes(self, event: Event, result: TensorFact, context: Context) -> Iterable[Finding]:
        """What is stored, of operands that are not known, is walked by two indices, and the grid has the blocks of one
        along the axis of the other, both ways. Of kernels that only copy it is asked by what is read."""
        rows, columns = walked(result, 0), walked(result, 1)
        launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
        if rows is None or columns is None or not launches:
            return
        for mine, other in ((rows, columns), (columns, rows)):
            at = "xyz".index(mine[0][-1])
            if not all(len(x.grid) > at and named(x.grid[at]) == other[1] for x in launches):
                return
        events = context.facts.events
        if any(e.kind == "gemm" and (e.kernel, e.arch) == (event.kernel, event.arch) for e in events):
            yield from self._along(event, (result, *rows), (result, *columns), context)

    def _along(
        self, event: Event, first: tuple[TensorFact, str, set[str]], second: tuple[TensorFact, str, set[str]],
        context: Context,
    ) -> Iterable[Finding]:  # fmt: skip
        """The grid has as many blocks along an axis as the other extent needs than its index walks: in all launches.

        Each extent with the tensor that has it, the index that walks it, and its variables.
        """
        launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
        launches = [x for x in launches if x.arch in ("", event.arch)]
        if first[2] & second[2] or not first[2] or not second[2] or not launches or first[1] == second[1]:
            return
        if equal(event, first[2], second[2]):
            return
        for mine, other in ((first, second), (second, first)):
            at = "xyz".index(mine[1][-1])
            if not all(len(x.grid) > at and named(x.grid[at]) == other[2] for x in launches):
                continue
            yield self.finding(
                launches[0].span, f"the grid has blocks along {mine[1][-1]} for the extent of `{other[0].name}` that "
                f"{other[1]} walks, and the kernel takes another one, of `{mine[0].name}`, by {mine[1]}: unless the "
                "two are equal, tiles are missing, or others do not exist",
                label=f"blocks along {mine[1][-1]} from `{', '.join(sorted(n.partition('#')[0] for n in other[2]))}`",
                help="swap the extents of the grid, or the indices",
                related=[Related(mine[0].span, f"by {mine[1]}"), Related(other[0].span, f"by {other[1]}")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip
            return


def _as_many(result: TensorFact, mode: int, made: Product, step: int) -> bool:
    """C has as many rows (or columns) as the operand, and these are more than one block takes."""
    extent = extent_of(result, mode)
    return extent in made.shapes[mode] and (int(extent) > step if extent.isdigit() else bool(extent))


def _adds(at: Call | Event) -> bool:
    """Whether a store by TMA is added to what is there."""
    atom = atom_of_event(at) if isinstance(at, Event) else None
    return atom is not None and "adds" in dict(atom.extra)
