"""Coordinates of TMA that a kernel makes for another tensor than the one that the descriptor was made of."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, TensorFact
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of


@record(frozen=True, slots=True)
class OtherExtent:
    """``tensor``: of coordinates with ``here`` elements along a mode, of a tensor that has ``there``."""

    tensor: TensorFact
    here: str
    there: str


def other_extent(event: Event, context: Context) -> OtherExtent | None:
    """A mode that the kernel takes for as long as another run-time number says than the tensor's, where it knows both:
    each is the extent of another tensor of the kernel."""
    found = _extents(event)
    if found is None or not event.kernel or event.span.is_python:
        return None
    tensor, pairs = found
    known = _known(event, context)
    for here, there in pairs:
        if here is not None and there is not None and here != there and {here, there} <= known:
            return OtherExtent(tensor, here, there)
    return None


def _extents(event: Event) -> tuple[TensorFact, list[tuple[str | None, str | None]]] | None:
    """Of the coordinates of a TMA copy: each mode's extent in the kernel, and the tensor's."""
    atom = atom_of(event.tiled)
    made = None if event.kind != "copy" or atom is None else atom.tensor_map
    if not isinstance(made, TensorMap):
        return None
    for tensor in event.operands:
        root = tensor.root_layout if tensor.space == "coord" else None
        if not isinstance(root, Layout):
            continue
        modes = zip(it.flatten_to_tuple(root.shape), it.flatten_to_tuple(root.stride), strict=False)
        pairs = []
        for extent, stride in modes:
            at = stride.path[0] if isinstance(stride, ScaledBasis) and len(stride.path) == 1 else None
            if at is not None and at < len(made.gmem_shape):
                pairs.append((_number(extent), _number(made.gmem_shape[at])))
        return tensor, pairs
    return None


def _number(extent: object) -> str | None:
    """The one run-time number that an extent is."""
    if not isinstance(extent, Dyn):
        return None
    expression = as_expr(extent)
    names = [v.name for v in expression.variables()]
    alone = len(names) == 1 and str(expression) == names[0]
    return names[0].partition("#")[0] if alone else None


def _known(event: Event, context: Context) -> set[str]:
    """Extents of other tensors that the kernel's copies and products have, in global memory and as coordinates. Not
    those of descriptors alone: they may be made of padded tensors, of which the kernel knows how much is used."""
    memo = cast("dict[tuple[str, str], dict[str, set[str]]]", context.memo.setdefault("extents by tensor", {}))
    key = (event.kernel, event.arch)
    if key not in memo:
        memo[key] = {}
        for e in (e for e in context.facts.events if (e.kernel, e.arch) == key):
            for t in e.operands:
                if t.space in ("gmem", "coord") and isinstance(t.root_layout, Layout):
                    name = str(e.span) if t.space == "coord" else t.buffer or ""
                    names = {n for x in it.flatten_to_tuple(t.root_layout.shape) if (n := _number(x)) is not None}
                    memo[key].setdefault(name, set()).update(names)
    return {n for name, names in memo[key].items() if name != str(event.span) for n in names}


__all__ = ["OtherExtent", "other_extent"]
