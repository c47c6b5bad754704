"""Copies, waits and barriers that a condition on the index keeps some threads from, and members of a union."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Padded = Layout<Shape<_32, _64>, Stride<Int<72>, _1>>;
using All = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Half = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_4, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Out = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
struct Storage {
  union {
    struct { alignas(16) float a[cosize_v<Padded>]; alignas(16) float b[cosize_v<Padded>]; } in;
    alignas(16) float out[2 * cosize_v<Padded>];
  };
};
__global__ void __launch_bounds__(128) sum(float const* A, float const* B, float* C, int tiles) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  auto whole = make_layout(make_shape(_32{}, _64{}, tiles), make_stride(_64{}, _1{}, _2048{}));
  Tensor gA = make_tensor(make_gmem_ptr(A), whole);
  Tensor gB = make_tensor(make_gmem_ptr(B), whole);
  Tensor gC = make_tensor(make_gmem_ptr(C), whole);
  Tensor sA = make_tensor(make_smem_ptr(s.in.a), Padded{});
  Tensor sB = make_tensor(make_smem_ptr(s.in.b), Padded{});
  Tensor sC = make_tensor(make_smem_ptr(s.out), Padded{});
  auto t = All{}.get_slice(threadIdx.x);
  auto h = Half{}.get_slice(threadIdx.x % 64);
  auto o = Out{}.get_slice(threadIdx.x);
  for (int i = 0; i < tiles; ++i) {
    copy(All{}, t.partition_S(gA(_, _, i)), t.partition_D(sA));
    if (threadIdx.x >= 64) copy(Half{}, h.partition_S(gB(_, _, i)), h.partition_D(sB));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    Tensor r = make_fragment_like(o.partition_S(sA));
    Tensor q = make_fragment_like(o.partition_S(sB));
    copy(Out{}, o.partition_S(sA), r);
    copy(Out{}, o.partition_S(sB), q);
    axpby(1.f, q, 1.f, r);
    __syncthreads(); // read
    copy(Out{}, r, o.partition_D(sC));
    __syncthreads(); // stored
    copy(Half{}, h.partition_S(sC), h.partition_D(gC(_, _, i)));
    __syncthreads(); // out
  }
}
void run(float const* A, float const* B, float* C, int tiles) {
  sum<<<1, 128, sizeof(Storage)>>>(A, B, C, tiles);
}
"""
MISTAKES = {
    "right": ("", "", set()),
    "half_of_the_slices": ("    copy(All{}, t", "    if (threadIdx.x < 64) copy(All{}, t", {"CUT701"}),
    "slices_past_the_last": ("get_slice(threadIdx.x % 64)", "get_slice(threadIdx.x)", {"CUT605"}),
    "some_wait": ("    cp_async_wait<0>();", "    if (threadIdx.x < 32) cp_async_wait<0>();", {"CUT213"}),
    "some_come_to_the_barrier": ("    __syncthreads(); // stored", "    if (threadIdx.x < 64) __syncthreads();",
                                 {"CUT212"}),
    "another_member_is_read": ("    __syncthreads(); // read\n", "", {"CUT212"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, tmp_path: Path) -> None:
    old, new, codes = MISTAKES[name]
    assert not old or KERNEL.count(old) == 1
    (tmp_path / "sum.cu").write_text(PREAMBLE + KERNEL.replace(old, new))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), ignore=("CUT1", "CUT4")))
    assert not report.failures
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found


BY_ROLE = """
using Out = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
template <class S, class G>
__device__ void store(S const& s, G const& g) {
  __syncthreads();
  auto o = Out{}.get_slice(threadIdx.x);
  copy(Out{}, o.partition_S(s), o.partition_D(g));
}
__global__ void __launch_bounds__(128) fill(float* C) {
  __shared__ alignas(16) float tile[32 * 64];
  using Rows = Layout<Shape<_32, _64>, Stride<_64, _1>>;
  Tensor s = make_tensor(make_smem_ptr(tile), Rows{});
  Tensor g = make_tensor(make_gmem_ptr(C), Rows{});
  for (int i = threadIdx.x; i < 2048; i += 128) tile[i] = i;
  if (threadIdx.x < 64) {
    store(s, g);
  } else {
    OTHER;
  }
}
void run(float* C) { fill<<<1, 128>>>(C); }
"""


@pytest.mark.parametrize("other, codes", [("store(s, g)", set()), ("__syncthreads()", {"CUT701"})])
def test_a_function_that_each_role_calls_for_its_threads(other: str, codes: set[str], tmp_path: Path) -> None:
    (tmp_path / "fill.cu").write_text(PREAMBLE + BY_ROLE.replace("OTHER", other))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT7",), cache=False))
    assert not report.failures
    assert {f.code for f in report.findings} == codes
