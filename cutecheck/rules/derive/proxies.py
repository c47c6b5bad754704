"""What threads write to shared memory for MMAs, of a kernel's roles: fenced before these read it asynchronously."""

from __future__ import annotations

from cutecheck.facts.replayed import Place, Step
from cutecheck.records import record
from cutecheck.rules.derive.role_memory import Clock

_FENCE = "fence_proxy"


@record(frozen=True, slots=True)
class _Write:
    thread: int
    when: int
    step: Step
    buffer: str
    bits: tuple[int, int]


class Proxies:
    """Writes of threads that no fence has followed yet, in the order in which they are known to happen."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, str, tuple[int, int]], _Write] = {}

    def does(self, me: int, clock: Clock, step: Step) -> tuple[Place, Step] | None:
        """What an MMA or a TMA store reads of them, and where it was written."""
        if step.kind == "call" and step.function == _FENCE:
            self.open = {k: w for k, w in self.open.items() if not _knows(me, clock, w)}
        elif step.kind == "copy" and len(step.places) > 1 and not step.asynchronous:
            to = step.places[1]
            if to.space == "smem" and to.bits[0] < to.bits[1]:
                self.open[me, to.buffer, to.bits] = _Write(me, clock.get(me, 0), step, to.buffer, to.bits)
        elif step.kind == "drain" or (step.kind == "gemm" and step.asynchronous):
            read = step.places[:1] if step.kind == "drain" else step.places[-3:-1]
            if step.kind == "drain" and not step.span.is_python:
                return None  # of C++ they are judged by the order of calls
            for place in (p for p in read if p.space == "smem"):
                for write in self.open.values():
                    if _within(write, place) and _knows(me, clock, write):
                        return place, write.step
        return None


def _knows(me: int, clock: Clock, write: _Write) -> bool:
    return write.thread == me or clock.get(write.thread, 0) >= write.when


def _within(write: _Write, place: Place) -> bool:
    return write.buffer == place.buffer and write.bits[0] < place.bits[1] and place.bits[0] < write.bits[1]
