"""What CUTLASS's builders and adapters need of templates: each in a few lines of its own."""

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.test_extract import printed, run

SHAPES = {
    # partial specialisations chosen by a condition over arguments that other patterns bind
    "enable_if": """
    struct Tma {}; struct CpAsync {};
    template <class S, class Enable = void> struct Builder;
    template <class S> struct Builder<S, cute::enable_if_t<cute::is_any_of_v<S, Tma, int>>> { using L = Layout<_8>; };
    template <class S> struct Builder<S, cute::enable_if_t<cute::is_same_v<S, CpAsync>>> { using L = Layout<_4>; };
    using found = typename Builder<CpAsync>::L;
    """,
    "nested_type": """
    template <class S, class Enable = void> struct Builder { using L = Layout<_8>; };
    template <class S> struct Builder<S, typename std::enable_if<S::wide>::type> { using L = Layout<_4>; };
    struct Wide { static constexpr bool wide = true; };
    using found = typename Builder<Wide>::L;
    """,
    # a trait as a base class, and traits as types in disjunction
    "trait_base": """
    template <class S> struct is_tma : cute::false_type {};
    template <> struct is_tma<half_t> : cute::true_type {};
    using found = cute::conditional_t<cute::disjunction_v<is_tma<float>, is_tma<half_t>>, Layout<_4>, Layout<_8>>;
    """,
    "is_base_of": """
    struct Warp {}; struct Cooperative : Warp {}; struct Other {};
    template <class T> using by = cute::conditional_t<cute::is_base_of_v<Warp, T>, _4, _8>;
    using found = Layout<Shape<by<Cooperative>, by<Other>, by<float>>>;
    """,
    "is_constant": """
    template <class S> using by = cute::conditional_t<cute::is_constant<1, S>::value, _4, _8>;
    using found = Layout<Shape<by<_1>, by<_2>, by<int>>>;
    """,
    # types in tuples keep what they are
    "tuple_of_types": """
    using Pair = cute::tuple<int8_t, float>;
    template <class T> using by = Int<cute::sizeof_bits_v<T>>;
    using found = Layout<Shape<by<cute::tuple_element_t<0, Pair>>, by<cute::tuple_element_t<1, Pair>>>>;
    """,
    # a specialisation may leave out arguments that have defaults
    "defaulted": """
    template <class T, int N = 2, class E = void> struct Select { using L = Layout<_8>; };
    template <int N> struct Select<half_t, N> { using L = Layout<Int<N>>; };
    using found = typename Select<half_t, 4>::L;
    """,
    "not_the_default": """
    template <class T, int N = 2, class E = void> struct Select { using L = Layout<_4>; };
    template <int N> struct Select<half_t, N> { using L = Layout<_8>; };
    using found = typename Select<half_t, 4, float>::L;
    """,
    # `X<T const>` derives from `X<T>`: it is no match for a T without const
    "qualified": """
    template <class T> struct Bits { static constexpr int value = 4; };
    template <class T> struct Bits<T const> : Bits<T> {};
    template <class T> struct Bits<T&> : Bits<T> {};
    using found = Layout<Int<Bits<float>::value>>;
    """,
    "transform": """
    using found = decltype(make_layout(cute::transform(Shape<_2, _8>{}, cute::seq<0, 1>{},
      [](auto a, auto i) { return a * Int<i + 2>{}; })));
    """,
}
EXPECTED = {
    "enable_if": "_4:_1", "nested_type": "_4:_1", "trait_base": "_4:_1", "is_base_of": "(_4,_8,_8):(_1,_4,_32)",
    "is_constant": "(_4,_8,_8):(_1,_4,_32)", "tuple_of_types": "(_8,_32):(_1,_8)", "defaulted": "_4:_1",
    "not_the_default": "_4:_1", "qualified": "_4:_1", "transform": "(_4,_24):(_1,_4)",
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_what_builders_select_by(tmp_path: Path, name: str) -> None:
    assert printed(run(tmp_path, SHAPES[name]), "found") == EXPECTED[name]


def test_a_specialisation_whose_condition_is_not_known_is_not_passed_over(tmp_path: Path) -> None:
    """Taking the primary template instead would be a guess."""
    text = """
    template <class S, class Enable = void> struct Builder { using L = Layout<_8>; };
    template <class S> struct Builder<S, cute::enable_if_t<not_in_the_tree<S>::value>> { using L = Layout<_4>; };
    using found = Layout<Shape<_2, decltype(size(typename Builder<float>::L{}))>>;
    """
    assert not [s for s in run(tmp_path, text).sites if s.symbol == "found" and s.status == "resolved"]


def test_objects_returned_under_a_condition_join_by_field(tmp_path: Path) -> None:
    text = """
    struct Work { int m; int n; Layout<Shape<_8, _4>> tile; };
    struct Scheduler {
      static Work none() { return {-1, -1}; }
      Work get(int i) { if (i > 4) { return none(); } return {i, 2}; }
    };
    __global__ void kernel(float* p, int i) {
      Scheduler s;
      auto work = s.get(i);
      auto [m, n, tile] = work;
      Tensor g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_8{}, _8{}, 16)));
      Tensor one = make_tensor<float>(Layout<Shape<_8, _8>>{});
      copy(g(_, _, m), one);
      auto twice = make_layout(shape(work.tile), GenRowMajor{});
    }
    """
    facts = run(tmp_path, text)
    assert [e.reason for e in facts.events] == [None]
    assert printed(facts, "twice") == "(_8,_4):(_4,_1)"


def test_coordinate_iterators_and_vector_types_index_tensors(tmp_path: Path) -> None:
    text = """
    __global__ void kernel(float* p, int k) {
      uint2 at = {uint32_t(k % 2), uint32_t(k / 2)};
      Tensor g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_8{}, _2{}, 16)));
      Tensor one = make_tensor<float>(Layout<Shape<_8>>{});
      auto it = cute::make_coord_iterator(k, shape<2>(g));
      for (; k > 0; --k) { copy(g(_, at.x, *it), one); copy(g(_, at.x, crd2idx(it.coord, shape<2>(g))), one); ++it; }
    }
    """
    assert [e.reason for e in run(tmp_path, text).events] == [None, None]


def test_using_declarations_that_meet_in_a_circle_end(tmp_path: Path) -> None:
    text = """
    namespace a { namespace b { struct Only { static constexpr int n = 4; }; } }
    namespace c { using namespace a; using a::missing; }
    namespace a { using namespace c; using c::missing; using b::Only; }
    using found = Layout<Int<c::Only::n>>;
    using lost = Layout<Int<c::missing::n>>;
    """
    facts = run(tmp_path, text)
    assert printed(facts, "found") == "_4:_1"
    assert not [e for e in facts.errors if "nest" in e.message]
    assert [s.symbol for s in facts.sites if s.status == "resolved"] == ["found"]


def included(tmp_path: Path, header: str, source: str, scanned: tuple[str, ...]) -> Facts:
    (tmp_path / "include" / "cutlass").mkdir(parents=True)
    (tmp_path / "include" / "cutlass" / "one.hpp").write_text(header)
    (tmp_path / "a.cu").write_text(source)
    paths = tuple(tmp_path / p for p in scanned)
    return extract(ExtractRequest(paths, ("sm_90a",), include_dirs=(tmp_path / "include",)))


def test_a_scanned_header_that_is_found_through_an_include_path_is_one_file(tmp_path: Path) -> None:
    """`cutecheck facts example.cu include/cutlass/one.hpp -I include`: the example's use resolves the header's site."""
    header = "template <class T> struct Collective { using Atom = cute::Copy_Atom<cute::UniversalCopy<T>, T>; };"
    source = '#include "cutlass/one.hpp"\nusing Used = Collective<float>;\nusing Atom = typename Used::Atom;'
    facts = included(tmp_path, header, source, ("a.cu", "include/cutlass/one.hpp"))
    assert {s.status for s in facts.sites if s.span.path == "one.hpp"} == {"resolved"}


def test_cute_s_own_headers_are_not_interpreted_when_an_include_path_finds_them(tmp_path: Path) -> None:
    (tmp_path / "include" / "cute").mkdir(parents=True)
    (tmp_path / "include" / "cute" / "layout.hpp").write_text("namespace cute { struct _8 {}; }")
    source = '#include "cute/layout.hpp"\nusing namespace cute;\nusing found = Layout<Shape<cute::_8, _4>>;'
    facts = included(tmp_path, "", source, ("a.cu",))
    assert printed(facts, "found") == "(_8,_4):(_1,_8)"


STORAGE = """
struct Empty {};
struct Pair { alignas(16) float a[4]; char b; };
template <class T> struct Storage {
  struct Pipe : cute::aligned_struct<16, _1> { char c; } pipe;
  struct Tensors : cute::aligned_struct<128, _1> { cute::array_aligned<T, 40> smem; Empty none; } tensors;
};
template <class... Ts> struct Tree { using SharedStorage = cute::tuple<Ts...>; };
template <class... Ts> struct Visitor : Tree<Ts..., Empty> {
  using Impl = Tree<Ts..., Empty>;  // the injected class name of the base, not its constructors
  using Shared = typename Impl::SharedStorage;
};
"""


@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ("Storage<half_t>", 256), ("Storage<half_t>::Pipe", 16), ("cute::tuple<Empty, _4>", 1),
        ("cute::tuple<Pair, Empty, char>", 48),
        ("cute::tuple<cute::tuple<char, Pair>, char>", 64), ("Visitor<Pair>::Shared", 32), ("Visitor<>::Shared", 1),
    ],
)  # fmt: skip
def test_sizes_of_shared_storage(tmp_path: Path, type_: str, size: int) -> None:
    """g++ 12 says these with CuTe 4.7's own headers."""
    assert (
        printed(run(tmp_path, STORAGE + f"using found = Layout<Int<1 + sizeof({type_})>>;"), "found")
        == f"_{1 + size}:_1"
    )


def test_a_missing_member_removes_a_specialisation_only_where_all_bases_are_known(tmp_path: Path) -> None:
    text = """
    template <class S, class Enable = void> struct Builder { using L = Layout<_4>; };
    template <class S> struct Builder<S, cute::enable_if_t<S::wide>> { using L = Layout<_8>; };
    struct Plain {}; struct Derived : not_in_the_tree {};
    using found = typename Builder<Plain>::L;
    using open = typename Builder<Derived>::L;
    """
    facts = run(tmp_path, text)
    assert printed(facts, "found") == "_4:_1"
    assert not [s for s in facts.sites if s.symbol == "open" and s.status == "resolved"]
