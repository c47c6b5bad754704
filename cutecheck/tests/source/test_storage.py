"""Shared-storage structs: anonymous unions and structs, alignment before the keyword, tensor-memory fragments."""

from pathlib import Path

import pytest

from cutecheck.model.expr import bounds
from cutecheck.model.ints import as_expr
from cutecheck.tests.source.test_extract import printed, run

STORAGE = """
using One = Layout<_64>;
template <int N> struct Storage {
  array_aligned<half_t, N> A;
  union { array_aligned<half_t, N> B; array_aligned<float, N> C; };
  struct { uint64_t barrier; int semaphore; };
  array_aligned<half_t, N> D;
};
struct Nested {
  alignas(128) union {
    alignas(128) struct { alignas(128) ArrayEngine<half_t, 64> A; } mainloop;
    alignas(128) ArrayEngine<float, 32> C;
  } tensors;
  alignas(16) uint64_t barrier;
  CUTE_DEVICE auto tensor_C() { return make_tensor(make_smem_ptr(tensors.C.begin()), Layout<_32>{}); }
};
__global__ void kernel() {
  extern __shared__ char smem[];
"""


def test_members_of_anonymous_unions_share_a_buffer(tmp_path: Path) -> None:
    text = (
        STORAGE
        + """
      Storage<64>& s = *reinterpret_cast<Storage<64>*>(smem);
      copy(make_tensor(make_smem_ptr(s.A.data()), One{}), make_tensor(make_smem_ptr(s.B.data()), One{}));
      copy(make_tensor(make_smem_ptr(s.C.data()), One{}), make_tensor(make_smem_ptr(s.D.data()), One{}));
      auto bytes = Layout<Int<sizeof(Storage<64>)>>{};
    }"""
    )
    facts = run(tmp_path, text)
    assert printed(facts, "bytes") == "_528:_1"  # what C++ makes of them, worked out by hand
    first, second = facts.events
    assert [o.buffer for o in first.operands] == ["kernel::smem.A", "kernel::smem.B"]
    assert [o.buffer for o in second.operands] == ["kernel::smem.B", "kernel::smem.D"]
    sizes = {b.buffer_id: b.size_bytes for b in facts.buffers}
    assert (sizes["kernel::smem.A"], sizes["kernel::smem.B"], sizes["kernel::smem.D"]) == (128, 256, 128)


def test_alignment_before_the_keyword(tmp_path: Path) -> None:
    text = (
        STORAGE
        + """
      Nested& s = *reinterpret_cast<Nested*>(smem);
      copy(s.tensor_C(), make_tensor(make_smem_ptr(s.tensors.C.begin()), Layout<_32>{}));
      auto bytes = Layout<Int<sizeof(Nested)>>{};
    }"""
    )
    facts = run(tmp_path, text)
    assert printed(facts, "bytes") == "_256:_1"
    (event,) = facts.events
    assert event.reason is None
    assert {o.buffer for o in event.operands} == {"kernel::smem.tensors"}


def test_accumulators_of_umma_are_tensor_memory(tmp_path: Path) -> None:
    text = """
    __global__ void kernel(float* p) {
      auto mma = make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256,
                                                     UMMA::Major::K, UMMA::Major::K>{});
      auto cta = mma.get_slice(_0{});
      auto c = make_tensor(make_gmem_ptr(p), Layout<Shape<_128, _256>, Stride<_256, _1>>{});
      auto part = cta.partition_C(c);
      auto acc = cta.make_fragment_C(part);
      auto load = make_tmem_copy(SM100_TMEM_LOAD_32dp32b1x{}, acc);
      auto thr = load.get_slice(5);
      copy(load, thr.partition_S(acc), make_fragment_like(thr.partition_D(part)));
    }"""
    facts = run(tmp_path, text, arch="sm_100a")
    assert printed(facts, "load").startswith(
        "TiledCopy\n  Tiler_MN:       ((_4,_32):(_32,_1),_1:_0,_1:_0)\n  TiledLayout_TV: ((_32,_4),_32):((_0,_1),_4)\n"
    )
    (event,) = facts.events
    assert event.reason is None
    assert [o.space for o in event.operands] == ["tmem", "rmem"]
    assert str(event.operands[0].layout) == "((_32,_1),_256,_1,_1):((_65536,_0),_1,_0,_0)"


def test_a_pipeline_state_that_went_on_stands_at_some_stage(tmp_path: Path) -> None:
    """Without CUTLASS's headers: both steps, in and outside of loops; the stage is one of those there are."""
    text = """
    using Pipe = cutlass::PipelineTmaAsync<3>;
    struct Load {
      using State = typename cutlass::PipelineState<3>;
      template <class F> CUTE_DEVICE void run(State& state, F& f, int n) {
        for (int i = 0; i < n; ++i) { f(state.index()); ++state; f(state.index()); state++; }
      }
    };
    __global__ void kernel(int n) {
      __shared__ alignas(1024) half_t smem[64 * 3];
      auto s = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _3>>{});
      auto r = make_tensor<half_t>(Layout<_64>{});
      typename Load::State state;
      auto f = [&](int stage) { copy(s(_, stage), r); };
      Load{}.run(state, f, n);
      ++state;
      f(state.index());
    }"""
    facts = run(tmp_path, text, arch="sm_90a")
    assert facts.events and all(e.reason is None for e in facts.events)
    for event in facts.events:
        offset = as_expr(event.operands[0].offset)  # type: ignore[arg-type]
        assert offset.constant is None and bounds(offset) == (0, 128)


def test_stages_of_a_pipeline_and_descriptors(tmp_path: Path) -> None:
    text = """
    __global__ void kernel() {
      __shared__ alignas(1024) half_t smem[128 * 64 * 3];
      using L = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _3>{}));
      auto mma = make_tiled_mma(SM90_64x64x16_F16F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
      auto thr = mma.get_slice(threadIdx.x - cutlass::NumThreadsPerWarpGroup);
      auto a = thr.partition_A(make_tensor(make_smem_ptr(smem), L{}));
      auto fa = thr.make_fragment_A(a);
      auto fb = thr.make_fragment_B(a);
      auto c = make_fragment_like(partition_fragment_C(mma, Shape<_128, _128>{}));
      cutlass::PipelineState<3> state;
      typename cutlass::PipelineState<3> other = cutlass::make_producer_start_state<int>();
      gemm(mma, fa(_, _, _, 2), fb(_, _, 1, state.index()), c);
      for (int k = 0; k < 8; ++k) {
        gemm(mma, fa(_, _, k % 4, other.index()), fb(_, _, 0, 0), c);
        ++other;
      }
    }"""
    facts = run(tmp_path, text, arch="sm_90a")
    first, second = facts.events
    assert first.reason is None and second.reason is None
    a, b = first.operands[:2]
    assert (str(a.layout), str(a.offset)) == ("(_1,_2,_4):(_0,_512,_2)", "2048")  # of 16 bytes
    assert a.dtype is not None and a.dtype.bits == 128
    assert str(b.layout) == "(_1,_2):(_0,_512)"
    assert "index" in str(b.offset)


FIRST = """
struct Shared { alignas(128) float a[32 * 32]; };
template <int N> __global__ void load(float const* in, float* out) {
  extern __shared__ __align__(128) uint8_t raw[];
  auto& shared = CAST;
  auto s = make_tensor(make_smem_ptr(shared.a), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  copy(make_tensor(make_gmem_ptr(in), Layout<Shape<_32, _32>, Stride<_32, _1>>{}), s);
}
void go(float const* in, float* out) { load<1><<<1, 32, sizeof(Shared)>>>(in, out); }
"""


@pytest.mark.parametrize("cast", ["reinterpret_cast<Shared&>(raw[0])", "(Shared&)*raw"])
def test_the_first_byte_as_a_struct(cast: str, tmp_path: Path) -> None:
    found = run(tmp_path, FIRST.replace("CAST", cast)).events[0]
    assert found.reason is None and found.operands[1].space == "smem"
