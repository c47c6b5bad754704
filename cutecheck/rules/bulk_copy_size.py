"""CUT801 bulk-copy-size."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class BulkCopySize(Rejected):
    """A bulk copy whose size is not a multiple of 16 bytes.

    What it checks
        The size of every ``cp.async.bulk`` atom is a whole number of 16 bytes.

    Why
        The instruction moves 16-byte units only.

    Example
        Copy_Atom<Copy_Traits<SM90_BULK_COPY_G2S, Int<20 * 16>>, half_t>

    Use instead
        Copy_Atom<Copy_Traits<SM90_BULK_COPY_G2S, Int<24 * 16>>, half_t>

    Assumptions
        None.

    Fix
        Round the number of elements up to 16 bytes.

    References
        PTX ISA, cp.async.bulk; cute/atom/copy_traits_sm90_tma.hpp
    """

    code = "CUT801"
    name = "bulk-copy-size"
    family = "tma-limits"
    pattern = re.compile(r"Bulk Copy requires|align to 16B")
    advice = "round the size up to a multiple of 16 bytes"
