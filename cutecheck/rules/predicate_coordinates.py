"""CUT604 predicate-wrong-coordinates."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.findings import Finding, Related
from cutecheck.model import expr as ex
from cutecheck.model.ints import Condition, Int, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import thread_count
from cutecheck.rules.derive.coordinates import (
    Guarded,
    block_modes,
    bounded_mode,
    foreign,
    guarded,
    predicates_of,
    stray,
    unvaried,
)


class PredicateCoordinates(Rule):
    """A predicate is computed for other elements, or against other limits, than its copy needs.

    What it checks
        Where the predicates of ``copy_if`` are comparisons of coordinates: the coordinates are those of the elements
        that each thread copies; every mode that a block index walks, and whose run-time extent the tile need not
        divide, is compared with a limit; and that limit is the extent of this mode, not of another, and not that of the
        whole matrix where the coordinates start at the tile.

    Why
        CuTe connects a predicate with a copy by position alone. An identity tensor partitioned by another copy, limits
        in the wrong order, or a bound on M but not on K compile, pass every test whose extents are multiples of the
        tile, and read or write out of bounds for the others.

    Example
        Tensor tAcA = other_copy.get_slice(threadIdx.x).partition_S(cA);
        pred(i, j) = get<0>(tAcA(0, i, j)) < m;

    Use instead
        Tensor tAcA = thr_copy.partition_S(cA);
        pred(i, j) = elem_less(tAcA(0, i, j), make_coord(m, k));

    Assumptions
        Predicates with other parts than comparisons of coordinates are judged by their comparisons alone. A mode that a
        loop walks is not asked for a limit: the loop may take whole tiles only.

    Fix
        Partition an identity tensor of the whole matrix's shape, tiled in the same way, with the copy it guards, and
        compare all modes with the shape of the matrix.

    References
        cute/algorithm/copy.hpp (copy_if); https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/0y_predication.md
    """

    code = "CUT604"
    name = "predicate-wrong-coordinates"
    family = "predicate"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void __launch_bounds__(128) load_tile(float const* A, int m, int k, int lda) {
          // cutecheck: assume lda % 4 == 0
          __shared__ alignas(128) float smem[64 * 64];
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(lda, _1{}));
          Tensor cA = make_identity_tensor(shape(mA));
          Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
          Tensor ctA = local_tile(cA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
          Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(threadIdx.x);
          Tensor tAsA = thr.partition_D(sA);
          Tensor tAcA = thr.partition_S(ctA);
          Tensor pred = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)));
          for (int i = 0; i < size<0>(pred); ++i)
            for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = elem_less(tAcA(0, i, j), make_coord(m, k));
          copy_if(Load{}, pred, thr.partition_S(gA), tAsA);
        }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void __launch_bounds__(128) load_tile(float const* A, int m, int k, int lda) {
          // cutecheck: assume lda % 4 == 0
          __shared__ alignas(128) float smem[64 * 64];
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(lda, _1{}));
          Tensor cA = make_identity_tensor(shape(mA));
          Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
          Tensor ctA = local_tile(cA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
          Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(threadIdx.x);
          Tensor tAsA = thr.partition_D(sA);
          Tensor tAcA = thr.partition_S(ctA);
          Tensor pred = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)));
          for (int i = 0; i < size<0>(pred); ++i)
            for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = get<0>(tAcA(0, i, j)) < m;
          copy_if(Load{}, pred, thr.partition_S(gA), tAsA);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if event.kind != "copy" or len(event.operands) < 2:
            return
        predicates = predicates_of(event, context)
        tensor = next((t for t in event.operands[:2] if guarded(t) is not None), None)
        part = None if tensor is None else guarded(tensor)
        if len(predicates) != 1 or tensor is None or part is None:
            return
        fault = self._fault(event, predicates[0], tensor, part, context)
        if fault is None:
            return
        message, label, hint = fault
        yield self.finding(
            event.span,
            message,
            label=label,
            help=hint,
            related=[
                Related(predicates[0].span, "predicates computed here"),
                Related(tensor.span, f"part of {tensor.root_layout}"),
            ],
            enclosing=event.enclosing,
            arch=event.arch,
        )

    def _fault(
        self, event: Event, predicate: Predicate, tensor: TensorFact, part: Guarded, context: Context
    ) -> tuple[str, str, str] | None:
        threads = thread_count(event)
        apart = None if threads is None else stray(predicate, part, threads)
        if apart is not None:
            return (
                f"the predicates of `{tensor.name}` are computed for other elements than the copy moves: thread "
                f"{apart[0]} asks about another coordinate than its own",
                "another partition than the copy's",
                "partition the identity tensor with the copy that it guards, tiled as the matrix is",
            )
        if len(predicate.bounds[0].coordinates) != len(part.extents):
            return None
        stuck = unvaried(predicate, part)
        if stuck is not None:
            return (
                f"the predicates of `{tensor.name}` are one element for every `{stuck}`: the last one written decides "
                "for all",
                f"the element does not depend on `{stuck}`",
                "give the predicate tensor a stride along the mode whose coordinate is compared",
            )
        limits = {m: b.limit for b in predicate.bounds if (m := bounded_mode(b.value, b.coordinates)) is not None}
        walked = block_modes(part)
        for mode, limit in sorted(limits.items()):
            other = next((d for d, e in enumerate(part.extents) if d != mode and _is(limit, e)), None)
            if (
                other is not None
                and not _is(limit, part.extents[mode])
                and self._differ(event, limit, part, mode, context)
            ):
                return (
                    f"the predicates of `{tensor.name}` compare mode {mode} with `{limit}`, the extent of mode "
                    f"{other}, not `{part.extents[mode]}`",
                    f"`{limit}` is the extent of mode {other}",
                    "give the limits in the order of the matrix's modes",
                )
            own = part.extents[mode]
            whose = foreign(limit, part, event, context) if other is None else None
            if whose is not None and self._differ(event, limit, part, mode, context):
                return (
                    f"the predicates of `{tensor.name}` compare mode {mode} with `{limit}`, an extent of `{whose}`; "
                    f"its own is `{own}`",
                    f"`{limit}` is no extent of this tensor",
                    f"compare mode {mode} with `{own}`",
                )
        for mode, index in sorted(walked.items()):
            extent = part.extents[mode]
            if mode in limits:
                coordinate = as_expr(predicate.bounds[0].coordinates[mode])
                if _is(limits[mode], extent) and index not in {v.name for v in coordinate.variables()}:
                    return (
                        f"the coordinates of `{tensor.name}`'s predicates start at the tile, but mode {mode} is "
                        f"compared with `{limits[mode]}`, the extent of the whole matrix",
                        f"no `{index}` in the coordinate",
                        "tile the identity tensor of the whole matrix, or compare with what is left from the tile on",
                    )
            elif predicate.complete and limits and self._open(event, extent, part.tile[mode], context):
                return (
                    f"the predicates of `{tensor.name}` do not bound mode {mode}: its extent `{extent}` need not be a "
                    f"multiple of the tile's {part.tile[mode]}",
                    f"mode {mode} is not compared",
                    f"compare mode {mode} with `{extent}` too, or state `// cutecheck: assume {extent} % "
                    f"{part.tile[mode]} == 0`",
                )
        return None

    def _differ(self, event: Event, limit: Int, part: Guarded, mode: int, context: Context) -> bool:
        """The limit and the mode's extent are not the same number by any hypothesis."""
        condition = Condition(Rel.EQ, as_expr(limit), as_expr(part.extents[mode]))
        return self._refuted(event, condition, "limit of the predicate", context)

    def _open(self, event: Event, extent: Int, tile: Int, context: Context) -> bool:
        """The tile need not divide the extent."""
        condition = Condition(Rel.DIVIDES, as_expr(tile), as_expr(extent))
        return known_value(tile) != 1 and self._refuted(event, condition, "whole tiles", context)

    def _refuted(self, event: Event, condition: Condition, what: str, context: Context) -> bool:
        outcome = context.prove(
            make_obligation(Holds((condition,), what), (event.event_id,), arch=event.arch, span=event.span,
                            hypotheses=[h.condition for h in event.hypotheses])
        )  # fmt: skip
        return outcome.verdict is Verdict.REFUTED


def _is(a: Int, b: Int) -> bool:
    return ex.sub(as_expr(a), as_expr(b)).constant == 0
