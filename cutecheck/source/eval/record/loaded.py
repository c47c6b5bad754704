"""What a run pass by pass reads of global memory."""

from __future__ import annotations

from cutecheck.source.eval.record.rounds import MEMORY


class Loaded:
    """Global memory as a run reads it: at one place is one number, as long as no thread stores to the buffer."""

    def __init__(self, remembers: bool) -> None:
        self.remembers = remembers
        self.read: set[str] = set()
        self.stored: set[str] = set()
        self.of: frozenset[str] = frozenset()  # the kernel's parameters: what they lead to

    def name(self, buffer: str, at: int) -> str:
        self.read.add(buffer)
        return f"{MEMORY}{buffer}[{at}]"


def members(name: str) -> str:
    """What names all numbers of an object of which one is so called."""
    return f"{name.rpartition('.')[0]}."
