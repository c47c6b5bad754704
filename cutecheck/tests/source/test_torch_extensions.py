"""Extensions of PyTorch, whose headers are not in the tree: what its dispatch macros choose from is walked."""

from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import run

TEXT = """
#include <ATen/Dispatch.h>
template <class T> struct Own;
template <> struct Own<at::Half> { using type = cutlass::half_t; };
template <> struct Own<c10::BFloat16> { using type = cutlass::bfloat16_t; };
template <> struct Own<float> { using type = cutlass::tfloat32_t; };
template <> struct Own<double> { using type = double; };
template <> struct Own<int> { using type = int; };
template <class T, int N> __global__ void k(T* p) {
  auto l = Layout<Int<N>>{};
  copy(make_tensor(make_gmem_ptr(p), l), make_tensor<T>(l));
}
template <class T, int N> void launch(at::Tensor& x) {
  using E = typename Own<T>::type;
  k<E, N><<<1, 32>>>(static_cast<E*>(x.data_ptr()));
}
#define DISPATCH_SIZE(n, NAME, ...) [&] { switch (n) { \\
  case 32: { constexpr int NAME = 32; return __VA_ARGS__(); } \\
  case 64: { constexpr int NAME = 64; return __VA_ARGS__(); } \\
  default: TORCH_CHECK(false, "no"); } }()
#define DISPATCH_HALF(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, \\
  AT_DISPATCH_CASE(at::ScalarType::Half, __VA_ARGS__) AT_DISPATCH_CASE(at::kBFloat16, __VA_ARGS__))
void host(at::Tensor x) { WHAT }
"""
HALVES = {"half_t", "bfloat16_t"}
RUN = "[&] { DISPATCH_SIZE(x.size(1), kN, [&] { launch<scalar_t, kN>(x); }); }"


@pytest.mark.parametrize(
    ("what", "types"),
    [
        (f'DISPATCH_HALF(x.scalar_type(), "f", {RUN});', HALVES),
        (f'AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "f", {RUN});', HALVES),
        (f'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", {RUN});', {"tfloat32_t", "double"}),
        (f'AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::ScalarType::BFloat16, x.scalar_type(), "f", {RUN});',
         {*HALVES, "tfloat32_t", "double"}),
        ('AT_DISPATCH_INDEX_TYPES(x.scalar_type(), "f", [&] { k<int, sizeof(index_t) * 8><<<1, 32>>>(nullptr); });',
         {"int"}),
    ],
)  # fmt: skip
def test_every_type_and_size_that_is_dispatched_on_is_walked(tmp_path: Path, what: str, types: set[str]) -> None:
    facts = run(tmp_path, TEXT.replace("WHAT", what))
    assert not facts.errors
    found = {(str(o.dtype.name if o.dtype else "?"), str(o.layout)) for e in facts.events for o in e.operands[:1]}
    assert found == {(t, layout) for t in types for layout in ("_32:_1", "_64:_1")}


def test_a_macro_of_that_name_in_the_tree_is_the_tree_s(tmp_path: Path) -> None:
    body = "[&] { using scalar_t = at::Half; __VA_ARGS__(); }()"
    own = f"#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...) {body}\n"
    what = f'AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "f", {RUN});'
    facts = run(tmp_path, own + TEXT.replace("WHAT", what))
    assert {str(e.operands[0].dtype.name) for e in facts.events if e.operands[0].dtype} == {"half_t"}


def test_elements_of_pytorch_and_of_cuda_have_a_width_and_one_type(tmp_path: Path) -> None:
    """``typedef __half half`` in cuda_fp16.h: a specialisation for one name is that for the other."""
    text = """
template <class T> struct Wide { static constexpr int n = 1; };
template <> struct Wide<half> { static constexpr int n = 2; };
template <> struct Wide<__nv_fp8_e4m3> { static constexpr int n = 3; };
template <class T> __global__ void own(T* p) {
  Copy_Atom<UniversalCopy<T>, T> atom;
  auto l = Layout<Shape<Int<Wide<T>::n>, Int<sizeof_bits_v<T>>>>{};
  copy(atom, make_tensor(make_gmem_ptr(p), l), make_tensor<T>(l));
}
void host(at::Tensor x) {
  AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "f", [&] { own<scalar_t><<<1, 32>>>(nullptr); });
  own<__half><<<1, 32>>>(nullptr); own<nv_half><<<1, 32>>>(nullptr); own<__nv_fp8_e4m3><<<1, 32>>>(nullptr);
}
"""
    found = {
        (str(o.dtype.name if o.dtype else "?"), str(o.layout)) for e in run(tmp_path, text).events for o in e.operands
    }
    assert found == {
        ("c10::Half", "(_1,_16):(_0,_1)"),
        ("c10::BFloat16", "(_1,_16):(_0,_1)"),
        ("__half", "(_2,_16):(_1,_2)"),
        ("__nv_fp8_e4m3", "(_3,_8):(_1,_3)"),
    }
