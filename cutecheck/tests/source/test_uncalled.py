"""Kernels are met however host code comes to launch them: through tables, registries, virtual methods and lambdas."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source.eval import ir
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.scope import Env
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.source.roots import Roots

KERNELS = """
#include <cute/tensor.hpp>
#include <functional>
#include <map>
using namespace cute;
struct P { float const* a; float* b; int n; };
template <int M> __global__ void kern(P p) {
  __shared__ float s[M * 32];
  auto shared = make_tensor(make_smem_ptr(s), Layout<Shape<Int<M>, _32>, Stride<_32, _1>>{});
  copy(make_tensor(make_gmem_ptr(p.a), shared.layout()), shared);
}
template <int M> void launch(P const& p, cudaStream_t s) { kern<M><<<1, 64, 0, s>>>(p); }
using Fn = void (*)(P const&, cudaStream_t);
"""
STYLES = {
    "a table of functions": """
Fn pick(int m) { static constexpr Fn table[] = {&launch<16>, &launch<32>}; return table[m > 1]; }
void run(P const& p, int m, cudaStream_t s) { pick(m)(p, s); }
""",
    "a choice of two": """
void run(P const& p, int m, cudaStream_t s) { Fn f = m > 1 ? launch<16> : launch<32>; f(p, s); }
""",
    "a map of functions": """
static const std::map<int, std::function<void(P const&, cudaStream_t)>> table = {{16, launch<16>}, {32, launch<32>}};
void run(P const& p, int m, cudaStream_t s) { table.at(m)(p, s); }
""",
    "cudaLaunchKernel of a choice": """
void run(P p, int m, cudaStream_t s) { void* args[] = {&p};
  void const* f = m > 1 ? (void*)kern<16> : (void*)kern<32>; cudaLaunchKernel(f, 1, 64, args, 0, s); }
""",
    "a fold over a sequence": """
template <int... Ms> Fn get(int m, std::integer_sequence<int, Ms...>) { Fn r = nullptr;
  ((m == Ms ? (r = &launch<Ms>, 0) : 0), ...); return r; }
void run(P const& p, int m, cudaStream_t s) { get(m, std::integer_sequence<int, 16, 32>{})(p, s); }
""",
    "an array made of a sequence": """
template <int... Ms> constexpr auto make(std::integer_sequence<int, Ms...>) {
  return std::array<Fn, sizeof...(Ms)>{&launch<(Ms + 1) * 16>...}; }
void run(P const& p, int m, cudaStream_t s) { constexpr auto t = make(std::make_integer_sequence<int, 2>{});
  t[m](p, s); }
""",
    "a registry at start": """
void reg(const char* name, Fn f);
struct Reg { Reg(const char* n, Fn f) { reg(n, f); } };
static Reg r16("k16", &launch<16>);
static Reg r32{"k32", &launch<32>};
""",
    "a lambda that returns a kernel": """
void run(P p, int m, cudaStream_t s) { auto f = [&] { switch (m) { case 1: return kern<16>;
  default: return kern<32>; } }(); f<<<1, 64, 0, s>>>(p); }
""",
    "a variant of functors": """
template <template <int> class L> struct D;
template <int M> struct L1 { void operator()(P const& p, cudaStream_t s) const { launch<M>(p, s); } };
using V = std::variant<L1<16>, L1<32>>;
V make(int m) { if (m == 1) return L1<16>{}; return L1<32>{}; }
void run(P const& p, int m, cudaStream_t s) { std::visit([&](auto const& l) { l(p, s); }, make(m)); }
""",
    "virtual methods behind pointers": """
struct Base { virtual ~Base() = default; virtual void run(P const& p, cudaStream_t s) = 0; };
template <int M> struct Impl : Base { void run(P const& p, cudaStream_t s) override { launch<M>(p, s); } };
std::unique_ptr<Base> make(int m) { if (m == 1) return std::make_unique<Impl<16>>();
  return std::unique_ptr<Base>(new Impl<32>()); }
void run(P const& p, int m, cudaStream_t s) { make(m)->run(p, s); }
""",
    "static methods of a pack of classes": """
template <int M> struct Runner { static void run(P const& p, cudaStream_t s) { launch<M>(p, s); } };
template <class... Rs> void dispatch(int m, P const& p, cudaStream_t s) { static const Fn fs[] = {&Rs::run...};
  fs[m](p, s); }
void run(P const& p, int m, cudaStream_t s) { dispatch<Runner<16>, Runner<32>>(m, p, s); }
""",
    "threads": """
void run(P const& p, cudaStream_t s) { std::thread t([=] { launch<16>(p, s); }); t.join();
  auto f = std::async(std::launch::async, launch<32>, p, s); f.get(); }
""",
    "variables outside functions": """
static auto kF16 = launch<16>; Fn kF32 = &launch<32>;
""",
    "a class that is explicitly instantiated": """
template <int M> class Runner { public: Runner(int dev); void run(P const& p, cudaStream_t s); private: int dev_;
  void go(P const& p, cudaStream_t s) { launch<M>(p, s); } };
template <int M> Runner<M>::Runner(int dev) : dev_(dev) {}
template <int M> void Runner<M>::run(P const& p, cudaStream_t s) { if (p.n > dev_) go(p, s); }
template class Runner<16>;
template class Runner<32>;
""",
    "members that hold lambdas": """
struct Op { std::function<void(P const&, cudaStream_t)> f; };
Op make16() { Op o; o.f = [](P const& p, cudaStream_t s) { launch<16>(p, s); }; return o; }
Op make32() { return Op{[](P const& p, cudaStream_t s) { launch<32>(p, s); }}; }
""",
    "lambdas given to a registry": """
bool reg(const char* name, Fn f);
static bool r16 = reg("x", [](P const& p, cudaStream_t s) { launch<16>(p, s); });
struct Reg { template <class F> Reg(const char*, F&& f) { reg("", f); } };
static Reg r32("y", [](P const& p, cudaStream_t s) { launch<32>(p, s); });
""",
    "a function that is not declared": """
void run(P p, int m, cudaStream_t s) { at::parallel_for(0, m, 1, [&](int64_t b, int64_t e) { launch<16>(p, s);
  launch<32>(p, s); }); }
""",
    "template lambdas": """
void run(P p, int m, cudaStream_t s) { auto d = [&]<int M>() { launch<M>(p, s); }; d.template operator()<16>();
  d.operator()<32>(); }
""",
    "objects in a registry": """
struct Base { virtual ~Base() = default; virtual void run(P const& p, cudaStream_t s) = 0; };
template <int M> struct Impl final : Base { void run(P const& p, cudaStream_t s) override {
  kern<M><<<1, 64, 0, s>>>(p); } };
struct Registry { std::vector<std::shared_ptr<Base>> v; static Registry& get() { static Registry r; return r;
  } void add(std::shared_ptr<Base> b) { v.push_back(b); } };
static int reg = [] { Registry::get().add(std::make_shared<Impl<16>>());
  Registry::get().add(std::make_shared<Impl<32>>()); return 0; }();
""",
    "std::apply": """
template <int M> struct Impl { void run(P const& p, cudaStream_t s) const { launch<M>(p, s); } };
void run(P p, int m, cudaStream_t s) { std::apply([&](auto const&... i) { (i.run(p, s), ...);
  }, std::make_tuple(Impl<16>{}, Impl<32>{})); }
""",
    "methods of plain classes": """
struct Impl16 { virtual void run(P const& p, cudaStream_t s) { launch<16>(p, s); } };
struct Impl32 { P p; void run(cudaStream_t s); };
void Impl32::run(cudaStream_t s) { launch<32>(p, s); }
""",
    "std::visit of a generic lambda": """
template <int M> struct Cfg { static constexpr int kM = M; };
using V = std::variant<Cfg<16>, Cfg<32>>;
V make(int m) { if (m == 1) return Cfg<16>{}; return Cfg<32>{}; }
void run(P const& p, int m, cudaStream_t s) { std::visit([&](auto cfg) { launch<decltype(cfg)::kM>(p, s);
  }, make(m)); }
""",
    "a member function that keeps it": """
struct Handle { Fn fn = nullptr; void set(Fn f) { fn = f; } void go(P const& p, cudaStream_t s) { fn(p, s); } };
void run(P const& p, int m, cudaStream_t s) { Handle h; if (m == 16) h.set(launch<16>); else h.set(&launch<32>);
  h.go(p, s); }
""",
    "a map of kernels": """
using K = void (*)(P);
std::unordered_map<std::string, K> const& kernels() {
  static const std::unordered_map<std::string, K> m{{"a", kern<16>}, {"b", &kern<32>}}; return m; }
void run(P const& p, std::string const& n, cudaStream_t s) { auto it = kernels().find(n);
  if (it != kernels().end()) it->second<<<1, 64, 0, s>>>(p); }
""",
}


def met(folder: Path, text: str) -> Facts:
    (folder / "k.cu").write_text(KERNELS + text)
    return extract(ExtractRequest((folder,), ("sm_80",)))


def walked(facts: Facts) -> list[str]:
    return sorted(e.enclosing for e in facts.events if "M" not in e.enclosing)  # but for templates left open


@pytest.mark.parametrize("style", STYLES)
def test_both_kernels_are_walked(style: str, tmp_path: Path) -> None:
    assert walked(met(tmp_path, STYLES[style])) == ["kern<16>", "kern<32>"]


CALLED = """
void host(P p) { auto f = &launch<16>; auto k = kern<32>; f(p, 0); k<<<1, 128>>>(p); auto g = [] {}; g(); }
"""


def test_what_is_called_is_not_walked_once_more_with_open_arguments(tmp_path: Path) -> None:
    facts = met(tmp_path, CALLED)
    assert walked(facts) == ["kern<16>", "kern<32>"]
    assert {(x.kernel, x.block_threads) for x in facts.launches} == {("kern<16>", 64), ("kern<32>", 128)}


CAPTURED = """
template <int M> void run(P const& p, int n) { kern<M><<<1, n>>>(p); }
void later(P p, int n) {
  constexpr int kM = 16;
  int threads = 32;
  std::thread worker([&, threads] { run<32>(p, threads); });
  keep.push_back([&] { run<kM>(p, threads); });
  threads = 64;
}
"""


def test_variables_that_a_lambda_captured_may_have_changed_until_it_runs(tmp_path: Path) -> None:
    found = {x.kernel: x.block_threads for x in met(tmp_path, CAPTURED).launches if x.kernel != "kern<M>"}
    assert found == {"kern<16>": None, "kern<32>": 32}  # the latter was copied


SCOPES = """
constexpr int m = 32;
void later(P p, int n) {
  if (n > 3) {
    constexpr int m = 16;
    keep.push_back([=] { launch<m>(p, 0); });
  }
}
"""


def test_a_name_that_is_gone_is_not_taken_for_another(tmp_path: Path) -> None:
    assert "kern<32>" not in walked(met(tmp_path, SCOPES))


ASSERTED = """
void later(P p) {
  if (p.n % 4 == 0) {
    std::thread worker([=] { launch<16>(p, 0); });
  }
  TORCH_CHECK(p.n % 8 == 0);
  std::thread other([=] { launch<32>(p, 0); });
}
"""


def test_what_is_asserted_after_a_lambda_was_made_may_be_so_after_it_ran(tmp_path: Path) -> None:
    facts = met(tmp_path, ASSERTED)
    assumed = {e.enclosing: [str(h.condition)[-10:] for h in e.hypotheses] for e in facts.events}
    assert assumed.pop("kern<M>", []) == []
    assert assumed == {"kern<16>": ["n % 4 == 0"], "kern<32>": ["n % 8 == 0"]}
    assert {x.kernel: len(x.guards) for x in facts.launches if x.kernel != "kern<M>"} == {"kern<16>": 1, "kern<32>": 0}


OPERATOR = """
namespace cutlass {
template <class K> __global__ void device_kernel(typename K::Params p) { extern __shared__ char s[]; K{}(p, s); }
}
template <int M> struct Base {
  using Params = P;
  __device__ void operator()(P const& p, char*) {
    __shared__ float s[M];
    auto shared = make_tensor(make_smem_ptr(s), Layout<Int<M>>{});
    copy(make_tensor(make_gmem_ptr(p.a), shared.layout()), shared);
  }
};
template <int M> struct Kernel : Base<M> {};
void host(P p) {
  elsewhere((void const*)cutlass::device_kernel<Kernel<64>>);
  cudaFuncSetAttribute(cutlass::device_kernel<Kernel<128>>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000);
  cutlass::kernel_launch<Kernel<128>>(1, 256, 1000, nullptr, p, false);
}
"""


def test_a_kernel_of_a_class_is_walked_for_its_address_unless_it_was_launched(tmp_path: Path) -> None:
    found = [e.enclosing for e in met(tmp_path, OPERATOR).events if "Base" in e.enclosing]
    assert sorted(name.partition(">::")[0] for name in found) == ["Base<128", "Base<64"]


@pytest.mark.parametrize("numbers", ["std::make_index_sequence<8000000000>", "cute::make_seq<1 << 30>", "make_seq<>"])
def test_a_sequence_that_nobody_could_hold_is_not_made(numbers: str, tmp_path: Path) -> None:
    text = f"template <class T> __global__ void none(T) {{}} void host() {{ none<<<1, 1>>>({numbers}{{}}); }}"
    assert met(tmp_path, text).errors == ()


CHOSEN = """
void run(P p, int m, cudaStream_t s) {
  auto* k = m > 1 ? &kern<16> : &kern<32>;
  cudaLaunchConfig_t c{}; c.gridDim = dim3(m); c.blockDim = dim3(96); cudaLaunchKernelEx(&c, k, p); MORE
}
"""


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        (CHOSEN.replace("MORE", ""), {96}),
        (CHOSEN.replace("MORE", "k<<<m, 96>>>(p);"), {96}),
        (CHOSEN.replace("MORE", "k<<<m, 64>>>(p);"), {96, 64}),
        (
            CHOSEN.replace("MORE", "void* a[] = {&p}; cudaLaunchKernel((void*)k, m, dim3(m), a, 0, s);"),
            {96, None},
        ),
        ("static void (*table[])(P) = {&kern<16>, &kern<32>};" + CHOSEN.replace("MORE", ""), {96}),
    ],
)
def test_a_kernel_behind_a_pointer_gets_the_block_of_the_function_that_takes_its_address(
    text: str, threads: set[int | None], tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(KERNELS + text)
    found = extract(ExtractRequest((tmp_path,), ("sm_80",))).launches
    launches = [launch for launch in found if launch.kernel != "kern<M>"]  # of the template that nothing calls here
    assert {launch.kernel for launch in launches} == {"kern<16>", "kern<32>"}
    assert {launch.block_threads for launch in launches} == threads


ONE_OF_SEVERAL = [
    "auto k = m > 1 ? &kern<16> : kern<32>; k<<<1, 64, 256>>>(p);",
    "void (*k)(P) = kern<16>; if (m == 4) k = kern<32>; k<<<1, 64, 256>>>(p);",
    "constexpr K table[] = {kern<16>, kern<32>}; table[m]<<<1, 64, 256>>>(p);",
    "auto pick = [&]() -> K { switch (m) { case 0: return kern<16>; case 1: return kern<32>; } return nullptr; };"
    "pick()<<<1, 64, 256>>>(p);",
    "static constexpr void (*table[])(P const&) = {go<16>, go<32>}; table[m](p);",
    "(m > 1 ? go<16> : go<32>)(p);",
]


@pytest.mark.parametrize("body", ONE_OF_SEVERAL)
def test_what_is_known_where_one_of_several_functions_is_called(body: str, tmp_path: Path) -> None:
    text = """
using K = void (*)(P);
template <int M> void go(P const& p) { kern<M><<<1, 64, 256>>>(p); }
void run(P p, int m) { if (p.n % 8 != 0) return; BODY }
"""
    (tmp_path / "k.cu").write_text(KERNELS + text.replace("BODY", body))
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    found = {(s.kernel, str(s.smem_bytes)) for s in facts.launches if s.kernel != "kern<M>"}
    assert found == {("kern<16>", "256"), ("kern<32>", "256")}
    stated = [{str(h.condition) for h in e.hypotheses} for e in facts.events if e.enclosing != "kern<M>"]
    assert len(stated) == 2
    assert all("p.n % 8 == 0" in conditions for conditions in stated), stated


LIMITS = """
#include <cute/tensor.hpp>
using namespace cute;
constexpr int width(int n) { int s = 0; for (int i = 0; i < n; ++i) s += 1; return s; }
template <class T, int N = width(40) * 2> __global__ void kern(T* p) { clear(make_tensor(p, make_layout(Int<N>{}))); }
template <int N> void heavy(float* q) { auto l = make_layout(Int<width(N)>{}); }
void host(float* q) { use((void const*)heavy<3000>); use((void const*)kern<float>); }
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_a_limit_that_one_of_them_meets_ends_neither_the_others_nor_the_run(tmp_path: Path, processes: int) -> None:
    for i in range(5):
        (tmp_path / f"unit{i}.cu").write_text(LIMITS)
    (tmp_path / "good.cu").write_text(KERNELS + "void run(P const& p) { kern<16><<<1, 64>>>(p); }\n")
    request = ExtractRequest((tmp_path,), archs=("sm_80",), jobs=processes, limits=Limits(steps_per_root=1500))
    facts = extract(request)
    assert {e.span.path for e in facts.events} == {"good.cu"}
    assert {(e.path, "max-steps" in e.message) for e in facts.errors} == {(f"unit{i}.cu", True) for i in range(5)}


def test_what_cannot_be_read_costs_one_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Roots.run

    def broken(self: Roots, instantiate: Iterable[tuple[ir.Instantiate, Env]]) -> None:
        if "bad.cu" in self.owned:
            self.m.recorder.flush_loose = None  # type: ignore[assignment,method-assign]
        run(self, instantiate)

    monkeypatch.setattr(Roots, "run", broken)
    for name in ("bad.cu", "good.cu"):
        (tmp_path / name).write_text(KERNELS + "void run(P const& p) { kern<16><<<1, 64>>>(p); }\n")
    facts = extract(ExtractRequest((tmp_path,), archs=("sm_80",), jobs=1))
    assert {e.span.path for e in facts.events} == {"good.cu"}
    assert [(e.path, e.internal) for e in facts.errors] == [("bad.cu", True)]


OF_CLASSES = """#include <cute/tensor.hpp>
namespace kern {
using namespace cute;
template <int N> struct Rows {
  struct Params { float* p; int n; };
  CUTE_DEVICE void run(Params const& p) {
    Tensor a = make_tensor(make_gmem_ptr(p.p), Layout<Int<N>>{});
    Tensor r = make_tensor<float>(Layout<Int<N>>{});
    copy(a, r);
  }
};
template <class K> __global__ void entry(typename K::Params p) { K k; k.run(p); }
template <class K> void launch(float* p, int n) { typename K::Params q{p, n}; entry<K><<<1, 32>>>(q); }
struct Plan { int n; void (*start)(float*, int); };
void choose(float* p, int n) {
  static constexpr Plan plans[] = {{32, &launch<Rows<32>>}, {64, &launch<Rows<64>>}};
  for (auto const& plan : plans)
    if (&plan == &plans[1] || plan.n >= n) { plan.start(p, n); return; }
}
}
"""


def test_a_launcher_in_a_table_whose_kernel_is_all_in_a_class(tmp_path: Path) -> None:
    """By its own words, and those of the kernel, nothing of CuTe happens there."""
    (tmp_path / "a.cu").write_text(OF_CLASSES)
    found = extract(ExtractRequest((tmp_path,)))
    assert {x.kernel for x in found.launches} == {"kern::entry<kern::Rows<32>>", "kern::entry<kern::Rows<64>>"}
    assert len(found.events) == 2
