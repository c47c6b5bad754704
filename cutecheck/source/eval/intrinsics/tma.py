"""TMA: the calls are recorded with their operands; the copies they make are descriptors built on the host."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.source.eval.intrinsics.registry import Call, function
from cutecheck.source.eval.values import Value


@function(
    "make_tma_copy", "make_tma_atom", "make_tma_copy_A_sm90", "make_tma_copy_B_sm90", "make_tma_copy_C_sm90",
    "make_tma_atom_A_sm100", "make_tma_atom_B_sm100", "make_tma_copy_tiled", "make_im2col_tma_copy",
    tolerant=True, configuring=True,
)  # fmt: skip
def _make_tma(c: Call) -> Value:
    for a in c.args[1:3]:
        if isinstance(a, Unknown):
            return a
    return Unknown("the layout of a TMA copy is built on the host from its tensor; its operands are checked", c.span)
