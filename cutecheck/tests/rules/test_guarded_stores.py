"""CUT604 of elements that a kernel stores one by one under comparisons of their coordinates, and of unsigned limits."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>>;
__global__ void __launch_bounds__(128) epilogue(float* C, int m, int n) {
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor gC = local_tile(mC, Shape<_64, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor whole = local_tile(make_identity_tensor(shape(mC)), Shape<_64, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(Mma{}, Shape<_64, _32>{});
  Tensor tCg = thr.partition_C(gC);
  Tensor tCc = thr.partition_C(make_identity_tensor(Shape<_64, _32>{}));
  Tensor tCw = thr.partition_C(whole);
  int const left_m = m - blockIdx.x * 64, left_n = n - blockIdx.y * 32;
  clear(acc);
  for (int i = 0; i < size(acc); ++i) {
    BODY
  }
}
void run(float* C, int m, int n) { epilogue<<<dim3((m + 63) / 64, (n + 31) / 32), 128>>>(C, m, n); }
"""
RIGHT = [
    "if (elem_less(tCw(i), make_coord(m, n))) tCg(i) = acc(i);",
    "if (elem_less(tCw(i), shape(mC))) tCg(i) = acc(i);",
    "if (get<0>(tCc(i)) < m - blockIdx.x * 64 && get<1>(tCc(i)) < n - blockIdx.y * 32) tCg(i) = acc(i);",
    "if (get<0>(tCc(i)) < left_m) { if (get<1>(tCc(i)) < left_n) tCg(i) = acc(i); }",
    "if (get<1>(tCc(i)) >= left_n || get<0>(tCc(i)) >= left_m) continue;\n    tCg(i) = acc(i);",
    "if (get<0>(tCc(i)) + 64 * blockIdx.x < m and get<1>(tCw(i)) < n) tCg(i) = acc(i);",
    "if (elem_less(tCw(i), shape(mC)) && get<1>(tCw(i)) <= get<0>(tCw(i))) tCg(i) = acc(i);",
    "if (elem_less(tCc(i), make_coord(left_m, left_n))) tCg(i) = acc(i);",
    "auto [r, c] = tCw(i); if (r < m && c < n) tCg(i) = acc(i);",
    "int r = 64 * blockIdx.x + get<0>(tCc(i)), c = get<1>(tCw(i)); if (r >= m) continue; if (c < n) tCg(i) = acc(i);",
    "int r = get<0>(tCw(i)), rest = n - get<1>(tCw(i)); if (r < m && rest > 0) tCg(i) = acc(i);",
]
WRONG = [
    ("if (elem_less(tCw(i), make_coord(n, m))) tCg(i) = acc(i);", "compare mode 0 with `n`, the extent of mode 1"),
    ("if (get<0>(tCw(i)) < m) tCg(i) = acc(i);", "do not bound mode 1"),
    ("if (elem_less(tCc(i), make_coord(m, n))) tCg(i) = acc(i);", "start at the tile, but mode 0"),
    ("if (get<0>(tCw(i)) < m && get<1>(tCw(i)) <= n) tCg(i) = acc(i);", "let the coordinate n of mode 1 pass"),
    (
        "if (get<0>(tCc(i)) < m - blockIdx.x * 64 && get<1>(tCc(i)) < m - blockIdx.y * 32) tCg(i) = acc(i);",
        "what is left of the extent of mode 0",
    ),
    ("auto [r, c] = tCw(i); if (r < n && c < m) tCg(i) = acc(i);", "compare mode 0 with `n`, the extent of mode 1"),
    ("int r = get<0>(tCw(i)); if (r < m) tCg(i) = acc(i);", "do not bound mode 1"),
    (
        "if (i % 2 == 0 && elem_less(tCw(i), make_coord(n, m))) "
        "*reinterpret_cast<float2*>(raw_pointer_cast(&tCg(i))) = make_float2(acc(i), acc(i + 1));",
        "compare mode 0 with `n`, the extent of mode 1",
    ),
    ("if (get<0>(tCw(i)) < m) reinterpret_cast<int&>(tCg(i)) = 0;", "do not bound mode 1"),
    ("if (get<0>(tCw(i)) < m) ((int*)&tCg(i))[0] = 0;", "do not bound mode 1"),
    (
        "auto [r, c] = make_tuple(int(get<0>(tCw(i))), int(get<1>(tCw(i)))); if (r < m && c <= n) tCg(i) = acc(i);",
        "let the coordinate n of mode 1 pass",
    ),
    (
        "int c = 32 * blockIdx.y + get<1>(tCc(i)); if (get<0>(tCw(i)) < m && c < m) tCg(i) = acc(i);",
        "compare mode 1 with `m`, the extent of mode 0",
    ),
]


def found(folder: Path, body: str) -> list[str]:
    (folder / "k.cu").write_text(PREAMBLE + KERNEL.replace("BODY", body))
    report = check(inputs([folder]), Settings(select=("CUT604",), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return [f.message for f in report.findings]


@pytest.mark.parametrize("body", RIGHT)
def test_right_conditions(body: str, tmp_path: Path) -> None:
    assert not found(tmp_path, body)


@pytest.mark.parametrize(("body", "said"), WRONG)
def test_wrong_conditions(body: str, said: str, tmp_path: Path) -> None:
    assert any(said in m for m in found(tmp_path, body))


@pytest.mark.parametrize("end", ["left_n / 8", "min(2, left_n / 8)"])
def test_a_loop_without_an_end_by_its_text_may_bound_a_mode(end: str, tmp_path: Path) -> None:
    store = "if (get<0>(tCc(0, 0, x)) < left_m) tCg(0, 0, x) = acc(0, 0, x);"
    assert not found(tmp_path, f"for (int x = 0; x < {end}; ++x) {store}")
    assert found(tmp_path, f"for (int x = 0; x < 2; ++x) {store}")
