"""Names before ``::``, and values that are taken apart."""

from pathlib import Path

from cutecheck.model.notation import show
from cutecheck.source.extract import ExtractRequest, extract


def test_a_variable_hides_no_namespace_before_colons_and_block_indices_are_taken_apart(tmp_path: Path) -> None:
    """As in CUTLASS: ``T* device_memory = device_memory::allocate<T>(n)``, ``auto [m, n, l] = uint3(blockIdx)``."""
    (tmp_path / "k.cu").write_text("""
#include <cute/tensor.hpp>
using namespace cute;
namespace memory { template <class T> T* allocate(int n) { return nullptr; } }
template <class P> __global__ void kernel(P p) {
  auto [x, y, z] = static_cast<uint3>(blockIdx);
  auto [i, j, k] = threadIdx;
  auto g = make_tensor(make_gmem_ptr(p) + (x * 64 + y * 8 + j), Layout<_8>{});
  copy(g, make_tensor<half_t>(Layout<_8>{}));
}
void host() {
  half_t* memory = nullptr;
  memory = memory::allocate<half_t>(8);
  kernel<<<dim3(4, 4), dim3(1, 32)>>>(memory::allocate<half_t>(64));
}
""")
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    assert not facts.errors
    (event,) = facts.events
    assert event.reason is None
    assert event.operands[0].dtype is not None
    assert event.operands[0].dtype.name == "half_t"
    offset = show(event.operands[0].offset)
    assert all(name in offset for name in ("blockIdx.x", "blockIdx.y", "threadIdx.y"))
