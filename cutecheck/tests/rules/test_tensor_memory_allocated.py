"""Products into tensor memory that nothing has allocated (CUT707)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K,
                                                         UMMA::Major::K>{}));
using SA = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{},
                                            partition_shape_A(Mma{}, Shape<_128, _64>{})));
using SB = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{},
                                            partition_shape_B(Mma{}, Shape<_64, _64>{})));
__device__ void take(uint32_t* place) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(cast_smem_ptr_to_uint(place)));
}
__device__ void elsewhere(uint32_t* place);
__global__ void __launch_bounds__(128) multiply(float* out PARAMETER) {
  __shared__ alignas(1024) half_t a[cosize_v<SA>], b[cosize_v<SB>];
  __shared__ uint32_t place;
  Mma mma;
  auto thr = mma.get_slice(_0{});
  Tensor rA = thr.make_fragment_A(make_tensor(make_smem_ptr(a), SA{}));
  Tensor rB = thr.make_fragment_B(make_tensor(make_smem_ptr(b), SB{}));
  Tensor gC = make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  Tensor acc = thr.make_fragment_C(thr.partition_C(gC));
  FIRST
  if (threadIdx.x / 32 == 0) for (int k = 0; k < size<2>(rA); ++k) gemm(mma, rA(_, _, k), rB(_, _, k), acc);
  __syncthreads();
  LAST
}
void run(float* out) { multiply<<<1, 128>>>(out GIVEN); }
"""
ALLOCATED = "TMEM::Allocator1Sm of; if (threadIdx.x / 32 == 0) of.allocate(64, &place); __syncthreads(); "
START = "acc.data() = place;"
FREE = "if (threadIdx.x / 32 == 0) of.free(place, 64);"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, True),
        ({"FIRST": ALLOCATED + START, "LAST": FREE}, False),
        ({"FIRST": "if (threadIdx.x / 32 == 0) take(&place); __syncthreads();" + START}, False),
        ({"FIRST": "if (threadIdx.x / 32 == 0) elsewhere(&place); __syncthreads();" + START}, False),
        ({"PARAMETER": ", uint32_t tmem_base", "GIVEN": ", 0", "FIRST": "acc.data() = tmem_base;"}, False),
    ],
)
def test_tensor_memory_is_allocated(tmp_path: Path, changes: dict[str, str], found: bool) -> None:
    text = KERNEL
    for name in ("PARAMETER", "GIVEN", "FIRST", "LAST"):
        text = text.replace(name, changes.get(name, ""))
    (tmp_path / "multiply.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), select=("CUT707",)))
    assert not report.failures
    assert ["nothing in the kernel allocates any" in f.message for f in report.findings] == [True] * found
