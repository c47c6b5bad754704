// The interface of CUTLASS's pipelines, as far as kernels of the tests use it; barriers are counters.
#pragma once
#include <cstdint>

namespace cutlass {

template <uint32_t Stages_>
struct PipelineState {
  static constexpr uint32_t Stages = Stages_;
  int index_ = 0;
  uint32_t phase_ = 0;
  uint32_t count_ = 0;
  PipelineState() : index_{}, phase_{}, count_{} {}
  PipelineState(int index, uint32_t phase, uint32_t count) : index_(index), phase_(phase), count_(count) {}
  int index() const { return index_; }
  uint32_t phase() const { return phase_; }
  void operator++() {
    ++count_;
    if (++index_ == Stages) {
      index_ = 0;
      phase_ ^= 1;
    }
  }
  PipelineState& operator=(PipelineState const& other) {
    index_ = other.index_;
    phase_ = other.phase_;
    count_ = other.count_;
    return *this;
  }
  PipelineState& advance(uint32_t n) {
    phase_ ^= (index_ + n) / Stages % 2;
    index_ = (index_ + n) % Stages;
    count_ += n;
    return *this;
  }
};

template <class Pipeline>
PipelineState<Pipeline::Stages> make_producer_start_state() {
  return {0, 1, 0};
}

template <int Stages_>
class PipelineTmaAsync {
public:
  static constexpr uint32_t Stages = Stages_;
  using PipelineState = cutlass::PipelineState<Stages>;
  struct SharedStorage {
    uint64_t full_barrier_[Stages];
    uint64_t empty_barrier_[Stages];
  };
  enum class ThreadCategory { NonParticipant, Producer, Consumer, ProducerConsumer };
  struct Params {
    uint32_t transaction_bytes = 0;
    ThreadCategory role = ThreadCategory::NonParticipant;
    uint32_t is_leader = 0;
    uint32_t num_consumers = 0;
  };
  template <class Cluster, class InitBarriers = bool>
  PipelineTmaAsync(SharedStorage& storage, Params params, Cluster, InitBarriers = {})
      : full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]), params_(params) {}
  void producer_acquire(PipelineState state) { wait(empty_barrier_ptr_[state.index()], state.phase()); }
  void producer_acquire(PipelineState state, bool) { producer_acquire(state); }
  void producer_tail(PipelineState state) {
    for (int i = 0; i < Stages; ++i) {
      producer_acquire(state);
      ++state;
    }
  }
  uint64_t* producer_get_barrier(PipelineState state) { return &full_barrier_ptr_[state.index()]; }
  void producer_expect_transaction(PipelineState state, uint32_t bytes) {}
  bool consumer_try_wait(PipelineState state) { return true; }
  void consumer_wait(PipelineState state) { wait(full_barrier_ptr_[state.index()], state.phase()); }
  void consumer_wait(PipelineState state, bool) { consumer_wait(state); }
  void consumer_release(PipelineState state) { arrive(empty_barrier_ptr_[state.index()]); }

private:
  static void wait(uint64_t&, uint32_t) {}
  static void arrive(uint64_t&) {}
  uint64_t* full_barrier_ptr_;
  uint64_t* empty_barrier_ptr_;
  Params params_;
};

}  // namespace cutlass
