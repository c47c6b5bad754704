"""Which warpgroups a WGMMA waits for: on an H200 for all warps of its own, whichever is late, and for none of another.

Measured with a tile of each operand that 128 and 256 threads copy by ``cp.async``, wait for and multiply without a
barrier, one warp of them later than the others: of one warpgroup no result is wrong, of two thousands are; none with
``__syncthreads()`` before the products.
"""

from __future__ import annotations

from collections.abc import Collection

from cutecheck.facts.replayed import Place, Step
from cutecheck.model.algebra import size
from cutecheck.model.ints import known_value
from cutecheck.model.tiled import TiledCopy, TiledMMA

_WARPGROUP = 128
_M, _N = 1, 2  # modes of ThrLayoutVMNK


def by_other_warpgroups(writers: Collection[object], product: Step, operand: Place) -> bool:
    """Whether warpgroups along one mode of a product all read the whole of what threads of several have copied."""
    return len(product.places) in (3, 4) and all_read(operand.source, operand is product.places[-2], writers)


def all_read(mma: object, is_b: bool, writers: Collection[object]) -> bool:
    """Whether several warpgroups of a WGMMA each read an operand that each of their threads has copied a part of.

    ``is_b``: the operand is B, which those along M share; else A, which those along N share. ``writers``: the copies.
    """
    if not isinstance(mma, TiledMMA):
        return False
    groups = known_value(size(mma.thr_layout_vmnk, _M if is_b else _N))
    threads = [known_value(w.num_thr) if isinstance(w, TiledCopy) else None for w in writers]
    return (
        groups is not None and groups > 1 and bool(threads) and all(n is not None and n > _WARPGROUP for n in threads)
    )
