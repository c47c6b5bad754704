"""CUT403 slow-plain-copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cutecheck.facts import Event, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import max_common_vector
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError
from cutecheck.model.prove import Outcome, Verdict
from cutecheck.model.units import Bits
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive import heat
from cutecheck.rules.derive.accesses import Access, accesses, widened
from cutecheck.rules.derive.alignment import alignment_outcome, swizzle_splits
from cutecheck.rules.derive.lanes import lone_thread
from cutecheck.rules.derive.vectors import mode_sizes


class SlowPlainCopy(Rule):
    """A copy moves fewer bits at once than both of its tensors allow.

    What it checks
        ``copy(a, b)``, copies through ``DefaultCopy`` or ``AutoVectorizingCopy``, and in C++ those of a
        ``UniversalCopy`` of less than 4 bytes: the width CuTe chooses, or the atom has, against the widest access (up
        to 16 bytes) whose elements are adjacent in the tensors in memory and whose every address is proved to be
        aligned. Registers can have any order; those that an atom is given must have the same.

    Why
        ``copy(a, b)`` vectorizes only if both layouts are entirely static; one run-time extent or stride, and it goes
        element by element. It also goes element by element if the fragment keeps its elements in another order than
        memory. Nothing says so: an epilogue that stores one half at a time takes eight times the instructions. An atom
        of one element copies one at a time, however many values the copy gives a thread.

    Example
        Tensor r = make_tensor<half_t>(Shape<_8, _8>{});  // column-major registers
        copy(s, r);                                       // from row-major shared memory

    Use instead
        Tensor r = make_tensor_like(s);
        copy(s, r);

    Assumptions
        Where the source does not say how a pointer is aligned, it is taken to be what the allocators give: 256 bytes
        in global memory, 16 in shared memory. The width is the one CuTe asks for; the compiler may join neighbouring
        accesses where it can prove their alignment itself.

    Fix
        Make the registers with ``make_tensor_like``, the layouts static, or give the copy an atom of the full width
        (``AutoVectorizingCopyWithAssumedAlignment<128>`` where only the layouts' extents are run-time numbers).

    References
        cute/algorithm/copy.hpp (copy, AutoVectorizingCopyWithAssumedAlignment)
    """

    code = "CUT403"
    name = "slow-plain-copy"
    family = "vectorization"
    severity = "warning"
    confidence = "proved"
    valid = (
        """
        using Rows = Layout<Shape<_32, Shape<_8, _8>>, Stride<_8, Stride<Int<256>, _1>>>;
        __global__ void __launch_bounds__(32) rows(half_t const* in, half_t* out) {
          Tensor g = make_tensor(make_gmem_ptr(in), Rows{});
          Tensor r = make_tensor_like(g(threadIdx.x, _));
          copy(g(threadIdx.x, _), r);
          out[threadIdx.x] = r(0);
        }
        """,
    )
    invalid = (
        """
        using Rows = Layout<Shape<_32, Shape<_8, _8>>, Stride<_8, Stride<Int<256>, _1>>>;
        __global__ void __launch_bounds__(32) rows(half_t const* in, half_t* out) {
          Tensor g = make_tensor(make_gmem_ptr(in), Rows{});
          Tensor r = make_tensor<half_t>(Shape<Shape<_8, _8>>{});
          copy(g(threadIdx.x, _), r);
          out[threadIdx.x] = r(0);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if event.kind != "copy" or event.predicated or len(event.operands) < 2 or lone_thread(event):
            return
        found = [_free(a) for a in accesses(event)]
        in_memory = sum(t.space != "rmem" for t in event.operands[:2])
        if not found or len(found) != in_memory or not all(a.instruction.automatic for a in found):
            return
        now = found[0].bits
        wider = (b for b in _WIDTHS if b > now and _common(event, found, b))
        better = next((b for b in wider if _aligned(found, b, context)), None)
        if better is None:
            return
        source, destination = event.operands[:2]
        yield self.finding(
            event.span,
            f"`copy` from `{source.name}` to `{destination.name}` moves {now} bits at a time where {better} are "
            f"adjacent and aligned: {better // now} times the instructions",
            label=_reason(event, found[0], better),
            help=f"{heat.where(event)}; {_advice(event, found[0], better)}",
            severity="note" if heat.cold(event, context) or all(a.tensor.space == "smem" for a in found) else None,
            related=[Related(t.span, f"{t.space} {t.layout}") for t in (source, destination)],
            enclosing=event.enclosing,
            arch=event.arch,
        )


_WORD = Bits(32)
_WIDTHS = tuple(map(Bits, (128, 64, 32, 16)))


def _free(access: Access) -> Access:
    """The access as if its width were open, where a plain atom of C++ fixes it: the author could choose another one."""
    used = access.instruction
    fixed = used.name.startswith("UniversalCopy") and used.bits < _WORD and not access.event.span.is_python
    return replace(access, instruction=replace(used, automatic=True)) if fixed else access


def _holds(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.verdict in (Verdict.PROVED, Verdict.ASSUMED)


def _aligned(found: Sequence[Access], bits: Bits, context: Context) -> bool:
    """Every address of every side is proved to be a multiple of ``bits``."""
    wide = [widened(a, bits) for a in found]
    return all(w is not None and not swizzle_splits(w) and _holds(alignment_outcome(w, context)) for w in wide)


def _common(event: Event, found: Sequence[Access], bits: Bits) -> bool:
    """True where ``bits`` are adjacent in every tensor in memory, the same elements in both."""
    if any(widened(a, bits) is None for a in found):
        return False
    count = bits // found[0].element_bits
    src, dst = (t.layout for t in event.operands[:2])
    if isinstance(src, Unknown) or isinstance(dst, Unknown):
        return False
    if len(found) == 2 or found[0].instruction.name.startswith("UniversalCopy"):  # registers of an MMA keep their order
        try:
            common = max_common_vector(src, dst)
        except (CuteError, NotModelledError, UndecidedError):
            return False
        return isinstance(common, int) and common % count == 0
    registers = dst if event.operands[0].space != "rmem" else src
    sizes = mode_sizes(registers)
    return all(isinstance(s, int) for s in sizes)


def wide_access(access: Access, context: Context) -> Access:
    """The access at the widest width whose elements are adjacent and proved aligned; itself where it is that."""
    for bits in _WIDTHS:
        wide = widened(access, bits) if bits > access.bits else None
        if wide is not None and not swizzle_splits(wide) and _holds(alignment_outcome(wide, context)):
            return wide
    return access


def _limited(access: Access, bits: Bits) -> bool:
    """The width is what the copy may assume of the alignment, not what the layouts have in common."""
    return access.instruction.bits < bits


def _reason(event: Event, access: Access, bits: Bits) -> str:
    if not _limited(access, bits):
        return "the two layouts order their elements differently"
    if access.instruction.name.startswith("UniversalCopy"):
        return f"the atom moves {access.instruction.bits} bits"
    if event.tiled is not None:
        return f"{access.instruction.name} assumes an alignment of {access.instruction.bits} bits"
    return "a layout is not static, so CuTe copies element by element"


def _advice(event: Event, access: Access, bits: Bits) -> str:
    if not _limited(access, bits):
        return "make the registers with make_tensor_like of the tensor in memory, which keeps its order"
    if access.instruction.name.startswith("UniversalCopy"):
        return f"make the copy from UniversalCopy<uint{bits}_t>"
    return f"copy through AutoVectorizingCopyWithAssumedAlignment<{bits}> or an atom of {bits} bits"
