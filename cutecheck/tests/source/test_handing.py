"""Files that only call and instantiate what stands elsewhere are not followed, and that changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source import translate
from cutecheck.source.cpp import load
from cutecheck.source.extract import extract
from cutecheck.source.handing import hands_on
from cutecheck.source.request import ExtractRequest

HEADER = """#pragma once
#include <cute/tensor.hpp>
#define SPACE flash
struct Params { int n; };
template <int N, class T> __global__ void kernel(T* p) {
  __shared__ T smem[N];
  auto s = cute::make_tensor(cute::make_smem_ptr(smem), cute::make_layout(cute::Int<N>{}));
  auto r = cute::make_fragment_like(s);
  cute::copy(s, r);
}
template <int N, class T> void run(Params& p, T* x) { kernel<N, T><<<1, 128>>>(x); }
template <class T, int N> void run_(Params& p, T* x);
"""
HANDING = {
    "a specialisation": "template <> void run_<float, 8>(Params& p, float* x) { run<8, float>(p, x); }",
    "in a namespace": "namespace SPACE { template <> void run_<float, 8>(Params& p, float* x) { ::run<8>(p, x); } }",
    "an instantiation": "template void run<16, float>(Params&, float*);",
    "an instantiation elsewhere": "extern template void run<16, float>(Params&, float*);",
    "an instantiated kernel": "template __global__ void kernel<16, float>(float*);",
    "an answer": "int start(Params& p, float* x) { run<8>(p, x); return 0; }",
    "nothing": "",
}
NOT_HANDING = {
    "a launch": "void start(float* x) { kernel<8><<<1, 64>>>(x); }",
    "a launch by a function": "void start(void** a) { cudaLaunchKernel(kernel<8, float>, 1, 64, a, 0, 0); }",
    "shared memory": "void start() { cudaFuncSetAttribute(kernel<8, float>, attribute, 4096); }",
    "a kernel": "__global__ void own(float* x) { run_it(x); }",
    "a device function": "__device__ void own(float* x) { run_it(x); }",
    "CuTe's function": "template <class A> void own(A a, A b) { cute::copy(a, b); }",
    "CuTe's type": "void start(Params& p, float* x) { run<8, TiledCopy<int>>(p, x); }",
    "a class": "struct Mine { int n; }; void start(Params& p, float* x) { run<8>(p, x); }",
    "a variable": "int n = take(8);",
    "a local": "void start(Params& p, float* x) { auto t = made(p); run<8>(p, x); }",
    "an element": "template <class A> void start(A a) { run(a[0]); }",
    "a call of a parameter": "template <class A> void start(A a) { a(1); }",
    "a call of a member": "void start(Params& p) { p.run(1); }",
    "a lambda": "void start(Params& p, float* x) { with(p, [=]() { run<8>(p, x); }); }",
    "an operator": "template <class A> void start(A a) { run(a + a); }",
    "a macro": "#define DO(x) make_layout(x)\nvoid start(int n) { DO(n); }",
    "an assertion": "static_assert(sized(8) == 8);",
    "an alias": "using L = decltype(sized(8));",
    "a sum of types": "template <class A> auto start(A a) -> decltype(a + a) { return run(a); }",
}


@pytest.mark.parametrize("way", HANDING)
def test_nothing_is_lost_where_a_file_hands_on(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed() -> Facts:
        return extract(ExtractRequest((tmp_path,), changed=(tmp_path / "edited.cu",)))

    (tmp_path / "kernel.h").write_text(HEADER)
    (tmp_path / "other.cu").write_text('#include "kernel.h"\nvoid g(Params& p, int* x) { run<32>(p, x); }\n')
    (tmp_path / "edited.cu").write_text(f'#include "kernel.h"\n{HANDING[way]}\n')
    monkeypatch.setattr(translate, "hands_on", lambda unit: False)
    followed = changed()
    monkeypatch.undo()
    monkeypatch.delattr(translate.Translator, "_roots")
    found = changed()
    buffers = tuple(b for b in followed.buffers if b.span.path == "edited.cu")
    assert found == replace(followed, buffers=buffers)  # an instantiated kernel has some, in its own file


@pytest.mark.parametrize("way", NOT_HANDING)
def test_what_may_leave_facts_in_the_file_does_not_hand_on(way: str) -> None:
    assert not hands_on(load("edited.cu", NOT_HANDING[way]))


@pytest.mark.parametrize("way", HANDING)
def test_what_hands_on(way: str) -> None:
    assert hands_on(load("edited.cu", HANDING[way]))
