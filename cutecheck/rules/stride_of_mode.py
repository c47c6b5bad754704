"""CUT223 stride-of-wrong-mode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import cast

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.facts.core import GUARDED, STORED
from cutecheck.findings import Finding, Related
from cutecheck.model.expr import Var, var
from cutecheck.model.ints import Condition, Dyn, Int, Rel, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.lying_over import lying_over
from cutecheck.rules.derive.map_extents import other_extent
from cutecheck.rules.derive.named_strides import misnamed
from cutecheck.rules.derive.summed_strides import by_the_sum
from cutecheck.rules.derive.tile_steps import of_another, other_step
from cutecheck.rules.derive.vectors import leaves

_FRESH = re.compile(r"#\d+")  # one variable of several walks
_EXAMPLE = """
        __global__ void __launch_bounds__(256) copy_tile(float const* A, float* C, int m, int n) {
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, n), make_stride(n, _1{}));
          Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(%s, _1{}));
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, blockIdx.y));
          Tensor gC = local_tile(mC, Shape<_128, _64>{}, make_coord(blockIdx.x, blockIdx.y));
          auto threads = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
          copy(local_partition(gA, threads, threadIdx.x), local_partition(gC, threads, threadIdx.x));
        }
        """

_HOLDS = (Verdict.PROVED, Verdict.ASSUMED)


class StrideOfWrongMode(Rule):
    """The rows of a matrix are as far apart as there are rows, not as they are long.

    What it checks
        Of tensors in global memory with one contiguous mode, those that are copied or given to a tensor map: no other
        mode has its own extent as its stride, where the extent of the contiguous mode is another run-time number. Of
        extents that are known: nor where elements then lie over each other. Nor does a tile whose start is as many
        times a stride from the matrix's as it has rows have another number, named as a stride, from row to row, where
        another tensor of the kernel has that stride from row to row, or starts by this one. Nor is a stride named after
        another pointer (``params.v_row_stride`` of ``params.k_ptr``), or multiplied by another block index, where the
        other tensors of the kernel, two at least, go by strides that are named after them. Nor does a kernel give the
        coordinates of a TMA descriptor an extent of another of its tensors, where that which the descriptor is made of
        has an extent of a third. Nor does a mode, or the matrix of the next block, go on by a part of what the modes
        (and the blocks) take up that lie side by side below it, nor by as much with another of their extents in it;
        nor do the rows of a product's result by the extent over which its two operands are summed up.

    Why
        A row-major matrix of ``m`` rows and ``n`` columns has ``n`` from row to row. With ``m`` everything compiles,
        and is right for square matrices, with which such code is tested first. For others rows lie over each other, or
        memory behind the matrix is read and written.

    Example
        Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(m, _1{}));

    Use instead
        Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));

    Assumptions
        A stride that is passed as a number of its own (``ldc``) is taken to be right. Nobody takes a few columns of a
        square matrix by a run-time number of columns, from the first on. A tensor that starts elsewhere may be a part
        of one, or, where it is only read, windows that lie over each other.

    Fix
        Take the extent of the contiguous mode, or let ``make_layout(shape, LayoutRight{})`` find the strides.

    References
        cute/stride.hpp (compact_row_major)
    """

    code = "CUT223"
    name = "stride-of-wrong-mode"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "No tensor of these trees has a mode whose extent is its own stride: only of such the prover is asked."
    valid = (_EXAMPLE % "n",)
    invalid = (_EXAMPLE % "m",)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        yield from self._of_map(event, context)
        for at, tensor in enumerate(event.operands if event.kind == "copy" else ()):
            if tensor.root_layout is not None:
                yield from self._judge(event, tensor, tensor.root_layout, context, at == 1)
                yield from self._of_tile(event, tensor, context)
                yield from self._of_name(event, tensor, context)
                yield from self._lying_over(event, tensor, context)
            if at == 1:
                yield from self._of_sum(event, tensor, context)

    def _of_map(self, event: Event, context: Context) -> Iterable[Finding]:
        """Coordinates of TMA with the extents of another tensor than its descriptor's."""
        found = other_extent(event, context)
        if found is not None:
            yield self.finding(
                event.span,
                f"the kernel takes `{found.tensor.name}` for a part of a tensor with `{found.here}` elements along a "
                f"mode that has `{found.there}` in the tensor which the descriptor is made of: it is of another "
                "tensor, or one of the two shapes is wrong",
                label=f"`{found.here}` here, `{found.there}` there",
                help="make the descriptor of the tensor that is copied, and give get_tma_tensor its shape",
                related=[Related(found.tensor.span, "these coordinates")],
                enclosing=event.enclosing,
                arch=event.arch,
            )

    def _of_tile(self, event: Event, tensor: TensorFact, context: Context) -> Iterable[Finding]:
        """Tiles that are as many strides of one matrix apart as they have rows, and rows by that of another one."""
        step = other_step(tensor)
        if step is not None and not of_another(step, event, tensor, context):
            return
        said = cast("set[tuple[str, ...]]", context.memo.setdefault("steps of tiles", set()))
        key = (event.kernel, event.arch, tensor.buffer or tensor.name, str(tensor.root_layout))
        if step is None or key in said or not _refuted(event, _dyn(step[0]), _dyn(step[1]), context):
            return
        said.add(key)
        tiles, rows = (_FRESH.sub("", v.name) for v in step[:2])
        yield self.finding(
            event.span,
            f"`{tensor.name}` is of a tile of {step[2]} rows that starts a multiple of {step[2]} * `{tiles}` behind "
            f"the start of the matrix, but its rows are `{rows}` apart: unless the two are equal, they are not the "
            "rows of the matrix",
            label=f"tiles by `{tiles}`, rows by `{rows}`",
            help=f"take the same stride for both: `{tiles}` or `{rows}`, whichever is this matrix's",
            enclosing=event.enclosing,
            arch=event.arch,
        )

    def _of_name(self, event: Event, tensor: TensorFact, context: Context) -> Iterable[Finding]:
        """A stride that is named after another pointer, or a block index times another stride than everywhere else."""
        found = misnamed(tensor, event, context)
        said = cast("set[tuple[str, ...]]", context.memo.setdefault("strides of other names", set()))
        key = (event.kernel, event.arch, tensor.buffer or "", "" if found is None else found.stride.name)
        if found is None or key in said:
            return
        name, own = found.stride.name, found.own
        if found.indices is None and not _refuted(event, _dyn(Var(name)), _dyn(Var(own)), context):
            return
        said.add(key)
        if found.indices is None:
            message = (
                f"`{tensor.name}` is of `{tensor.buffer}`, but goes by `{name}`: the other tensors of the kernel go by "
                f"the strides that are named after them, and this one would by `{own}`"
            )
            label, help_ = f"`{name}` is of another tensor", f"take `{own}`"
        else:
            index, mine = found.indices
            message = (
                f"`{tensor.name}` starts `{mine}` times `{name}` from the start of `{tensor.buffer}`: the others of "
                f"the kernel take `{index}` times the stride of this name, and `{mine}` times another one"
            )
            label, help_ = f"`{mine}` times `{name}`", f"take `{index}` times `{name}`"
        yield self.finding(
            event.span,
            message,
            label=label,
            help=help_,
            related=[Related(tensor.span, f"part of {tensor.root_layout}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )

    def _of_sum(self, at: Event | Call, tensor: TensorFact, context: Context) -> Iterable[Finding]:
        """A result that goes by the extent which its operands share."""
        found = by_the_sum(at, tensor, context)
        said = cast("set[tuple[str, ...]]", context.memo.setdefault("strides of the sum", set()))
        key = (at.kernel, at.arch, tensor.buffer or tensor.name)
        if found is None or key in said or not _refuted(at, found.stride, found.length, context):
            return
        if _fits(at, found.stride, found.length, context):
            return
        said.add(key)
        own, needed = (_FRESH.sub("", str(x)) for x in (found.stride, found.length))
        whose = " and ".join(f"`{name}`" for name in found.operands)
        yield self.finding(
            at.span,
            f"`{tensor.name}` goes on by `{own}` elements along mode {found.mode}: that is the extent over which "
            f"{whose} are summed up, and `{needed}` elements lie side by side: unless the two are equal, rows lie over "
            "each other, or reach behind the end",
            label=f"rows by `{own}`, which hold `{needed}`",
            help=f"give mode {found.mode} the stride `{needed}`",
            related=[Related(tensor.span, f"part of {_FRESH.sub('', str(tensor.root_layout))}")],
            enclosing=at.enclosing,
            arch=at.arch,
        )

    def _lying_over(self, at: Event | Call, tensor: TensorFact, context: Context) -> Iterable[Finding]:
        """Modes, or matrices of blocks, that start before the elements end which lie side by side there."""
        launches = [x for x in context.index.launches_of.get(at.kernel, []) if x.origin == "launch"]
        found = lying_over(tensor, launches)
        said = cast("set[tuple[str, ...]]", context.memo.setdefault("modes that lie over others", set()))
        key = (at.kernel, at.arch, tensor.buffer or tensor.name, str(tensor.root_layout))
        if found is None or key in said or not _refuted(at, Dyn(found.unless[0]), Dyn(found.unless[1]), context):
            return
        said.add(key)
        apart, taken = (_FRESH.sub("", str(x)) for x in (found.axis.stride, found.taken))
        below = " and ".join(a.name for a in found.below)
        of = f"`{found.axis.name}`" if found.axis.name.startswith("blockIdx.") else found.axis.name
        why = f": `{_FRESH.sub('', found.twice)}` stands where another extent was to be" if found.twice else ""
        yield self.finding(
            at.span,
            f"`{tensor.name}` goes on by `{apart}` elements along {of}, but {below} take up `{taken}`{why}: unless the "
            "two are equal, elements lie over each other, or have gaps",
            label=f"`{apart}` along {of}, `{taken}` below",
            help=f"go on by `{taken}`",
            related=[Related(tensor.span, f"part of {_FRESH.sub('', str(tensor.root_layout))}")],
            enclosing=at.enclosing,
            arch=at.arch,
        )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if isinstance(call.result, Unknown) and call.result.reason in (GUARDED, STORED):
            stored = cast("TensorFact", call.arguments[0])
            yield from self._of_sum(call, stored, context)
            if stored.root_layout is not None:
                yield from self._judge(call, stored, stored.root_layout, context)
            if call.result.reason == GUARDED:
                yield from self._lying_over(call, stored, context)
        given = call.arguments if call.function.startswith("make_tma") and not call.unevaluated else ()
        for tensor in given:
            if isinstance(tensor, TensorFact):
                yield from self._judge(call, tensor, tensor.root_layout or tensor.layout, context)

    def _judge(
        self, at: Event | Call, tensor: TensorFact, whole: object, context: Context, stored: bool = True
    ) -> Iterable[Finding]:
        outside = tensor.space == "gmem" or (isinstance(at, Call) and tensor.space == "unknown")  # of a tensor map
        modes = leaves(whole.shape, whole.stride) if isinstance(whole, Layout) and outside else None
        unit = [i for i, (_, stride) in enumerate(modes or ()) if known_value(stride) == 1]
        if modes is None or len(unit) != 1 or len(modes) < 2:
            return
        said = cast("set[tuple[str, ...]]", context.memo.setdefault("strides of other modes", set()))
        length = modes[unit[0]][0]
        for mode, (extent, stride) in enumerate(modes):
            if mode == unit[0] or not _own(extent, stride, length) or _starts_inside(tensor, stride, stored):
                continue
            if not _refuted(at, stride, length, context) or _fits(at, stride, length, context):
                continue
            key = (at.kernel, at.arch, tensor.buffer or tensor.name, str(whole))
            if key in said:
                return
            said.add(key)
            own, needed, text = (_FRESH.sub("", str(x)) for x in (stride, length, whole))
            yield self.finding(
                at.span,
                f"`{tensor.name}` is part of {text}: along mode {mode}, whose extent is `{own}`, elements are `{own}` "
                f"apart, and mode {unit[0]} has `{needed}` elements side by side: unless the two are equal, rows lie "
                "over each other, or reach behind the end",
                label=f"stride `{own}` is the extent of mode {mode} itself",
                help=f"give mode {mode} the stride `{needed}`, the extent of the contiguous mode",
                enclosing=at.enclosing,
                arch=at.arch,
            )
            return


def _own(extent: Int, stride: Int, length: Int) -> bool:
    """A mode has its own extent as its stride, and the contiguous one another."""
    apart, many = known_value(stride), known_value(length)
    if apart is not None:
        return apart == known_value(extent) and many is not None and 1 < apart < many
    expression = as_expr(stride)
    shared = {v.name for v in expression.variables()} & {v.name for v in as_expr(length).variables()}
    return expression == as_expr(extent) and many is None and not shared


def _starts_inside(tensor: TensorFact, stride: Int, stored: bool) -> bool:
    """It may be a part of more: a panel of columns of a square matrix, from column ``j`` on, or windows of a signal
    that lie over each other, which are read at the block's part of it."""
    start = tensor.root_start_bits
    if start is None or known_value(start) == 0:
        return False
    if known_value(stride) is not None:
        return not stored
    single = [monomial[0] for monomial, _ in as_expr(start).terms if len(monomial) == 1]
    return any(isinstance(v, Var) and not v.name.startswith(INDICES) for v in single)


def _dyn(variable: Var) -> Int:
    return Dyn(var(variable.name, variable.domain))


def _refuted(at: Event | Call, stride: Int, length: Int, context: Context) -> bool:
    """By no hypothesis the two are equal."""
    same = Condition(Rel.EQ, as_expr(stride), as_expr(length))
    return _verdict(at, same, "stride and extent are one number", context) is Verdict.REFUTED


def _fits(at: Event | Call, stride: Int, length: Int, context: Context) -> bool:
    """The program asks that rows be no longer than they are apart: the first columns of a square matrix."""
    shorter = Condition(Rel.LE, as_expr(length), as_expr(stride))
    asked = [c for g in at.guards for c in g.holds if c.rel in (Rel.LE, Rel.LT)]
    return bool(asked) and _verdict(at, shorter, "rows fit between one another", context, asked) in _HOLDS


def _verdict(
    at: Event | Call, condition: Condition, what: str, context: Context, asked: Sequence[Condition] = ()
) -> Verdict:
    of = (at.event_id,) if isinstance(at, Event) else ()
    outcome = context.prove(
        make_obligation(Holds((condition,), what), of, arch=at.arch, span=at.span,
                        hypotheses=[*(h.condition for h in at.hypotheses), *asked])
    )  # fmt: skip
    return outcome.verdict
