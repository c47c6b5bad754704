"""Room for the frames of deep calls.

CPython (from 3.11 on) keeps frames in chunks of 16 KiB, maps one where a call needs it and unmaps it on return. A
program that calls and returns across such a border does so each time: the evaluator spent a twentieth of its time on
that. A frame that is larger than a chunk gets one of the next power of two; what is left of it is for all that is
called from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
# of eight bytes: more than 1 MiB, so that as much is left of 2; what no call uses is not touched
_SLOTS = (1 << 17) + 1


def roomy(call: Callable[[], _T]) -> _T:
    """What the call returns, run where a few thousand frames fit into one chunk."""
    return call()


roomy.__code__ = roomy.__code__.replace(co_stacksize=_SLOTS)
