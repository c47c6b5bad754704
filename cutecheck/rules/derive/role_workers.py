"""One thread of a block that is run beside others, what is in a stage for it, and what its steps do."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecheck.facts.replayed import BY_ELEMENT, Step, Thread
from cutecheck.rules.derive.accumulators import Accumulators
from cutecheck.rules.derive.faults import Kind
from cutecheck.rules.derive.role_loads import Barrier, gate_of, told_after
from cutecheck.rules.derive.role_memory import Clock, How

_MEETING = frozenset({"__syncthreads", "syncthreads", "cluster_sync", "cluster_wait"})


@dataclass(slots=True)
class Tile:
    """What is in a stage: the barrier and phase that say when it has come (None: copied by threads), and its reads."""

    step: Step
    number: int
    gate: Barrier | None
    phase: int
    reads: dict[int, tuple[int, Step]] = field(default_factory=dict)  # by thread: when they were made


class Worker:
    def __init__(self, thread: Thread, stored: bool) -> None:
        self.thread = thread
        self.at = 0
        self.clock: Clock = {}
        self.expecting: tuple[Barrier, int] | None = None  # of the loads that come
        self.told: dict[Barrier, int] = {}  # the phase of each barrier that was told last of bytes
        self.due: tuple[Barrier, Step] | None = None  # arrives there once its loads are made
        self.told_after = told_after(thread.steps)  # loads whose bytes are announced after them: at which barrier
        self.passes = False  # the wait that it comes to
        self.waits: int | None = None  # how often the named barrier had opened when it came there
        self.sums = Accumulators(stored)
        self.read = 0  # steps that read shared memory, so far
        self.mates: list[Worker] = []  # threads of its warpgroup that read at the same places, which go along with it
        self.reading: list[Tile] = []  # what WGMMAs read that no group holds yet
        self.committing: list[Tile] = []  # what UMMAs read that no commit tells of yet
        self.groups: list[list[Tile]] = []  # what those of groups read that are not waited for
        steps = thread.steps
        self.commits = any(s.kind == "barrier" and s.asynchronous for s in steps)
        self.counts_groups = any(s.function == "warpgroup_wait" for s in steps) and not any(map(is_unseen, steps))

    def retired(self, me: int, left: int) -> None:
        """All groups but so many are waited for: what their WGMMAs have read is done with."""
        done = self.groups[: len(self.groups) - left] if left else self.groups
        self.groups = self.groups[len(done) :]
        still = {id(t) for group in (*self.groups, self.reading) for t in group}
        for tile in (t for group in done for t in group):
            if id(tile) not in still and me in tile.reads:
                tile.reads[me] = self.clock[me], tile.reads[me][1]


def reads_shared(step: Step) -> bool:
    if step.function == BY_ELEMENT:
        return False  # lanes need not come there together
    inputs = step.places[:1] if step.kind == "copy" else step.places if step.kind == "gemm" else ()
    return any(p.space == "smem" for p in inputs)


def only_tells(step: Step) -> bool:
    """Tells a barrier of bytes, and does not arrive there; or counts one arrival more, and makes it."""
    return step.function in ("expect", "arrive") and step.arrives == 0 and not step.asynchronous


def is_unseen(step: Step) -> bool:
    """Something that is not run, which may do anything: a loop that is not has no steps, only what it computes."""
    return step.kind == "unknown" and not step.places and step.function not in ("library", "loop")


def kind_of(earlier: How, now: How, written: bool) -> Kind:
    if earlier == now == "threads" and not written:
        return "unseen"
    if earlier == "drain":
        return "undrained"
    if now in ("mma", "rows", "part"):
        return "unsettled"
    return "unstored" if now == "drain" else "undue" if earlier == "load" else "overlaid"


def arrives_at(step: Step, at: Barrier) -> bool:
    return step.kind == "barrier" and step.function in ("arrive", "expect") and gate_of(step) == at


def meets_all(step: Step) -> bool:
    return step.kind == "call" and step.function in _MEETING
