"""What a kernel copies or computes, and whether anything in it reads that."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts.core import Call, Event, Loop
from cutecheck.facts.span import Span
from cutecheck.facts.tensor import TensorFact
from cutecheck.records import record

# from the call in the kernel's own body to the place itself, which functions that are called many times share
Way = tuple[Span, ...]
LEFTOVERS = "what a kernel leaves unread"  # the result of a Call that has Leftovers as its argument


@record(frozen=True, slots=True)
class Leftovers:
    """The last copy or product into each tensor in registers or shared memory of a kernel that was walked to its end.

    ``left``: those of tensors that nothing reads; ``read``: where the others are. ``unset``: the first copies and
    products that read fragments which nothing in the kernel writes. ``idle``: parameters that lead to global memory
    which may be written, of a kernel that loads and stores nothing anywhere; ``kernel``: where it is declared, but of a
    template of which something does not bind all parameters.
    ``partly``: the last copy that reads what products are summed up in, where all reads leave some of it out, with the
    number of elements that they read and of all. ``blocks``: the indices of its block that a kernel asks for which
    stores to global memory, empty where it may know its block by other means; ``numbers``: run-time numbers that it is
    given. ``taken``: buffers of which single elements are read, or pointers taken. ``dropped``: sums that each pass of
    a loop sets anew and adds products to, and that nothing in the loop reads. ``holes``: operands in registers that a
    product takes whole, with a slice along K that no copy fills, and how many there are. ``homeless``: the first
    product into tensor memory of a kernel of C++ that names no allocation.
    """

    left: tuple[tuple[Way, TensorFact], ...]
    read: tuple[Way, ...]
    unset: tuple[tuple[Way, TensorFact], ...] = ()
    idle: tuple[tuple[Span, str], ...] = ()
    kernel: Span | None = None
    partly: tuple[tuple[Way, TensorFact, int, int], ...] = ()
    blocks: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    dropped: tuple[tuple[Way, TensorFact, Loop], ...] = ()
    holes: tuple[tuple[Way, TensorFact, int, int], ...] = ()
    homeless: tuple[Way, TensorFact] | None = None


def leftovers_of(call: Call) -> Leftovers | None:
    """What a call tells of a kernel's leftovers; None of other calls."""
    found = call.arguments[0] if call.function == "leftovers" and call.arguments else None
    return found if isinstance(found, Leftovers) else None


def taken_by(event: Event, calls: Iterable[Call]) -> tuple[str, ...] | None:
    """Buffers of which the kernel of an event takes single elements or pointers; None of one not walked to its end."""
    mine = (c for c in calls if (c.kernel, c.arch) == (event.kernel, event.arch))
    return next((found.taken for c in mine if (found := leftovers_of(c)) is not None), None)
