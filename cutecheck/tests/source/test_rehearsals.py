"""Walking a loop's body before it counts leaves nothing behind, whatever is looked at inside."""

from pathlib import Path

from cutecheck.source.extract import ExtractRequest, extract

LAUNCHED = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float* p) {
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(_8{}));
  Tensor r = make_tensor<float>(Layout<_8>{});
  copy(g, r);
}
int main() {
  float worst = 0;
  for (int i = 0; i < 3; ++i) {
    if (worst > 1) worst = 2;
    k<<<1, 32>>>(nullptr);
  }
}
"""


def test_a_kernel_that_a_loop_launches_is_walked(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(LAUNCHED)
    assert len(extract(ExtractRequest((tmp_path,), ("sm_80",))).events) == 1
