"""Operations as template-template arguments, fragments of layouts, CUDA's integer functions: what Hopper FMHA uses."""

from pathlib import Path

import pytest

from cutecheck.facts.printed import printed as printed_fields
from cutecheck.model.notation import show
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.test_extract import run

CONVERT = """
template <template <GMMA::Major, GMMA::Major, GMMA::ScaleIn, GMMA::ScaleIn> class Op, GMMA::Major tA, GMMA::Major tB,
          GMMA::ScaleIn sA, GMMA::ScaleIn sB>
constexpr auto to_rs(MMA_Atom<Op<tA, tB, sA, sB>> const&) {
  using Atom = MMA_Atom<Op<tA, tB, sA, sB>>;
  using RS = decltype(GMMA::rs_op_selector<typename Atom::ValTypeA, typename Atom::ValTypeB, typename Atom::ValTypeC,
                                           typename Atom::Shape_MNK, tA, tB, sA, sB>());
  return MMA_Atom<RS>{};
}
template <template <GMMA::ScaleIn, GMMA::ScaleIn> class Op, GMMA::ScaleIn sA, GMMA::ScaleIn sB>
constexpr auto to_rs(MMA_Atom<Op<sA, sB>> const&) {
  using Atom = MMA_Atom<Op<sA, sB>>;
  using RS = decltype(GMMA::rs_op_selector<typename Atom::ValTypeA, typename Atom::ValTypeB, typename Atom::ValTypeC,
                                           typename Atom::Shape_MNK, GMMA::Major::K, GMMA::Major::K, sA, sB>());
  return MMA_Atom<RS>{};
}
template <class Atom, class... Args> constexpr auto to_rs(TiledMMA<Atom, Args...> const&) {
  return TiledMMA<decltype(to_rs(Atom{})), Args...>{};
}
"""


@pytest.mark.parametrize(
    ("selected", "op"),
    [
        ("half_t, half_t, float, Shape<_64, _128, _16>, GMMA::Major::K, GMMA::Major::MN", "64x128x16_F32F16F16_RS"),
        ("half_t, half_t, half_t, Shape<_64, _64, _16>, GMMA::Major::K, GMMA::Major::K", "64x64x16_F16F16F16_RS"),
        ("float_e4m3_t, float_e4m3_t, float, Shape<_64, _64, _32>", "64x64x32_F32E4M3E4M3_RS_TN"),
    ],
)
def test_an_operation_is_matched_with_the_arguments_that_nobody_wrote(tmp_path: Path, selected: str, op: str) -> None:
    facts = run(
        tmp_path,
        CONVERT
        + f"using SS = decltype(make_tiled_mma(GMMA::ss_op_selector<{selected}>(), Layout<Shape<_2, _1, _1>>{{}}));\n"
        + "using RS = decltype(to_rs(SS{}));\n",
        arch="sm_90a",
    )
    (rs,) = [s for s in facts.sites if s.symbol == "RS"]
    assert rs.status == "resolved", rs.reason
    assert rs.value.atom.op.endswith(op)


def test_the_operation_of_an_atom_makes_the_atom_again(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        "using A = MMA_Atom<SM90::GMMA::MMA_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>>;\n"
        "using B = MMA_Atom<typename A::MMA_Op>;\nusing C = Copy_Atom<UniversalCopy<uint128_t>, half_t>;\n"
        "using D = Copy_Atom<typename C::CopyOp, float>;\n",
        arch="sm_90a",
    )
    found = {s.symbol: s for s in facts.sites}
    assert found["B"].status == "resolved" and str(found["B"].value) == str(found["A"].value)
    assert found["D"].status == "resolved" and "uint128" in str(found["D"].value.args[0])


def test_a_fragment_like_a_layout_is_a_tensor(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
__global__ void k(float* p) {
  Tensor a = make_fragment_like<float>(Layout<Shape<_2, _4>, Stride<_4, _1>>{});
  Tensor b = make_tensor_like<float>(Layout<Shape<_2, _4>, Stride<_4, _1>>{});
  copy(a, b);
}
""",
    )
    (event,) = facts.events
    assert [show(o.layout) for o in event.operands] == ["(_2,(_4)):(_1,(_2))", "(_2,_4):(_4,_1)"]  # as CuTe prints them


def test_integers_of_cudas_functions_are_numbers_and_those_of_atomics_each_threads_own(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
__global__ void k(float* p, int* counter, unsigned n, unsigned magic) {
  int uniform = __umulhi(n, magic);
  int own = atomicAdd(counter, 1);
  Tensor r = make_tensor<float>(Layout<Shape<_8>>{});
  copy(make_tensor(make_gmem_ptr(p + 8 * uniform), Layout<Shape<_8>>{}), r);
  copy(make_tensor(make_gmem_ptr(p + 8 * own), Layout<Shape<_8>>{}), r);
}
""",
    )
    uniform, own = (str(e.operands[0].offset) for e in facts.events)
    assert "umulhi" in uniform and "~" not in uniform
    assert "atomicAdd" in own and "~" in own


SWIZZLED = """
__global__ void k(half_t* q) {
  __shared__ alignas(128) half_t p[8192];
  Tensor a = make_tensor(make_smem_ptr(p), tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _128>{}));
  Tensor r = make_tensor<half_t>(Layout<_8>{});
  %s
  copy(b, r);
}
"""
UNDER = "Sw<3,4,3> o smem_ptr[16b](unset) o "


@pytest.mark.parametrize(
    ("made", "layout"),
    [  # as CuTe prints them (a swizzled pointer has no mark "unset" there)
        ("make_tensor(a.data(), make_layout(reverse(shape(a)), Layout<Shape<_64, _128>>{}.stride()))",
         UNDER + "((_64,_2),(_8,_8)):(_1,_64)"),
        ("make_tensor(a.data() + 3, make_layout(reverse(shape(a)), reverse(stride(a))))",
         UNDER + "((_64,_2),(_8,_8)):((_1,_4096),(_64,_512))"),
        ("make_tensor(raw_pointer_cast(a.data()), Layout<_8>{})", "_8:_1"),
        ("make_tensor(recast_ptr<uint8_t>(a.data()), Layout<_8>{})", "Sw<3,4,3> o smem_ptr[8b](unset) o _8:_1"),
        ("make_tensor(a.data(), tile_to_shape(GMMA::Layout_K_SW64_Atom<half_t>{}, Shape<_64, _128>{}))",
         "Sw<2,4,3> o smem_ptr[16b](unset) o ((_8,_8),(_32,_4)):((_32,_256),(_1,_2048))"),
        ("make_tensor(make_smem_ptr(p), a.layout())", "((_8,_8),(_64,_2)):((_64,_512),(_1,_4096))"),
        ("recast<cutlass::Array<half_t, 4>>(a)",
         "Sw<3,4,3> o smem_ptr[64b](unset) o ((_8,_8),(_16,_2)):((_16,_128),(_1,_1024))"),
    ],
)  # fmt: skip
def test_the_pointer_of_a_swizzled_tensor_keeps_its_swizzle(tmp_path: Path, made: str, layout: str) -> None:
    facts = run(tmp_path, SWIZZLED % f"Tensor b = {made};", arch="sm_90a")
    assert [show(e.operands[0].layout) for e in facts.events] == [layout]


ARRAYS = """
namespace cutlass {
template <class T, int N, bool R = sizeof_bits<T>::value >= 32> struct Array { T storage[N]; };
template <class T, int N, int Alignment = (sizeof_bits<T>::value * N + 7) / 8>
class alignas(Alignment) AlignedArray : public Array<T, N> {};
}
"""


@pytest.mark.parametrize("own", [ARRAYS, ""])
def test_cutlass_arrays_are_elements_with_and_without_their_header(tmp_path: Path, own: str) -> None:
    facts = run(
        tmp_path,
        own
        + "using A = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<cutlass::AlignedArray<half_t, 8>>, half_t>;\n"
        + "using B = Copy_Atom<UniversalCopy<cutlass::Array<float, 2>>, float>;\n"
        + "__global__ void k() { Tensor a = make_tensor<float>(Layout<_8>{});"
        + " Tensor b = recast<cutlass::Array<float, 4>>(a); copy(b, b); }",
    )
    found = {s.symbol: s for s in facts.sites}
    assert [found[n].status for n in "AB"] == ["resolved", "resolved"], found["A"].reason
    assert [str(found[n].value.args[0].bits) for n in "AB"] == ["128", "64"]
    assert [show(o.layout) for o in facts.events[0].operands] == ["_2:_1", "_2:_1"]


def test_a_layout_made_in_the_arguments_of_a_call_is_a_site(tmp_path: Path) -> None:
    facts = run(tmp_path, SWIZZLED % "Tensor b = a;", arch="sm_90a")
    assert "unbound" not in {s.status for s in facts.sites}
    assert any("(_64,_2)" in show(s.value) for s in facts.sites)


def test_a_layout_with_a_stride_of_the_programs_own_is_not_known(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
template <class F> struct Gather { F f; };
struct Index { int const* at; };
using Typed = Layout<Shape<_8, _4>, Stride<Gather<Index>, _1>>;
__global__ void k(float* p, Index i) {
  auto made = make_layout(make_shape(8, 4), make_stride(Gather<Index>{i}, _1{}));
  Tensor g = make_tensor(make_gmem_ptr(p), made);
  Tensor r = make_tensor<float>(Layout<Shape<_8, _4>>{});
  copy(g, r);
}
""",
    )
    assert "resolved" not in {s.status for s in facts.sites if s.symbol in ("Typed", "k::made")}
    (event,) = facts.events
    assert event.reason is not None and "`Gather<Index>`" in event.reason.reason


def test_empty_braces_are_a_default_value(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
template <class E, class AtomLayout = Layout<_1>, class ValLayout = Layout<_1>>
constexpr auto atom(AtomLayout a = {}, ValLayout v = {}) { return logical_product(v, size(a) * Int<4>{}); }
using A = decltype(atom<float>());
using B = decltype(atom<float, Layout<_2>, Layout<Shape<_1, _2>>>());
__global__ void k() { Layout<Shape<_4, _8>> l = {}; auto C = make_layout(l, Layout<_2>{}); }
""",
    )
    found = {s.symbol.rsplit("::", 1)[-1]: show(s.value) for s in facts.sites if s.status == "resolved"}
    assert found["A"] == "(_1,_4):(_0,_1)"
    assert found["B"] == "((_1,_2),_8):((_0,_1),_2)"
    assert found["C"] == "((_4,_8),_2):((_1,_4),_1)"


def test_an_extent_of_a_type_that_is_not_read_makes_no_layout(tmp_path: Path) -> None:
    """Without the headers of a library: ``Shape<lib::Extent, _8>`` is printed nowhere and ends no run."""
    facts = run(
        tmp_path,
        """
template <class T> struct Traits {
  using A = Layout<Shape<typename lib::Size<T>, _8>, Stride<_8, _1>>;
  static constexpr auto B = make_layout(make_shape(lib::size<T>, _8{}), LayoutRight{});
};
using A = Layout<Shape<dim3, _8>>;
__global__ void k(float* p, dim3 d, cudaStream_t s) {
  auto C = make_layout(make_shape(d, _8{}), LayoutRight{});
  auto D = tile_to_shape(C, make_shape(s, _8{}));
  copy(make_tensor(make_gmem_ptr(p), C), make_tensor<float>(Layout<_8>{}));
}
""",
        "Traits<float>",
    )
    assert not [e for e in facts.errors if "internal" in e.message]
    assert "resolved" not in {s.status for s in facts.sites if s.symbol.rsplit("::", 1)[-1] in ("A", "B", "C", "D")}
    for s in facts.sites:
        if s.value is not None:
            printed_fields(s.value)


def test_a_call_with_a_value_of_a_missing_header_names_it(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
template <class Atom, class... Args> constexpr auto convert(TiledMMA<Atom, Args...> const& mma) { return mma; }
template <class T> struct Main { using Mma = decltype(convert(typename cutlass::other::Builder<T>::TiledMma{}));
  using Copy = decltype(make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, Mma{})); };
""",
        "Main<half_t>",
    )
    (copy,) = [s for s in facts.sites if s.symbol.endswith("::Copy")]
    assert copy.status == "unknown" and "whose type is not in the scanned files" in str(copy.reason)


def test_an_atomic_writes_where_it_points_and_nothing_that_its_arguments_are_computed_from(tmp_path: Path) -> None:
    """``atomicAdd(a.out + i, x * a.scale)`` leaves the members of ``a`` alone."""
    text = """
struct Args { float* out; half_t* p; int row; float scale; };
__global__ void k(const Args a) {
  Tensor r = make_tensor<float>(_4{});
  for (int i = 0; i < 4; ++i) { atomicAdd(a.out + i, r(i) * a.scale); atomicMax_block(a.out, r(i) * a.scale); }
  auto g = make_tensor(make_gmem_ptr(a.p), make_shape(_8{}, _8{}), make_stride(a.row, _1{}));
  copy(g, make_tensor<half_t>(Shape<_8, _8>{}));
}
int main() { k<<<1, 32>>>(Args{nullptr, nullptr, 64, 1.f}); }
"""
    (event,) = run(tmp_path, text).events
    assert str(event.operands[0].layout) == "(_8,_8):(64,_1)"


@pytest.mark.parametrize(("define", "shape"), [(True, "(_64,_176,_16)"), (False, "(_64,_16,_16)")])
@pytest.mark.parametrize("given", [True, False])
def test_the_selectors_choose_extended_shapes_where_the_tree_turns_them_on(
    tmp_path: Path, define: bool, shape: str, given: bool
) -> None:
    # what g++ prints of AtomShape_MNK with and without the macro, which FlashAttention-like builds pass by -D
    name = "CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED"
    text = f"#define {name}\n" if define and not given else ""
    text += "#include <cute/tensor.hpp>\nusing namespace cute;\n"
    text += (
        "using M = decltype(make_tiled_mma(GMMA::ss_op_selector<half_t, half_t, float, Shape<_64,Int<176>,_64>>()));"
    )
    (tmp_path / "a.cu").write_text(text)
    request = ExtractRequest((tmp_path,), ("sm_90a",), defines=(f"{name}=1",) if define and given else ())
    (mma,) = extract(request).sites
    assert mma.status == "resolved" and show(mma.value.atom.shape_mnk) == shape


def test_names_of_cutlass_that_kernels_use_beside_cute_need_no_headers(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
template <class Arch, class Cluster> struct Traits {
  using Atom = decltype(cutlass::gemm::collective::detail::sm90_cluster_shape_to_tma_atom(shape<0>(Cluster{})));
  static constexpr int kStages = Arch::kMinComputeCapability >= 90 ? 4 : 2;
  static constexpr size_t kAlign = cutlass::detail::alignment_for_swizzle(GMMA::Layout_K_SW128_Atom<half_t>{});
  static constexpr bool kSingle = CUTE_STATIC_V(size(Cluster{})) == 1;
  using Alone = Int<is_same_v<Atom, SM90_TMA_LOAD> ? 1 : 2>;
  using L = Layout<Shape<Int<kStages>, Int<int(kAlign)>, Int<kSingle ? 1 : 2>, Alone>>;
};
using A = typename Traits<cutlass::arch::Sm90, Shape<_2, _1, _1>>::L;
using B = typename Traits<cutlass::arch::Sm80, Shape<_1, _1, _1>>::L;
auto a = make_layout(A{});
auto b = make_layout(B{});
""",
        arch="sm_90a",
    )
    found = {s.symbol: s for s in facts.sites}
    assert [show(found[n].value) for n in "ab"] == [
        "((_4,_1024,_2,_2)):((_1,_4,_4096,_8192))",
        "((_2,_1024,_1,_1)):((_1,_2,_0,_0))",
    ]
