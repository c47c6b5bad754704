"""How a statement ended."""

from __future__ import annotations

from enum import Enum


class Done(Enum):
    """How a statement ended."""

    NORMAL = 0
    RETURN = 1
    BREAK = 2
    CONTINUE = 3
    MAYBE = 4  # one branch left the function, the other went on
