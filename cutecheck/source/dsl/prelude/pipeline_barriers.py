"""The groups, states and barriers of ``cutlass.pipeline``, in runs. Read by the evaluator, never imported."""

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


def threads_of(group):
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


class Peers:
    """The CTAs of a cluster that use one another's barriers: all do the same, so that each barrier of this one is
    arrived at as often as this one arrives at theirs."""

    def __init__(self, times):
        self.times = times


class MbarrierArray:
    def __init__(self, barrier_storage, num_stages, agent, tx_count=0, **kwargs):
        self.barrier_storage = barrier_storage
        self.mbarrier_base = barrier_storage
        self.num_stages = num_stages
        self.op_type, self.cg = agent
        self.tx_count = tx_count
        self.arrive_count = threads_of(self.cg)
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
        elif isinstance(dst_rank, Peers):
            cute.arch.mbarrier_arrive(self.get_barrier(index), arrive_count=dst_rank.times)
        else:
            cute.arch.mbarrier_arrive(self.get_barrier(index), dst_rank)

    def arrive_cp_async_mbarrier(self, index, loc=None, ip=None):
        cute.arch.cp_async_mbarrier_arrive_noinc(self.get_barrier(index))

    def arrive_tcgen05mma(self, index, mask, cta_group, loc=None, ip=None):
        with cute.arch.elect_one():
            if mask is None:
                cute.nvgpu.tcgen05.commit(self.get_barrier(index))
            elif isinstance(mask, Peers):
                cute.nvgpu.tcgen05.commit(self.get_barrier(index), arrive_count=mask.times)
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
