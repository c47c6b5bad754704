"""Tiled copies and MMAs: who owns which element of a tile."""

from cutecheck.model.tiled.copy import (
    ThrCopy,
    TiledCopy,
    make_cotiled_copy,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_copy_C_atom,
    make_tiled_copy_D,
    make_tiled_copy_impl,
    make_tiled_copy_S,
)
from cutecheck.model.tiled.mma import ThrMMA, TiledMMA, make_tiled_mma
from cutecheck.model.tiled.tmem_copy import make_tmem_copy, make_tmem_warp_partitioner, make_utccp_copy

__all__ = [
    "ThrCopy",
    "ThrMMA",
    "TiledCopy",
    "TiledMMA",
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_A",
    "make_tiled_copy_B",
    "make_tiled_copy_C",
    "make_tiled_copy_C_atom",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_impl",
    "make_tiled_mma",
    "make_tmem_copy",
    "make_tmem_warp_partitioner",
    "make_utccp_copy",
]
