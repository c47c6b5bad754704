"""Fragments that are made like a part of a retiled one, on the way from accumulators to shared memory."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
__global__ void __launch_bounds__(128) epilogue(half_t* C, int n) {
  __shared__ alignas(128) half_t smem[32 * 32];
  Mma mma;
  Tensor acc = partition_fragment_C(mma, Shape<_32, _32>{});
  fill(acc, float(n));
  auto copier = make_tiled_copy_C(Copy_Atom<UniversalCopy<int>, half_t>{}, mma);
  auto other = make_tiled_copy_A(Copy_Atom<UniversalCopy<int>, half_t>{}, mma);
  auto thr = copier.get_slice(threadIdx.x);
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  Tensor from = group_modes<1, 3>(thr.retile_S(acc));
  Tensor to = group_modes<1, 3>(thr.partition_D(s));
  for (int i = 0; i < size<1>(from); ++i) {
    auto t = make_tensor_like<half_t>(from(_, i));
    copy(from(_, i), t);
    copy(copier, t, to(_, i));
  }
  __syncthreads();
  C[threadIdx.x] = s(threadIdx.x % 32, threadIdx.x / 32);
}
"""
MADE = "make_tiled_copy_C(Copy_Atom<UniversalCopy<int>, half_t>{}, mma);\n  auto other"


def reported(tmp_path: Path, old: str, new: str) -> bool:
    assert old in KERNEL
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    return any(f.code == "CUT602" for f in report.findings)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MADE, MADE.replace("copy_C", "copy_A")),
        (MADE, MADE.replace("copy_C", "copy_B")),
        (MADE, "make_tiled_copy(Copy_Atom<UniversalCopy<int>, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, "
               "Layout<Shape<_1, _2>>{});\n  auto other"),
    ],
)  # fmt: skip
def test_accumulators_by_the_threads_of_another_copy(tmp_path: Path, old: str, new: str) -> None:
    assert reported(tmp_path, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("UniversalCopy<int>", "AutoVectorizingCopyWithAssumedAlignment<128>"),
        ("make_tensor_like<half_t>(from(_, i))", "make_fragment_like<half_t>(from(_, i))"),
        ("make_tensor_like<half_t>(from(_, i))", "make_tensor<half_t>(shape(from(_, i)))"),
        ("copy(from(_, i), t)", "for (int j = 0; j < size(t); ++j) { t(j) = half_t(from(j, i)); }"),
        ("Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>", "Layout<Shape<_1, _4, _1>>, Tile<_16, _32, _16>"),
    ],
)  # fmt: skip
def test_accumulators_by_their_own_threads(tmp_path: Path, old: str, new: str) -> None:
    assert not reported(tmp_path, old, new)
