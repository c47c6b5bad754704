"""Functions of one frozen object, computed once an object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

_MOST = 1 << 16  # results kept; then all are forgotten


def once(function: Callable[[_Given], _Made]) -> Callable[[_Given], _Made]:
    """Keep results by the identity of the argument: to hash an event costs more than most that is derived from it."""
    known: dict[int, tuple[_Given, _Made]] = {}

    @wraps(function)
    def kept(given: _Given) -> _Made:
        found = known.get(id(given))
        if found is None:  # what is kept stays alive, so its identity is nobody else's
            if len(known) >= _MOST:
                known.clear()
            found = known[id(given)] = (given, function(given))
        return found[1]

    return kept
