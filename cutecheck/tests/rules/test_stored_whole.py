"""CUT210 of whole tiles that are stored, by copies and element by element, where other copies go as far as a mode."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint64_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) product(half_t const* B, float* C, half_t* D, int m, int n, int d,
                                               int const* on) {
  __shared__ alignas(16) half_t b[32 * 32];
  if (*on == 0) return;
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, 32), make_stride(32, _1{}));
  Tensor gB = local_tile(mB, Shape<_32, _32>{}, make_coord(blockIdx.y, 0));
  Tensor sB = make_tensor(make_smem_ptr(b), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  auto thr = Rows{}.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(gB), to = thr.partition_D(sB);
  Tensor at = thr.partition_S(make_identity_tensor(Shape<_32, _32>{}));
  for (int i = 0; i < size<1>(from); ++i) {
    if (BLOCK + get<0>(at(0, i, 0)) < n) copy(Rows{}, from(_, i, _), to(_, i, _));
  }
  Tensor mD = make_tensor(make_gmem_ptr(D + blockIdx.x * d * 32), make_shape(d, _32{}), make_stride(_32{}, _1{}));
  Tensor gD = local_tile(mD, Shape<_32, _32>{}, make_coord(0, 0));
  Tensor fD = thr.partition_S(gD), tD = thr.partition_D(gD);
  for (int i = 0; i < size<1>(fD); ++i) {
    if (get<0>(at(0, i, 0)) < d) copy(Rows{}, fD(_, i, _), to(_, i, _));
  }
  __syncthreads();
  Tensor mC = make_tensor(make_gmem_ptr(C + blockIdx.z * m * n), make_shape(m, n), make_stride(n, _1{}));
  Tensor gC = local_tile(mC, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor cC = local_tile(make_identity_tensor(shape(mC)), Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  auto thr_mma = Mma{}.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(Mma{}, Shape<_32, _32>{});
  clear(acc);
  Tensor tC = thr_mma.partition_C(gC), tc = thr_mma.partition_C(cC);
  for (int i = 0; i < size(acc); ++i) { STORE }
  Tensor source = thr.partition_S(sB);
  LAST
}
void run(half_t const* B, float* C, half_t* D, int m, int n, int d, int const* on) {
  HOST
  product<<<dim3((m + 31) / 32, (n + 31) / 32, 4), 128>>>(B, C, D, m, n, d, on);
}
"""
ELEMENTS = "if (elem_less(tc(i), shape(mC))) tC(i) = acc(i);"
PART = "for (int i = 0; i < size<1>(tD); ++i) if (get<0>(at(0, i, 0)) < d) copy(Rows{}, source(_, i, _), tD(_, i, _));"
WHOLE = "copy(Rows{}, source, tD);"


def found(
    folder: Path, store: str = ELEMENTS, last: str = PART, host: str = "", block: str = "blockIdx.y * 32"
) -> list[str]:
    text = KERNEL.replace("STORE", store).replace("LAST", last).replace("HOST", host).replace("BLOCK", block)
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(select=("CUT210",), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return [f.message for f in report.findings]


def test_both_ask(tmp_path: Path) -> None:
    assert not found(tmp_path)


@pytest.mark.parametrize("host", ["", "if (n % 8 != 0) return;"])
def test_elements_without_a_condition(host: str, tmp_path: Path) -> None:
    said = found(tmp_path, "tC(i) = acc(i);", host=host)
    assert len(said) == 1 and "`tC(i)` is stored" in said[0] and "only as far as n" in said[0]


@pytest.mark.parametrize(
    "host", ["if (n % 32 != 0) return;", "if (n % 64 != 0) return;", "if (n * m % 8 != 0) return;"]
)
def test_a_host_that_asks_for_whole_tiles(host: str, tmp_path: Path) -> None:
    assert not found(tmp_path, "tC(i) = acc(i);", host=host)


def test_elements_under_conditions_of_threads(tmp_path: Path) -> None:
    assert not found(tmp_path, "if (blockIdx.y * 32 + threadIdx.x / 4 < n) tC(i) = acc(i);")


def test_the_first_tile_of_a_mode(tmp_path: Path) -> None:
    said = found(tmp_path, last=WHOLE)
    assert len(said) == 1 and "`tD` is stored" in said[0] and "only as far as d" in said[0]


def test_a_condition_that_says_so(tmp_path: Path) -> None:
    assert not found(tmp_path, last="if (d % 32 == 0) { " + WHOLE + " }")
    assert not found(tmp_path, last=WHOLE, host="if (d % 32 != 0) return;")
