"""How a statement ended."""

from __future__ import annotations

from enum import Enum
from typing import Any


class Done(Enum):
    """How a statement ended."""

    NORMAL = 0
    RETURN = 1
    BREAK = 2
    CONTINUE = 3
    MAYBE = 4  # one branch left the function, the other went on


class Raised(Exception):
    """An exception of the program on its way to the ``try`` around it."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind  # its type or the exception itself, as the program has it
