"""What a pipeline's steps are given that does not fit them: always one stage, too few arrivals, no barrier first."""

from __future__ import annotations

import re
from typing import cast

from cutecheck.facts import Call, Event, Guard, TensorFact, Unknown
from cutecheck.model.access import WARP
from cutecheck.model.algebra import filter_zeros, get, rank, size
from cutecheck.model.ints import CuteError, Dyn, Int, UndecidedError, as_expr, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context
from cutecheck.rules.derive.barriers import threads_of_block
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import coming, in_turns, in_warps
from cutecheck.rules.derive.launches import threads_of
from cutecheck.rules.derive.protocol import Pipeline, inside, pipelines, state_of
from cutecheck.rules.derive.steps import Found
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.vectors import plain

_WARPGROUP = 128
_MEETS = re.compile(r"sync|barrier|wait|arrive", re.IGNORECASE)
# facts of barriers in shared memory and pipelines: none of them holds the block back
_NO_CALL = re.compile(r"mbarrier\.|Pipeline\w+\.create$|make_pipeline_state$|escapes$")
# of a warp, or of what it has asked for
_OF_A_WARP = re.compile(
    r"canonical_|elect|__syncwarp|syncwarp|shfl|ballot|_mask$|warpgroup_|cp_async|tma_store|tma_desc|fence|producer_|"
    r"consumer_|transaction|expect|initialize_barrier|init_barrier|stream_wait|griddep|wait_on_dependent",
    re.IGNORECASE,
)


def same_stage(p: Pipeline) -> Found:
    """A load or read in a loop that goes on to the next stage in each pass, of one stage that does not change."""
    stages = p.number("num_stages")
    if stages is None or stages < 2:
        return None
    for events, word, place in ((p.loads, "acquire", 1), (p.reads, "wait", None)):
        for event in events:
            loop = event.loops[-1] if event.loops else None
            if loop is None or (loop.trips is not None and loop.trips < 2) or not inside(loop, p.steps[word]):
                continue
            if sum(loop in step.loops for step in p.steps[word]) % stages == 0:
                continue  # each pass goes once round
            if any(e is not event and e.span == event.span and e.kernel == event.kernel for e in events):
                continue  # of several stages, one after the other
            own = [t for i, t in enumerate(event.operands) if place in (None, i) and one_stage(t, stages)]
            constant = next((t for t in own if stays(t)), None)
            if constant is not None:
                what = "loads into" if word == "acquire" else "reads"
                return (
                    event, f"each pass of the loop {word}s a stage of a {p.kind}, and `{constant.name}` {what} the "
                    f"same one of {stages} each time",
                    "the same stage in each pass", "index the shared tensor by the state (state.index())",
                )  # fmt: skip
    return None


def stays(tensor: TensorFact) -> bool:
    """Where it starts is a constant, or depends on the thread and block alone."""
    inner = tensor.layout.offset if isinstance(tensor.layout, ComposedLayout) else 0
    offsets = [cast("Int", tensor.offset), *([inner] if isinstance(inner, (int, Dyn)) else [])]
    return all(v.name.startswith(("threadIdx.", "blockIdx.")) for o in offsets for v in as_expr(o).variables())


def one_stage(tensor: TensorFact, stages: int) -> bool:
    """Whether a tensor is a part of one stage of a buffer that has as many, in its last mode."""
    if isinstance(tensor.layout, Unknown) or isinstance(tensor.offset, (Unknown, tuple)):
        return False
    found = stages_of(tensor)
    try:
        mine = known_value(size(filter_zeros(tensor.layout)))
    except (CuteError, UndecidedError):
        return False
    if found is None or found[0] != stages or not mine or mine * stages > found[1]:
        return False  # nor has a part without elements one
    return not _goes_on(tensor, found[1] // stages)


def _goes_on(tensor: TensorFact, stage: int) -> bool:
    """A thread's part of all stages, where these follow one another, has elements that are a stage apart."""
    parts = None if isinstance(tensor.layout, Unknown) else plain(tensor.layout)
    return parts is not None and any(
        isinstance(n, int) and isinstance(d, int) and n > 1 and d > 0 and d % stage == 0 for n, d in parts.modes
    )


def stages_of(tensor: TensorFact) -> tuple[int, int] | None:
    """The stages of the shared buffer that a tensor is part of, by its last mode of three or more, and its elements."""
    root = tensor.root_layout.b if isinstance(tensor.root_layout, ComposedLayout) else tensor.root_layout
    if tensor.space != "smem" or root is None:
        return None
    try:
        last = rank(root) - 1
        whole = known_value(size(filter_zeros(root)))  # scale factors repeat: all stages are fewer elements
        extent = known_value(size(get(root, last))) if last > 1 else None
    except (CuteError, UndecidedError):
        return None
    return None if extent is None or whole is None or extent < 2 else (extent, whole)


def too_few_consumers(p: Pipeline) -> Found:
    """``num_consumers`` of a pipeline, whose stages a WGMMA of more warpgroups reads and gives back."""
    told = p.number("consumers")
    for read in p.reads if told is not None and told > 0 else ():
        threads = _multiplies(read)
        together = [r for r in p.steps["release"] if set(r.guards) == set(read.guards)]
        if threads is None or told is None or not together:
            continue
        if -(-told // _WARPGROUP) < -(-threads // _WARPGROUP):
            return (
                p.made, f"the {p.kind} counts {told} consumers, and {threads} threads multiply and release its stages: "
                "a stage is given back when some of them still read it",
                f"{told} consumers, {threads} release", "set num_consumers to the threads that release a stage",
            )  # fmt: skip
    return None


def other_releases(p: Pipeline, context: Context) -> Found:
    """A ``PipelineTmaAsync`` that counts other releases of a stage than the warps of its only consumer make.

    One thread of each warp that calls ``consumer_release`` arrives, where no other block of a cluster takes part.
    """
    told, threads, steps = p.number("released_by"), threads_of_block(p.made, context), p.own("release")
    guards = {frozenset(inner(s.guards)) for s in steps}
    if told is None or threads is None or len(guards) != 1 or len(steps) != len(p.steps["release"]):
        return None
    known = next(iter(guards))
    come = in_warps(known, threads)
    if not come or come != coming(known, threads) or come % WARP or come // WARP == told:
        return None
    warps = come // WARP
    together = max((_multiplies(r) or 0 for r in p.reads), default=0)
    turns = together <= told * WARP and in_turns(told * WARP, come)
    if told < warps and (turns or not all(_goes_on_alike(p, s, known) for s in steps)):
        return None  # each may have stages of its own
    return (
        p.made, f"the {p.kind} counts {told} release{'s' * (told > 1)} of a stage, and {warps} "
        f"warp{'s' * (warps > 1)} release it, of each of which one thread arrives: "
        + ("a stage is given back when some of them still read it" if told < warps else "no stage is ever given back"),
        f"{told} counted, {warps} arrive", f"make the consumer_group of {warps}, one for each warp",
    )  # fmt: skip


def _goes_on_alike(p: Pipeline, step: Call, guards: frozenset[Guard]) -> bool:
    """What the step is given advances for all threads under these conditions, and for no others."""
    state = state_of(p, step)
    return state is not None and all(set(inner(a.guards)) <= guards for a in state.advances)


def _multiplies(event: Event) -> int | None:
    atom = atom_of_event(event)
    if event.kind != "gemm" or atom is None or "GMMA::" not in atom.op or not isinstance(event.tiled, TiledMMA):
        return None
    threads = threads_of(event.tiled)
    return None if threads is None else known_value(threads)


def not_synchronised(p: Pipeline, context: Context) -> Found:
    """No barrier between the constructor, in which some threads initialise the mbarriers, and the first use."""
    if not p.number("initialises"):
        return None
    used = sorted((s for step in p.steps for s in p.own(step)), key=lambda s: s.order)
    if not used:
        return None
    for call in context.facts.calls:
        if (call.kernel, call.arch) != (p.made.kernel, p.made.arch) or not p.made.order < call.order < used[0].order:
            continue
        if _NO_CALL.match(call.function):
            continue
        if call.subject != p.made.subject and _MEETS.search(call.function) and not _OF_A_WARP.search(call.function):
            return None
    return (
        used[0], f"some threads initialise the barriers of a {p.kind} when it is made, and no barrier of the block "
        "comes before its first use: others may wait on what is not initialised",
        "no barrier since it was made", "put __syncthreads(), or cluster_sync() in a cluster, after it is made",
    )  # fmt: skip


def same_barriers(p: Pipeline, context: Context) -> Found:
    """Another pipeline, made before any of both is used, has its barriers in the same memory."""
    mine = dict(p.made.keywords).get("storage")
    used = _first_use(p)
    for other in pipelines(context).values() if mine and used is not None else ():
        theirs = _first_use(other)
        if other.made.order >= p.made.order or (other.made.kernel, other.made.arch) != (p.made.kernel, p.made.arch):
            continue
        if dict(other.made.keywords).get("storage") != mine or other.made.span == p.made.span or theirs is None:
            continue
        if theirs > p.made.order:
            return (
                p.made, f"two pipelines have their barriers in the same memory: this {p.kind} and the {other.kind} "
                "that is made before it, and used after it; each counts what the other's producers and consumers say",
                "the same barriers", "give each pipeline a SharedStorage of its own",
            )  # fmt: skip
    return None


def _first_use(p: Pipeline) -> int | None:
    return min((s.order for step in p.steps for s in p.own(step)), default=None)


__all__ = ["not_synchronised", "one_stage", "same_barriers", "same_stage", "stages_of", "stays", "too_few_consumers"]
