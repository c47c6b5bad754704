"""CuTe's MMA instructions called by their names: ``SM90::GMMA::MMA_64x128x16_F32BF16BF16_SS<...>::fma(a, b, d...)``.

Those of a warpgroup and of tensor memory are given descriptors, which say where in shared memory their operands are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.cpp.around import as_step
from cutecheck.source.eval import losses, places, shared_addresses
from cutecheck.source.eval.values import ExternType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NAME = re.compile(r"(?P<umma>SM1\d\d_MMA_\w+)::fma$|(?:^|::)(?P<wgmma>MMA_64x\w+)::fma$|::fma$")


def applied(m: Machine, fn: Value, args: list[Value], span: Span) -> bool:
    """Note what the call does; False where it is none of these."""
    found = _NAME.search(fn.name) if isinstance(fn, ExternType) and fn.args == () else None
    if found is None:
        return False
    for value, cells in zip(args, places.of_arguments(m, args), strict=False):
        if cells is not None and not shared_addresses.buffers(value):
            losses.forget_cells(m, cells, span)  # accumulators
    replay, frame = m.recorder.acts(), m.recorder.frame
    name = "umma" if found["umma"] else "wgmma" if found["wgmma"] else ""
    if name and replay is not None and frame is not None:
        with as_step(m, span) as (at, _):
            of = [(b[0], value) for value in args if len(b := shared_addresses.buffers(value)) == 1]
            if len(of) != (2 if "_SS" in fn.name else 1):
                replay.end()  # what it reads is not known
            replay.multiplies(name, at, frame.symbol, of)
    return True


__all__ = ["applied"]
