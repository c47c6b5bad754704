"""Arguments that host code hands on in a tuple, and kernels in a braced list that ends with a comma."""

from __future__ import annotations

from pathlib import Path

from cutecheck.facts import TensorFact
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

TABLE = """
#include <cute/tensor.hpp>
#include <functional>
#include <map>
#include <string>
#include <tuple>
using namespace cute;
struct Problem { int n, c; };
template <int N, class T> __global__ void kernel(T const* x, Problem p) {
  __shared__ alignas(16) T s[N];
  auto g = make_tensor(make_gmem_ptr(x), make_shape(p.n, Int<N>{}), make_stride(p.c, _1{}));
  copy(g(blockIdx.x, _), make_tensor(make_smem_ptr(s), Layout<Int<N>>{}));
}
using Args = std::tuple<void const*, Problem, float>;
template <int N, class T> void go(Args const& a) {
  auto [x, p, scale] = a;
  kernel<N><<<p.n, 32>>>(static_cast<T const*>(x), p);
}
const std::map<std::string, std::function<void(Args const&)>> kernels = {
  {"half", go<64, half_t>},
  {"float", [](Args const& a) { go<32, float>(a); }},
};
void run(std::string const& name, Args const& a) { kernels.at(name)(a); }
"""


def test_pointers_and_objects_in_a_tuple_are_what_their_types_say(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TABLE)
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    found = set()
    for event in facts.events:
        source = event.operands[0]
        assert event.reason is None and isinstance(source, TensorFact) and source.dtype is not None
        found.add((source.dtype.name, source.space, str(source.layout)))
    assert found == {("half_t", "gmem", "(_64):(_1)"), ("float", "gmem", "(_32):(_1)")}
    assert not facts.errors
