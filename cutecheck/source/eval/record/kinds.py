"""Which names and values are configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import SiteKind
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.ints import Sym
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA

if TYPE_CHECKING:
    pass


CONFIG_TYPES = (TiledCopy, TiledMMA, CopyAtom, MMAAtom, Layout, ComposedLayout)
# functions, of CuTe's or others, that wait for groups, commit them or are fences: noted where they are called
NOTED_BY_NAME = frozenset({
    "cp_async_wait", "cp_async_wait_group", "cp_async_fence", "cp_async_commit_group", "warpgroup_arrive",
    "warpgroup_commit_batch", "warpgroup_wait", "tma_store_arrive", "tma_store_wait", "tma_store_fence",
    "fence_view_async_shared",
})  # fmt: skip
CONFIG_NAMES = frozenset({
    "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_S",
    "make_tiled_copy_D", "make_tiled_copy_C_atom", "make_tiled_copy_impl", "make_cotiled_copy", "make_tiled_mma",
    "TiledMMA", "TiledCopy", "MMA_Atom", "Copy_Atom", "make_tma_copy", "make_tma_atom", "tile_to_shape",
    "make_tiled_copy_C_warpcontiguousM", "make_tiled_copy_B_warpcontiguousN", "tile_to_mma_shape",
})  # fmt: skip


def site_kind(name: str, value: object) -> SiteKind | None:
    """The kind of configuration a value is, None when it is none."""
    if isinstance(value, TiledCopy):
        return "tiled_copy"
    if isinstance(value, TiledMMA):
        return "tiled_mma"
    if isinstance(value, CopyAtom):
        return "copy_atom"
    if isinstance(value, MMAAtom):
        return "mma_atom"
    if isinstance(value, ComposedLayout):
        return "smem_layout"
    if isinstance(value, Layout):
        return "smem_layout" if "smem" in name.lower() else "layout"
    return None


def kind_by_name(name: str, declared: str) -> SiteKind:
    if name in ("TiledMMA", "make_tiled_mma"):
        return "tiled_mma"
    if name == "MMA_Atom":
        return "mma_atom"
    if name == "Copy_Atom":
        return "copy_atom"
    if "copy" in name.lower():
        return "tiled_copy"
    return "smem_layout" if "smem" in declared.lower() else "layout"


def has_open(value: object, what: type | tuple[type, ...] = Sym) -> bool:
    """True when a model value contains an open (symbolic) static integer, or one of the classes that are given."""
    if isinstance(value, what):
        return True
    if isinstance(value, tuple):
        return any(has_open(v, what) for v in value)
    if hasattr(value, "__dataclass_fields__"):
        return any(has_open(getattr(value, f), what) for f in value.__dataclass_fields__)
    return False
