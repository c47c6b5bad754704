"""``elem_less`` of run-time numbers in functions and closures of the program's own is the comparison that it is."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

GUARDED = """
using Rows = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Smem = Layout<Shape<_16, _64>, Stride<_64, _1>>;
CUTE_DEVICE bool inside(int at, int end) { return elem_less(at, end); }
__global__ void __launch_bounds__(128) sums(half_t const* in, half_t* out, int m, int n) {
  __shared__ alignas(16) half_t smem[cosize_v<Smem>];
  Tensor s = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor a = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, _1{}));
  Tensor ga = local_tile(a, Shape<_16, _64>{}, make_coord(blockIdx.x, _));
  Tensor c = local_tile(make_identity_tensor(make_shape(m, n)), Shape<_16, _64>{}, make_coord(blockIdx.x, 0));
  auto thr = Rows{}.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(ga);
  Tensor at = thr.partition_S(c);
  Tensor other = make_tensor<half_t>(Smem{}(0, _).layout());
  auto ok = [&] { return elem_less(at(0, 0, 0), make_coord(m, n)); };
  for (int i = 0; i < size<2>(ga); ++i) {
    if (inside(get<0>(at(0, 0, 0)), m) && ok()) copy(Rows{}, from(_, _, _, i), thr.partition_D(s));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads(); // filled
    copy(s(threadIdx.x % 16, _), other);
    __syncthreads(); // read
  }
}
void run(half_t const* in, half_t* out, int m, int n) {
  if (n % 64) return;
  sums<<<(m + 15) / 16, 128>>>(in, out, m, n);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("", "", None),
        ("if (inside(get<0>", "if (inside(get<1>", "CUT604"),
        ("cp_async_wait<0>();", "cp_async_wait<1>();", "CUT213"),
        ("__syncthreads(); // read", "", "CUT212"),
    ],
)
def test_elements_below_an_end(tmp_path: Path, old: str, new: str, code: str | None) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + GUARDED.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT21", "CUT60")))
    assert {f.code for f in report.findings} == ({code} if code else set())
