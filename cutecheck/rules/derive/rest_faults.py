"""What is wrong with predicates where what is left of a mode is told by more than a block index (``rests``)."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import Guarded
from cutecheck.rules.derive.predicates import Fault, differ, open_end
from cutecheck.rules.derive.rests import Bounded, limits_of, rest_of_other, tile_before, unlike


def fault_of_rest(
    event: Event, asked: Sequence[Predicate], tensor: TensorFact, part: Guarded, context: Context
) -> Fault | None:
    """Limits of another matrix or tile, and modes that other copies compare with what is left of them."""
    mine = Bounded(event, tensor, part, limits_of(list(asked[:1]), part))
    if any(m >= len(part.extents) for m in mine.bounds):
        return None
    for mode in sorted(mine.bounds):
        other = rest_of_other(mine, mode, context)
        if other is not None and differ(event, other[1], part.extents[mode], context):
            whose = _shown(other[1])
            return Fault(
                f"the predicates of `{tensor.name}` compare mode {mode} with what is left of `{whose}`, an extent of "
                f"`{other[0].name}`; its own is `{_shown(part.extents[mode])}`, with which other copies of the kernel "
                "are compared",
                "what is left of another tensor",
                "compare with what is left of this tensor's own extent",
            )
        late = tile_before(mine, mode)
        if late is not None:
            return Fault(
                f"the predicates of `{tensor.name}` compare mode {mode} with what is left of its extent from another "
                f"tile on than the last one, which is copied: of {late[0]} rows the coordinate {late[1]} passes",
                "what is left for another tile",
                "compare with the extent less the start of the tile that is copied",
            )
    return unbounded(event, mine, context)


def unbounded(event: Event, mine: Bounded, context: Context) -> Fault | None:
    """A mode that is not compared, while another copy of the kernel is compared in the same tile of the same extent."""
    part, tensor = mine.part, mine.tensor
    for mode, extent in enumerate(part.extents):
        like = unlike(mine, mode, context)
        if like is not None and open_end(event, extent, part.tile[mode], context):
            return Fault(
                f"nothing bounds mode {mode} of `{tensor.name}` here, whose extent need not be a multiple of the "
                f"tile's {part.tile[mode]}: the copy of `{like.name}` in this kernel is compared with the same extent "
                f"`{_shown(extent)}` in the same tile",
                f"mode {mode} is not compared",
                f"compare mode {mode} with what is left of its extent, as there",
            )
    return None


def _shown(number: object) -> str:
    text = str(number)
    return text if len(text) < 60 else "its extent"


__all__ = ["fault_of_rest", "unbounded"]
