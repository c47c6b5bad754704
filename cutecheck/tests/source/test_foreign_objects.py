"""Pointers and parameters that come from objects of headers which are not there are what their declared types say."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts, Unknown
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNELS = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T> __global__ void kern(T const* a) {
  Tensor g = make_tensor(make_gmem_ptr(a), make_shape(_8{}, _4{}));
  Tensor r = make_tensor_like(g);
  copy(g, r);
}
struct P { half_t const* a; int n; };
__global__ void of_params(P p) {
  Tensor g = make_tensor(make_gmem_ptr(p.a), make_shape(_8{}, _4{}));
  Tensor r = make_tensor_like(g);
  copy(g, r);
}
template <class T> void launch(T const* a, int n) { kern<T><<<1, n>>>(a); }
"""
HOSTS = {
    "a cast, then auto": """
void run(lib::Buffer<lib::F16> x) {
  auto* p = reinterpret_cast<half_t const*>(x.typed_data());
  launch<half_t>(p, 64);
}""",
    "a cast as argument": "void run(Foreign x) { kern<<<1, 64>>>(static_cast<half_t const*>(x->data)); }",
    "a declared pointer": "void run(Foreign x) { half_t const* p = x.data(); kern<<<1, 64>>>(p); }",
    "a parameter of the host": "void run(Foreign x) { launch<half_t>(x.template data<half_t>(), 64); }",
    "a parameter of the kernel": "void run(Foreign x) { kern<half_t><<<1, 64>>>(x.data()); }",
    "data whose type is said": "void run(Foreign x) { kern<<<1, 64>>>(x.data_ptr<half_t>()); }",
    "data whose type is said, in a variable": """
void run(const Foreign& x) {
  auto p = x.template mutable_data_ptr<half_t>();
  launch(p, 64);
}""",
    "data of a pack of types": """
template <class... Ts> void over(Foreign x) { kern<half_t><<<1, 64>>>(x.template data<Ts...>()); }
void run(Foreign x) { over<>(x); }""",
    "a parameter that is not deduced": """
template <class T> struct Traits { using Element = T; };
template <class Tr> __global__ void kern_of(typename Tr::Element const* a) {
  Tensor g = make_tensor(make_gmem_ptr(a), make_shape(_8{}, _4{}));
  copy(g, make_tensor_like(g));
}
void run(const at::Tensor& x) { kern_of<Traits<half_t>><<<1, 64>>>(x.data_as_halves()); }""",
    "an object for the kernel": "void run(Foreign x) { auto p = x.params(); of_params<<<1, 64>>>(p); }",
}


def _facts(tmp_path: Path, host: str) -> Facts:
    (tmp_path / "k.cu").write_text(KERNELS + host)
    return extract(ExtractRequest((tmp_path,)))


@pytest.mark.parametrize("style", HOSTS)
def test_the_declared_type_is_taken(tmp_path: Path, style: str) -> None:
    facts = _facts(tmp_path, HOSTS[style])
    of_halves = "kern_of<Traits<cutlass::half_t>>" if "kern_of" in HOSTS[style] else "kern<cutlass::half_t>"
    kernel = "of_params" if "of_params" in HOSTS[style] else of_halves
    assert kernel in {x.kernel for x in facts.launches}
    events = [e for e in facts.events if e.enclosing == kernel]
    shown = {tuple((o.space, o.dtype.name if o.dtype else "", str(o.layout)) for o in e.operands) for e in events}
    assert shown == {(("gmem", "half_t", "(_8,_4):(_1,_8)"), ("rmem", "half_t", "(_8,_4):(_1,_8)"))}


def test_what_a_cast_does_not_name_stays_unknown(tmp_path: Path) -> None:
    """Neither the pointee of a type that is not there nor a pointer of device code is made up."""
    host = """
    __global__ void device(lib::Args args) {
      auto s = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(args.at(threadIdx.x))), Layout<_8>{});
      copy(s, make_tensor_like(s));
    }
    void run(Foreign x) { kern<<<1, 64>>>(reinterpret_cast<lib::half const*>(x.data())); device<<<1, 64>>>(x.args()); }
    """
    events = [e for e in _facts(tmp_path, host).events if e.enclosing != "of_params"]
    assert events
    assert all(isinstance(e.operands[0].layout, Unknown) for e in events)
