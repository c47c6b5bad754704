"""Walks of a kernel: it may be walked several times, with more or less known of what it is given."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from cutecheck.facts import Call, Event
from cutecheck.rules.base import Context

_STARTS = "stream_wait"  # is noted where a kernel begins


class Walks:
    """By where each began."""

    def __init__(self, context: Context) -> None:
        self.starts: dict[tuple[str, str], list[int]] = defaultdict(list)
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            if call.function == _STARTS:
                self.starts[call.kernel, call.arch].append(call.order)

    def of(self, item: Call | Event) -> int:
        return bisect_right(self.starts.get((item.kernel, item.arch), ()), item.order)


__all__ = ["Walks"]
