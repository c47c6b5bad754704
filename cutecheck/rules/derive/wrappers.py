"""Functions of a program's own around ``cp.async.wait_group`` and ``cp.async.commit_group``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

WAITS = ("cp_async_wait", "cp_async_wait_group")
COMMITS = ("cp_async_fence", "cp_async_commit_group", "commit")  # the last: by assembly
_KNOWN = (*WAITS, *COMMITS[:-1])  # whose assembly is not noted


class Reached(Protocol):
    """A call, or the step of a run: what is called, and in which function."""

    @property
    def function(self) -> str: ...
    @property
    def enclosing(self) -> str: ...


def wrapping(calls: Sequence[Reached]) -> set[int]:
    """Which calls, as they are reached, are of functions whose own steps come after them: waits for groups, commits.

    The name of such a function (``wait_group``, ``pipeline_wait``) says neither for how many groups it waits nor that
    it holds no other thread back; its assembly does.
    """
    found: set[int] = set()
    for at in range(len(calls) - 2, -1, -1):
        name, inner = calls[at].function, calls[at + 1]
        if name in _KNOWN or short(inner.enclosing) != name:
            continue
        if at + 1 in found or inner.function in (*WAITS, *COMMITS):
            found.add(at)
    return found


def short(symbol: str) -> str:
    """A function's name without namespaces and template arguments."""
    return symbol.partition("<")[0].rpartition("::")[2]
