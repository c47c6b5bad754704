"""CUT305 atom-unknown-operation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.rejected import Rejected

# between which memories an instruction moves
_WAYS = (
    ("LDSM", "ldmatrix", ("smem", "rmem")),
    ("STSM", "stmatrix", ("rmem", "smem")),
    ("CP_ASYNC", "cp.async", ("gmem", "smem")),
)
_MEMORIES = {"smem": "shared memory", "rmem": "registers", "gmem": "global memory", "tmem": "tensor memory"}


class AtomOperation(Rejected):
    """An instruction that does not exist for these operands.

    What it checks
        The template arguments of an operation meet its own static assertions: ``cp.async`` moves 4, 8 or 16 bytes
        (16 past L1), from and to types of one size; tensor-core operations exist for their element types, tile sizes
        and major modes only. In the Python DSL, ``ldmatrix`` copies from shared memory to registers, ``stmatrix`` back,
        and ``cp.async`` from global to shared memory.

    Why
        The assertion stands inside the operation's header, and the compiler shows it below pages of instantiations. The
        DSL refuses a copy between other memories once it has traced the kernel.

    Example
        Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<half_t>, half_t>     // 2 bytes

    Use instead
        Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint32_t>, half_t>   // two values a thread

    Assumptions
        None.

    Fix
        Give each thread enough adjacent values for an instruction that exists, or use plain loads and stores.

    References
        cute/arch/copy_sm80.hpp; cute/arch/mma_sm100_umma.hpp; PTX ISA, cp.async
    """

    code = "CUT305"
    name = "atom-unknown-operation"
    family = "vectorization"
    unasked = "None: it repeats what CuTe refuses."
    pattern = re.compile(r"is not supported|[Oo]nly supports?|cp\.async requires|must be GMMA::Major::K|requires non-")
    advice = "choose an operation that exists for these types, or other types for the operation"
    valid = (
        """
        using Load = Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint32_t>, half_t>;
        """,
    )
    invalid = (
        """
        using Load = Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<half_t>, half_t>;
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        atom = atom_of(event.tiled)
        if event.kind != "copy" or atom is None or len(event.operands) < 2 or not event.span.is_python:
            return
        way = next(((name, ways) for word, name, ways in _WAYS if word in atom.op), None)
        given = event.operands[0].space, event.operands[1].space
        if way is None or given == way[1] or not set(given) <= _MEMORIES.keys():
            return
        taken, made = (_MEMORIES[s] for s in way[1])
        source, target = (_MEMORIES[s] for s in given)
        yield self.finding(
            event.span,
            f"{way[0]} copies from {taken} to {made}, here it is given `{event.operands[0].name}` in {source} and "
            f"`{event.operands[1].name}` in {target}",
            label=f"from {source} to {target}",
            help="make the tiled copy of an operation for this direction, or swap source and destination",
            enclosing=event.enclosing,
            arch=event.arch,
        )
