"""GoogleTest's macros are roots: plain tests, tests with a fixture, tests over a list of types."""

from pathlib import Path

from cutecheck.model.notation import show
from cutecheck.tests.source.test_extract import printed, run

COPY = """
template <int N> void run() {
  auto copy_of = make_tiled_copy(Copy_Atom<UniversalCopy<uint_bit_t<N>>, float>{}, Layout<_32>{},
                                 Layout<Int<N / 32>>{});
}
"""


def widths(tmp_path: Path, text: str) -> list[str]:
    facts = run(tmp_path, COPY + text)
    found = [s for s in facts.sites if s.symbol.endswith("::copy_of") and s.status == "resolved"]
    return sorted(dict(s.bindings)["N"] for s in found)


def test_a_plain_test_is_a_root(tmp_path: Path) -> None:
    assert widths(tmp_path, "TEST(Suite, 64_bits) { run<64>(); }") == ["64"]


def test_a_fixture_s_members_are_seen_in_its_tests(tmp_path: Path) -> None:
    text = """
    struct Fixture : public ::testing::Test { static constexpr int bits = 64; using Width = Int<128>; };
    TEST_F(Fixture, Static) { run<bits>(); }
    TEST_F(Fixture, Type) { run<Width::value>(); }
    """
    assert widths(tmp_path, text) == ["128", "64"]


def test_a_fixture_s_fields_are_objects_of_the_test(tmp_path: Path) -> None:
    text = """
    struct Fixture : public ::testing::Test { Layout<Shape<_8, _4>> tile; };
    TEST_F(Fixture, Field) { auto twice = make_layout(shape(tile), GenRowMajor{}); }
    """
    assert printed(run(tmp_path, text), "twice") == "(_8,_4):(_4,_1)"


TYPED = """
template <class P> struct Suite : public testing::Test { static constexpr int bits = P::bits; };
struct A { static constexpr int bits = 32; };
struct B { static constexpr int bits = 64; };
struct C { static constexpr int bits = 128; };
"""


def test_a_typed_test_runs_for_every_type_of_its_list(tmp_path: Path) -> None:
    text = (
        TYPED
        + """
    typedef ::testing::Types<A, B> List;
    TYPED_TEST_SUITE(Suite, List);
    TYPED_TEST(Suite, Fixture) { run<TestFixture::bits>(); }
    """
    )
    assert widths(tmp_path, text) == ["32", "64"]


def test_a_list_written_in_place_and_the_type_parameter(tmp_path: Path) -> None:
    text = (
        TYPED
        + """
    using List = testing::Types<B, C>;
    TYPED_TEST_CASE(Suite, List);
    TYPED_TEST(Suite, Parameter) { using P = TypeParam; run<P::bits>(); }
    """
    )
    assert widths(tmp_path, text) == ["128", "64"]


def test_a_suite_without_a_list_leaves_its_tests_open(tmp_path: Path) -> None:
    assert widths(tmp_path, TYPED + "TYPED_TEST(Suite, Open) { run<TestFixture::bits>(); }") == []


def test_registered_tests_run_for_the_types_they_are_instantiated_with(tmp_path: Path) -> None:
    text = (
        TYPED
        + """
    TYPED_TEST_P(Suite, Later) { run<TestFixture::bits>(); }
    REGISTER_TYPED_TEST_SUITE_P(Suite, Later);
    using List = testing::Types<C>;
    INSTANTIATE_TYPED_TEST_SUITE_P(My, Suite, List);
    """
    )
    assert widths(tmp_path, text) == ["128"]


def test_overloads_that_a_using_directive_adds(tmp_path: Path) -> None:
    """A function of the file does not hide the longer overload of a namespace that it uses (the TMA unit tests)."""
    text = """
    namespace test {
      template <class Op, class L> void over(Op, L layout) { auto inner = make_layout(shape(layout)); }
    }
    using namespace test;
    template <class L> void over(L layout) { over(SM90_TMA_LOAD{}, layout); }
    void root() { over(Layout<Shape<_8, _4>, Stride<_4, _1>>{}); }
    """
    assert printed(run(tmp_path, text), "inner") == "(_8,_4):(_1,_8)"


def test_a_template_passed_by_name_is_spelled_by_its_name_and_no_site(tmp_path: Path) -> None:
    text = """
    template <class T, template <class> class Atom>
    void tile() { auto whole = tile_to_shape(Atom<T>{}, Shape<_64, _64>{}); }
    TEST(Suite, Swizzles) { tile<half_t, GMMA::Layout_K_SW128_Atom>(); }
    """
    facts = run(tmp_path, text, arch="sm_90a")
    assert [(s.status, s.symbol) for s in facts.sites] == [
        ("resolved", "tile<cutlass::half_t,GMMA::Layout_K_SW128_Atom>::whole")
    ]
    assert show(facts.sites[0].value).startswith("Sw<3,4,3>")


HEADER = """
namespace testing {
class Test { private: virtual void TestBody() = 0; };
template <class... T> struct Types { using type = Types; };
namespace internal {
template <class T> struct GenerateTypeList { using type = Types<T>; };
template <class... T> struct GenerateTypeList<Types<T...>> { using type = Types<T...>; };
template <template <class> class F, class Sel, class List> struct TypeParameterizedTest { static bool Register(); };
template <template <class> class Tmpl> struct TemplateSel { template <class T> struct Bind { using type = Tmpl<T>; }; };
}
}
#define GTEST_TEST_CLASS_NAME_(suite, name) suite##_##name##_Test
#define GTEST_TYPE_PARAMS_(suite) gtest_type_params_##suite##_
#define GTEST_AMBIGUOUS_ELSE_BLOCKER_ switch (0) case 0: default:
#define GTEST_TEST_BOOLEAN_(expression, fail) \\
  GTEST_AMBIGUOUS_ELSE_BLOCKER_ if (const bool gtest_ar_ = (expression)) ; else fail()
#define EXPECT_TRUE(condition) GTEST_TEST_BOOLEAN_(condition, ::testing::internal::failure)
#define TEST(suite, name) \\
  class GTEST_TEST_CLASS_NAME_(suite, name) : public ::testing::Test { void TestBody() override; }; \\
  void GTEST_TEST_CLASS_NAME_(suite, name)::TestBody()
#define TYPED_TEST_SUITE(suite, types, ...) \\
  typedef ::testing::internal::GenerateTypeList<types>::type GTEST_TYPE_PARAMS_(suite)
#define TYPED_TEST(suite, name) \\
  template <typename gtest_TypeParam_> class GTEST_TEST_CLASS_NAME_(suite, name) : public suite<gtest_TypeParam_> { \\
    typedef gtest_TypeParam_ TypeParam; void TestBody() override; }; \\
  static bool gtest_##suite##_##name##_registered_ = ::testing::internal::TypeParameterizedTest<suite, \\
    ::testing::internal::TemplateSel<GTEST_TEST_CLASS_NAME_(suite, name)>, GTEST_TYPE_PARAMS_(suite)>::Register(); \\
  template <typename gtest_TypeParam_> void GTEST_TEST_CLASS_NAME_(suite, name)<gtest_TypeParam_>::TestBody()
"""


def test_headers_that_are_there_change_nothing(tmp_path: Path) -> None:
    text = """
    template <class T> class Widths : public ::testing::Test {};
    using All = ::testing::Types<Int<32>, Int<64>>;
    TYPED_TEST_SUITE(Widths, All);
    TYPED_TEST(Widths, Run) { run<TypeParam::value>(); EXPECT_TRUE(true); }
    TEST(Plain, Run) { run<128>(); EXPECT_TRUE(true); }
    """
    assert widths(tmp_path, HEADER + text) == ["128", "32", "64"]
