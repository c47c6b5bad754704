"""What a kernel loses or leaves out of a product, each beside right kernels that look alike: sums that each pass of a
loop begins anew (CUT222), slices of a TiledMMA whose results nothing stores (CUT701), slices along K that nothing fills
(CUT221), tiles that the grid has no block for (CUT219), and parts that threads copy over one another (CUT605)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.test_left_out import ROW

LOOP, CLEAR, STORE = "gemm(mma, acc, rA, rB, acc);\n", "  clear(acc);\n", "  copy(acc, tC);\n"
RIGHT = (
    ROW.replace("FIRST", "").partition("int main")[0]
    + """
void run(float const* A, float const* B, float* C, int m, int n, int k) {
  multiply<<<dim3(m / 16, n / 16), 64>>>(A, B, C, m, n, k);
}
"""
)
ANEW = RIGHT.replace(LOOP, f"clear(acc);\n    {LOOP}")
AXPBY = "  axpby(1.f, acc, 0.f, tC);\n"
# several tiles of a block, each with a sum of its own
TILES = (
    RIGHT.replace(
        CLEAR,
        """  auto at = make_coord(blockIdx.x, blockIdx.y);
  for (int tile = 0; tile < 4; ++tile) {
  clear(acc);
  Tensor all = make_tensor(make_gmem_ptr(C + tile * m * n), make_shape(m, n), make_stride(n, _1{}));
""",
    )
    .replace("copy(tA(_, _, _, i), rA);", "copy(tA(_, _, _, i + 8 * tile), rA);")
    .replace(STORE, "  copy(acc, thr.partition_C(local_tile(all, Shape<_16, _16>{}, at)));\n  }\n")
)
FILL = "copy(tA(_, _, _, i), rA);"
GRID = "dim3(m / 16, n / 16)"
WARPS = """
__global__ void __launch_bounds__(128) gather(float const* in, float* out, int n) {
  __shared__ float smem[128];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_32{}, _4{}, n));
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _4>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), make_shape(_32{}, _4{}, n));
  copy(local_partition(g(_, warp, blockIdx.x), Layout<_32>{}, lane), local_partition(s(_, TO), Layout<_32>{}, lane));
  __syncthreads();
  copy(local_partition(s(_, FROM), Layout<_32>{}, lane), local_partition(o(_, warp, blockIdx.x), Layout<_32>{}, lane));
}
void run(float const* in, float* out, int n) { gather<<<n, 128>>>(in, out, n); }
"""
RIGHT_KERNELS = {
    "slices": RIGHT.replace(FILL, "for (int j = 0; j < size<2>(rA); ++j) copy(tA(_, _, j, i), rA(_, _, j));"),
    "padded": RIGHT.replace(FILL, "copy(tA(_, _, 0, i), rA(_, _, 0));").replace(CLEAR, f"  clear(rA);\n{CLEAR}"),
    "rounded_up": RIGHT.replace(GRID, "dim3(ceil_div(m, 16), ceil_div(n, 16))"),
    "by_warps": WARPS.replace("TO", "warp").replace("FROM", "warp"),
    "read_by_all": WARPS.replace("TO", "warp").replace("FROM", "0"),
    "once": RIGHT,
    "summed_up": RIGHT.replace(STORE, AXPBY),
    "tiles": TILES,
    "timed": RIGHT.replace(
        "  for (int i", "  for (int again = 0; again < 100; ++again) {\n  clear(acc);\n  for (int i"
    ).replace(STORE, f"  }}\n{STORE}"),
    "first": RIGHT.replace(LOOP, f"if (i == 0) clear(acc);\n    {LOOP}"),
    "promoted": ANEW.replace(CLEAR, "  Tensor all = make_fragment_like(acc);\n  clear(all);\n", 1)
    .replace(LOOP, f"{LOOP}    for (int j = 0; j < size(acc); ++j) all(j) += acc(j);\n")
    .replace(STORE, "  copy(all, tC);\n"),
    "added": ANEW.replace(CLEAR, "  Tensor all = make_fragment_like(acc);\n  clear(all);\n", 1)
    .replace(LOOP, f"{LOOP}    axpby(1.f, acc, 1.f, all);\n")
    .replace(STORE, "  copy(all, tC);\n"),
    "own_warps": RIGHT.replace("Layout<Shape<_8, _8, _1>>", "Layout<Shape<_8, _4, _1>>").replace(
        "get_slice(threadIdx.x)", "get_slice(threadIdx.x % 32)"
    ),
}
WRONG_KERNELS = {
    "one_slice": (RIGHT.replace(FILL, "copy(tA(_, _, 0, i), rA(_, _, 0));"), "CUT221"),
    "few_blocks": (RIGHT.replace(GRID, "dim3(m / 16, n / 32)"), "CUT219"),
    "few_of_axpby": (RIGHT.replace(GRID, "dim3(ceil_div(m, 32), n / 16)").replace(STORE, AXPBY), "CUT219"),
    "anew": (ANEW, "CUT222"),
    "anew_summed_up": (ANEW.replace(STORE, AXPBY), "CUT222"),
    "one_warp": (RIGHT.replace("get_slice(threadIdx.x)", "get_slice(threadIdx.x % 32)"), "CUT701"),
    "warps": (RIGHT.replace("get_slice(threadIdx.x)", "get_slice(threadIdx.x / 32)").replace(STORE, AXPBY), "CUT701"),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp("anew")
    for name, text in {**RIGHT_KERNELS, **{n: t for n, (t, _) in WRONG_KERNELS.items()}}.items():
        (folder / f"{name}.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(arch=("sm_80",)))
    out: dict[str, set[str]] = {p.stem: set() for p in folder.glob("*.cu")}
    for f in report.findings:
        if f.code in ("CUT219", "CUT221", "CUT222", "CUT605", "CUT701"):
            out[Path(f.span.path).stem].add(f.code)
    return out


@pytest.mark.parametrize("name", RIGHT_KERNELS)
def test_sums_that_are_used(found: dict[str, set[str]], name: str) -> None:
    assert found[name] == set()


@pytest.mark.parametrize("name", WRONG_KERNELS)
def test_results_that_are_lost(found: dict[str, set[str]], name: str) -> None:
    assert found[name] == {WRONG_KERNELS[name][1]}
