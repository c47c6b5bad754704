"""What the type of a variable says is known, whatever its value became: in loops, branches, outside of functions."""

from pathlib import Path

from cutecheck.facts import Event, Facts, Unknown
from cutecheck.source.extract import ExtractRequest, extract

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Allocation { T* ptr = nullptr; long size = 0; T* get() const { return ptr; } };
template <class Pointer, class Strides> __global__ void reads(Pointer p, Strides strides) {
  auto g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_8{}, _4{}), strides));
  copy(g, make_tensor<typename decltype(g)::value_type>(make_shape(_8{}, _4{})));
}
"""


def run(folder: Path, text: str, arch: str = "sm_80") -> Facts:
    (folder / "k.cu").write_text(HEAD + text)
    return extract(ExtractRequest((folder,), (arch,)))


def strides(event: Event) -> list[str]:
    layout = event.operands[0].layout
    assert not isinstance(layout, Unknown)
    return [str(s) if isinstance(s, int) else "?" for s in layout.stride]  # type: ignore[union-attr]


def test_objects_outside_of_functions_are_known_by_their_type_each_time_they_are_used(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
Allocation<half_t> block;
void fill() { block.size = 8; }
void host() { reads<<<1, 1>>>(block.get(), Stride<_1, _8>{}); reads<<<1, 1>>>(block.get(), Stride<_4, _1>{}); }
""",
    )
    assert [strides(e) for e in facts.events] == [["1", "8"], ["4", "1"]]
    assert {e.operands[0].dtype.name for e in facts.events if e.operands[0].dtype} == {"half_t"}
    assert not any(e.reason for e in facts.events)


def test_strides_outside_of_functions_keep_what_is_static_and_lose_their_values(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
Stride<_1, int64_t> stride = {_1{}, 8}, other = {_1{}, 8};
void set(int n) { stride = {_1{}, n}; }
void host(half_t* p) { reads<<<1, 1>>>(p, stride); reads<<<1, 1>>>(p, other); }
""",
    )
    assert [strides(e) for e in facts.events] == [["1", "?"], ["1", "?"]]
    assert len({str(e.operands[0].layout) for e in facts.events}) == 2  # not one number that both are


LAYOUTS = """
template <class L> __global__ void shows(L layout) {
  extern __shared__ half_t smem[];
  auto s = make_tensor(make_smem_ptr(smem), layout);
  copy(s, make_tensor<half_t>(make_shape(_4{}, _8{})));
}
struct Params { Layout<Shape<_4, _8>, Stride<_1, int>> layout; int fresh; };
"""


def test_layouts_that_loops_and_branches_assign_are_known_but_for_their_run_time_parts(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        LAYOUTS
        + """
void loops(int n) {
  auto layout = make_layout(Shape<_4, _8>{}, make_stride(_1{}, 4));
  for (int i = 0; i < n; ++i) { shows<<<1, 1>>>(layout); layout = make_layout(Shape<_4, _8>{}, make_stride(_1{}, n)); }
}
void branches(int n) {
  auto layout = make_layout(Shape<_4, _8>{}, make_stride(_1{}, 4));
  if (n > 4) layout = make_layout(Shape<_4, _8>{}, make_stride(_1{}, 8));
  shows<<<1, 1>>>(layout);
}
void twice(int n) {
  Params p{make_layout(Shape<_4, _8>{}, make_stride(_1{}, 4)), 1};
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) {
      shows<<<1, 1>>>(p.layout);
      p = Params{make_layout(Shape<_4, _8>{}, make_stride(_1{}, j)), 0};
    }
}
""",
    )
    assert not any(e.reason for e in facts.events)
    assert [strides(e) for e in facts.events] == [["1", "?"]] * len(facts.events)
    assert facts.events


def test_a_tma_copy_that_is_made_again_is_known_but_for_the_tensor_it_is_of(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_64{}, _64{})));
using Rows = Stride<int64_t, _1>;
auto made(half_t* p, int m, int n) {
  return make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(p), make_layout(make_shape(m, n), Rows{n, _1{}})),
                       Smem{}, make_shape(_64{}, _64{}), _1{});
}
template <class Tma> __global__ void loads(Tma const tma, int m, int n) {
  extern __shared__ half_t smem[];
  auto s = make_tensor(make_smem_ptr(smem), Smem{});
  auto g = local_tile(tma.get_tma_tensor(make_shape(m, n)), make_shape(_64{}, _64{}), make_coord(0, 0));
  auto own = tma.get_slice(Int<0>{});
  uint64_t barrier;
  copy(tma.with(barrier), own.partition_S(g), own.partition_D(s));
}
struct Gemm {
  decltype(made(nullptr, 1, 1)) tma;
  bool set(half_t* p, int m, int n) { if (n == 7) return false; tma = made(p, m, n); return true; }
};
void host(half_t* p, int m, int n) {
  Gemm gemm;
  if (gemm.set(p, m, n)) loads<<<1, 128>>>(gemm.tma, m, n);
  for (int i = 0; i < n; ++i) { gemm.set(p, i, n + i); loads<<<1, 128>>>(gemm.tma, i, n); }
}
""",
        "sm_90a",
    )
    (event, *_) = facts.events
    assert not any(e.reason for e in facts.events)
    assert str(event.operands[0].layout) == "(((_64,_64),_1),_1,_1):(((_1@0,_1@1),_0),_0,_0)"


def test_class_arguments_are_deduced_through_the_aliases_of_the_class(tmp_path: Path) -> None:
    """As CUTLASS's ``GmmaFP8Accumulation accumulation(accum, params.interval, size<2>(tCrA))``."""
    facts = run(
        tmp_path,
        """
template <class Engine, class Layout> struct Sum {
  using Both = cute::Tensor<Engine, Layout>;
  using Element = typename Engine::value_type;
  Both held; unsigned interval, each;
  __device__ Sum(Both& from, unsigned interval, unsigned each) : held(from), interval(interval), each(each) {}
  __device__ Both& operator()() { return held; }
};
__global__ void kernel(int n) {
  auto mma = make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN{});
  auto thr = mma.get_slice(threadIdx.x);
  extern __shared__ half_t smem[];
  auto a = make_tensor(make_smem_ptr(smem), make_layout(make_shape(_16{}, _8{})));
  auto b = make_tensor(make_smem_ptr(smem), make_layout(make_shape(_8{}, _8{})));
  auto c = partition_fragment_C(mma, make_shape(_16{}, _8{}));
  Sum sum(c, n, size<2>(thr.partition_A(a)));
  gemm(mma, thr.partition_fragment_A(a), thr.partition_fragment_B(b), sum());
}
""",
    )
    (event,) = facts.events
    assert event.reason is None
    assert (event.operands[2].space, str(event.operands[2].layout)) == ("rmem", "((_2,_2),_1,_1):((_1,_2),_0,_0)")


def test_class_arguments_are_deduced_where_one_argument_is_not_known(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
#include <not/here.h>
template <class A, class B> struct Pair { A first; B second; __device__ Pair(A a, B b) : first(a), second(b) {} };
__global__ void kernel() {
  extern __shared__ half_t smem[];
  Pair pair(make_tensor(make_smem_ptr(smem), Layout<_8>{}), missing::value<3>());
  copy(pair.first, make_tensor<half_t>(Layout<_8>{}));
}
""",
    )
    (event,) = facts.events
    assert event.reason is None
    assert [o.space for o in event.operands] == ["smem", "rmem"]


def test_the_difference_of_coordinates_is_taken_element_by_element(tmp_path: Path) -> None:
    """What CuTe 4.7 prints of the same differences (run-time numbers as numbers)."""
    text = """
void host() {
  auto c = make_identity_tensor(make_shape(Int<8>{}, 16));
  auto a = make_layout(make_coord(10, 20) - c(_0{}));
  auto b = make_layout(make_coord(10, 20) - c(3, 4));
  auto d = make_layout(c(7, 8) - make_coord(_1{}, _2{}));
  auto e = make_layout(c(3, 4) - _0{});
  auto f = make_layout(make_coord(_4{}, _7{}) - c(_1{}, _2{}));
  auto g = make_layout(c(7, 4) - make_coord(_4{}));
}
"""
    layouts = {s.symbol.rpartition("::")[2]: str(s.value).partition(":")[0] for s in run(tmp_path, text).sites}
    assert layouts == {"a": "(10,20)", "b": "(7,16)", "d": "(6,6)", "e": "(3,4)", "f": "(_3,_5)", "g": "(3,4)"}


def test_a_pointer_that_is_one_of_two_keeps_its_type_and_shared_memory_is_not_lost_sight_of(tmp_path: Path) -> None:
    text = """
__global__ void kernel(half_t* p, half_t* q, int n) {
  __shared__ half_t a[64];
  __shared__ half_t b[64];
  half_t* one = p;
  if (n > 4) one = q;
  half_t* none = nullptr;
  if (n > 4) none = q;
  half_t* shared = a;
  if (n > 4) shared = b;
  half_t* apart = p;
  if (threadIdx.x > 4) apart = q;
  auto r = make_tensor<half_t>(Layout<_8>{});
  copy(make_tensor(make_gmem_ptr(one), Layout<_8>{}), r);
  copy(make_tensor(make_gmem_ptr(none), Layout<_8>{}), r);
  copy(make_tensor(make_smem_ptr(shared), Layout<_8>{}), r);
  copy(make_tensor(make_gmem_ptr(apart), Layout<_8>{}), r);
}
"""
    one, none, shared, apart = run(tmp_path, text).events
    for event in (one, none):
        assert event.reason is None
        assert event.operands[0].dtype is not None
        assert event.operands[0].dtype.name == "half_t"
    assert one.operands[0].offset == 0  # each starts where its buffer does
    assert isinstance(apart.operands[0].offset, Unknown)  # which differs within a warp
    assert shared.reason is not None
