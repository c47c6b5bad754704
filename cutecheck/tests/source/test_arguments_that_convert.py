"""Objects given where a handle, pointer or enumeration is asked for, and what functions without a body return."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts

SOURCE = """
#include <cute/tensor.hpp>
using namespace cute;
struct Stream { cudaStream_t s; operator cudaStream_t() const { return s; } };
struct Buffer { float* p; int n; operator float*() const { return p; } };
enum class Kind { Plain, Wide };
struct Meta { Kind k; operator Kind() const { return k; } };
template <int N> __global__ void kern(float* p) {
  auto r = make_tensor<float>(Layout<Int<N>>{});
  copy(make_tensor(make_gmem_ptr(p), Layout<Int<N>>{}), r);
}
template <int N> void launch(float* p, cudaStream_t s) { kern<N><<<1, 32, 0, s>>>(p); }
template <int N> void by_kind(float* p, Kind k) {
  if (k == Kind::Wide) launch<N * 2>(p, nullptr); else launch<N>(p, nullptr);
}
inline Stream current() { return {nullptr}; }
Buffer allocate(int n);
struct Args { void* p; };
void host(Buffer b) {
  launch<4>(b, current());
  by_kind<16>(b, Meta{Kind::Wide});
  auto made = allocate(64);
  Args args;
  args.p = made.p;
  kern<64><<<1, 32>>>(static_cast<float*>(args.p));
}
"""


def test_kernels_are_launched(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    facts = extract_facts([tmp_path / "k.cu"], Settings(arch=("sm_80",), jobs=1, cache=False))
    assert sorted(str(e.operands[0].layout) for e in facts.events) == ["_32:_1", "_4:_1", "_64:_1"]
