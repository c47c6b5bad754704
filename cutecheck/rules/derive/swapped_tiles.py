"""Block indices that go along one extent where a tile is loaded, and along another where it is stored."""

from __future__ import annotations

import re

from cutecheck.facts import Event, TensorFact
from cutecheck.model.ints import Rel, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.block_walks import alone, walks
from cutecheck.rules.derive.tile_walks import brought, extent_of


@record(frozen=True, slots=True)
class Swapped:
    """``index`` goes along ``loaded`` elements of what a tile is loaded from, along ``stored`` where it is stored."""

    source: TensorFact
    index: str
    loaded: str
    stored: str


def swapped(event: Event, context: Context) -> Swapped | None:
    """A copy that stores its tile where the tile of other coordinates belongs, in a kernel without products.

    Both matrices have the same two extents, in this order or the other, and each extent is walked by one index.
    """
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space not in ("gmem", "coord"):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    if any(e.kind == "gemm" for e in mine):
        return None
    target = event.operands[1]
    there = _along(target)
    copies = [e for e in mine if len(e.operands) > 1]
    for source in brought(event, copies) if len(there) == 2 else ():
        here = _along(source)
        if set(here) != set(there) or set(here.values()) != set(there.values()) or len(set(there.values())) != 2:
            continue
        if any(text.isdigit() for text in there.values()) or equal(event, names_of(target, 0), names_of(target, 1)):
            continue  # known extents are compared with the coordinates themselves
        index = next((i for i in sorted(here) if here[i] != there[i]), None)
        if index is not None:
            return Swapped(source, index, here[index], there[index])
    return None


def _along(tensor: TensorFact) -> dict[str, str]:
    """Each block index that alone walks a mode of a matrix, and how many elements the mode has, as text."""
    root, walk = tensor.root_layout, walks(tensor)
    if walk is None or not isinstance(root, Layout) or not isinstance(root.shape, tuple) or len(root.shape) != 2:
        return {}
    by = [alone(w) for w in walk]
    known = [(b[0], extent_of(tensor, mode)) for mode, b in enumerate(by) if b is not None]
    return dict(known) if len(dict(known)) == 2 else {}


def equal(event: Event, one: set[str], other: set[str]) -> bool:
    """Whether something that holds there says that two numbers are one, by their variables."""
    for condition in (h.condition for h in event.hypotheses):
        sides = [{v.name for v in side.variables()} for side in (condition.lhs, condition.rhs)]
        if condition.rel is Rel.EQ and (sides in ([one, other], [other, one]) or one | other == sides[0]):
            return True
    bare = {n.partition("#")[0] for n in one | other}
    compares = (g.text for g in event.guards if "==" in g.text or "!=" in g.text)
    return any(bare <= set(re.findall(r"[\w.\[\]()]+", text)) | set(re.findall(r"\w+", text)) for text in compares)


def names_of(tensor: TensorFact, mode: int) -> set[str]:
    """The variables of a mode's extent."""
    root = tensor.root_layout
    shape = root.shape if isinstance(root, Layout) and isinstance(root.shape, tuple) else ()
    extent = shape[mode] if mode < len(shape) else 0
    return set() if isinstance(extent, tuple) else {v.name for v in as_expr(extent).variables()}  # type: ignore[arg-type]
