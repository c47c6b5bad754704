"""What holds threads back in a kernel that is run pass by pass: barriers and waits."""

from __future__ import annotations

import re

from cutecheck.facts import NOT_WALKED, Span
from cutecheck.facts.replayed import ANY_BARRIER, Place, Step
from cutecheck.model.expr import Expr, const, mul
from cutecheck.source.eval.record.library import of_collectives
from cutecheck.source.eval.record.running import Running, of_thread
from cutecheck.source.eval.record.touching import touch_at
from cutecheck.source.eval.values import Enumerated, EnumVal, Pointer, Scalar, Value

_BYTE = 8  # bits
_ADDRESS = (1 << 14) - 1  # of a descriptor
_WRAPPERS = ("cp_async_wait", "cp_async_wait_group", "cp_async_fence", "cp_async_commit_group", "commit")
# calls of one thread that wait for others, or for its own MMAs
HOLDING = frozenset({
    "__syncthreads", "syncthreads", "cluster_sync", "cluster_wait", "warpgroup_wait", "warpgroup_commit_batch",
    "tma_store_arrive", "tma_store_wait",
})  # fmt: skip
_OF_WARP = ("__syncwarp", "sync_warp")
_OF_DSL = {  # names that the Python DSL has for them
    "sync_threads": "syncthreads", "wait_group": "warpgroup_wait", "commit_group": "warpgroup_commit_batch",
    "cp_async_bulk_commit_group": "tma_store_arrive", "cp_async_bulk_wait_group": "tma_store_wait",
}  # fmt: skip
_DSL_LETS_GO = re.compile(
    r"^(?:setmaxregister|wgmma_|mbarrier_init_fence$|sync_warp$|copy_tensormap$|tcgen05_|prefetch|griddepcontrol"
    r"|Copy\w*Op$|store_async_dsmem$"
    r"|shuffle_sync|vote_|(?:warp_)?redux_sync|match_)"  # the lanes of a warp, as C++'s `__shfl_sync` is
)
# what has a barrier or wait in its name and holds back no other thread of the block
_LETS_GO = re.compile(
    r"^(?:__shfl|shfl|elect|canonical|init|fence|synclog|cp_async|warpgroup_|stream_|set_barrier|__syncwarp|griddep"
    r"|launch_dep|wait_on_dep|prefetch|cluster_arrive|block_rank|tma_store_fence|tma_desc|umma_arrive|producer_tail|load_tail)|alloc|free$|_needed$"
)
ORDERS = "warpgroup_arrive"  # what a thread did with its registers before the WGMMAs that use them
_COPIES = ("cp_async_fence", "cp_async_commit_group", "cp_async_wait", "cp_async_wait_group")
FENCE = "fence_proxy"  # what threads wrote to shared memory is there for what reads it asynchronously
_FENCES = re.compile(r"fence_proxy|fence_view_async|proxy_fence|fence_async|async_fence")
# what the DSL names after waits and barriers, and which makes nothing visible to other threads
_ASIDE = re.compile(r"shuffle|redux|vote|ballot|fence|griddep|match_")
_PLAIN = "PipelineTmaAsync.create"  # the pipeline whose steps are known as steps of its barriers
_THREADS = "PipelineAsync.create"  # one whose producers are threads, which say themselves when a stage is full
_TRANSACTIONS = "PipelineTransactionAsync.create"  # one whose producers also tell of the bytes that TMA brings
_GIVES_BACK = "dealloc_tmem"  # tensor memory, after all have copied what they need
_FULL, _EMPTY = "", ".empty"
_PIPELINED = {  # what a step does with which barrier
    "producer_acquire": (("wait", _EMPTY), ("expect", _FULL)), "consumer_wait": (("wait", _FULL),),
    "consumer_release": (("arrive", _EMPTY),),
    "producer_try": (("wait", _EMPTY),), "consumer_try": (("wait", _FULL),),  # in loops, or before a wait
}  # fmt: skip
_OF_THREADS: dict[str, tuple[tuple[str, str], ...]] = {
    "producer_acquire": (("wait", _EMPTY),),
    "producer_commit": (("arrive", _FULL),),
}
_OF_TRANSACTIONS = {**_OF_THREADS, "producer_expect_transaction": (("expect", _FULL),)}
# of blocks that are a cluster by themselves, steps besides these, and which of them MMAs do once they are done
_BY_MMA: dict[str, tuple[dict[str, tuple[tuple[str, str], ...]], str]] = {
    "PipelineTmaUmmaAsync.create": ({}, "consumer_release"),
    "PipelineUmmaAsync.create": (_OF_THREADS, "producer_commit"),
    "PipelineCLCFetchAsync.create": ({}, ""),
}
_OF_SEVERAL = "of several blocks"  # a pipeline of which not all steps are the block's own
_WHOSE = {  # barriers, in words
    "full_arrivals": "a full stage's barrier (producer_commit)",
    "empty_arrivals": "an empty stage's barrier (consumer_release)",
}
# a step in a method of this name is one of a class around the pipeline, which may do the others by hand
_METHOD = re.compile(r"(?:producer|consumer)_(?:try_)?(?:acquire|commit|wait|release)")
_EXCHANGES = re.compile(r"__(?:shfl(?:_\w+)?|any|all|ballot|match_\w+|reduce_\w+)_sync")


class Holding(Running):
    """The steps of a run that barriers, waits and commits are, and asynchronous copies and products by assembly."""

    def by_assembly(self, span: Span) -> None:
        """Assembly in Python: it may be a fence."""
        if self.thread is not None:
            self.add(Step("call", span, "", FENCE))

    def goes_into(self, bodies: list[str], span: Span, empty: bool) -> None:
        """A function of the program's, in these files, or of a collective: what its body does is known by its steps.

        Or one that does nothing (``empty``).
        """
        if bodies and (empty or not any(self.of_library(path) and not of_collectives(path) for path in bodies)):
            self.known.add(span)

    def named(self, way: str, arguments: tuple[Value, ...], span: Span, where: str) -> None:
        """A barrier of the hardware: so many threads come there, and wait or go on (``arrive``)."""
        self.known.add(span)
        if self.thread is None:
            return
        count, which = arguments
        number = self.whole(count)
        name = str(which.value) if isinstance(which, EnumVal) else self.whole(which)
        if number is None or name is None or not all(self.under):
            self.end()
        kind = "reserved " if isinstance(which, (EnumVal, Enumerated)) else ""  # numbers of users start after these
        self.add(Step("named", span, where, way, number, (Place("", span, "", f"{kind}{name}", 0),)))

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        """A barrier, wait or commit."""
        if what == NOT_WALKED:
            self.add(Step("unknown", span, where, name))
        elif self.of_elements and (what != "a barrier" or _ASIDE.search(name)):
            return
        if self.thread is not None:
            self._held(name, args, span, where)
            return
        copied = any(s.kind == "copy" for s in self.steps)
        if what != "a barrier" or not copied:
            if copied:
                self.end()
            return  # nothing was copied before
        function = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
        if function in ("barrier", "commit") and _short(where) in _WRAPPERS:
            return  # the assembly of a function that was counted where it is called
        if self.under or looped:
            if _EXCHANGES.fullmatch(function):
                return  # of the lanes that come there: no others wait for them, and it orders no memory
            self.end()
        given = [a.value if isinstance(a, Scalar) else a for a in args]
        numbers = [a for a in given if isinstance(a, int) and not isinstance(a, bool)]
        self.add(Step("call", span, where, function, numbers[0] if len(numbers) == 1 else None))

    def _held(self, name: str, args: list[Value], span: Span, where: str) -> None:
        """A call that holds threads back, in the run of one of them."""
        function = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
        if self.by_source:
            function = _OF_DSL.get(function, function)
        if _FENCES.search(function) and function not in _COPIES:
            self.add(Step("call", span, where, FENCE))
        if function in _COPIES:
            given = [a.value if isinstance(a, Scalar) else a for a in args]
            numbers = [a for a in given if isinstance(a, int) and not isinstance(a, bool)]
            self.add(Step("call", span, where, function, numbers[0] if len(numbers) == 1 else None))
        if function == _GIVES_BACK and self.by_source:
            self.add(Step("call", span, where, function))
        if function in _OF_WARP:
            if all(self.under):
                self.add(Step("warp", span, where, function))
        elif function == ORDERS:
            self.add(Step("call", span, where, function))
        elif function in HOLDING:
            if not all(self.under):
                self.end()
            given = [a.value if isinstance(a, Scalar) else a for a in args]
            numbers = [a for a in given if isinstance(a, int) and not isinstance(a, bool)]
            self.add(Step("call", span, where, function, numbers[0] if len(numbers) == 1 else None))
        elif not (
            _LETS_GO.search(function) or (self.by_source and _DSL_LETS_GO.search(function))
        ) and not self.of_library(span.path):
            self.held.add(span)

    def _is_barrier(self, buffer: str) -> bool:
        return any(
            s.kind in ("barrier", "load") and buffer in (s.function, *(p.buffer for p in s.places)) for s in self.steps
        )

    def barrier(
        self, kind: str, buffer: str, span: Span, where: str, arguments: tuple[Value, ...],
        arrives: int | None = None, commits: bool = False,
    ) -> None:  # fmt: skip
        """Something is done with a barrier in shared memory, or with one of the hardware.

        ``commits``: by the MMAs of a warp, whose elected lane tells of them.
        """
        self.known.add(span)
        if kind == "init" and self.thread is not None:
            self._counts(buffer, span, where, arguments)
            return
        if self.thread is None and self.of_elements and kind == "escapes":
            return
        if kind == "escapes" and self.by_source and not self._is_barrier(buffer):
            self.escaped.add(buffer)  # of 64-bit numbers that may be something else, as descriptors of TMA are
            return
        if buffer in self.escaped:
            self.end()
        if self.thread is None or not all(self.under):
            self.end()
        if kind != "init" and self.counting:
            self._by_hand(buffer, span, where)
        asked = arguments[:1] if kind == "arrive" else arguments  # in which block it arrives makes it no other role
        numbers = [self.whole(a) for a in asked]
        if kind == "escapes" or buffer == "?" or (numbers and numbers[0] is None):
            self.end()
        if kind == "wait" and (len(numbers) < 2 or numbers[1] is None):
            self.end()
        at = Place("", span, "smem", buffer, numbers[0] or 0)
        if commits and arrives is not None and not self.elected:
            arrives = 0
        number = numbers[1] if len(numbers) > 1 else None
        self.add(Step("barrier", span, where, kind, number, (at,), commits, arrives=arrives))

    def arrives_elsewhere(self, to: tuple[Value, ...], span: Span) -> bool:
        """Whether an arrival is at the barrier of another block of the cluster, or none: this is the first block."""
        if not to or self.thread is None:
            return False
        number = self.whole(to[0], False)
        if (number is None or number == 0) and (len(to) == 1 or self.whole(to[1], False) != 0):
            return False
        self.known.add(span)
        return True

    def brings(self, buffer: str, span: Span, where: str, bytes_: Value, to: tuple[str, Expr] | None) -> None:
        """TMA is told, by assembly, to fill shared memory from an address on, and a barrier of the bytes."""
        if self.thread is None or not all(self.under) or to is None:
            self.end()
        begin, size = self.number(to[1]), self.whole(bytes_)
        if begin is None:
            self.end()
        bits = (8 * begin, 8 * (begin + size) if size else -1)
        places = (
            Place("", span, "gmem", "", 0),
            Place(to[0].rpartition("::")[2].rpartition(".")[2], span, "smem", to[0], begin, bits=bits),
        )
        self.add(Step("load", span, where, buffer, None, places, True, bool(self.under)))

    def drains(self, span: Span, where: str, at: tuple[str, Expr], bytes_: Value) -> None:
        """TMA is told, by its instruction, to store shared memory from an address on."""
        begin, size = self.number(at[1]), self.whole(bytes_)
        if self.thread is None or not all(self.under) or begin is None:
            return
        bits = (8 * begin, 8 * (begin + size) if size else -1)
        name = at[0].rpartition("::")[2].rpartition(".")[2]
        places = (
            Place(name, span, "smem", at[0], begin, bits=bits, whole=self.within(at[0])),
            Place("", span, "gmem", "", 0),
        )
        self.add(Step("drain", span, where, "tma", None, places, True, bool(self.under)))

    def chunk(
        self, span: Span, where: str, at: tuple[str, Expr], size: int, how: str, source: Value, maybe: bool
    ) -> None:  # fmt: skip
        """Bytes of each thread are copied to shared memory, stored or read there: a copy of a part of what lies there.

        Where it is not known which bytes these are, the buffer is one of which elements are accessed by hand.
        """
        if self.thread is not None:
            self.pointed.update([at[0]] if how != "read" else [])
            return
        begin = self.number(at[1])
        name = at[0].rpartition("::")[2].rpartition(".")[2]
        if begin is None or not all(self.under):
            self.add(Step("element", span, where, "", None, (Place(name, span, "smem", at[0], 0),)))
            return
        # of ldmatrix not all threads' addresses count, a copy under a predicate may not happen
        touch = touch_at(self, mul(at[1], const(_BYTE)), _BYTE * size) if how == "copied" and not maybe else None
        here = Place(name, span, "smem", at[0], begin, bits=(8 * begin, 8 * (begin + size)), touch=touch)
        offset = self.whole(source.offset) if isinstance(source, Pointer) and how == "copied" else None
        buffer = source.buffer if isinstance(source, Pointer) and offset is not None else ""
        other = Place("", span, "gmem" if how == "copied" else "rmem", buffer, offset or 0)
        places = (here, other) if how == "read" else (other, here)
        self.add(Step("copy", span, where, "chunk", None, places, how == "copied", maybe or bool(self.under)))

    def multiplies(self, name: str, span: Span, where: str, operands: list[tuple[str, Value]]) -> None:
        """An MMA that assembly starts, of these buffers by descriptors, whose lowest bits say where: in 16 bytes."""
        if self.thread is None or not all(self.under):
            self.end()
        summed = Place("", span, "rmem" if name == "wgmma" else "tmem", "", 0)
        places = [Place("", span, "rmem", "", 0)] * (2 - len(operands))
        for buffer, value in operands:
            number = self.whole(value)
            if number is None:
                self.end()
            begin = (number & _ADDRESS) * 16
            bits = (8 * begin, 8 * begin + 8)
            places.append(Place(buffer.rpartition("::")[2].rpartition(".")[2], span, "smem", buffer, begin, bits=bits))
        self.add(Step("gemm", span, where, name, None, (summed, *places, summed), True, bool(self.under)))

    def _counts(self, buffer: str, span: Span, where: str, arguments: tuple[Value, ...]) -> None:
        """A barrier is told how many arrivals it counts; which one, a loop over an array need not tell."""
        each = bool(arguments) and of_thread(arguments[0])  # one of its own each: that makes it no other role
        known = len(arguments) > 1 and buffer != "?" and not self.under
        at, count = (self.whole(arguments[0], not each), self.whole(arguments[1])) if known else (None, None)
        if at is None or count is None:
            at, count, each = ANY_BARRIER, None, False
        self.add(Step("barrier", span, where, "init", count, (Place("", span, "smem", buffer, at),), maybe=each))

    def pipelined(self, name: str, of: str, span: Span, where: str, keywords: tuple[tuple[str, object], ...]) -> None:
        """A step of a pipeline of the library, as what it does with its barriers: one that says when a stage is full,
        and one that says when it is empty."""
        self.known.add(span)
        if name.endswith(".create"):
            apart = name in _BY_MMA and "empty_arrivals" not in dict(keywords) and not self.by_source
            self.kinds[of] = _OF_SEVERAL if apart else name
            self._made(of, span, where, dict(keywords))
        elif self.kinds.get(of, _PLAIN) != _PLAIN and (
            self.by_source or self.kinds[of] not in (_THREADS, _TRANSACTIONS, *_BY_MMA)
        ):
            if name in _PIPELINED and not all(self.under):
                self.end()  # nothing that comes before is in doubt
            self.held.add(Span("", 0, 0, 0, 0))  # steps of others are those of other barriers
        by_threads = self.kinds.get(of) == _THREADS and not self.by_source
        if name == "producer_commit" and by_threads and dict(keywords).get("after") == "cp.async":
            self.add(Step("call", span, where, "cp_async_wait", 0))  # it arrives when the thread's copies are done
        own_steps, by_mma = ({}, "") if self.by_source else _BY_MMA.get(self.kinds.get(of, ""), ({}, ""))
        if self.kinds.get(of) == _TRANSACTIONS and not self.by_source:
            own_steps = _OF_TRANSACTIONS
        steps = _PIPELINED | (_OF_THREADS if by_threads else own_steps)
        for own in (f"{of}{which}" for which in (_FULL, _EMPTY)):
            told = name == "producer_get_barrier" and by_threads and own == of  # something else may arrive there
            if own in self.counting and (told or _METHOD.match(_short(where))):
                self._uncounted(own, span, where)
        if name not in steps:
            if name == "escapes" or (self.thread is None and not name.startswith("make_")):
                self.end()
            return
        if name.endswith("_try") and dict(keywords).get("handed on"):
            return  # it may come back before the phase is over: the wait that is given its token does not
        index, phase = self.state
        for kind, which in steps[name]:
            buffer = f"{of}{which}"
            once = 1 if kind == "arrive" and buffer in self.counting and "after" not in dict(keywords) else None
            commits = name == by_mma and kind == "arrive"
            once = 0 if kind == "expect" and name == "producer_expect_transaction" else 1 if commits else once
            self.barrier(kind, buffer, span, where, (index, phase) if kind == "wait" else (index,), once, commits)

    def _by_hand(self, buffer: str, span: Span, where: str) -> None:
        """A barrier in the storage of a pipeline is used without it: who arrives there is not known any more."""
        for own, storage in list(self.counting.items()):
            if storage and buffer.startswith(f"{storage}."):
                self._uncounted(own, span, where)

    def _uncounted(self, own: str, span: Span, where: str) -> None:
        del self.counting[own]
        at = Place("", span, "smem", own, ANY_BARRIER)
        self.add(Step("barrier", span, where, "init", None, (at,), maybe=True))

    def _made(self, of: str, span: Span, where: str, told: dict[str, object]) -> None:
        """A pipeline, whose constructor initialises its barriers, for threads of its block that arrive each."""
        for which, key in ((_FULL, "full_arrivals"), (_EMPTY, "empty_arrivals")):
            count = told.get(key)
            if self.thread is None or self.by_source or not isinstance(count, int) or self.under:
                continue
            self.counting[f"{of}{which}"] = str(told.get("storage", "")).rpartition(".")[0]
            at = Place(_WHOSE[key], span, "smem", f"{of}{which}", ANY_BARRIER)
            self.add(Step("barrier", span, where, "init", count, (at,), maybe=True))


def _short(symbol: str) -> str:
    """Of a function, without namespaces and template arguments."""
    return symbol.partition("<")[0].rpartition("::")[2]
