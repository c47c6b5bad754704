"""Elements of registers that a kernel computes with before anything has set them (CUT221)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_dsl_leftovers import KERNEL as DSL_KERNEL
from cutecheck.tests.rules.test_read_without_write import codes
from cutecheck.tests.rules.test_roles import KERNEL

PARTS = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
template <class T> __device__ void zero(T&& t) { CUTE_UNROLL for (int i = 0; i < size(t); ++i) t(i) = 0.f; }
template <class T> __device__ void zero_at(T* t, int n) { for (int i = 0; i < n; ++i) t[i] = 0.f; }
__device__ float load(float& to, float const* from) { to = *from; return to; }
template <class T> __device__ void scale(T& acc, float f) {
  Tensor rows = make_tensor(acc.data(), Layout<Shape<_2, _2>>{});
  for (int m = 0; m < size<0>(rows); ++m)
    for (int n = 0; n < size<1>(rows); ++n) rows(m, n) *= f;
}
template <bool kFirst, class S, class T> __device__ void sum_of(S& sum, T const& t) {
  for (int m = 0; m < size(sum); ++m) {
    sum(m) = kFirst ? t(m) : sum(m) + t(m);
    for (int n = 1; n < 2; ++n) sum(m) = sum(m) + t(m);
  }
}
template <class To, class T> __device__ auto cast_to(T const& t) {
  Tensor r = make_tensor_like<To>(t);
  for (int i = 0; i < size(t); ++i) r(i) = To(t(i));
  return r;
}
__global__ void __launch_bounds__(128) combine(float const* P, float const* W, float* O, int splits, int rows) {
  Tensor gP = make_tensor(make_gmem_ptr(P), make_shape(_16{}, _32{}, splits), make_stride(_32{}, _1{}, rows * 32));
  Tensor gO = make_tensor(make_gmem_ptr(O), Layout<Shape<_16, _32>, Stride<_32, _1>>{});
  auto thr = Rows{}.get_slice(threadIdx.x);
  Tensor tP = thr.partition_S(gP), tO = thr.partition_D(gO);
  Tensor part = make_fragment_like(tO), acc = make_fragment_like(tO), out = make_fragment_like(tO);
  clear(out);
  %s
  for (int s = 0; s < splits; ++s) {
    copy(Rows{}, tP(_, _, _, s), part);
    %s
  }
  copy(Rows{}, %s, tO);
}
void run(float const* P, float const* W, float* O, int splits, int rows) {
  combine<<<1, 128>>>(P, W, O, splits, rows);
}
"""
USES = [
    "for (int i = 0; i < size(acc); ++i) acc(i) += W[s] * part(i);",
    "for (int i = 0; i < size(acc); ++i) acc(i) = acc(i) + part(i);",
    "for (int i = 0; i < size(acc); ++i) acc[i] = max(part(i), acc[i]);",
    "for (int i = 0; i < size(acc); ++i) { out(i) = float(acc(i)) + part(i); }",
    "CUTE_UNROLL for (int i = 0; i < 4; ++i) { float const x = -acc(i); out(i) += x; }",
    "acc(1) *= W[s];",
    "for (int i = 0; i < size(acc); ++i) acc(i) += part(i) * (s < 3 ? __ldg(W + s) : 0.f);",
    "scale(acc, W[s]);",
    "out = cast_to<float>(acc);",
    "sum_of<false>(acc, part);",
]


@pytest.mark.parametrize("use", [u for u in USES if "sum_of" not in u])
@pytest.mark.parametrize("first", ["clear(acc);", "zero(acc);", "zero_at(acc.data(), 4);"])
def test_what_is_set_before_may_be_computed_with(tmp_path: Path, use: str, first: str) -> None:
    assert codes(tmp_path, PARTS % (first, use, "out")) == []


@pytest.mark.parametrize("use", [u for u in USES if "sum_of" not in u])
def test_what_nothing_has_set_may_not(tmp_path: Path, use: str) -> None:
    (found,) = codes(tmp_path, PARTS % ("", use, "out"))
    assert found.startswith("CUT221")
    assert "nothing has written these registers before" in found


@pytest.mark.parametrize(
    "use",
    [
        "if (s == 0) sum_of<true>(acc, part); else sum_of<false>(acc, part);",
        "if (s == 0) { copy(part, acc); } else { for (int i = 0; i < 4; ++i) acc(i) += part(i); }",
        "for (int i = 0; i < 4; ++i) { acc(i) = part(i); acc(i) += 1.f; }",
        "for (int i = 0; i < 4; ++i) acc(i) = s > 0 ? acc(i) + part(i) : part(i);",
        "for (int i = 0; i < 4; ++i) { if (s == 0) acc(i) = 0.f; acc(i) += part(i); }",
        "for (int i = 0; i < 4; ++i) { out(i) = load(acc(i), W); }",
        "for (int i = 0; i < 4; ++i) { float& x = acc(i); x = 1.f; out(i) += x; }",
        "for (int i = 0; i < 4; ++i) { acc(i) = W[i]; } for (int i = 0; i < 4; ++i) acc(i) += part(i);",
        "float* at = acc.data(); zero_at(at, 4); Tensor v = make_tensor(at, Layout<_4>{}); "
        "for (int i = 0; i < 4; ++i) v(i) += 1.f;",
        "for (int i = 0; i < 1; ++i) { Tensor one = acc(_, _, i); zero(one); }",
        "for (int i = 0; i < 1; ++i) { auto at = make_coord(_, _, i); auto one = acc(at); one(0) = W[i]; }",
        "for (int i = 0; i < 1; ++i) { zero(acc(_, _, i)); }",
        "for (int i = 0; i < 1; ++i) { Tensor one = acc(_, _, i); one(0) = W[i]; }",
        "auto set = [&](int i) { acc(i) = 0.f; }; for (int i = 0; i < 4; ++i) { set(i); acc(i) += part(i); }",
        "auto set = [&](int i) { acc(i) = 0.f; return i; }; for (int i = 0; i < 4; ++i) { acc(i) += part(set(i)); }",
        "auto f = [&] { zero(acc); }; f(); for (int i = 0; i < 4; ++i) acc(i) += part(i);",
        "transform(part, acc, [](float x) { return x; }); for (int i = 0; i < 4; ++i) acc(i) += part(i);",
    ],
)
def test_what_is_set_in_the_first_pass(tmp_path: Path, use: str) -> None:
    assert codes(tmp_path, PARTS % ("", use, "acc")) == []


@pytest.mark.parametrize(("first", "found"), [("clear(sum);", []), ("", ["CUT221"])])
def test_registers_of_a_thread_that_is_run_by_role(tmp_path: Path, first: str, found: list[str]) -> None:
    text = KERNEL.replace(
        "  int stage = 0", f"  Tensor sum = make_tensor<float>(Shape<_64>{{}});\n  {first}\n  int stage = 0", 1
    )
    added = "for (int j = 0; j < size(r); ++j) sum(j) += float(r(j));\n    out[threadIdx.x] = half_t(sum(0));"
    text = text.replace("out[threadIdx.x] = r(0);", added)
    assert [f[:6] for f in codes(tmp_path, text)] == found


def test_registers_that_a_thread_run_by_role_sets_too_late(tmp_path: Path) -> None:
    made = "  Tensor sum = make_tensor<float>(Shape<_64>{});\n"
    text = KERNEL.replace("  int stage = 0", f"{made}  int stage = 0", 1)
    added = "for (int j = 0; j < size(r); ++j) sum(j) += float(r(j));\n    "
    late = "out[threadIdx.x] = half_t(sum(0)); clear(sum);"
    one = f"if (threadIdx.x / 32 == 1) {{ {added} {late} }}"
    (found,) = codes(tmp_path, text.replace("out[threadIdx.x] = r(0);", one))
    assert found.startswith("CUT221 `sum`")


DSL_USES = [
    "acc[i] += r[i]",
    "acc[i] = acc[i] * 2.0",
    "z[i] = acc[i] + r[i]",
]


def dsl_codes(folder: Path, first: str, use: str) -> list[str]:
    lines = ("acc = cute.make_fragment_like(y)", first, "for i in cutlass.range_constexpr(16):", f"    {use}")
    (folder / "k.py").write_text(DSL_KERNEL.replace("STORE", "\n    ".join(lines)))
    report = check(inputs([str(folder)]), Settings(select=("CUT221",), arch=("sm_90a",)))
    assert not report.failures
    assert report.facts.sites
    return [f.message for f in report.findings]


@pytest.mark.parametrize("use", DSL_USES)
@pytest.mark.parametrize(
    "first",
    ["acc.fill(0.0)", "acc.store(r.load())", "cute.autovec_copy(x, acc)", "acc[0] = 1.0", "elsewhere.f(acc)"],
)
def test_registers_of_python_that_something_sets(tmp_path: Path, first: str, use: str) -> None:
    assert dsl_codes(tmp_path, first, use) == []


@pytest.mark.parametrize("use", DSL_USES)
def test_registers_of_python_that_nothing_sets(tmp_path: Path, use: str) -> None:
    (found,) = dsl_codes(tmp_path, "pass", use)
    assert found.startswith("`acc` is read, and nothing has written")


@pytest.mark.parametrize(
    "use", ["acc[i] = r[i]", "if i == 0:\n            acc[i] = 0.0\n        acc[i] += 1.0", "total(acc)"]
)
def test_registers_of_python_that_need_not_be(tmp_path: Path, use: str) -> None:
    assert dsl_codes(tmp_path, "pass", use) == []


UNBOUND = """
template <class T0, class T1> __device__ void rescale(T0& o, T1& s) {
  for (int i = 0; i < size<0>(s); ++i) o(i) *= s(i);
}
template <class Traits, class Storage> __global__ void __launch_bounds__(128) kernel(float* out) {
  extern __shared__ char memory[];
  auto& storage = *reinterpret_cast<Storage*>(memory);
  Tensor sScale = make_tensor(make_smem_ptr(storage.scale.data()), typename Traits::SmemLayoutRow{});
  Tensor acc = make_tensor<float>(Shape<_2>{}), factor = make_tensor<float>(Shape<_2>{});
  clear(acc);
  %s
  rescale(acc, factor);
  copy(acc, make_tensor(make_gmem_ptr(out + threadIdx.x * 2), Shape<_2>{}));
}
template <class Traits, class S> void run(float* out) { kernel<Traits, S><<<1, 128, sizeof(S)>>>(out); }
"""


@pytest.mark.parametrize("copied", [True, False])
def test_registers_that_a_copy_of_what_is_not_bound_writes(tmp_path: Path, copied: bool) -> None:
    writer = "copy(sScale(_, threadIdx.x), factor);" if copied else ""
    assert codes(tmp_path, UNBOUND % writer, "CUT221") == (
        [] if copied else ["CUT221 `s` is read, and nothing has written these registers before"]
    )
