// What kernels see of CUTLASS's pipelines, where none of its headers is at hand: sizes, numbers and signatures. What the
// methods do to barriers is told by their names (source/cpp/pipelines.py), so there is little in them.
#pragma once

namespace cutlass {

enum class BarrierStatus : uint32_t { WaitAgain = 0u, WaitDone = 1u, WaitOnly = 2u };

class ArrivalToken {
 public:
  __device__ ArrivalToken(BarrierStatus status) : status_(status) {}
  __device__ BarrierStatus get() const { return status_; }
  __device__ bool operator==(ArrivalToken const& other) const { return status_ == other.get(); }

 private:
  BarrierStatus status_;
};

class ProducerToken : public ArrivalToken {
 public:
  __device__ ProducerToken(BarrierStatus status) : ArrivalToken(status) {}
};

class ConsumerToken : public ArrivalToken {
 public:
  __device__ ConsumerToken(BarrierStatus status) : ArrivalToken(status) {}
};

template <uint32_t Stages_>
struct PipelineState {
  static constexpr uint32_t Stages = Stages_;
  int index_ = 0;
  uint32_t phase_ = 0;
  uint32_t count_ = 0;

  __device__ PipelineState() : index_(0), phase_(0), count_(0) {}
  __device__ PipelineState(int index, uint32_t phase, uint32_t count) : index_(index), phase_(phase), count_(count) {}
  __device__ int index() const { return index_; }
  __device__ uint32_t phase() const { return phase_; }
  __device__ uint32_t count() const { return count_; }

  __device__ void operator++() {
    if constexpr (Stages > 0) {
      ++index_;
      ++count_;
      if (index_ == Stages) {
        index_ = 0;
        phase_ ^= 1;
      }
    }
  }

  __device__ PipelineState& operator+=(uint32_t steps) { return advance(steps); }

  __device__ PipelineState& operator=(PipelineState const& other) {
    index_ = other.index();
    phase_ = other.phase();
    count_ = other.count();
    return *this;
  }

  __device__ PipelineState& advance(uint32_t steps) {
    if constexpr (Stages > 0) {
      phase_ ^= ((index_ + steps) / Stages) % 2;
      index_ = (index_ + steps) % Stages;
      count_ += steps;
    }
    return *this;
  }

  __device__ static PipelineState make_pipeline_state(PipelineState start, uint32_t steps) {
    return start.advance(steps);
  }
};

template <class Pipeline>
__device__ PipelineState<Pipeline::Stages> make_producer_start_state() {
  return {0, 1, 0};
}

template <int Stages_>
class PipelineTmaAsync {
 public:
  using FullBarrier = cutlass::arch::ClusterTransactionBarrier;
  using EmptyBarrier = cutlass::arch::ClusterBarrier;
  using ProducerBarrierType = uint64_t;
  using ConsumerBarrierType = uint64_t;
  static constexpr uint32_t Stages = Stages_;
  using PipelineState = cutlass::PipelineState<Stages>;

  struct SharedStorage {
    FullBarrier full_barrier_[Stages];
    EmptyBarrier empty_barrier_[Stages];
  };

  enum class ThreadCategory { NonParticipant, Producer, Consumer, ProducerConsumer };

  struct Params {
    uint32_t transaction_bytes = 0;
    ThreadCategory role = ThreadCategory::NonParticipant;
    uint32_t is_leader = 0;
    uint32_t num_consumers = 0;
    uint32_t num_producers = 1;
    int initializing_warp = 0;
  };

  template <class ClusterShape>
  __device__ PipelineTmaAsync(SharedStorage& storage, Params params, ClusterShape)
      : params_(params), full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]) {}
  template <class ClusterShape, class InitBarriers>
  __device__ PipelineTmaAsync(SharedStorage& storage, Params params, ClusterShape, InitBarriers)
      : params_(params), full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]) {}
  template <class ClusterShape, class InitBarriers, class InitMasks>
  __device__ PipelineTmaAsync(SharedStorage& storage, Params params, ClusterShape, InitBarriers, InitMasks)
      : params_(params), full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]) {}

  __device__ ProducerToken producer_try_acquire(PipelineState state, uint32_t skip_wait = false) {
    return ProducerToken(static_cast<BarrierStatus>(empty_barrier_ptr_[state.index()].try_wait(state.phase())));
  }
  __device__ void producer_acquire(PipelineState, ProducerToken = {BarrierStatus::WaitAgain}) {}
  __device__ void producer_expect_transaction(PipelineState, uint32_t) {}
  __device__ void producer_commit(PipelineState, uint32_t = 0) {}
  __device__ void producer_tail(PipelineState) {}
  __device__ ProducerBarrierType* producer_get_barrier(PipelineState state) {
    return reinterpret_cast<ProducerBarrierType*>(&full_barrier_ptr_[state.index()]);
  }
  __device__ ConsumerToken consumer_try_wait(PipelineState state, uint32_t skip_wait = false) {
    return ConsumerToken(static_cast<BarrierStatus>(full_barrier_ptr_[state.index()].try_wait(state.phase())));
  }
  __device__ ConsumerToken consumer_test_wait(PipelineState state, uint32_t skip_wait = false) {
    return ConsumerToken(static_cast<BarrierStatus>(full_barrier_ptr_[state.index()].test_wait(state.phase())));
  }
  __device__ void consumer_wait(PipelineState, ConsumerToken = {BarrierStatus::WaitAgain}) {}
  __device__ void consumer_release(PipelineState, uint32_t = false) {}

 private:
  Params params_;
  FullBarrier* full_barrier_ptr_ = nullptr;
  EmptyBarrier* empty_barrier_ptr_ = nullptr;
};

template <int Stages_>
class PipelineAsync {
 public:
  using FullBarrier = cutlass::arch::ClusterBarrier;
  using EmptyBarrier = cutlass::arch::ClusterBarrier;
  using ProducerBarrierType = uint64_t;
  using ConsumerBarrierType = uint64_t;
  static constexpr uint32_t Stages = Stages_;
  using PipelineState = cutlass::PipelineState<Stages>;

  struct SharedStorage {
    FullBarrier full_barrier_[Stages];
    EmptyBarrier empty_barrier_[Stages];
  };

  enum class ThreadCategory { NonParticipant, Producer, Consumer, ProducerConsumer };

  struct Params {
    ThreadCategory role = ThreadCategory::NonParticipant;
    uint32_t producer_arv_count = 1;
    uint32_t consumer_arv_count = 1;
    uint32_t dst_blockid = cute::block_rank_in_cluster();
    int initializing_warp = 0;
  };

  __device__ PipelineAsync(SharedStorage& storage, Params const& params)
      : params_(params), full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]) {}
  template <class InitBarriers>
  __device__ PipelineAsync(SharedStorage& storage, Params const& params, InitBarriers)
      : params_(params), full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]) {}

  __device__ ProducerToken producer_try_acquire(PipelineState state, uint32_t skip_wait = false) {
    return ProducerToken(static_cast<BarrierStatus>(empty_barrier_ptr_[state.index()].try_wait(state.phase())));
  }
  __device__ void producer_acquire(PipelineState, ProducerToken = {BarrierStatus::WaitAgain}) {}
  __device__ void producer_commit(PipelineState) {}
  template <class UserDefinedArriveOp>
  __device__ void producer_commit(PipelineState, UserDefinedArriveOp&&) {}
  __device__ void producer_tail(PipelineState) {}
  __device__ ProducerBarrierType* producer_get_barrier(PipelineState state) {
    return reinterpret_cast<ProducerBarrierType*>(&full_barrier_ptr_[state.index()]);
  }
  __device__ ConsumerToken consumer_try_wait(PipelineState state, uint32_t skip_wait = false) {
    return ConsumerToken(static_cast<BarrierStatus>(full_barrier_ptr_[state.index()].try_wait(state.phase())));
  }
  __device__ ConsumerToken consumer_test_wait(PipelineState state, uint32_t skip_wait = false) {
    return ConsumerToken(static_cast<BarrierStatus>(full_barrier_ptr_[state.index()].test_wait(state.phase())));
  }
  __device__ void consumer_wait(PipelineState, ConsumerToken = {BarrierStatus::WaitAgain}) {}
  __device__ void consumer_release(PipelineState) {}

 private:
  Params params_;
  FullBarrier* full_barrier_ptr_ = nullptr;
  EmptyBarrier* empty_barrier_ptr_ = nullptr;
};

}  // namespace cutlass
