"""Elements that threads of a C++ kernel store behind the end of a matrix, by the numbers of its launch (CUT219)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
template <class T> __global__ void dots(T const* b, T* c, int n, int k) {
  int bx = blockIdx.x, tx = threadIdx.x, ty = threadIdx.y;
  Tensor B = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, _1{}));
  Tensor C = make_tensor(make_gmem_ptr(c), make_shape(1, n), make_stride(n, _1{}));
  Tensor gB = local_tile(B, make_tile(Int<ROWS>{}, _128{}), make_coord(bx, 0));
  Tensor gC = local_tile(C, make_tile(_1{}, Int<ROWS>{}), make_coord(0, bx));
  float sum = 0;
  for (int i = tx; i < 128; i += 16) sum += float(gB(ty, i));
  STORE
}
void run(half_t const* b, half_t* c) { int n = 2560; dots<half_t><<<n / ROWS, dim3(16, 8)>>>(b, c, n, 128); }
"""
STORE = "if (tx == 0) gC(0, ty) = T(sum);"


@pytest.mark.parametrize(
    ("rows", "store", "found"),
    [
        (4, STORE, 1),
        (8, STORE, 0),
        (4, "if (ty >= 4) return; " + STORE, 0),
        (4, "bool mine = tx == 0 && ty < size<1>(gC); if (mine) gC(0, ty) = T(sum);", 0),
        (4, "if (bx * 4 + ty < n) gC(0, ty) = T(sum);", 0),
        (4, "for (int i = ty; i < 4; i += 8) gC(0, i) = T(sum);", 0),
        (4, "switch (ty / 4) { case 0: gC(0, ty) = T(sum); }", 0),
        (4, "auto put = [&](int i) { if (i < size<1>(gC)) gC(0, i) = T(sum); }; put(ty);", 0),
    ],
)
def test_elements_of_threads(tmp_path: Path, rows: int, store: str, found: int) -> None:
    text = PREAMBLE + KERNEL.replace("ROWS", str(rows)).replace("STORE", store)
    (tmp_path / "dots.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.failures
    assert [f.code for f in report.findings] == ["CUT219"] * found
    assert all("stores element 2560 along mode 1" in f.message for f in report.findings)
