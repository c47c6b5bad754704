"""Whose tile a block stores: kernels in which A, B, C and the grid are walked by indices that fit, or do not."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _4>>{}));
using Smem = Layout<Shape<_128, _64>, Stride<Int<72>, _1>>;
"""
KERNEL = """
__global__ void __launch_bounds__(128) NAME(half_t const* A, half_t const* B, float* C, int m, int n, int k) {
  __shared__ alignas(128) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
  __shared__ alignas(128) float c[128 * 128];
  Tensor mA = make_tensor(make_gmem_ptr(FROM_A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(TO_C), LAYOUT_C);
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(BY_A, _));
  Tensor gB = local_tile(mB, Shape<_128, _64>{}, make_coord(BY_B, _));
  Tensor sA = make_tensor(make_smem_ptr(a), Smem{}), sB = make_tensor(make_smem_ptr(b), Smem{});
  auto load = Load{}.get_slice(threadIdx.x);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gC = local_tile(mC, Shape<_128, _128>{}, make_coord(BY_C));
  Tensor tCgC = thr.partition_C(gC);
  Tensor acc = thr.make_fragment_C(tCgC);
  clear(acc);
  for (int i = FIRST; i < size<2>(gA); ++i) {
    copy(Load{}, load.partition_S(gA(_, _, i)), load.partition_D(sA));
    copy(Load{}, load.partition_S(gB(_, _, i)), load.partition_D(sB));
    __syncthreads();
    gemm(Mma{}, thr.partition_A(OPERANDS_A), thr.partition_B(OPERANDS_B), acc);
    __syncthreads();
  }
  copy(acc, tCgC);
}
"""
RUN = "  NAME<<<dim3(GRID), 128>>>(A, B, C, m, n, k);\n"
PLAIN = {
    "FROM_A": "A", "TO_C": "C", "LAYOUT_C": "make_shape(m, n), make_stride(n, _1{})", "BY_A": "blockIdx.x",
    "BY_B": "blockIdx.y", "BY_C": "blockIdx.x, blockIdx.y", "FIRST": "0", "OPERANDS_A": "sA", "OPERANDS_B": "sB",
    "GRID": "ceil_div(m, 128), ceil_div(n, 128)",
}  # fmt: skip
OTHER_WAY = {"BY_A": "blockIdx.y", "BY_B": "blockIdx.x", "BY_C": "blockIdx.y, blockIdx.x"}
SWAPPED = {"GRID": "ceil_div(n, 128), ceil_div(m, 128)"}
OTHER = "clear(acc); Tensor other = local_partition(TILE, Layout<Shape<_16, _8>>{}, threadIdx.x);"
BY_HAND = {
    "thr.partition_C(gC)": "local_partition(gC, Layout<Shape<_16, _8>>{}, threadIdx.x)",
    "thr.make_fragment_C(tCgC)": "partition_fragment_C(Mma{}, Shape<_128, _128>{})",
    "copy(acc, tCgC)": "axpby(1.f, acc, 0.f, tCgC)",
}
LATER = {
    "BY_C": "_, _", "thr.make_fragment_C(tCgC)": "thr.make_fragment_C(tCgC(_, _, _, 0, 0))",
    "copy(acc, tCgC)": "copy(acc, tCgC(_, _, _, CHOSEN))",
}  # fmt: skip
STAGED = {
    "thr.partition_C(gC)": "thr.partition_C(sC)", "copy(acc, tCgC)": "copy(acc, tCgC); __syncthreads(); "
    "for (int i = 0; i < 8; ++i) copy(Store{}, store.partition_S(sC)(_, i, _), store.partition_D(gC)(_, i, _))",
    "auto thr = Mma": "Tensor sC = make_tensor(make_smem_ptr(c), Layout<Shape<_128, _128>, Stride<_128, _1>>{}); "
    "auto store = Store{}.get_slice(threadIdx.x); auto thr = Mma",
}  # fmt: skip
NUMBERED = {
    "BY_A": "blockIdx.x % (m / 128)", "BY_B": "blockIdx.x / (m / 128)",
    "BY_C": "blockIdx.x % (m / 128), blockIdx.x / (m / 128)", "GRID": "m / 128 * (n / 128)",
}  # fmt: skip
FITS: dict[str, dict[str, str]] = {
    "plain": {},
    "by_y": {**OTHER_WAY, **SWAPPED},
    "by_columns": {"LAYOUT_C": "make_shape(m, n), make_stride(_1{}, m)"},
    "batched": {"FROM_A": "A + blockIdx.z * m * k", "TO_C": "C + blockIdx.z * m * n"},
    "transposed": {
        "OPERANDS_A": "sB", "OPERANDS_B": "sA", "LAYOUT_C": "make_shape(n, m), make_stride(_1{}, n)",
        "BY_C": "blockIdx.y, blockIdx.x",
    },
    "staged": STAGED,
    "chosen_later": {**LATER, "CHOSEN": "blockIdx.x, blockIdx.y"},
    "one_tile_of_columns": {"LAYOUT_C": "make_shape(m, _128{}), make_stride(_128{}, _1{})", "BY_C": "blockIdx.x, 0"},
    "split": {"FIRST": "blockIdx.z * 4", "TO_C": "C + blockIdx.z * m * n"},
    "numbered": NUMBERED,
    "numbered_transposed": {
        **NUMBERED, "OPERANDS_A": "sB", "OPERANDS_B": "sA", "LAYOUT_C": "make_shape(n, m), make_stride(_1{}, n)",
        "BY_C": "blockIdx.x / (m / 128), blockIdx.x % (m / 128)",
    },
    "swizzled": {  # of A rows as of C, of B as a tile scheduler says
        "BY_B": "(blockIdx.x + blockIdx.y) % (n / 128)", "BY_C": "blockIdx.x, (blockIdx.x + blockIdx.y) % (n / 128)",
    },
    "of_b_alone": {"clear(acc);": OTHER.replace("TILE", "gB(_, _, 0)")},
    "of_a_pointer": {
        "FROM_A": "A + blockIdx.x * 128 * k", "BY_A": "0", "TO_C": "C + blockIdx.x * 128 * n", "BY_C": "0, blockIdx.y"
    },
}  # fmt: skip
DOES_NOT: dict[str, dict[str, str]] = {
    "c_swapped": {"BY_C": "blockIdx.y, blockIdx.x"},
    "c_by_columns": {"BY_C": "blockIdx.y, blockIdx.x", "LAYOUT_C": "make_shape(m, n), make_stride(_1{}, m)"},
    "b_by_x": {"BY_B": "blockIdx.x"},
    "a_and_b": {"BY_A": "blockIdx.y", "BY_B": "blockIdx.x"},
    "operands": {"OPERANDS_A": "sB", "OPERANDS_B": "sA"},
    "a_by_columns": {**NUMBERED, "BY_A": NUMBERED["BY_B"]},
    "b_by_rows": {**NUMBERED, "BY_B": NUMBERED["BY_A"]},
    "half_steps": {"FROM_A": "A + blockIdx.x * 64 * k", "BY_A": "0"},
    "grid": SWAPPED,
    "columns_as_rows": {"GRID": "ceil_div(m, 128), ceil_div(m, 128)"},
    "other_c": {
        "clear(acc);": OTHER.replace("TILE", "local_tile(mC, Shape<_128, _128>{}, make_coord(blockIdx.y, blockIdx.x))")
    },
    "all_three": OTHER_WAY,
    "same_rows": {"BY_C": "0, blockIdx.y"},
    "same_columns": {"BY_C": "blockIdx.x, 0"},
    "other_one_chosen_later": {**LATER, "CHOSEN": "blockIdx.y, blockIdx.x"},
    "by_axpby": {"BY_C": "blockIdx.x, 0", **BY_HAND},
    "by_shared_memory": {"BY_C": "blockIdx.y, blockIdx.x", **STAGED},
}


def test_who_stores_whose_tile(tmp_path: Path) -> None:
    text, runs = HEAD, ""
    for name, changed in {**FITS, **DOES_NOT}.items():
        kernel, run = KERNEL.replace("NAME", name), RUN.replace("NAME", name)
        for word, new in {**PLAIN, **changed}.items():
            kernel, run = kernel.replace(word, new), run.replace(word, new)
        text, runs = text + kernel, runs + run
    text += f"void run(half_t const* A, half_t const* B, float* C, int m, int n, int k) {{\n{runs}}}\n"
    (tmp_path / "kernels.cu").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",), select=("CUT219",)))
    assert not made.failures and not made.errors
    assert {f.enclosing for f in made.findings} == set(DOES_NOT)


COPIES = """
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) NAME(float const* in, float* out, int m, int n, int tiles) {
  Tensor gS = local_tile(make_tensor(make_gmem_ptr(in), make_shape(SHAPE), make_stride(n, _1{})), Shape<_32, _32>{},
      make_coord(blockIdx.x, blockIdx.y));
  Tensor gD = local_tile(make_tensor(make_gmem_ptr(out), make_shape(SHAPE), make_stride(n, _1{})), Shape<_32, _32>{},
      make_coord(TO));
  auto move = Move{}.get_slice(threadIdx.x);
  for (int i = 0; i < tiles; ++i) {
    Tensor r = make_fragment_like(move.partition_D(gD));
    copy(Move{}, move.partition_S(gS), r);
    WHERE copy(Move{}, r, move.partition_D(gD));
  }
}
"""
MOVES: dict[str, tuple[str, str, str, str, set[str]]] = {  # extents, the stored tile, a condition, the grid, and rules
    "same": ("m, n", "blockIdx.x, blockIdx.y", "", "m / 32, n / 32", set()),
    "transposed": ("m, n", "blockIdx.y, blockIdx.x", "", "m / 32, n / 32", {"CUT219"}),
    "of_a_square": ("m, m", "blockIdx.y, blockIdx.x", "", "m / 32, m / 32", set()),
    "one_block": ("m, n", "blockIdx.x, 0", "", "m / 32, 1", set()),
    "first_blocks": ("m, n", "blockIdx.x, 0", "if (blockIdx.y == 0)", "m / 32, n / 32", set()),
    "scheduled": ("m, n", "blockIdx.x, tiles", "", "m / 32, n / 32", set()),
    "over_one_another": ("m, n", "blockIdx.x, 0", "if (i > 0)", "m / 32, n / 32", {"CUT219"}),
    "one_after_the_other": (
        "m, n",
        "blockIdx.x, 0",
        "Tensor q = make_fragment_like(r); copy(Move{}, move.partition_D(gD), q); "
        "for (int j = 0; j < size(r); ++j) r(j) += q(j);",
        "m / 32, n / 32",
        set(),
    ),
    "by_x_twice": ("m, n", "blockIdx.x, blockIdx.x", "", "m / 32, n / 32", {"CUT219"}),
    "no_such_tile": ("256, 512", "blockIdx.y, blockIdx.x", "", "8, 16", {"CUT210", "CUT219"}),
    "other_grid": ("256, 512", "blockIdx.x, blockIdx.y", "if (i > 0)", "16, 8", {"CUT210", "CUT219"}),
    "ragged": ("250, 512", "blockIdx.x, blockIdx.y", "if (i > 0)", "8, 16", {"CUT210"}),
    "ragged_under_a_condition": ("256, 512", "blockIdx.x, blockIdx.y", "if (blockIdx.x < tiles)", "8, 16", set()),
}


def test_blocks_that_copy(tmp_path: Path) -> None:
    text, runs = HEAD, ""
    for name, (shape, to, where, grid, _) in MOVES.items():
        kernel = COPIES.replace("NAME", name).replace("SHAPE", shape).replace("TO)", f"{to})")
        text += kernel.replace("WHERE", where)
        runs += f"  {name}<<<dim3({grid}), 128>>>(in, out, m, n, tiles);\n"
    text += f"void run(float const* in, float* out, int m, int n, int tiles) {{\n{runs}}}\n"
    (tmp_path / "kernels.cu").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",), select=("CUT219", "CUT210")))
    assert not made.failures and not made.errors
    found = {name: {f.code for f in made.findings if f.enclosing == name} for name in MOVES}
    assert found == {name: codes for name, (*_, codes) in MOVES.items()}


OWN_START = """
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) own_start(float const* in, float* out) {
  auto tile = Layout<Shape<_32, _32>, Stride<_32, _1>>{};
  Tensor from = make_tensor(make_gmem_ptr(in + blockIdx.x * 1024), tile);
  Tensor to = make_tensor(make_gmem_ptr(out + blockIdx.x * 1024), tile);
  auto move = Move{}.get_slice(threadIdx.x);
  copy(Move{}, move.partition_S(from), move.partition_D(to));
}
void run(float const* in, float* out) { own_start<<<8, 128>>>(in, out); }
"""


def test_a_tensor_that_begins_elsewhere_in_each_block_has_no_tiles_of_others(tmp_path: Path) -> None:
    (tmp_path / "kernels.cu").write_text(HEAD + OWN_START)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",), select=("CUT219", "CUT210")))
    assert not made.failures and not made.errors and not made.findings
