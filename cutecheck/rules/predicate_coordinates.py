"""CUT604 predicate-wrong-coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Call, Event, Predicate, TensorFact
from cutecheck.facts.core import Bound
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import as_expr
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.coordinates import guarded, own_limit, predicates_of
from cutecheck.rules.derive.guarded_stores import guarded_store
from cutecheck.rules.derive.lengths import fault_of_length
from cutecheck.rules.derive.limits_of_blocks import other_index
from cutecheck.rules.derive.plain_offsets import of_other_offsets
from cutecheck.rules.derive.predicates import Fault, fault_of
from cutecheck.rules.derive.rest_faults import fault_of_rest, unbounded
from cutecheck.rules.derive.rests import Bounded
from cutecheck.rules.derive.rows_asked import fault_of_row

_FRESH = re.compile(r"#\d+")  # one variable of several walks


class PredicateCoordinates(Rule):
    """A predicate is computed for other elements, or against other limits, than its copy needs.

    What it checks
        Where the predicates of ``copy_if`` are comparisons of coordinates: the coordinates are those of the elements
        that each thread copies; every mode that a block index walks, and whose run-time extent the tile need not
        divide, is compared with a limit; and that limit is the extent of this mode, not one more, not that of another
        (of one that was sliced away, too, or of another matrix whose tiles start elsewhere), and not that of the whole
        matrix where the coordinates start at the tile, nor what is left of it from a tile of another pass of the loop
        on (``rows - m * 64`` around the copy of tile ``m + 1``), or of another block index. The same of a last tile
        that the extent chooses (``ceil_div(keys, 64) - 1``): its limit is not what is left of another matrix, whose
        tiles start elsewhere, nor from another tile on, and it has one where other copies of the kernel have. So with a
        length that is no extent, of one of several sequences in a matrix, where the kernel asks whether a tile starts
        before it, or compares with what is left of it. Where other copies compare a thread's row by ``<``, none does by
        ``<=``, nor with the extent of another mode. A plain number that is compared with the extent of a copy's only
        mode is the offset of the element that it moves.

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

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        event = guarded_store(call, context)
        if event is not None:
            yield from self._judged(event, context)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if event.kind == "copy" and len(event.operands) > 1:
            yield from self._judged(event, context)
            yield from self._of_plain(event, context)

    def _of_plain(self, event: Event, context: Context) -> Iterable[Finding]:
        found = of_other_offsets(event, context)
        if found is not None:
            yield self._found(event, *found)

    def _judged(self, event: Event, context: Context) -> Iterable[Finding]:
        predicates = predicates_of(event, context)
        tensor = next((t for t in event.operands[:2] if guarded(t) is not None), None)
        part = None if tensor is None else guarded(tensor)
        if tensor is None or part is None or len(predicates) > 1:
            return
        if not predicates:
            bare = Bounded(event, tensor, part, {})
            fault = unbounded(event, bare, context) if event.predicate is None else None
            if fault is None and event.predicate is None:
                fault = fault_of_length(event, (), bare, context) or fault_of_row(event, tensor, part, context)
            yield from [] if fault is None else [self._found(event, tensor, fault)]
            return
        if any(own_limit(b) for p in predicates[0] for b in p.bounds):
            return
        fault = fault_of(event, predicates[0], tensor, part, context)
        if fault is None:
            other = other_index(tensor, [b for p in predicates[0] for b in p.bounds])
            if other is not None:
                yield self._of_other_index(event, predicates[0][0], tensor, other)
                return
            fault = fault_of_rest(event, predicates[0], tensor, part, context)
        if fault is None:
            fault = fault_of_length(event, predicates[0], Bounded(event, tensor, part, {}), context)
            fault = fault or fault_of_row(event, tensor, part, context)
        if fault is None:
            return
        yield self._found(event, tensor, fault, Related(predicates[0][0].span, "predicates computed here"))

    def _found(self, event: Event, tensor: TensorFact, fault: Fault, *related: Related) -> Finding:
        return self.finding(
            event.span,
            fault.message,
            label=fault.label,
            help=fault.help,
            related=[*related, Related(tensor.span, f"part of {tensor.root_layout}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )

    def _of_other_index(
        self, event: Event, at: Predicate, tensor: TensorFact, other: tuple[Bound, str, str]
    ) -> Finding:  # fmt: skip
        bound, by, of_limit = other
        limit = _FRESH.sub("", str(as_expr(bound.limit)))
        return self.finding(
            event.span,
            f"the predicates of this copy compare a coordinate in the tile with `{limit}`, what is left of the mode "
            f"from the tile of {of_limit} on, and {by} says which tile of `{tensor.name}` is copied",
            label=f"limits by {of_limit}, tile by {by}",
            help=f"take what is left of the mode from the tile that is copied on: the extent less its rows times {by}",
            related=[Related(at.span, "predicates computed here"), Related(tensor.span, f"the tile of {by}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )
