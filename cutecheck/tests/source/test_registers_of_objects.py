"""``make_rmem_ptr<T>(&object)``: the registers of an object as a tensor, as converters of whole arrays make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Event, TensorFact
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

CONVERTER = """
namespace lib {
template <class T, int N> struct Array { T storage[N]; };
template <class To, class From, int N> struct Converter {
  __device__ static Array<To, N> convert(Array<From, N> const& source) {
    Array<To, N> result;
    for (int i = 0; i < N; ++i) { result.storage[i] = To(source.storage[i]); }
    return result;
  }
  __device__ Array<To, N> operator()(Array<From, N> const& source) const { return convert(source); }
};
}
"""
CONVERT = """
#include <cute/tensor.hpp>
#include "converter.h"
using namespace cute;
template <class To, class Engine, class Layout> __device__ auto convert_type(Tensor<Engine, Layout> const& tensor) {
  using From = typename Engine::value_type;
  constexpr int numel = decltype(size(tensor))::value;
  lib::Converter<To, From, numel> convert_op;
  auto frag = convert_op(*reinterpret_cast<const lib::Array<From, numel>*>(tensor.data()));
  return make_tensor(make_rmem_ptr<To>(&frag), tensor.layout());
}
__global__ void kernel(cutlass::half_t* p) {
  auto t = make_tensor<float>(Shape<_4, _2>{});
  auto r = convert_type<cutlass::half_t>(t);
  copy(r, make_tensor(make_gmem_ptr(p), r.layout()));
}
void launch(cutlass::half_t* p) { kernel<<<1, 32>>>(p); }
"""
WRITTEN = """
#include <cute/tensor.hpp>
using namespace cute;
struct S { int n; int m[3]; };
__global__ void kernel(int* p, int which) {
  S s; s.n = 4; s.m[0] = 1;
  auto t = make_tensor(make_rmem_ptr<int>(&s), Layout<Shape<_4>>{});
  auto g = make_tensor(make_gmem_ptr(p), Layout<Shape<_4>>{});
  WRITE;
  auto l = make_tensor(make_gmem_ptr(p), make_layout(s.n));
  copy_if(l, l, l);
}
void launch(int* p) { kernel<<<1, 32>>>(p, 1); }
"""


def events(folder: Path, **files: str) -> list[Event]:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return list(extract(ExtractRequest((folder,))).events)


@pytest.mark.parametrize("known", [True, False])
def test_a_converted_array_is_registers_whether_its_header_is_there_or_not(tmp_path: Path, known: bool) -> None:
    (event,) = events(tmp_path, k_cu=CONVERT, **({"converter_h": CONVERTER} if known else {}))
    source, target = event.operands
    assert (source.space, source.dtype and source.dtype.name, str(source.layout)) == (
        "rmem",
        "half_t",
        "(_4,_2):(_1,_4)",
    )
    assert (target.space, str(target.layout)) == ("gmem", "(_4,_2):(_1,_4)")


UNKNOWN = """
#include <cute/tensor.hpp>
#include "converter.h"
using namespace cute;
template <int N> __global__ void kernel(float const* A, half_t* p) {
  auto g = make_tensor(make_gmem_ptr(A), Layout<Shape<_8>>{});
  auto t = make_fragment_like(g);
  copy(g, t);
  auto r = make_tensor_like<half_t>(t);
  lib::Converter<half_t, float, 8> convert;
  auto frag = convert(CONVERTED);
  copy(make_tensor(make_rmem_ptr<half_t>(&frag), t.layout()), r);
  copy(r, make_tensor(make_gmem_ptr(p), Layout<Shape<_8>>{}));
}
void launch(float const* A, half_t* p) { kernel<1><<<1, 32>>>(A, p); }
"""


@pytest.mark.parametrize(
    "converted", ["reinterpret_cast<lib::Array<float, 8> const&>(*t.data())", "lib::whatever(t)", "*(Any*)(t.data())"]
)
def test_an_object_that_is_not_followed_may_have_been_written(tmp_path: Path, converted: str) -> None:
    """No tensor owns the registers that such a pointer leads to: that nothing writes them is not said (CUT221)."""
    for name, text in (("k.cu", UNKNOWN.replace("CONVERTED", converted)), ("converter.h", CONVERTER)):
        (tmp_path / name).write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT2",)))
    assert not report.failures and not report.findings


def written(folder: Path, text: str) -> TensorFact:
    (event,) = [e for e in events(folder, k_cu=WRITTEN.replace("WRITE", text)) if e.callee == "copy_if"]
    return event.operands[0]


@pytest.mark.parametrize(
    "text",
    [
        "copy(g, t)", "t(0) = 7", "clear(t)", "fill(t, 9)", "t[which] += 1", "axpby(1, g, 1, t)",
        "transform(g, t, [](int a) { return a; })", "for (int i = 0; i < size(t); ++i) { t(i) = g(i); }",
        "gemm(t, t, t)", "int* q = t.data(); *q = 3",
    ],
)  # fmt: skip
def test_what_is_written_to_the_registers_is_written_to_the_object(tmp_path: Path, text: str) -> None:
    assert str(written(tmp_path, text).layout) != "4:_1"


@pytest.mark.parametrize("text", ["", "copy(t, g)", "clear(g)", "int a = t(0)"])
def test_what_is_written_elsewhere_is_not(tmp_path: Path, text: str) -> None:
    assert str(written(tmp_path, text).layout) == "4:_1"


GENERATED = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T, class U> __device__ void body(U* pC) {
  Tensor acc = make_tensor(make_rmem_ptr(reinterpret_cast<T*>(pC)), Shape<_4>{});
  copy(make_tensor<T>(Shape<_4>{}), acc);
}
__global__ void kernel() {
  DECLARED;
  GIVEN;
}
"""


@pytest.mark.parametrize(
    ("declared", "given", "element"),
    [
        ("int acc[8]", "body<int>(acc)", "int"),  # arrays of a few integers are followed element by element
        ("int acc[8]", "body<int>(&acc[4])", "int"),
        ("uint32_t acc[3][4]", "body<uint32_t>(&acc[1][0])", "uint32_t"),
        ("uint32_t acc[2]", "body<half_t>(&acc[0])", "half_t"),
        ("uint64_t acc = 0", "body<half_t>(&acc)", "half_t"),
    ],
)
def test_numbers_that_are_followed_lie_in_registers(tmp_path: Path, declared: str, given: str, element: str) -> None:
    (event,) = events(tmp_path, k_cu=GENERATED.replace("DECLARED", declared).replace("GIVEN", given))
    target = event.operands[1]
    assert (target.space, target.dtype and target.dtype.name, str(target.layout)) == ("rmem", element, "(_4):(_1)")


@pytest.mark.parametrize("text", ["copy(g, t)", "t(0) = 7", "clear(t)"])
def test_what_is_written_to_the_registers_is_written_to_the_numbers(tmp_path: Path, text: str) -> None:
    kernel = WRITTEN.replace("S s; s.n = 4; s.m[0] = 1;", "int s[4]; s[0] = 4;").replace("<int>(&s)", "(&s[0])")
    kernel = kernel.replace("WRITE", text).replace("s.n", "s[0]")
    (event,) = [e for e in events(tmp_path, k_cu=kernel) if e.callee == "copy_if"]
    assert str(event.operands[0].layout) != "4:_1"
