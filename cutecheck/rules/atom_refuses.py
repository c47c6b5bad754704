"""CUT305 atom-unknown-operation."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class AtomOperation(Rejected):
    """An instruction that does not exist for these operands.

    What it checks
        The template arguments of an operation meet its own static assertions: ``cp.async`` moves 4, 8 or 16 bytes
        (16 past L1), from and to types of one size; tensor-core operations exist for their element types, tile sizes
        and major modes only.

    Why
        The assertion stands inside the operation's header, and the compiler shows it below pages of instantiations.

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
