"""Accumulators that each pass of a loop sets anew (CUT222), slices of a TiledMMA whose results nothing stores (CUT701),
and stores that each pass makes to one place: each beside right kernels that look alike."""

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
    RIGHT.replace(CLEAR, "  for (int tile = 0; tile < 4; ++tile) {\n  clear(acc);\n")
    .replace("copy(tA(_, _, _, i), rA);", "copy(tA(_, _, _, i + 8 * tile), rA);")
    .replace(
        STORE, "  copy(acc, thr.partition_C(local_tile(mC, Shape<_16, _16>{}, make_coord(tile, blockIdx.y))));\n  }\n"
    )
)
RIGHT_KERNELS = {
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
        if f.code in ("CUT222", "CUT701"):
            out[Path(f.span.path).stem].add(f.code)
    return out


@pytest.mark.parametrize("name", RIGHT_KERNELS)
def test_sums_that_are_used(found: dict[str, set[str]], name: str) -> None:
    assert found[name] == set()


@pytest.mark.parametrize("name", WRONG_KERNELS)
def test_results_that_are_lost(found: dict[str, set[str]], name: str) -> None:
    assert found[name] == {WRONG_KERNELS[name][1]}
