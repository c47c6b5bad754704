"""Instructions against the architectures that were asked for, in C++ and in the Python DSL."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import source

WGMMA = """
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
__global__ void __launch_bounds__(128) multiply(float* out) {
  __shared__ alignas(1024) half_t smem[2 * cosize_v<SmemA>];
  Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(smem + cosize_v<SmemA>), SmemA{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
  Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  warpgroup_arrive();
  gemm(mma, rA, rB, acc);
  warpgroup_commit_batch(); warpgroup_wait<0>();
  out[threadIdx.x] = acc(0);
}
"""

FP8 = """
using Mma = decltype(make_tiled_mma(SM120_16x8x32_TN<float_e4m3_t, float_e4m3_t, float>{}));
__global__ void __launch_bounds__(32) multiply(float* out) {
  Mma mma;
  Tensor rA = make_tensor<float_e4m3_t>(partition_shape_A(mma, Shape<_16, _32>{}));
  Tensor rB = make_tensor<float_e4m3_t>(partition_shape_B(mma, Shape<_8, _32>{}));
  Tensor acc = partition_fragment_C(mma, Shape<_16, _8>{});
  clear(acc);
  gemm(mma, rA, rB, acc);
  out[threadIdx.x] = acc(0);
}
"""

STORE = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp

@cute.jit
def host():
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)

cute.compile(host)
"""


def found(text: str, name: str, folder: Path, archs: tuple[str, ...]) -> list[str]:
    path = folder / name
    path.write_text(source(text))
    report = check(inputs([str(path)]), Settings(arch=archs))
    assert not report.failures and not report.errors
    return sorted(f"{f.code} {f.message}" for f in report.findings)


@pytest.mark.parametrize(
    ("archs", "count"),
    [(("sm_90",), 1), (("sm_100a",), 1), (("sm_80",), 1), (("sm_90a",), 0), (("sm_80", "sm_90a"), 0), ((), 0)],
)
def test_wgmma_is_for_sm_90a_alone(archs: tuple[str, ...], count: int, tmp_path: Path) -> None:
    messages = found(WGMMA, "gemm.cu", tmp_path, archs)
    assert len(messages) == count
    assert all(m.startswith("CUT306") and f"needs sm_90a, this is compiled for {archs[0]}" in m for m in messages)


@pytest.mark.parametrize(("arch", "count"), [("sm_100a", 1), ("sm_120a", 0), ("sm_121a", 0)])
def test_consumer_mma(arch: str, count: int, tmp_path: Path) -> None:
    assert len(found(FP8, "gemm.cu", tmp_path, (arch,))) == count


@pytest.mark.parametrize(("archs", "count"), [(("sm_80",), 1), (("sm_90a",), 0), (("sm_80", "sm_90a"), 0), ((), 0)])
def test_stmatrix_of_the_dsl(archs: tuple[str, ...], count: int, tmp_path: Path) -> None:
    messages = found(STORE, "store.py", tmp_path, archs)
    assert len(messages) == count
    assert all("CUT303 SM90_U32x4_STSM_N needs sm_90 and later ones" in m for m in messages)
