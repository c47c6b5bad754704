"""What many instantiations alike, and host code beside CuTe, cost: a few are walked, and nothing else is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source import chores
from cutecheck.source.eval import limits
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.source.vocabulary import names_cute, used_plainly

HEADER = """
#include <cute/tensor.hpp>
namespace lib {
struct Row {}; struct Column {};
template <class T, class Order, int N> struct Kernel {
  void operator()(int, char*) const {
    extern __shared__ T smem[];
    auto s = cute::make_tensor(cute::make_smem_ptr(smem), cute::make_layout(cute::Int<N>{}));
    auto r = cute::make_tensor<T>(cute::Int<N>{});
    cute::copy(s, r);
  }
};
template <class K> bool run(int n) {
  cutlass::device_kernel<K><<<1, 32>>>(n);
  return true;
}
template <class T> bool idle(int n) { T a = n; for (int i = 0; i < n; ++i) a = a * 3; return a == 0; }
}
"""


def facts(folder: Path, files: dict[str, str], limits: Limits = Limits(), jobs: int = 1) -> Facts:  # noqa: B008
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return extract(ExtractRequest((folder,), limits=limits, jobs=jobs))


def unit(*kernels: str) -> str:
    calls = "\n".join(f"void test{i}() {{ lib::run<lib::Kernel<{k}>>({i}); }}" for i, k in enumerate(kernels))
    return f'#include "lib.h"\n{calls}\n'


def sizes(found: Facts) -> set[str]:
    return {e.enclosing for e in found.events}


def test_a_few_of_many_alike_are_walked_where_the_tree_defines_the_kernel_that_runs_them(tmp_path: Path) -> None:
    """As CUTLASS's own tree does."""
    runs = (
        "namespace cutlass { template <class K> __global__ void device_kernel(int p) {"
        " extern __shared__ char smem[]; K k; k(p, smem); } }\n"
    )
    kernels = [f"float, lib::{order}, {8 << i}" for order in ("Row", "Column") for i in range(4)]
    launches = (
        f"void test{i}() {{ cutlass::device_kernel<lib::Kernel<{k}>><<<1, 32>>>({i}); }}\n"
        for i, k in enumerate(kernels)
    )
    files = {"lib.h": runs + HEADER, "a.cu": '#include "lib.h"\n' + "".join(launches)}
    assert len(sizes(facts(tmp_path, files))) == 8
    few = facts(tmp_path, files, Limits(alike=2))
    assert len(sizes(few)) == 4
    assert sum(count for _, count in few.dropped) == 4


def test_a_few_of_many_alike_are_walked_and_the_others_counted(tmp_path: Path) -> None:
    files = {"lib.h": HEADER, "a.cu": unit(*(f"float, lib::Row, {8 << i}" for i in range(5)))}
    assert len(sizes(facts(tmp_path, files))) == 5
    few = facts(tmp_path, files, Limits(alike=2))
    assert len(sizes(few)) == 2
    assert sum(count for _, count in few.dropped) == 3


def test_element_types_of_one_width_count_as_flags_where_units_are_many(tmp_path: Path) -> None:
    kernels = [f"{t}, lib::Row, {n}" for t in ("float", "int") for n in (8, 16)]
    files = {"lib.h": HEADER, "a.cu": unit(*kernels)}
    assert len(sizes(facts(tmp_path, files, Limits(flag_combinations=1)))) == 4
    few = facts(tmp_path, files, Limits(flag_combinations=1, twins=True))  # one more for the value that none had
    assert len(sizes(few)) == 3 and sum(count for _, count in few.dropped) == 1


def test_a_method_that_is_left_out_may_have_changed_its_object(tmp_path: Path) -> None:
    text = (
        "#include <cute/tensor.hpp>\n"
        "template <class T> struct Box { int n = 4; void put(int v) { n = v; auto l = cute::make_layout(v); } };\n"
        "void host() { Box<float> b; b.put(8); b.put(16); auto after = cute::make_layout(b.n); }\n"
    )

    def after(found: Facts) -> str:
        (site,) = (s for s in found.sites if s.symbol.endswith("after"))
        return str(site.value)

    assert after(facts(tmp_path, {"a.cu": text})) == "16:_1"
    assert after(facts(tmp_path, {"a.cu": text}, Limits(alike=1))) not in ("8:_1", "4:_1")


@pytest.mark.parametrize("other", ["float, lib::Column, 16", "double, lib::Row, 16"])
def test_other_classes_and_widths_are_not_alike(other: str, tmp_path: Path) -> None:
    files = {"lib.h": HEADER, "a.cu": unit("float, lib::Row, 8", other)}
    found = facts(tmp_path, files, Limits(alike=1))
    assert len(sizes(found)) == 2
    assert not found.dropped


def test_what_came_to_nothing_counts_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chores.Chores, "one", lambda *_: False)  # walked, though it could be left out
    calls = "".join(f"void t{i}() {{ lib::idle<float>({i}); lib::Row row; }}\n" for i in range(4))
    files = {"lib.h": HEADER, "a.cu": '#include "lib.h"\n' + calls + "auto l = cute::make_layout(cute::_8{});\n"}
    monkeypatch.setattr("cutecheck.source.relevance.Relevance.matters", lambda *_: True)
    (dropped,) = facts(tmp_path, files, Limits(alike=4)).dropped
    assert dropped[0].endswith(":idle")
    assert dropped[1] == 2  # two walks count six


def test_processes_agree_on_what_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MANY_UNITS", 4)
    files = {"lib.h": HEADER} | {
        f"{'ab'[i % 2]}/u{i}.cu": '#include "../lib.h"\n' + unit(f"float, lib::Row, {8 + i}").partition("\n")[2]
        for i in range(24)
    }
    one = facts(tmp_path, files, Limits(alike=200))
    assert one.dropped
    assert facts(tmp_path, files, Limits(alike=200), jobs=3) == one


@pytest.mark.parametrize("many", [False, True])
def test_launches_of_kernels_without_cute_are_left_out_of_large_trees(
    many: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        monkeypatch.setattr(limits, "MANY_UNITS", 0)
    text = (
        "#include <cute/tensor.hpp>\ntemplate <class T> __global__ void plain(T* p) { p[threadIdx.x] = 0; }\n"
        "template <class A> __global__ void with() { typename A::DRegisters d; }\n"
        "void host(float* p) { plain<float><<<1, 32>>>(p); with<cute::SM80_16x8x16_F32F16F16F32_TN><<<1, 64>>>(); }\n"
    )
    found = facts(tmp_path, {"a.cu": text})
    assert {launch.block_threads for launch in found.launches} == ({64} if many else {32, 64})


CHORES = {
    "nothing of CuTe": ("void fill(float* p, int n) { p[n] = 0; }", "fill(p, 4);", False),
    "a lambda with CuTe": (
        "template <class F> void each(F f) { f(); }",
        "each([&] { auto l = cute::make_layout(cute::_8{}); });",
        True,
    ),
    "a class with CuTe": (
        "struct M { static void go() { auto l = cute::make_layout(cute::_8{}); } };\n"
        "template <class T> void each() { T::go(); }",
        "each<M>();",
        True,
    ),
    "an atom": (
        "template <class A> __global__ void k() { typename A::DRegisters d; }\n"
        "template <class A> void bench() { k<A><<<1, 32>>>(); }",
        "bench<cute::SM80_16x8x16_F32F16F16F32_TN>();",
        True,
    ),
    "a reference": ("void set(int& n) { n = 8; }", "int n = 4; set(n); auto l = cute::make_layout(n);", True),
    "a number": ("int eight() { return 8; }", "int n = eight(); auto l = cute::make_layout(n);", True),
}


@pytest.mark.parametrize("case", CHORES)
def test_host_calls_that_can_come_to_nothing_are_not_walked(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper, call, walked = CHORES[case]
    text = f"#include <cute/tensor.hpp>\n{helper}\n" + (
        f"void host(float* p) {{ {call} auto x = cute::make_layout(cute::_4{{}}); }}\n"
    )
    asked: list[bool] = []
    real = chores.Chores.one

    def one(self: chores.Chores, *given: object) -> bool:
        asked.append(real(self, *given))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr(chores.Chores, "one", one)
    found = facts(tmp_path, {"a.cu": text})
    assert any(asked) is not walked
    monkeypatch.setattr(chores.Chores, "one", lambda *_: False)
    assert facts(tmp_path, {"a.cu": text}).sites == found.sites


def test_device_functions_are_no_chores(tmp_path: Path) -> None:
    text = (
        "#include <cute/tensor.hpp>\n__device__ void wait_all() { __syncthreads(); }\n"
        "__global__ void k() { auto l = cute::make_layout(cute::_8{}); wait_all(); }\n"
    )
    assert any("__syncthreads" in str(c) for c in facts(tmp_path, {"a.cu": text}).calls)


@pytest.mark.parametrize("sizes", ["{64, 64, 64, 64, 64, 64}", "{64, 128, 192, 256, 320, 384}"])
def test_items_of_a_host_loop_that_meet_nothing_new_are_left_out_and_forgotten(sizes: str, tmp_path: Path) -> None:
    work = " ".join(f"w = w * 3 + {i};" for i in range(150))
    text = (
        "#include <cute/tensor.hpp>\nvoid host() {\n"
        f"  int last = 0, w = 1;\n  for (int n : {sizes}) {{\n"
        f"    auto l = cute::make_layout(cute::_8{{}}); {work} last = n;\n  }}\n"
        "  auto after = cute::make_layout(last);\n}\n"
    )
    whole = facts(tmp_path, {"a.cu": text})
    less = facts(tmp_path, {"a.cu": text}, Limits(alike=4))
    line = text[: text.index("auto after")].count("\n") + 1
    (known,) = (s for s in whole.sites if s.span.line == line)
    (unknown,) = (s for s in less.sites if s.span.line == line)
    assert (known.status, str(known.value)) == ("resolved", f"{sizes.strip('{}').split(', ')[-1]}:_1")
    assert str(unknown.value).startswith("{last#")  # nothing is said of the items that were left out


@pytest.mark.parametrize(
    ("text", "name", "means"),
    [
        ("void f() { copy(a, b); }", "f", {"copy"}),
        ("void f() { t.copy(a); t->copy(b); }", "f", set()),
        ("void f() { std::copy(a, b, c); }", "f", set()),
        ("void f() { ct::copy(a, b); }", "f", {"copy"}),
        ("struct S { int product() const; int g() { return product(); } };", "S", set()),
        ("template <class A> void gemm(A a) { gemm(a, a); }", "gemm", {"gemm"}),
        ("template <class Layout> void f(Layout l) { Layout::packed(l); }", "f", set()),
        ("using L = Layout<Shape<_8>>;", "L", {"Layout"}),
        ("void f() { return copy(a, b); }", "f", {"copy"}),
        ("void f() { Copier copy(a); copy(b); }", "f", set()),
        ("struct S { T<2> slice() const { return slice(1); } };", "S", set()),
        ("bool f() { return a > rank(b) && copy(c) * product(d); }", "f", {"rank", "copy", "product"}),
        ("void f() { if (n and copy(a, b)) { UNROLL copy(c, d); } }", "f", {"copy"}),
    ],
)
def test_names_that_others_have_too_count_where_they_may_be_cutes(text: str, name: str, means: set[str]) -> None:
    assert used_plainly(text, name) == means


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("#include <cute/tensor.hpp>", True),
        ('#include "cutlass/gemm/gemm.h"', True),
        ("using namespace cute;", True),
        ("namespace c = cute;", True),
        ("auto l = ::cute::make_layout(n);", True),
        ("namespace cutegen { auto l = make_layout(n); }", False),
        ("using namespace mlir::compiler::cute;\nvoid f() { auto l = mlir::compiler::cute::make_layout(8); }", False),
        ("void f() { auto l = ::cute::make_layout(cute::Int<8>{}); }", True),
        ("using namespace cute;", True),
    ],
)
def test_a_library_with_functions_of_the_same_names_is_not_cute(text: str, named: bool) -> None:
    assert names_cute(text) is named


KINDS = """
#include <cute/tensor.hpp>
struct Row { int operator()(int i) const { return i; } };
struct Column { int operator()(int i) const { return i; } };
template <class T> struct Relu { T operator()(T x) const { return x; } };
template <class T> struct Gelu { T operator()(T x) const { return x * x; } };
struct Fusion {};
template <class F> struct Scaled : Fusion { using Activation = F; };
template <class F> struct Biased : Fusion { using Activation = F; };
template <int N> struct Loads {
  static void load() { auto a = cute::make_tensor<float>(cute::Int<N>{}); cute::copy(a, a); }
};
template <int N> struct Stores {
  static void store() { auto a = cute::make_tensor<float>(cute::Int<N>{}); cute::copy(a, a); }
};
template <class Work, class Order, class F> struct Kernel {
  void operator()(int, char*) const {
    auto s = cute::make_tensor<float>(cute::Int<4>{});
    auto r = cute::make_tensor<float>(cute::Int<4>{});
    cute::copy(s, r);
  }
};
template <class K> bool run(int n) { cutlass::device_kernel<K><<<1, 32>>>(n); return true; }
"""


@pytest.mark.parametrize(
    ("others", "fine", "coarse"),
    [
        ("Loads<8>, Row, Relu<float>", False, False),  # another size is of the same kind
        ("Loads<4>, Row, Gelu<float>", False, False),  # an activation decides no layout
        ("Loads<4>, Row, Scaled<Relu<float>>", True, False),  # of many, nor does what is made of them
        ("Loads<4>, Column, Relu<float>", True, True),
        ("Stores<4>, Row, Relu<float>", True, True),
    ],
)
def test_what_tells_kinds_apart(tmp_path: Path, others: str, fine: bool, coarse: bool) -> None:
    kernels = ("Loads<4>, Row, Relu<float>", others)
    calls = "\n".join(f"void test{i}() {{ run<Kernel<{k}>>({i}); }}" for i, k in enumerate(kernels))
    for given, expected in ((Limits(alike=1, many=True), fine), (Limits(alike=1, many=True, coarse=True), coarse)):
        found = facts(tmp_path, {"a.cu": KINDS + calls}, given)
        assert len(sizes(found)) == 1 + expected


def test_where_kinds_are_coarse_a_class_is_walked_a_few_times_in_whatever_combination(tmp_path: Path) -> None:
    orders = [f"template <int N> struct Order{i} {{}}; struct Tag{i} {{}};" for i in range(8)]
    calls = [f"void test{i}() {{ run<Kernel<Loads<4>, Tag{i}, Relu<float>>>({i}); }}" for i in range(8)]
    calls += [f"void more{i}() {{ run<Kernel<Stores<4>, Tag{i}, Relu<float>>>({i}); }}" for i in range(8)]
    text = KINDS + "\n".join((*orders, *calls))
    coarse = Limits(alike=1, many=True, coarse=True)
    found = sizes(facts(tmp_path, {"a.cu": text}, coarse))
    assert sum("Loads" in name for name in found) == 2
    assert sum("Stores" in name for name in found) == 2
    assert len(sizes(facts(tmp_path, {"a.cu": text}, Limits(alike=1, many=True)))) == 16


def test_where_there_are_many_units_their_own_files_say_what_they_are_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = "#include <cute/tensor.hpp>\nusing A = cutlass::arch::Sm80; using B = cutlass::arch::Sm90;\n"
    own = (
        '#include "bed.h"\nusing C = cute::SM90_TMA_STORE;\nvoid f() { auto l = cute::make_layout(cute::Int<4>{}); }\n'
    )
    other = '#include "bed.h"\nvoid g() { auto l = cute::make_layout(cute::Int<4>{}); }\n'
    files = {"bed.h": bed, "own.cu": own, "other.cu": other}

    def archs(found: Facts) -> dict[str, set[str]]:
        return {n: {s.arch for s in found.sites if s.span.path == n} for n in ("own.cu", "other.cu")}

    both = {"sm_80", "sm_90a"}
    assert archs(facts(tmp_path, files)) == {"own.cu": both, "other.cu": both}
    monkeypatch.setattr("cutecheck.source.extract.MANY_UNITS", 1)
    assert archs(facts(tmp_path, files)) == {"own.cu": {"sm_90a"}, "other.cu": both}


def test_the_more_units_the_fewer_alike_are_walked() -> None:
    alike = [(Limits().over(n).alike, Limits().over(n).barren_iterations) for n in (24, 150, 151, 300, 301, 600, 601)]
    assert alike == [(400, 8), (400, 8), (2, 8), (2, 8), (2, 8), (2, 8), (1, 1)]
    assert Limits(alike=4000).over(200).alike == 20
    assert [Limits(alike=4).over(n).barren_iterations for n in (150, 151)] == [2, 2]
