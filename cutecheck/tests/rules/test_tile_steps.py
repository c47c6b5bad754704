"""Tiles that are found by the stride of one matrix, and have their rows by that of another (CUT223)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
struct Params { void* p_ptr; void* q_ptr; int64_t p_row_stride, p_head_stride, q_row_stride, q_head_stride; int rows; };
__global__ void __launch_bounds__(128) move(Params const params) {
  int const block = blockIdx.x, head = blockIdx.y;
  int64_t const at_p = block * 64 * params.p_row_stride + head * params.p_head_stride;
  int64_t const at_q = block * 64 * params.q_row_stride + head * params.q_head_stride;
  Tensor gP = make_tensor(make_gmem_ptr(reinterpret_cast<half_t*>(params.p_ptr) + at_p), Shape<_64, _64>{},
      make_stride(params.p_row_stride, _1{}));
  Tensor gQ = make_tensor(make_gmem_ptr(reinterpret_cast<half_t*>(params.q_ptr) + at_q), Shape<_64, _64>{},
      make_stride(params.q_row_stride, _1{}));
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{});
  auto thr = tiled.get_slice(threadIdx.x);
  copy(tiled, thr.partition_S(gP), thr.partition_D(gQ));
}
void run(Params const& params) { move<<<dim3(params.rows / 64, 8), 128>>>(params); }
"""
P_ROWS = "make_stride(params.p_row_stride, _1{})"
NARROW = [
    ("int64_t p_row", "uint32_t p_row"),
    ("int64_t const at_p", "uint32_t const at_p"),
    ("block = blockIdx.x", "block = params.rows / 64 - 1 - int(blockIdx.x)"),
]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], 0),
        ([(P_ROWS, "make_stride(params.q_row_stride, _1{})")], 1),
        ([("block * 64 * params.p_row_stride", "block * 64 * params.q_row_stride")], 1),
        # offsets of 32 bits without sign, which wrap around where their parts may be below zero
        ([*NARROW, (P_ROWS, "make_stride(params.q_row_stride, _1{})")], 1),
        (NARROW, 0),
        # the head is as many elements of a row as the tile has rows, and nothing walks the rows
        (
            [
                (
                    "block * 64 * params.p_row_stride + head * params.p_head_stride",
                    "head * 64 * static_cast<int64_t>(params.rows)",
                )
            ],
            0,
        ),
        # as many heads as rows, one of a kind after the other: both strides are of each matrix
        (
            [
                (f"block * 64 * params.{m}_row_stride + head * params.{m}_head_stride",
                 f"block * 64 * params.{m}_head_stride + head * params.{m}_head_stride")
                for m in "pq"
            ],
            0,
        ),
        ([("move<<<", "assert(params.p_row_stride == params.q_row_stride);\n  move<<<"),
          (P_ROWS, "make_stride(params.q_row_stride, _1{})")], 0),
    ],
)  # fmt: skip
def test_rows_and_tiles_by_other_strides(tmp_path: Path, changes: list[tuple[str, str]], found: int) -> None:
    text = KERNEL
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "move.cu").write_text(PREAMBLE + "#include <cassert>\n" + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.failures
    assert [f.code for f in report.findings] == ["CUT223"] * found
