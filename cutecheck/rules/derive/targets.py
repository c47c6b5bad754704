"""Whether an architecture that was asked for has an instruction."""

from __future__ import annotations

from cutecheck.facts import Event
from cutecheck.model.arch import supports
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context


def lacking(atom: CopyAtom | MMAAtom, arch: str, context: Context) -> bool:
    """No architecture that was asked for, this one among them, has the atom's instruction.

    False where architectures were guessed from the names in the sources: the guess says nothing. A kernel that is
    compiled for several may be launched on those that have it only.
    """
    asked = context.facts.archs
    return arch in asked and all(supports(atom.targets, a) is False for a in asked)


def atom_of_event(event: Event) -> CopyAtom | MMAAtom | None:
    """The atom that a copy or gemm runs."""
    found = event.tiled.atom if isinstance(event.tiled, (TiledCopy, TiledMMA)) else event.tiled
    return found if isinstance(found, (CopyAtom, MMAAtom)) else None


def is_own(event: Event) -> bool:
    """A copy by an operation that the program defines: it may add to what is there."""
    atom = atom_of_event(event)
    return isinstance(atom, CopyAtom) and atom.kind == "custom"


def loads_by_tma(event: Event) -> bool:
    """A load by TMA into shared memory, of a tensor's box or of adjacent bytes (``SM90_BULK_COPY``)."""
    return _in_bulk(event, "TMA_LOAD", -1)


def stores_by_tma(event: Event) -> bool:
    """A store or reduction by TMA out of shared memory, of a tensor's box or of adjacent bytes."""
    return _in_bulk(event, "TMA_STORE", 0) or _in_bulk(event, "TMA_REDUCE", 0)


def _in_bulk(event: Event, name: str, side: int) -> bool:
    atom = atom_of_event(event)
    if event.kind != "copy" or atom is None:
        return False
    return name in atom.op or ("BULK_COPY" in atom.op and event.operands[side].space == "smem")


def earliest(targets: tuple[str, ...]) -> str:
    """The architectures in words: the first of the list, and whether later ones have it."""
    plain = [t for t in targets if t[-1].isdigit()]
    first = (plain or list(targets))[0]
    return f"{first} and later ones" if plain else " or ".join(t for t in targets if not t.endswith("f"))
