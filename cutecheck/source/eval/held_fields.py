"""Where objects keep their fields: in order of their making, apart from the program, settled, or seen by a pointer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutecheck.source.eval.values import Pointer

serials = count(1)


class Fields(dict[str, Any]):
    """Where an object keeps its fields; ``serial`` is greater than that of those made before."""

    __slots__ = ("answered", "serial")

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.serial = next(serials)
        # what was held when a method answered the number that stands beside the fields
        self.answered: dict[str, Any] = {}


class Apart(Fields):
    """What a reference stands for that is not followed, or fields that others may write: nothing written here stays."""

    __slots__ = ()


SEEN_AS = "seen as"  # beside what is kept apart: the type that a cast gave it


class Settled(Fields):
    """Fields of an object that is a template argument, all of them: it stands for all that are equal."""

    __slots__ = ()


class Seen(Fields):
    """Fields of an object that is seen through a pointer, ``at``, as others may be that are the same or overlap.

    ``within``: of a member of an array's element, the array and the bytes before it there.
    """

    __slots__ = ("at", "within")

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.at: Pointer | None = None
        self.within: tuple[str, Any] | None = None
