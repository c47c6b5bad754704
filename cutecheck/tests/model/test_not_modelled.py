"""What is not modelled is never told as a refusal of CuTe's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.algebra import recast_layout
from cutecheck.model.atoms import copy_op
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Dyn, NotModelledError
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import smem_atoms, tma
from cutecheck.model.tiled.selectors import gmma_op_selector
from cutecheck.model.tiled.tmem import tmem_fragment
from cutecheck.model.units import Bits
from cutecheck.source.evaluate import evaluate

_MINE = DType("my_type", None)
_HALF = DType("half_t", Bits(16))
_FLOAT = DType("float", Bits(32))
_GMEM, _TILE = Layout((256, 256), (256, 1)), Layout((64, 64), (64, 1))

_CALLS: dict[str, Callable[[], Any]] = {
    "recast to an unknown width": lambda: recast_layout(_TILE, _MINE, Bits(16)),
    "atom over an unknown width": lambda: copy_op("UniversalCopy", (_FLOAT,), _MINE),
    "smem atom of an unknown width": lambda: smem_atoms.smem_layout_atom("K", "SW128", _MINE),
    "rs selector of an unknown width": lambda: smem_atoms.rs_smem_selector("MN", _MINE, 64, 64),
    "sm120 selector of an unknown width": lambda: smem_atoms.sm120_rr_smem_selector(_MINE, 64),
    "GMMA selector of an unknown width": lambda: gmma_op_selector("SS", (_MINE, _MINE, _FLOAT), (64, 64, 64)),
    "TMA of an unknown width": lambda: tma.make_tma_copy("SM90_TMA_LOAD", _GMEM, _MINE, _TILE),
    "im2col": lambda: tma.make_tma_copy("SM90_TMA_LOAD_IM2COL", _GMEM, _HALF, _TILE),
    "gather": lambda: tma.make_tma_atom("SM100_TMA_LOAD_2D_GATHER4", _GMEM, _HALF, _TILE, (64, 64)),
    "a multicast over a run-time cluster": lambda: tma.make_tma_copy(
        "SM90_TMA_LOAD_MULTICAST", _GMEM, _HALF, _TILE, cluster_size=Dyn.named("n")
    ),
    "a fragment of the user's own": lambda: tmem_fragment("UMMA::tmem_frg_mine<float>", ((128, 128), 1, 1)),
    "no fragment": lambda: tmem_fragment("my_fragment", ((128, 128), 1, 1)),
}


@pytest.mark.parametrize("name", _CALLS)
def test_not_modelled_is_no_refusal(name: str) -> None:
    with pytest.raises(NotModelledError) as caught:
        _CALLS[name]()
    assert not isinstance(caught.value, CuteError) and str(caught.value)


def test_the_evaluator_tells_the_two_apart() -> None:
    """A refusal is marked, so that a rule may quote it; what is not modelled is a plain unknown."""
    refused = evaluate("downcast<2>(Layout<_4,_2>{})")
    assert isinstance(refused, Unknown) and refused.rejected
    unknown = evaluate("GMMA::Layout_K_SW128_Atom<my_type>{}")
    assert isinstance(unknown, Unknown) and not unknown.rejected
