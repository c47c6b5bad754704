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


def earliest(targets: tuple[str, ...]) -> str:
    """The architectures in words: the first of the list, and whether later ones have it."""
    plain = [t for t in targets if t[-1].isdigit()]
    first = (plain or list(targets))[0]
    return f"{first} and later ones" if plain else " or ".join(t for t in targets if not t.endswith("f"))
