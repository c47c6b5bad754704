"""The pipelines of ``cutlass.pipeline`` as what they do with barriers, for kernels that are run thread by thread.

Read by the evaluator in the place of the package's own source, and never imported. An arrival at the barriers of
another CTA is one at this CTA's own as well: all CTAs of a cluster do the same.
"""

from cutlass import cute


class Agent:
    Thread = "Thread"
    Warp = "Warp"
    ThreadBlock = "ThreadBlock"
    ThreadBlockCluster = "ThreadBlockCluster"


class PipelineOp:
    AsyncThread = "AsyncThread"
    TCGen05Mma = "TCGen05Mma"
    TmaLoad = "TmaLoad"
    ClcLoad = "ClcLoad"
    TmaStore = "TmaStore"
    Composite = "Composite"
    AsyncLoad = "AsyncLoad"


class PipelineUserType:
    Producer = "Producer"
    Consumer = "Consumer"
    ProducerConsumer = "ProducerConsumer"


class CooperativeGroup:
    def __init__(self, agent, size=1, alignment=None):
        self.agent = agent
        self.size = size


def _threads(group):
    if group.agent == "Warp":
        return group.size * 32
    if group.agent == "ThreadBlock":
        x, y, z = cute.arch.block_dim()
        return group.size * x * y * z
    return group.size


def if_generate(cond, then_body, else_body=None, input_args=(), return_types=(), loc=None, ip=None):
    if cond:
        return then_body(*input_args)
    return None if else_body is None else else_body(*input_args)


class NamedBarrier:
    def __init__(self, barrier_id, num_threads):
        self.barrier_id = barrier_id
        self.num_threads = num_threads

    def arrive(self, loc=None, ip=None):
        cute.arch.barrier_arrive(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    arrive_unaligned = arrive

    def arrive_and_wait(self, loc=None, ip=None):
        cute.arch.barrier(barrier_id=self.barrier_id, number_of_threads=self.num_threads)

    wait = wait_unaligned = sync = arrive_and_wait


def arrive(barrier_id, num_threads, loc=None, ip=None):
    cute.arch.barrier_arrive(barrier_id=barrier_id, number_of_threads=num_threads)


arrive_unaligned = arrive


def arrive_and_wait(barrier_id, num_threads, loc=None, ip=None):
    cute.arch.barrier(barrier_id=barrier_id, number_of_threads=num_threads)


wait_unaligned = arrive_and_wait


def sync(barrier_id=0, loc=None, ip=None):
    cute.arch.barrier(barrier_id=barrier_id)


def agent_sync(group, is_relaxed=False, loc=None, ip=None):
    if group == "ThreadBlockCluster":
        cute.arch.cluster_wait()
    else:
        cute.arch.sync_threads()


def pipeline_init_arrive(cluster_shape_mn=None, is_relaxed=False, loc=None, ip=None):
    pass


def pipeline_init_wait(cluster_shape_mn=None, loc=None, ip=None):
    if cluster_shape_mn is None or cute.size(cluster_shape_mn) == 1:
        cute.arch.sync_threads()
    else:
        cute.arch.cluster_wait()


class PipelineState:
    def __init__(self, stages, count, index, phase):
        self._stages = stages
        self._count = count
        self._index = index
        self._phase = phase

    def clone(self, loc=None, ip=None):
        return PipelineState(self._stages, self._count, self._index, self._phase)

    @property
    def index(self):
        return self._index

    @property
    def count(self):
        return self._count

    @property
    def stages(self):
        return self._stages

    @property
    def phase(self):
        return self._phase

    def reset_count(self, loc=None, ip=None):
        self._count = 0

    def advance(self, count=1, loc=None, ip=None):
        moved = self._index + count
        self._count = self._count + count
        self._phase = (self._phase + moved // self._stages) % 2
        self._index = moved % self._stages

    def reverse(self, loc=None, ip=None):
        self._count = self._count - 1
        if self._index == 0:
            self._index = self._stages - 1
            self._phase = 1 - self._phase
        else:
            self._index = self._index - 1


def make_pipeline_state(type, stages, loc=None, ip=None):
    return PipelineState(stages, 0, 0, 0 if type == "Consumer" else 1)


class MbarrierArray:
    def __init__(self, barrier_storage, num_stages, agent, tx_count=0, **kwargs):
        self.barrier_storage = barrier_storage
        self.mbarrier_base = barrier_storage
        self.num_stages = num_stages
        self.op_type, self.cg = agent
        self.tx_count = tx_count
        self.arrive_count = _threads(self.cg)
        if cute.arch.warp_idx() == 0:
            with cute.arch.elect_one():
                for i in range(num_stages):
                    cute.arch.mbarrier_init(barrier_storage + i, self.arrive_count)

    def recast_to_new_op_type(self, new_op_type):
        made = object.__new__(MbarrierArray)
        made.barrier_storage = made.mbarrier_base = self.barrier_storage
        made.num_stages = self.num_stages
        made.op_type = new_op_type
        made.cg = self.cg
        made.tx_count = self.tx_count
        made.arrive_count = self.arrive_count
        return made

    def arrive(self, index, dst=None, cta_group=None, loc=None, ip=None):
        if self.op_type == "TCGen05Mma":
            self.arrive_tcgen05mma(index, dst, cta_group)
        elif self.op_type == "TmaLoad":
            self.arrive_and_expect_tx(index, self.tx_count)
        elif self.op_type == "ClcLoad":
            self.arrive_and_expect_tx_with_dst(index, self.tx_count, dst)
        elif self.op_type == "AsyncLoad":
            cute.arch.cp_async_mbarrier_arrive_noinc(self.get_barrier(index))
        else:
            self.arrive_mbarrier(index, dst)

    def arrive_mbarrier(self, index, dst_rank=None, loc=None, ip=None):
        if dst_rank is None:
            cute.arch.mbarrier_arrive(self.get_barrier(index))
        else:
            cute.arch.mbarrier_arrive(self.get_barrier(index), dst_rank)

    def arrive_cp_async_mbarrier(self, index, loc=None, ip=None):
        cute.arch.cp_async_mbarrier_arrive_noinc(self.get_barrier(index))

    def arrive_tcgen05mma(self, index, mask, cta_group, loc=None, ip=None):
        with cute.arch.elect_one():
            if mask is None:
                cute.nvgpu.tcgen05.commit(self.get_barrier(index))
            else:
                cute.nvgpu.tcgen05.commit(self.get_barrier(index), mask, cta_group)

    def arrive_and_expect_tx(self, index, tx_count, loc=None, ip=None):
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(self.get_barrier(index), tx_count)

    def arrive_and_expect_tx_with_dst(self, index, tx_count, dst=None, loc=None, ip=None):
        cute.arch.mbarrier_arrive_and_expect_tx(self.get_barrier(index), tx_count, dst)

    def try_wait(self, index, phase, loc=None, ip=None):
        return cute.arch.mbarrier_try_wait(self.get_barrier(index), phase)

    def test_wait(self, index, phase, loc=None, ip=None):
        return cute.arch.mbarrier_try_wait(self.get_barrier(index), phase)

    def wait(self, index, phase, loc=None, ip=None):
        cute.arch.mbarrier_wait(self.get_barrier(index), phase)

    def get_barrier(self, index, loc=None, ip=None):
        return self.mbarrier_base + index


class TmaStoreFence:
    def __init__(self, num_stages=0):
        self.num_stages = num_stages

    def arrive(self, loc=None, ip=None):
        cute.arch.cp_async_bulk_commit_group()

    def wait(self, loc=None, ip=None):
        cute.arch.cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    def arrive_and_wait(self, loc=None, ip=None):
        self.arrive()
        self.wait()

    def tail(self, loc=None, ip=None):
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def _syncs(cta_layout_vmnk, defer_sync):
    if not defer_sync:
        if cta_layout_vmnk is None or cute.size(cta_layout_vmnk) == 1:
            cute.arch.sync_threads()
        else:
            cute.arch.cluster_wait()


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
            shape = (1, 1, 1, 1) if cta_layout_vmnk is None else cta_layout_vmnk.shape
            m = shape[2] if mcast_mode_mn[0] else 0
            n = shape[1] if mcast_mode_mn[1] else 0
            both = 1 if mcast_mode_mn[0] and mcast_mode_mn[1] else 0
            consumer_group = CooperativeGroup("Thread", (m + n - both) * (_threads(consumer_group) // 32))
        made._halves(barrier_storage, num_stages, producer_group, consumer_group, tx_count)
        lane = (cute.arch.thread_idx()[0] if tidx is None else tidx) % 32
        made.is_signaling_thread = lane < 1
        made.consumer_mask = None if ctas == 1 else 0
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
            shape = (1, 1, 1, 1) if cta_layout_vmnk is None else cta_layout_vmnk.shape
            m = shape[2] if mcast_mode_mn[0] else 0
            n = shape[1] if mcast_mode_mn[1] else 0
            both = 1 if mcast_mode_mn[0] and mcast_mode_mn[1] else 0
            consumer_group = CooperativeGroup("Thread", (m + n - both) * (_threads(consumer_group) // 32))
        made._halves(barrier_storage, num_stages, producer_group, consumer_group, tx_count)
        alone = cta_layout_vmnk is None or cute.size(cta_layout_vmnk) == 1
        made.producer_mask = made.consumer_mask = None if alone else 1
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
        made.producer_mask = 0 if pair else None
        made.consumer_mask = 3 if pair else None
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
        made.producer_mask = None if alone else 1
        made.consumer_mask = 0 if pair else None
        made.cta_group = None
        _syncs(cta_layout_vmnk, defer_sync)
        return made

    def producer_commit(self, state, loc=None, ip=None):
        self.sync_object_full.arrive(state.index, self.producer_mask, self.cta_group)


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


class _Handle:
    def __init__(self, origin, state):
        self.origin = origin
        self.state = state

    @property
    def index(self):
        return self.state.index

    @property
    def count(self):
        return self.state.count

    def get_origin(self):
        return self.origin


class _ProducerHandle(_Handle):
    @property
    def barrier(self):
        return self.origin.producer_get_barrier(self.state)

    def commit(self, loc=None, ip=None):
        self.origin.producer_commit(self.state)


class _ConsumerHandle(_Handle):
    @property
    def barrier(self):
        return self.origin.consumer_get_barrier(self.state)

    def release(self, loc=None, ip=None):
        self.origin.consumer_release(self.state)


class _Participant:
    def __init__(self, pipeline, state, group=None):
        self.pipeline = pipeline
        self.state = state
        self.group = group

    def reset(self, loc=None, ip=None):
        self.state.reset_count()

    def advance(self, count=1, loc=None, ip=None):
        self.state.advance(count)


class PipelineProducer(_Participant):
    def clone(self):
        return PipelineProducer(self.pipeline, self.state.clone(), self.group)

    def current_handle(self):
        return _ProducerHandle(self.pipeline, self.state.clone())

    def acquire(self, try_acquire_token=None, loc=None, ip=None, **kwargs):
        self.pipeline.producer_acquire(self.state, try_acquire_token, **kwargs)
        return _ProducerHandle(self.pipeline, self.state.clone())

    def acquire_and_advance(self, try_acquire_token=None, loc=None, ip=None, **kwargs):
        handle = self.acquire(try_acquire_token, **kwargs)
        self.state.advance()
        return handle

    def try_acquire(self, loc=None, ip=None):
        return self.pipeline.producer_try_acquire(self.state)

    def commit(self, handle=None, loc=None, ip=None):
        self.pipeline.producer_commit(self.state if handle is None else handle.state)

    def tail(self, loc=None, ip=None):
        self.pipeline.producer_tail(self.state)


class PipelineConsumer(_Participant):
    def clone(self):
        return PipelineConsumer(self.pipeline, self.state.clone(), self.group)

    def current_handle(self):
        return _ConsumerHandle(self.pipeline, self.state.clone())

    def wait(self, try_wait_token=None, loc=None, ip=None):
        self.pipeline.consumer_wait(self.state, try_wait_token)
        return _ConsumerHandle(self.pipeline, self.state.clone())

    def wait_and_advance(self, try_wait_token=None, loc=None, ip=None):
        handle = self.wait(try_wait_token)
        self.state.advance()
        return handle

    def try_wait(self, loc=None, ip=None):
        return self.pipeline.consumer_try_wait(self.state)

    def release(self, handle=None, loc=None, ip=None):
        self.pipeline.consumer_release(self.state if handle is None else handle.state)
