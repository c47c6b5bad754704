"""A header that says none of CuTe's names but ``copy``, and includes what does: its copies are the kernel's."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts

LAYOUTS = """
#pragma once
#include <cute/tensor.hpp>
using namespace cute;
using Smem = Layout<Shape<_32, _64>, Stride<_64, _1>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
"""
RING = """
#pragma once
#include "layouts.hpp"
template <class C, class G, class S> struct Ring {
  C c; G g; S s;
  __device__ void fill(int tile, int stage) { copy(c, g(_, _, _, tile), s(_, _, _, stage)); cp_async_fence(); }
  __device__ void wait() { cp_async_wait<1>(); __syncthreads(); }
};
"""
KERNEL = """
#include "ring.hpp"
__global__ void __launch_bounds__(128) k(half_t const* p, half_t* out) {
  __shared__ alignas(16) half_t raw[2 * 32 * 64];
  Tensor g = make_tensor(make_gmem_ptr(p), Layout<Shape<_32, _64, _4>, Stride<_64, _1, _2048>>{});
  Tensor s = make_tensor(make_smem_ptr(raw), Layout<Shape<_32, _64, _2>, Stride<_64, _1, _2048>>{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  auto tg = thr.partition_S(g);
  auto ts = thr.partition_D(s);
  Ring<Load, decltype(tg), decltype(ts)> ring{load, tg, ts};
  ring.fill(0, 0);
  ring.wait();
  Tensor r = make_fragment_like(ts(_, _, _, 0));
  copy(ts(_, _, _, 0), r);
  copy(r, make_tensor(make_gmem_ptr(out + 16 * threadIdx.x), r.layout()));
}
void run(half_t const* p, half_t* out) { k<<<1, 128>>>(p, out); }
"""


def test_copies_in_between(tmp_path: Path) -> None:
    for name, text in (("layouts.hpp", LAYOUTS), ("ring.hpp", RING), ("k.cu", KERNEL)):
        (tmp_path / name).write_text(text)
    facts = extract_facts([tmp_path], Settings(arch=("sm_80",), jobs=1, cache=False))
    assert sorted({e.span.path for e in facts.events}) == ["k.cu", "ring.hpp"]
