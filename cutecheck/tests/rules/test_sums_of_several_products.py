"""One sum of several products of the same tiles, and of tiles with a matrix that is one tile (CUT218)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

HEAD = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Two = Layout<Shape<_64, _64, _2>, Stride<Int<72>, _1, Int<64 * 72>>>;
using One = Layout<Shape<_64, _64>, Stride<Int<72>, _1>>;
"""
# the high and the low half of each number have a tile each
HALVES = """
__global__ void __launch_bounds__(128) halves(half_t const* A, half_t const* B, float* C, int tiles) {
  __shared__ alignas(128) half_t a[cosize_v<Two>], b[cosize_v<Two>];
  auto all = make_layout(make_shape(_64{}, _64{}, _2{}, tiles), make_stride(_64{}, _1{}, _4096{}, _8192{}));
  Tensor gA = make_tensor(make_gmem_ptr(A), all);
  Tensor gB = make_tensor(make_gmem_ptr(B), all);
  Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_64, _64>{}, Stride<_64, _1>{});
  Tensor sA = make_tensor(make_smem_ptr(a), Two{});
  Tensor sB = make_tensor(make_smem_ptr(b), Two{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Mma mma;
  auto tm = mma.get_slice(threadIdx.x);
  Tensor tCgC = tm.partition_C(gC);
  Tensor acc = tm.make_fragment_C(tCgC);
  clear(acc);
  for (int i = 0; i < tiles; ++i) {
    for (int h = 0; h < 2; ++h) {
      copy(Load{}, thr.partition_S(gA(_, _, h, i)), thr.partition_D(sA(_, _, h)));
      copy(Load{}, thr.partition_S(gB(_, _, h, i)), thr.partition_D(sB(_, _, h)));
    }
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    PRODUCTS
    __syncthreads();
  }
  copy(acc, tCgC);
}
void run(half_t const* A, half_t const* B, float* C, int tiles) { halves<<<1, 128>>>(A, B, C, tiles); }
"""
STAYS = """
__global__ void __launch_bounds__(128) project(half_t const* A, half_t const* B, float* C, int tiles) {
  __shared__ alignas(128) half_t a[cosize_v<One>], b[cosize_v<One>];
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, _64{}, tiles), make_stride(_64{}, _1{}, _4096{}));
  Tensor gB = make_tensor(make_gmem_ptr(B), OF_B);
  Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_64, _64>{}, Stride<_64, _1>{});
  Tensor sA = make_tensor(make_smem_ptr(a), One{});
  Tensor sB = make_tensor(make_smem_ptr(b), One{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Mma mma;
  auto tm = mma.get_slice(threadIdx.x);
  Tensor tCgC = tm.partition_C(gC);
  Tensor acc = tm.make_fragment_C(tCgC);
  clear(acc);
  copy(Load{}, thr.partition_S(gB TAKEN), thr.partition_D(sB));
  for (int i = 0; i < tiles; ++i) {
    copy(Load{}, thr.partition_S(gA(_, _, i)), thr.partition_D(sA));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    gemm(mma, acc, tm.partition_A(sA), tm.partition_B(sB), acc);
    __syncthreads();
  }
  copy(acc, tCgC);
}
void run(half_t const* A, half_t const* B, float* C, int tiles) { project<<<1, 128>>>(A, B, C, tiles); }
"""


def _found(folder: Path, text: str) -> list[str]:
    (folder / "k.cu").write_text(PREAMBLE + HEAD + text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.failures
    return [f.code for f in report.findings]


def _products(*pairs: str) -> str:
    made = (f"gemm(mma, acc, tm.partition_A(sA(_, _, {p[0]})), tm.partition_B(sB(_, _, {p[1]})), acc);" for p in pairs)
    return HALVES.replace("PRODUCTS", "\n    ".join(made))


def test_halves_of_numbers_are_multiplied_crosswise(tmp_path: Path) -> None:
    assert not _found(tmp_path, _products("10", "01", "00"))


def test_tiles_that_stay_from_the_pass_before(tmp_path: Path) -> None:
    late = _products("00", "11").replace("gB(_, _, h, i)), thr.partition_D(sB(_, _, h))", "gB(_, _, h, i)), "
                                         "thr.partition_D(sB(_, _, 1 - h))")  # fmt: skip
    assert _found(tmp_path, late) == []  # each tile meets one tile in each pass
    wrong = late.replace("sB(_, _, 1)), acc)", "sB(_, _, 0)), acc)")
    assert _found(tmp_path, wrong) == ["CUT218"]


@pytest.mark.parametrize(
    "again", ["", "thr.partition_D(sA)); copy(Load{}, thr.partition_S(gB TAKEN), thr.partition_D(sB));"]
)
@pytest.mark.parametrize(
    ("of_b", "taken", "found"),
    [
        ("Shape<_64, _64>{}, Stride<_64, _1>{}", "", []),
        ("make_shape(_64{}, _64{}, tiles), make_stride(_64{}, _1{}, _4096{})", "(_, _, 0)", ["CUT218"]),
    ],
)
def test_a_matrix_of_one_tile_stays(tmp_path: Path, again: str, of_b: str, taken: str, found: list[str]) -> None:
    text = STAYS.replace("thr.partition_D(sA));", again or "thr.partition_D(sA));")
    assert _found(tmp_path, text.replace("OF_B", of_b).replace(" TAKEN", taken)) == found


TILES = """
__global__ void __launch_bounds__(128) tiles_of(half_t const* A, half_t const* B, float* C, int k, int from, int to) {
  __shared__ alignas(128) half_t a[cosize_v<One>], b[cosize_v<One>];
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), make_shape(_64{}, k), make_stride(k, _1{})), Shape<_64, _64>{},
      make_coord(0, _));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), make_shape(_64{}, k), make_stride(k, _1{})), Shape<_64, _64>{},
      make_coord(0, _));
  Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_64, _64>{}, Stride<_64, _1>{});
  Tensor sA = make_tensor(make_smem_ptr(a), One{});
  Tensor sB = make_tensor(make_smem_ptr(b), One{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Mma mma;
  auto tm = mma.get_slice(threadIdx.x);
  Tensor tCgC = tm.partition_C(gC);
  Tensor acc = tm.make_fragment_C(tCgC);
  clear(acc);
  LOOPS {
    copy(Load{}, thr.partition_S(gA(_, _, i)), thr.partition_D(sA));
    copy(Load{}, thr.partition_S(gB(_, _, j)), thr.partition_D(sB));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    IF gemm(mma, acc, tm.partition_A(sA), tm.partition_B(sB), acc);
    __syncthreads();
  }
  copy(acc, tCgC);
}
void run(half_t const* A, half_t const* B, float* C, int k) { RUN }
"""
EACH = "for (int i = 0, j = 0; i < k / 64; j = ++i)"
LAUNCH = "tiles_of<<<1, 128>>>(A, B, C, k, 0, 0);"
TWO = "tiles_of<<<1, 128>>>(A, B, C, k, 0, k / 128); tiles_of<<<1, 128>>>(A, B, C, k, k / 128, k / 64);"
PARTS = "for (int i = from, j = from; i < to; j = ++i)"


@pytest.mark.parametrize(
    ("loops", "condition", "run", "found"),
    [
        (EACH, "", LAUNCH, False),
        (f"for (int r = 0; r < 3; ++r) {EACH}", "", LAUNCH, False),  # as often as it takes to measure the time
        ("for (int i = 0; i < k / 64; ++i) for (int j = 0; j < k / 64; ++j)", "", LAUNCH, False),  # all with all
        (EACH, "if (i <= blockIdx.x)", LAUNCH, False),  # tiles behind the diagonal are left out
        (PARTS, "", TWO, False),
        (PARTS, "", TWO.partition("; ")[2], True),
        ("for (int i = 0, j = 0; i < k / 64; j = i++)", "", LAUNCH, True),  # B is one tile behind
    ],
)
def test_which_tiles_are_multiplied(tmp_path: Path, loops: str, condition: str, run: str, found: bool) -> None:
    text = TILES.replace("LOOPS", loops).replace("IF", condition).replace("RUN", run)
    assert set(_found(tmp_path, text)) == ({"CUT218"} if found else set())
