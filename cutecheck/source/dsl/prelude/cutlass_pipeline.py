"""The pipelines of ``cutlass.pipeline`` as what they do with barriers, for kernels that are run thread by thread.

Read by the evaluator in the place of the package's own source, and never imported. An arrival at the barriers of
another CTA is one at this CTA's own as well: all CTAs of a cluster do the same.
"""

from cutlass import cute
from cutlass_pipeline_of_runs.barriers import (
    CooperativeGroup,
    MbarrierArray,
    Peers,
    PipelineState,
    TmaStoreFence,
    make_pipeline_state,
    threads_of,
)
from cutlass_pipeline_of_runs.participants import PipelineConsumer, PipelineProducer


def _syncs(cta_layout_vmnk, defer_sync):
    if not defer_sync:
        if cta_layout_vmnk is None or cute.size(cta_layout_vmnk) == 1:
            cute.arch.sync_threads()
        else:
            cute.arch.cluster_wait()


def _senders(cta_layout_vmnk, mcast_mode_mn):
    """How many CTAs send tiles to one: those of its row and of its column of the cluster."""
    if cta_layout_vmnk is None:
        return 1
    m = cute.size(cta_layout_vmnk, mode=[2]) if mcast_mode_mn[0] else 0
    n = cute.size(cta_layout_vmnk, mode=[1]) if mcast_mode_mn[1] else 0
    both = 1 if mcast_mode_mn[0] and mcast_mode_mn[1] else 0
    return m + n - both


def _signalling(consumers, cta_layout_vmnk, mcast_mode_mn):
    """The consumers' warps that tell the CTAs which their operands come from."""
    return CooperativeGroup("Thread", _senders(cta_layout_vmnk, mcast_mode_mn) * (threads_of(consumers) // 32))


class PipelineAsync:
    _producer, _consumer = "AsyncThread", "AsyncThread"

    def __init__(self, sync_object_full, sync_object_empty, num_stages, producer_mask=None, consumer_mask=None):
        self.sync_object_full = sync_object_full
        self.sync_object_empty = sync_object_empty
        self.num_stages = num_stages
        self.producer_mask = producer_mask
        self.consumer_mask = consumer_mask

    def _halves(self, barrier_storage, num_stages, producer_group, consumer_group, tx_count=0):
        full = MbarrierArray(barrier_storage, num_stages, (self._producer, producer_group), tx_count)
        empty = MbarrierArray(barrier_storage + num_stages, num_stages, (self._consumer, consumer_group))
        PipelineAsync.__init__(self, full, empty, num_stages)
        return self

    @staticmethod
    def create(
        *, num_stages, producer_group, consumer_group, barrier_storage, producer_mask=None, consumer_mask=None,
        defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineAsync)._halves(barrier_storage, num_stages, producer_group, consumer_group)
        made.producer_mask, made.consumer_mask = producer_mask, consumer_mask
        _syncs(None, defer_sync)
        return made

    def producer_acquire(self, state, try_acquire_token=None, loc=None, ip=None):
        if try_acquire_token is None or try_acquire_token == 0:
            self.sync_object_empty.wait(state.index, state.phase)

    def producer_try_acquire(self, state, loc=None, ip=None):
        return self.sync_object_empty.try_wait(state.index, state.phase)

    def producer_commit(self, state, loc=None, ip=None):
        self.sync_object_full.arrive(state.index, self.producer_mask)

    def consumer_wait(self, state, try_wait_token=None, loc=None, ip=None):
        if try_wait_token is None or try_wait_token == 0:
            self.sync_object_full.wait(state.index, state.phase)

    def consumer_try_wait(self, state, loc=None, ip=None):
        return self.sync_object_full.try_wait(state.index, state.phase)

    def consumer_release(self, state, loc=None, ip=None):
        self.sync_object_empty.arrive(state.index, self.consumer_mask)

    def consumer_get_barrier(self, state, loc=None, ip=None):
        return self.sync_object_empty.get_barrier(state.index)

    def producer_get_barrier(self, state, loc=None, ip=None):
        return self.sync_object_full.get_barrier(state.index)

    def producer_tail(self, state, loc=None, ip=None):
        for _ in range(self.num_stages):
            self.sync_object_empty.wait(state.index, state.phase)
            state.advance()

    def make_producer(self, loc=None, ip=None):
        return PipelineProducer(self, make_pipeline_state("Producer", self.num_stages), self.sync_object_full.cg)

    def make_consumer(self, loc=None, ip=None):
        return PipelineConsumer(self, make_pipeline_state("Consumer", self.num_stages), self.sync_object_empty.cg)

    def make_participants(self, loc=None, ip=None):
        return self.make_producer(), self.make_consumer()


class PipelineCpAsync(PipelineAsync):
    _producer = "AsyncLoad"

    @staticmethod
    def create(
        *, barrier_storage, num_stages, producer_group, consumer_group, producer_mask=None, consumer_mask=None,
        defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineCpAsync)._halves(barrier_storage, num_stages, producer_group, consumer_group)
        made.producer_mask, made.consumer_mask = producer_mask, consumer_mask
        _syncs(None, defer_sync)
        return made


class PipelineTmaAsync(PipelineAsync):
    _producer = "TmaLoad"

    @staticmethod
    def create(
        *, num_stages, producer_group, consumer_group, tx_count, barrier_storage, cta_layout_vmnk=None, tidx=None,
        mcast_mode_mn=(1, 1), enable_multicast_signaling=False, defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineTmaAsync)
        ctas = 1 if cta_layout_vmnk is None else cute.size(cta_layout_vmnk)
        if enable_multicast_signaling:
            consumer_group = _signalling(consumer_group, cta_layout_vmnk, mcast_mode_mn)
        made._halves(barrier_storage, num_stages, producer_group, consumer_group, tx_count)
        lane = (cute.arch.thread_idx()[0] if tidx is None else tidx) % 32
        made.is_signaling_thread = lane < 1
        made.consumer_mask = None if ctas == 1 else Peers(_senders(cta_layout_vmnk, mcast_mode_mn))
        _syncs(cta_layout_vmnk, defer_sync)
        return made

    def producer_acquire(self, state, try_acquire_token=None, loc=None, ip=None):
        if try_acquire_token is None or try_acquire_token == 0:
            self.sync_object_empty.wait(state.index, state.phase)
        self.sync_object_full.arrive(state.index, self.producer_mask)

    def producer_commit(self, state, loc=None, ip=None):
        pass

    def consumer_release(self, state, loc=None, ip=None):
        if self.is_signaling_thread:
            self.sync_object_empty.arrive(state.index, self.consumer_mask)


class PipelineTmaStore(PipelineAsync):
    @staticmethod
    def create(*, num_stages, producer_group):
        made = object.__new__(PipelineTmaStore)
        PipelineAsync.__init__(made, TmaStoreFence(num_stages), None, num_stages)
        return made

    def producer_acquire(self, loc=None, ip=None):
        self.sync_object_full.wait()

    def producer_commit(self, loc=None, ip=None):
        self.sync_object_full.arrive()

    def producer_tail(self, loc=None, ip=None):
        self.sync_object_full.tail()


class PipelineTmaUmma(PipelineAsync):
    _producer, _consumer = "TmaLoad", "TCGen05Mma"

    @staticmethod
    def create(
        *, num_stages, producer_group, consumer_group, tx_count, barrier_storage, cta_layout_vmnk=None,
        mcast_mode_mn=(1, 1), enable_multicast_signaling=False, defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineTmaUmma)
        if enable_multicast_signaling:
            consumer_group = _signalling(consumer_group, cta_layout_vmnk, mcast_mode_mn)
        made._halves(barrier_storage, num_stages, producer_group, consumer_group, tx_count)
        alone = cta_layout_vmnk is None or cute.size(cta_layout_vmnk) == 1
        made.producer_mask = made.consumer_mask = None if alone else Peers(_senders(cta_layout_vmnk, mcast_mode_mn))
        made.is_leader_cta = True
        made.cta_group = None
        _syncs(cta_layout_vmnk, defer_sync)
        return made

    def consumer_release(self, state, loc=None, ip=None):
        self.sync_object_empty.arrive(state.index, self.consumer_mask, self.cta_group)

    def producer_acquire(self, state, try_acquire_token=None, tx_count=None, loc=None, ip=None):
        if try_acquire_token is None or try_acquire_token == 0:
            self.sync_object_empty.wait(state.index, state.phase)
        tx = self.sync_object_full.tx_count if tx_count is None else tx_count
        self.sync_object_full.arrive_and_expect_tx(state.index, tx)

    def producer_commit(self, state, loc=None, ip=None):
        pass


class PipelineAsyncUmma(PipelineAsync):
    _consumer = "TCGen05Mma"

    @staticmethod
    def create(
        *, num_stages, producer_group, consumer_group, barrier_storage, cta_layout_vmnk=None, defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineAsyncUmma)._halves(barrier_storage, num_stages, producer_group, consumer_group)
        pair = cta_layout_vmnk is not None and cute.size(cta_layout_vmnk, mode=[0]) > 1
        made.producer_mask = Peers(2) if pair else None  # both CTAs' threads fill what the leader multiplies
        made.consumer_mask = Peers(1) if pair else None
        made.cta_group = None
        _syncs(cta_layout_vmnk, defer_sync)
        return made

    def consumer_release(self, state, loc=None, ip=None):
        self.sync_object_empty.arrive(state.index, self.consumer_mask, self.cta_group)


class PipelineUmmaAsync(PipelineAsync):
    _producer = "TCGen05Mma"

    @staticmethod
    def create(
        *, num_stages, producer_group, consumer_group, barrier_storage, cta_layout_vmnk=None, defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineUmmaAsync)._halves(barrier_storage, num_stages, producer_group, consumer_group)
        alone = cta_layout_vmnk is None or cute.size(cta_layout_vmnk) == 1
        pair = cta_layout_vmnk is not None and cute.size(cta_layout_vmnk, mode=[0]) > 1
        made.producer_mask = None if alone else Peers(1)
        made.consumer_mask = Peers(2) if pair else None  # both CTAs' threads tell the leader
        made.cta_group = None
        _syncs(cta_layout_vmnk, defer_sync)
        return made

    def producer_commit(self, state, loc=None, ip=None):
        self.sync_object_full.arrive(state.index, self.producer_mask, self.cta_group)


class PipelineClcFetchAsync(PipelineAsync):
    """What the hardware answers to the first CTA of a cluster; each lane of a warp tells one CTA of it."""

    _producer = "ClcLoad"

    @staticmethod
    def create(
        *, num_stages, producer_group, consumer_group, tx_count, barrier_storage, producer_mask=None,
        consumer_mask=None, cta_layout_vmnk=None, defer_sync=False, name="",
    ):  # fmt: skip
        made = object.__new__(PipelineClcFetchAsync)
        made._halves(barrier_storage, num_stages, producer_group, consumer_group, tx_count)
        ctas = 1 if cta_layout_vmnk is None else cute.size(cta_layout_vmnk)
        made.consumer_mask = None if ctas == 1 else Peers(ctas)
        made.is_signaling_thread = cute.arch.thread_idx()[0] % 32 < 1
        _syncs(cta_layout_vmnk, defer_sync)
        return made

    def producer_acquire(self, state, try_acquire_token=None, loc=None, ip=None):
        if try_acquire_token is None or try_acquire_token == 0:
            self.sync_object_empty.wait(state.index, state.phase)
        if self.is_signaling_thread:
            self.sync_object_full.arrive(state.index, None)

    def producer_commit(self, state, loc=None, ip=None):
        pass


class PipelineOrder:
    @staticmethod
    def create(*, depth, length, group_id, producer_group, barrier_storage, defer_sync=False, name=""):
        made = object.__new__(PipelineOrder)
        made.sync_object_full = MbarrierArray(barrier_storage, depth * length, ("AsyncThread", producer_group))
        made.depth, made.length, made.group_id = depth, length, group_id
        made.state = PipelineState(depth, 0, 0, 1 if group_id == 0 else 0)
        _syncs(None, defer_sync)
        return made

    def get_barrier_for_current_stage_idx(self, group_id, state=None):
        state = self.state if state is None else state
        return state.index * self.length + group_id

    def arrive(self, state=None, loc=None, ip=None):
        own = self.state if state is None else state
        at = self.get_barrier_for_current_stage_idx((self.group_id + 1) % self.length, own)
        cute.arch.mbarrier_arrive(self.sync_object_full.get_barrier(at))
        own.advance()
        return state

    def wait(self, state=None, loc=None, ip=None):
        own = self.state if state is None else state
        at = self.get_barrier_for_current_stage_idx(self.group_id, own)
        cute.arch.mbarrier_wait(self.sync_object_full.get_barrier(at), own.phase)
