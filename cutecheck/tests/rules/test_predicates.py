"""Predicates against the copies they guard."""

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Facts
from cutecheck.model.dtype import dtype
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.build import HALF, codes, copy_event, findings, layout, tensor, universal

TILED = universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)")
ROWS = "(_64,_128):(_128,_1)"  # ((_8,_1),_4,_2) for each thread


def guarded(predicates: str) -> Facts:
    event = copy_event(TILED, HALF, ("gmem", ROWS), ("smem", ROWS))
    guard = tensor("pred", "rmem", layout(predicates), dtype("bool"))
    return Facts(events=(replace(event, predicate=guard, predicated=True),))


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        ("(_4,_2):(_1,_4)", []),
        ("(_4,_2):(_0,_1)", []),  # one for each column
        ("(_2,_4):(_1,_2)", ["CUT603"]),
        ("(_4,_1):(_1,_0)", ["CUT603"]),
        ("(n,_2):(_1,n)", []),  # an extent of run time says nothing
        ("(_1,_4,_2):(_0,_1,_4)", []),  # is the first mode values or instructions?
        ("_8:_1", []),
    ],
)
def test_predicates(predicates: str, expected: list[str]) -> None:
    assert [c for c in codes(guarded(predicates)) if c == "CUT603"] == expected


def test_the_message_names_the_mode_and_both_numbers() -> None:
    found = next(f for f in findings(guarded("(_4,_1):(_1,_0)")) if f.code == "CUT603")
    assert "mode 2: 1 against 2 of the destination" in found.message


ONE_MODE = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) load_rows(float const* A, int m, int k, int tiles) {
  // cutecheck: assume k % 4 == 0
  __shared__ alignas(128) float smem[8 * 64];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_8, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor cA = local_tile(make_identity_tensor(shape(mA)), Shape<_8, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor tAsA = thr.partition_D(sA);
  Tensor tAcA = thr.partition_S(cA);
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)));
  for (int i = 0; i < size<0>(pred); ++i)
    for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = get<1>(tAcA(0, i, j)) < k;
  int const row = get<0>(tAcA(0, 0, 0));
  for (int t = 0; t < 4; ++t) { CONDITION copy_if(Load{}, pred, thr.partition_S(gA), tAsA); }
}
"""


@pytest.mark.parametrize(
    ("condition", "reported"),
    [("", True), ("if (t < tiles)", True), ("if (row < m)", False), ("if (flag(row))", False)],
)
def test_a_mode_that_a_condition_around_the_copy_bounds(tmp_path: Path, condition: str, reported: bool) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + ONE_MODE.replace("CONDITION", condition))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert ("CUT604" in {f.code for f in report.findings}) is reported


OF_THE_TILE = """
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) store(float* out, int m, int n) {
  // cutecheck: assume n %% 4 == 0
  Tensor mC = make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(n, _1{}));
  Tensor gC = local_tile(mC, Shape<_16, _128>{}, make_coord(blockIdx.x, blockIdx.y));
  auto thr = Store{}.get_slice(threadIdx.x);
  Tensor tg = thr.partition_D(gC);
  Tensor tc = thr.partition_D(make_identity_tensor(Shape<_16, _128>{}));
  Tensor tr = make_fragment_like(tg(_, 0, 0));
  for (int i = 0; i < size<1>(tg); ++i) {
    if (get<0>(tc(0, i, 0)) + int(blockIdx.x) * 16 >= m) continue;
    for (int j = 0; j < size<2>(tg); ++j) {
      %s
      copy(Store{}, tr, tg(_, i, j));
    }
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "reported"),
    [
        ("if (get<1>(tc(0, i, j)) + int(blockIdx.y) * 128 >= n) break;", False),
        ("if (n - 128 * int(blockIdx.y) <= get<1>(tc(0, i, j))) break;", False),
        ("if (get<1>(tc(0, i, j)) + int(blockIdx.y) * 64 >= n) break;", True),
        ("if (get<1>(tc(0, i, j)) >= n) break;", True),
        ("if (get<1>(tc(0, i, j)) + int(blockIdx.y) * 128 > n) break;", True),
        ("if (n - 128 * int(blockIdx.y) < get<1>(tc(0, i, j))) break;", True),
        ("if (get<1>(tc(0, i, j)) + int(blockIdx.y) * 128 + 4 > n) break;", False),
        ("if (get<1>(tc(0, i, j)) + int(blockIdx.y) * 128 > n || get<1>(tc(0, i, j)) == n) break;", False),
        ("", True),
        ("bool const in = get<1>(tc(0, i, j)) + int(blockIdx.y) * 128 < n; if (!in) break;", False),
        ("bool const in = get<1>(tc(0, i, j)) < n; if (!in) break;", True),
        ("auto in = i > 0 && get<1>(tc(0, i, j)) < n; if (in)", True),
        (
            "bool in = get<1>(tc(0, i, j)) < n; in = in && get<1>(tc(0, i, j)) + 128 * int(blockIdx.y) < n; if (in)",
            False,
        ),
        ("bool in = get<1>(tc(0, i, j)) < n; change(in); if (in)", False),
    ],
)
def test_coordinates_of_a_tile_from_where_it_starts(tmp_path: Path, condition: str, reported: bool) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + OF_THE_TILE % condition)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert ("CUT604" in {f.code for f in report.findings}) is reported


WHOLE_TILES = """
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) store(float* out, int m, int n) {
  // cutecheck: assume n % 4 == 0
  Tensor mC = make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(n, _1{}));
  Tensor gC = local_tile(mC, Shape<_8, _64>{}, make_coord(blockIdx.x, _));
  auto thr = Store{}.get_slice(threadIdx.x);
  Tensor tc = thr.partition_D(make_identity_tensor(Shape<_8, _64>{}));
  LOOP {
    Tensor tg = thr.partition_D(gC(_, _, t));
    Tensor tr = make_fragment_like(tg);
    if (get<0>(tc(0, 0, 0)) < m - int(blockIdx.x) * 8) copy(Store{}, tr, tg);
  }
}
"""


@pytest.mark.parametrize(
    ("loop", "reported"),
    [("for (int t = blockIdx.y; t < n / 64; t += gridDim.y)", False), ("if (int t = blockIdx.y; true)", True)],
)
def test_blocks_that_go_on_as_far_as_there_are_whole_tiles(tmp_path: Path, loop: str, reported: bool) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + WHOLE_TILES.replace("LOOP", loop))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert ("CUT604" in {f.code for f in report.findings}) is reported


SECOND_GROUP = """
using Out = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(256) save(half_t* out, int rows) {
  __shared__ alignas(16) half_t smem[64 * 128];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _128>, Stride<_128, _1>>{});
  if (threadIdx.x / 128 == 0) {
    s(threadIdx.x % 64, 0) = half_t(0);
  } else {
    Tensor m = make_tensor(make_gmem_ptr(out), make_shape(rows, _128{}), make_stride(_128{}, _1{}));
    Tensor g = local_tile(m, Shape<_64, _128>{}, make_coord(blockIdx.x, _0{}));
    Tensor c = local_tile(make_identity_tensor(shape(m)), Shape<_64, _128>{}, make_coord(blockIdx.x, _0{}));
    int tid = threadIdx.x - 128;
    auto thr = Out{}.get_slice(tid);
    Tensor tS = thr.partition_S(s), tG = thr.partition_D(g), tC = Out{}.get_slice(SLICE).partition_D(c);
    for (int i = 0; i < size<1>(tS); ++i)
      if (get<0>(tC(_0{}, i, _0{})) < rows) copy(Out{}, tS(_, i, _), tG(_, i, _));
  }
}
void run(half_t* out, int rows) { save<<<4, 256>>>(out, rows); }
"""


@pytest.mark.parametrize(("slice_", "reported"), [("tid", False), ("tid / 2", True)])
def test_threads_of_another_warpgroup_than_the_first(tmp_path: Path, slice_: str, reported: bool) -> None:
    """Their slices start at 0 with thread 128: what threads before them would have is negative, and nobody's."""
    (tmp_path / "kernel.cu").write_text(PREAMBLE + SECOND_GROUP.replace("SLICE", slice_))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    assert [f.code for f in made.findings if f.code == "CUT604"] == ["CUT604"] * reported


ROW = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_1, _128>>{},
    Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) row(float const* in, float* out, int n) {
  // cutecheck: assume n % 4 == 0
  Tensor m = make_tensor(make_gmem_ptr(in + int64_t(blockIdx.x) * n), make_shape(_1{}, n), make_stride(n, _1{}));
  Tensor c = local_tile(make_identity_tensor(shape(m)), Shape<_1, _512>{}, make_coord(0, _));
  Tensor g = local_tile(m, Shape<_1, _512>{}, make_coord(0, _));
  auto t = Load{}.get_slice(threadIdx.x);
  Tensor tg = t.partition_S(g), tc = t.partition_S(c);
  Tensor r = make_fragment_like(tg(_, _, _, 0));
  for (int i = 0; i < size<3>(tg); ++i) {
    Tensor p = make_tensor<bool>(make_shape(size<1>(tg), size<2>(tg)));
    for (int j = 0; j < size(p); ++j) p(j) = elem_less(tc(0, 0, j, i), shape(m));
    copy_if(Load{}, p, tg(_, _, _, i), r);
    out[threadIdx.x] = r(0);
  }
}
"""


def test_a_block_for_each_row_that_has_a_tensor_of_its_own(tmp_path: Path) -> None:
    """Its only row is walked by no block index: that leads to another row's tensor."""
    (tmp_path / "kernel.cu").write_text(PREAMBLE + ROW)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",)))
    assert [f.code for f in made.findings] == []


HEADS = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
template <bool Even>
__global__ void __launch_bounds__(128) rows(half_t const* in, float* out, int n, int heads, int64_t row, int64_t head) {
  // cutecheck: assume row % 8 == 0
  // cutecheck: assume head % 8 == 0
  Tensor m = make_tensor(make_gmem_ptr(in), make_shape(n, heads, _64{}), make_stride(row, head, _1{}));
  Tensor g = local_tile(m(_, blockIdx.y, _), Shape<_64, _64>{}, make_coord(WHERE, 0));
  Tensor c = make_identity_tensor(Shape<_64, _64>{});
  auto t = Load{}.get_slice(threadIdx.x);
  Tensor tg = t.partition_S(g), tc = t.partition_S(c);
  Tensor r = make_fragment_like(tg(_, _, _ COUNT));
  clear(r);
  BODY
  out[threadIdx.x] = float(r(0));
}
void run(half_t const* in, float* out, int n, int heads, int64_t row, int64_t head) {
  rows<false><<<dim3(8, heads), 128>>>(in, out, n, heads, row, head);
}
"""
BLOCK = """for (int i = 0; i < size<1>(tg); ++i)
    if (Even || get<0>(tc(0, i, 0)) < LIMIT) copy(Load{}, tg(_, i, _), r(_, i, _));"""
FIRST = """Tensor first = Load{}.get_slice(0).partition_S(c);
  for (int i = 0; i < size<1>(tg); ++i)
    if (get<0>(first(0, i, 0)) < LIMIT - get<0>(tc(0, 0, 0))) copy(Load{}, tg(_, i, _), r(_, i, _));"""
LOOP = """for (int b = size<3>(tg) - 1; b >= 0; --b)
    for (int i = 0; i < size<1>(tg); ++i)
      if (Even || get<0>(tc(0, i, 0)) < LIMIT) copy(Load{}, tg(_, i, _, b), r(_, i, _));"""


@pytest.mark.parametrize(
    ("body", "where", "count", "limit", "reported"),
    [
        (BLOCK, "blockIdx.x", "", "n - 64 * blockIdx.x", False),
        (BLOCK, "blockIdx.x", "", "n", True),
        (FIRST, "blockIdx.x", "", "n - 64 * (int)blockIdx.x", False),  # what is known at compile time on one side
        (LOOP, "_", ", 0", "n - 64 * b", False),
        (LOOP, "_", ", 0", "n", True),
    ],
)
def test_rows_of_one_head(tmp_path: Path, body: str, where: str, count: str, limit: str, reported: bool) -> None:
    """The mode of heads is sliced away; where the rows are even is decided when the kernel is compiled."""
    text = HEADS.replace("BODY", body).replace("WHERE", where).replace("COUNT", count).replace("LIMIT", limit)
    (tmp_path / "kernel.cu").write_text(PREAMBLE + text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",)))
    assert [f.code for f in made.findings] == ["CUT604"] * reported
