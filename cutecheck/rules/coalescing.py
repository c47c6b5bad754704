"""CUT104 global-not-coalesced."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.model.expr import Expr, Var, add, const, divisor, var
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD, GmemSectors
from cutecheck.model.units import Bytes
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive import heat
from cutecheck.rules.derive.accesses import GMEM_BASE, Access, accesses, joined
from cutecheck.rules.derive.alignment import vector_faults
from cutecheck.rules.derive.contracts import open_variables
from cutecheck.rules.derive.lanes import lone_thread
from cutecheck.rules.derive.vectors import as_layout, plain
from cutecheck.rules.slow_plain_copy import wide_access

_SECTOR, _LINE = 32, 128  # bytes


class GlobalNotCoalesced(Rule):
    """A warp's accesses to global memory touch more than twice the sectors that their bytes fill.

    What it checks
        For every warp instruction with which a copy reads or writes global memory (also as the source of cp.async): the
        32-byte sectors that its lanes touch, against the fewest that could hold as many bytes. For every warp, value,
        iteration and every run-time stride.

    Why
        Global memory moves whole sectors. Lanes that walk the mode that is far apart fetch 32 bytes for each element
        they use; a transposing store of floats moves eight times its bytes.

    Example
        make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _4>>{}, ...)  // row-major tensor

    Use instead
        make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_4, _32>, Stride<_32, _1>>{}, ...)

    Assumptions
        A run-time distance of lanes is judged only where another mode is contiguous by a static stride of 1, and then
        as whole lines of 128 bytes: rows that start in the middle of a sector are not reported. Tensors start at
        multiples of 256 bytes, as allocators give them. Rows of less than a line follow one another where the step from
        one to the next is a run-time number. In the Python DSL adjacent elements of a thread are one access
        where the compiler sees that they are aligned (``assumed_align``).
        Other instructions of the same thread may find the rest of a sector in the L1 cache.

    Fix
        Let consecutive threads walk the contiguous mode, or go through shared memory.

    References
        CUDA C++ Best Practices Guide, coalesced access to global memory
    """

    code = "CUT104"
    name = "global-not-coalesced"
    family = "coalescing"
    severity = "warning"
    confidence = "proved"
    valid = (
        """
        using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) rows(float const* in, float* out, int ld) {
          Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_32{}, _32{}), make_stride(ld, _1{}));
          Move copier;
          Tensor from = copier.get_slice(threadIdx.x).partition_S(g);
          Tensor into = make_fragment_like(from);
          copy(copier, from, into);
          out[threadIdx.x] = into(0);
        }
        """,
    )
    invalid = (
        """
        using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_32, _4>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) rows(float const* in, float* out, int ld) {
          Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_32{}, _32{}), make_stride(ld, _1{}));
          Move copier;
          Tensor from = copier.get_slice(threadIdx.x).partition_S(g);
          Tensor into = make_fragment_like(from);
          copy(copier, from, into);
          out[threadIdx.x] = into(0);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for found in accesses(event):
            access = found
            if access.tensor.space != "gmem" or lone_thread(event) or vector_faults(access, context):
                continue
            strides = lane_strides(access)
            if strides and not _contiguous_elsewhere(access):
                context.unknown("coalesced", event, access.side, "no mode is contiguous by a static stride")
                continue
            row = _short_row(access) if strides else None
            if row is not None and len(strides) > 1:
                context.unknown("coalesced", event, access.side, f"rows of less than {_LINE} bytes may be adjacent")
                continue
            access = wide_access(access, context)  # scalars of a vector are for slow-plain-copy
            payload = sectors(access)
            line = const(max(1, _LINE * 8 // int(access.element_bits)))
            whole = [
                Condition(Rel.DIVIDES, line, var(v.name, v.domain))
                if row is None
                else Condition(Rel.EQ, var(v.name, v.domain), const(row))
                for v in strides
            ]
            what = f"a multiple of {_LINE} bytes" if row is None else f"the {row} elements of a row"
            obligation = make_obligation(
                payload,
                (event.event_id,),
                hypotheses=[h.condition for h in event.hypotheses] + whole,
                assumptions=[f"{v.name} is {what}" for v in strides],
                arch=event.arch,
                span=event.span,
            )
            outcome = context.prove(obligation)
            touched, allowed = outcome.number("sectors"), outcome.number("allowed")
            if outcome.verdict is not Verdict.REFUTED or not touched or not allowed:
                continue
            verb = "load of" if access.side == "src" else "store to"
            least = allowed // payload.factor
            yield self.finding(
                event.span,
                f"a {access.width_bytes}-byte {verb} `{access.tensor.name}` touches {touched} sectors a warp "
                f"instruction where its bytes fill {least}",
                label=f"{touched} sectors, {least} would do",
                help=f"{_cost(access, touched - least)}; {_advice(access)}",
                severity=heat.severity(event, touched, least, heat.DEAR_SECTORS, context),
                witness=outcome.witness,
                related=[Related(access.tensor.span, f"part of {access.tensor.root_layout or access.tensor.layout}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )


def sectors(access: Access, unit: Bytes = Bytes(_SECTOR)) -> GmemSectors:
    """The payload of one side of a copy in global memory, but for what moves all lanes by whole units."""
    return GmemSectors(
        access.element_bits, access.bits, _within(access, unit), access.threads, as_layout(access.rest),
        base_alignment=max(access.base, GMEM_BASE), what=access.tensor.name,
    )  # fmt: skip


def _within(access: Access, unit: Bytes) -> Expr:
    """The offset without the terms that are the same in all lanes and multiples of the unit."""
    bits, total = int(unit) * 8, const(0)
    for term in (Expr((t,)) for t in access.offset.terms):
        own = any(v.name == THREAD or per_thread(v.name) for v in term.variables())
        if own or divisor(term) * int(access.element_bits) % bits:
            total = add(total, term)
    return total


def _advice(access: Access) -> str:
    wide = joined(access, Bytes(16))
    if not isinstance(wide, str) and wide.bits > access.bits:
        return (
            f"the compiler may take `{access.tensor.name}` as aligned to {access.base} bytes only and moves element by "
            f"element: assumed_align={int(wide.width_bytes)} makes these accesses {wide.width_bytes} bytes wide"
        )
    walk = "let consecutive threads walk the contiguous mode"
    if access.event.span.is_python and lane_strides(access):
        return (
            f"{walk}, or promise what divides the run-time strides (mark_compact_shape_dynamic): scalars become vectors"
        )
    return walk


def lane_strides(access: Access) -> list[Var]:
    """Open values that the distance of two lanes depends on."""
    terms = [Expr((term,)) for term in access.offset.terms]
    return open_variables(*(t for t in terms if any(v.name == THREAD for v in t.variables())))


def _contiguous_elsewhere(access: Access) -> bool:
    """Some mode of the tensor of more than one element has a static stride of 1."""
    for layout in (access.tensor.root_layout, access.tensor.layout):
        parts = None if layout is None or not hasattr(layout, "shape") else plain(layout)  # type: ignore[arg-type]
        if parts is not None and any(e != 1 and isinstance(s, int) and s == 1 for e, s in parts.modes):
            return True
    return False


def _short_row(access: Access) -> int | None:
    """The elements that a run-time stride steps over, where they are known and less than a line: rows share sectors."""
    layout = access.tensor.root_layout
    parts = None if layout is None or not hasattr(layout, "shape") else plain(layout)
    inner = [e for e, s in parts.modes if isinstance(s, int) and s != 0] if parts is not None else []
    known = [n for n in inner if isinstance(n, int)]
    row = prod(known)
    return row if known and len(known) == len(inner) and row * int(access.element_bits) < _LINE * 8 else None


def _cost(access: Access, excess: int) -> str:
    count = access.instructions
    if count is None:
        return f"{heat.where(access.event)}, an open number of instructions"
    warps = -(-access.threads // 32)
    return (
        f"{heat.where(access.event)}; up to {excess * count * warps * _SECTOR} bytes of extra traffic each time "
        f"({count} instructions, {warps} warps)"
    )
