"""Kernels of classes are met through the classes' own methods where host code does not lead to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.test_extract import run

ADAPTER = """
#include <cute/tensor.hpp>
template <class T, int N> struct Kernel {
  struct Params { T const* from; int rows; };
  static constexpr int Threads = N;
  void operator()(Params const& params, char*) const {
    extern __shared__ T smem[];
    auto s = cute::make_tensor(cute::make_smem_ptr(smem), cute::make_layout(cute::Int<N>{}));
    auto r = cute::make_tensor<T>(cute::Int<N>{});
    cute::copy(s, r);
  }
};
template <class K> struct Adapter {
  using Params = typename K::Params;
  Params params_;
  int run(Params const& p, int stream = 0) { %(launch)s return 0; }
  int initialize(Params const& p) { params_ = p; return cudaFuncSetAttribute(cutlass::device_kernel<K>, 8, 1000); }
  int operator()(Params const& p, int stream = 0) { initialize(p); return run(params_, stream); }
};
inline long fill(long n, long seed) { for (long i = 0; i < n; ++i) { seed = seed * 31 + i; } return seed; }
template <class Op> struct Bed {
  long state = 0;
  bool test() {
    for (int size : {%(sizes)s}) {
      state = fill(fill(size, state), fill(state, size));
      %(used)s
    }
    return state == 1;
  }
};
template <class Op> bool harness() { Bed<Op> bed; return bed.test(); }
"""
DIRECT = "cutlass::device_kernel<K><<<1, K::Threads>>>(p);"
CLUSTER = (
    "void const* kernel = (void const*) cutlass::device_kernel<K>; void* ps[] = {&p}; Launcher::launch(kernel, ps);"
)
LAUNCHER = """
struct Launcher {
  static int launch(void const* kernel, void** ps) {
    cudaLaunchConfig_t config; config.gridDim = dim3(1); config.blockDim = dim3(64); config.dynamicSmemBytes = 100;
    return cudaLaunchKernelExC(&config, kernel, ps);
  }
};
"""


def facts(folder: Path, body: str, limits: Limits = Limits(), **parts: str) -> Facts:  # noqa: B008
    given = {"launch": DIRECT, "sizes": "1, 2, 3", "used": "", **parts}
    head = ADAPTER % given
    if given["launch"] == CLUSTER:
        head = head.replace("template <class K> struct Adapter", LAUNCHER + "template <class K> struct Adapter")
    (folder / "a.cu").write_text(head + body)
    return extract(ExtractRequest((folder,), limits=limits))


def test_a_class_that_is_named_and_whose_host_code_leads_nowhere_is_entered(tmp_path: Path) -> None:
    found = facts(tmp_path, "void test() { harness<Adapter<Kernel<float, 64>>>(); }")
    assert [launch.block_threads for launch in found.launches if launch.origin == "launch"] == [64]
    (event,) = found.events
    assert "Kernel<float,64>" in event.enclosing


def test_a_kernel_that_is_handed_on_to_a_launcher_is_met(tmp_path: Path) -> None:
    found = facts(tmp_path, "void test() { harness<Adapter<Kernel<float, 64>>>(); }", launch=CLUSTER)
    assert [launch.block_threads for launch in found.launches if launch.origin == "launch"] == [64]
    assert len(found.events) == 1


def test_what_host_code_launches_is_walked_with_its_arguments_and_once(tmp_path: Path) -> None:
    body = (
        "int main() { Adapter<Kernel<float, 64>> op; typename Kernel<float, 64>::Params p{nullptr, 8}; return op(p); }"
    )
    found = facts(tmp_path, body)
    assert len([launch for launch in found.launches if launch.origin == "launch"]) == 1
    assert len(found.events) == 1


def test_a_class_that_nothing_names_is_not_entered(tmp_path: Path) -> None:
    assert not facts(tmp_path, "void test() { fill(3, 4); }").events


def test_a_class_without_cute_is_not_entered(tmp_path: Path) -> None:
    plain = "template <int N> struct Plain { struct Params { int n; }; static constexpr int Threads = N; };"
    found = facts(
        tmp_path, plain + "void test() { harness<Adapter<Plain<32>>>(); harness<Adapter<Kernel<float, 32>>>(); }"
    )
    assert {launch.kernel for launch in found.launches if launch.origin == "launch"} == {
        "cutlass::device_kernel<Kernel<float,32>>"
    }


@pytest.mark.parametrize("used", ["", "Op op; typename Op::Params p{nullptr, size}; op(p);"])
def test_a_long_test_bed_ends_after_its_kernel_was_met(tmp_path: Path, used: str) -> None:
    sizes = ", ".join(str(n) for n in range(400))
    body = "void a() { harness<Adapter<Kernel<float, 64>>>(); } void b() { harness<Adapter<Kernel<float, 128>>>(); }"
    found = facts(tmp_path, body, Limits(steps_per_root=30_000, idle_steps=6_000), sizes=sizes, used=used)
    assert len(found.events) == 2, [e.message for e in found.errors]
    if used:
        assert not found.errors


def test_in_large_trees_only_the_kernels_of_a_host_call_are_walked(tmp_path: Path) -> None:
    used = "Op op; typename Op::Params p{nullptr, size}; op(p); auto t = cute::make_layout(cute::Int<7>{}); print(t);"
    body = "void a() { harness<Adapter<Kernel<float, 64>>>(); }"
    all_of_it = facts(tmp_path, body, used=used)
    few = facts(tmp_path, body, Limits(many=True), used=used)
    assert len(all_of_it.events) == len(few.events) == 1
    assert {e.enclosing for e in few.events} == {e.enclosing for e in all_of_it.events}


def test_what_types_are_made_of_is_computed_however_many_are_alike(tmp_path: Path) -> None:
    text = """
#include <cute/tensor.hpp>
template <class T, int N> constexpr int stages() { return 64 / (int)sizeof(T) + N; }
template <class T> constexpr bool aligned() { return sizeof(T) == 4; }
template <int N> __global__ void kernel() {
  auto r = cute::make_tensor<float>(cute::Int<N>{});
  auto s = cute::make_tensor<float>(cute::Int<N>{});
  cute::copy(r, s);
}
void a() { static_assert(aligned<float>()); constexpr int n = stages<float, 1>(); kernel<n><<<1, 32>>>(); }
void b() { static_assert(aligned<float>()); constexpr int n = stages<float, 2>(); kernel<n><<<1, 32>>>(); }
void c() { static_assert(aligned<float>()); constexpr int n = stages<float, 3>(); kernel<n><<<1, 32>>>(); }
"""
    (tmp_path / "a.cu").write_text(text)
    found = extract(ExtractRequest((tmp_path,), limits=Limits(alike=1, many=True)))
    assert {e.enclosing for e in found.events} == {"kernel<17>", "kernel<18>", "kernel<19>"}


def test_the_kernel_of_a_class_that_no_compiler_makes_is_not_entered(tmp_path: Path) -> None:
    """Of ``conditional_t<IsWide, Wide, Plain>`` the other one is named, and its ``static_assert`` would fail."""
    text = """
    template <class Tile> struct Plain {
      static constexpr int Bytes = 1000;
      CUTE_DEVICE void operator()(char*) { auto plain = make_layout(Tile{}); }
    };
    template <class Tile> struct Wide {
      static constexpr int Bytes = size(Tile{}) * 100;
      static_assert(Bytes <= 232448);
      CUTE_DEVICE void operator()(char*) { auto wide = make_layout(Tile{}); }
    };
    template <class Op> __global__ void device_kernel() { extern __shared__ char smem[]; Op op; op(smem); }
    template <class K> struct Launcher { static void run() { device_kernel<K><<<1, 128, K::Bytes>>>(); } };
    template <class Tile, bool IsWide> struct Device {
      using OfPlain = Launcher<Plain<Tile>>;
      using OfWide = Launcher<Wide<Tile>>;
      using Operation = std::conditional_t<IsWide, OfWide, OfPlain>;
      static void run() { Operation::run(); }
    };
    void host(bool wide) {
      if (wide) Device<Shape<_32, _64>, true>::run();
      else Device<Shape<_128, _128>, false>::run();
    }
    """
    facts = run(tmp_path, text, arch="sm_100a")
    launched = {x.kernel.partition("<")[2]: x.smem_bytes for x in facts.launches}
    assert "Wide<(_32,_64)>>" in launched
    assert "Plain<(_128,_128)>>" in launched
    assert not any(k.startswith("Wide<(_128") for k in launched), launched
