"""Strides that are named after the pointers they belong to."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
struct Params {
  half_t *q_ptr, *k_ptr, *v_ptr, *o_ptr;
  int q_row_stride, k_row_stride, v_row_stride, o_row_stride, q_batch_stride, k_batch_stride, v_batch_stride;
  int o_batch_stride, q_head_stride, k_head_stride, v_head_stride, o_head_stride, ratio, n, h;
  int const* table;
};
__device__ auto tile(half_t* at, int row_stride) {
  return make_tensor(make_gmem_ptr(at), Shape<_32, _64>{}, make_stride(row_stride, _1{}));
}
__global__ void __launch_bounds__(128) attend(Params const params) {
  // cutecheck: assume params.q_row_stride % 8 == 0
  // cutecheck: assume params.k_row_stride % 8 == 0
  // cutecheck: assume params.v_row_stride % 8 == 0
  __shared__ alignas(128) half_t smem[3 * 32 * 64];
  using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  auto rows = Layout<Shape<_32, _64>, Stride<_64, _1>>{};
  int const b = blockIdx.y, h = blockIdx.z;
  Tensor gQ = tile(params.q_ptr + b * params.q_batch_stride + h * params.q_head_stride, params.q_row_stride);
  Tensor gK = tile(params.k_ptr + b * params.k_batch_stride + h / params.ratio * params.k_head_stride,
                   params.k_row_stride);
  Tensor gV = tile(params.v_ptr + b * params.v_batch_stride + h / params.ratio * params.v_head_stride,
                   params.v_row_stride);
  Tensor gO = tile(params.o_ptr + b * params.o_batch_stride + h * params.o_head_stride, params.o_row_stride);
  Tensor sQ = make_tensor(make_smem_ptr(smem), rows);
  Tensor sK = make_tensor(make_smem_ptr(smem + 32 * 64), rows), sV = make_tensor(make_smem_ptr(smem + 64 * 64), rows);
  auto thr = Load{}.get_slice(threadIdx.x);
  copy(Load{}, thr.partition_S(gQ), thr.partition_D(sQ));
  copy(Load{}, thr.partition_S(gK), thr.partition_D(sK));
  copy(Load{}, thr.partition_S(gV), thr.partition_D(sV));
  __syncthreads();
  copy(Load{}, thr.partition_S(sQ), thr.partition_D(gO));
}
"""
K = """params.k_ptr + b * params.k_batch_stride + h / params.ratio * params.k_head_stride,
                   params.k_row_stride"""
WRONG = [
    (K, K.replace("params.k_row_stride", "params.v_row_stride"), "`params.v_row_stride`"),
    (K, K.replace("params.k_batch_stride", "params.v_batch_stride"), "`params.v_batch_stride`"),
    (K, K.replace("b * params.k_batch_stride", "h * params.k_batch_stride"), "`blockIdx.z` times"),
    (K, K.replace("h / params.ratio", "b"), "`blockIdx.y` times"),
]
RIGHT = [
    ("", ""),
    (K, K.replace("k_", "q_")),  # another matrix, in its own memory
    (K, K.replace("params.k_ptr", "params.v_ptr").replace("k_", "v_")),
    # keys and values in one allocation, which has the strides of the keys
    ("params.v_ptr + b * params.v_batch_stride + h / params.ratio * params.v_head_stride,\n                   "
     "params.v_row_stride",
     "params.v_ptr + b * params.k_batch_stride + h / params.ratio * params.k_head_stride,\n                   "
     "params.k_row_stride"),
    (K, K.replace("b * params.k_batch_stride", "params.table[b] * params.k_batch_stride")),
    ("b = blockIdx.y, h = blockIdx.z", "b = blockIdx.z / params.h, h = blockIdx.z - b * params.h"),
    ("// cutecheck: assume params.q_row", "// cutecheck: assume params.k_row_stride == params.v_row_stride\n"
     "  // cutecheck: assume params.q_row"),
]  # fmt: skip


def reported(tmp_path: Path, old: str, new: str) -> list[str]:
    assert old in KERNEL
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    return [f.message for f in report.findings if f.code == "CUT223"]


@pytest.mark.parametrize(("old", "new", "says"), WRONG)
def test_strides_of_other_tensors(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert any(says in message for message in reported(tmp_path, old, new))


@pytest.mark.parametrize(("old", "new"), RIGHT)
def test_strides_of_their_own(tmp_path: Path, old: str, new: str) -> None:
    assert reported(tmp_path, old, new) == []


def test_numbers_that_are_equal_by_an_assumption(tmp_path: Path) -> None:
    same = RIGHT[-1]
    source = KERNEL.replace(*same, 1).replace(K, K.replace("params.k_row_stride", "params.v_row_stride"))
    (tmp_path / "k.cu").write_text(PREAMBLE + source)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert not [f for f in report.findings if f.code == "CUT223"]
