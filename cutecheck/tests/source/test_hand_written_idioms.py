"""What kernels do that launch and copy by hand: operations' own functions, addresses of elements, kernels in tables."""

from pathlib import Path

import pytest

from cutecheck.facts import TensorFact
from cutecheck.model.expr.ranges import divisor
from cutecheck.model.ints import as_expr
from cutecheck.tests.source.test_extract import printed, run

COPIED = """
__global__ void k(half_t* g, int row, const __grid_constant__ CUtensorMap map) {{
  __shared__ alignas(128) half_t s[64 * 72];
  __shared__ uint64_t bar;
  Tensor t = make_tensor(make_smem_ptr(s), Layout<Shape<_64, _64>, Stride<_72, _1>>{{}});
  Tensor m = make_tensor(make_gmem_ptr(g), make_layout(make_shape(row, _64{{}}), LayoutRight{{}}));
  Tensor r = make_tensor<half_t>(Layout<_8>{{}});
  Tensor c = make_identity_tensor(make_shape(_64{{}}, _64{{}}))(_, 0);
  {}
}}
int main() {{ k<<<1, 32>>>(nullptr, 5, CUtensorMap{{}}); }}
"""


@pytest.mark.parametrize(
    ("source", "space", "offset"),
    [
        ("make_smem_ptr(&t(row, _0{}))", "smem", "360"),
        ("make_smem_ptr(&t(threadIdx.x, 8))", "smem", "72*threadIdx.x + 8"),
        ("make_smem_ptr(&t[5])", "smem", "360"),
        ("make_gmem_ptr(&m(threadIdx.x, 0))", "gmem", "64*threadIdx.x"),
        ("make_gmem_ptr(&m(get<0>(c(8)), get<1>(c(_1{})) * size<1>(t)))", "gmem", "512"),
        ("&r(0)", "rmem", "0"),
    ],
)
def test_the_address_of_an_element_of_a_tensor(tmp_path: Path, source: str, space: str, offset: str) -> None:
    facts = run(tmp_path, COPIED.format(f"copy(make_tensor({source}, Layout<_8>{{}}), r);"), arch="sm_90a")
    (event,) = facts.events
    operand = event.operands[0]
    assert event.reason is None and isinstance(operand, TensorFact)
    assert (operand.space, str(operand.offset)) == (space, offset)
    assert operand.dtype is not None and operand.dtype.name == "half_t"


@pytest.mark.parametrize(
    ("align", "element", "offset"),
    [
        (1024, "row, 0", "360"),  # 320 without the swizzle
        (128, "row, 0", None),  # where the buffer starts decides
        (128, "row - 5, 0", "0"),
    ],
)
def test_the_address_of_an_element_of_a_swizzled_tensor(
    tmp_path: Path, align: int, element: str, offset: str | None
) -> None:
    swizzled = "Tensor w = make_tensor(make_smem_ptr(s), GMMA::Layout_K_SW128_Atom<half_t>{});"
    text = COPIED.format(f"{swizzled} copy(make_tensor(make_smem_ptr(&w({element})), Layout<_8>{{}}), r);")
    (event,) = run(tmp_path, text.replace("alignas(128)", f"alignas({align})"), arch="sm_90a").events
    assert (event.reason is not None) == (offset is None)
    assert offset is None or str(getattr(event.operands[0], "offset", None)) == offset


@pytest.mark.parametrize("first", ["float acc[8] = {0};", "float acc[8] = {};", "float acc[8];"])
@pytest.mark.parametrize("pointer", ["acc", "&acc[0]", "make_rmem_ptr(&acc[4])"])
def test_an_array_of_floats_in_registers(tmp_path: Path, first: str, pointer: str) -> None:
    text = COPIED.format(f"{first} Tensor a = make_tensor({pointer}, Layout<_4>{{}}); copy(a, m(_, 0));")
    (event,) = run(tmp_path, text, arch="sm_90a").events
    operand = event.operands[0]
    assert isinstance(operand, TensorFact) and operand.space == "rmem"
    assert operand.dtype is not None and operand.dtype.name == "float"
    assert str(operand.offset) == ("4" if "4" in pointer else "0")


def test_what_an_operation_itself_does_is_no_copy_of_tensors(tmp_path: Path) -> None:
    text = COPIED.format("""
      cute::SM90_TMA_LOAD_2D::copy(&map, &bar, 0, s, 1, 2);
      SM90_TMA_STORE_2D::copy(&map, s, 1, 2);
      cute::SM90_BULK_COPY_S2G::copy(s, g, 128);
      cute::copy(t(_, 0), m(_, 0));
    """)
    (event,) = run(tmp_path, text, arch="sm_90a").events
    assert event.reason is None


NAMED = """
template <int N, class T> __global__ void k(T* g) {
  __shared__ T s[N];
  copy(make_tensor(make_gmem_ptr(g), Layout<Int<N>>{}), make_tensor(make_smem_ptr(s), Layout<Int<N>>{}));
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("static void __instantiate_kernel() { auto ptr = reinterpret_cast<void*>(&k<64, half_t>); }", {"_64:_1"}),
        ("void* table[] = {(void*)k<32, half_t>, (void*)&k<64, float>};", {"_32:_1", "_64:_1"}),
        ("void set() { cudaFuncSetAttribute(k<128, half_t>, cudaFuncAttributeMaxDynamicSharedMemorySize, 9); }",
         {"_128:_1"}),
        ("void set() { auto f = k<16, half_t>; cudaFuncSetAttribute(k<16, half_t>, 0, 9); f<<<1, 32>>>(nullptr); }",
         {"_16:_1"}),
    ],
)  # fmt: skip
def test_a_kernel_whose_address_is_taken_is_instantiated(tmp_path: Path, text: str, expected: set[str]) -> None:
    events = run(tmp_path, NAMED + text).events
    assert {str(e.operands[0].layout) for e in events} == expected
    assert len(events) == len(expected)


SETTINGS = """
enum class Swz { none, wide = 3 };
struct Tile { int m, n; };
struct Config { Tile tile; int stages = 2; Swz swz = Swz::wide; bool flag = false;
  constexpr int all() const { return tile.m * stages; } };
template <Config cfg> struct Traits { using L = Layout<Shape<Int<cfg.tile.m>, Int<cfg.stages>>>; };
template <Config cfg> constexpr auto made = make_layout(Int<cfg.all()>{});
template <Config cfg> __global__ void k(half_t* p) {
  copy(make_tensor(make_gmem_ptr(p), typename Traits<cfg>::L{}), make_tensor(make_gmem_ptr(p), made<cfg>));
}
inline constexpr Config one{{8, 16}, 3};
inline constexpr Config two{.tile = {32, 64}, .stages = 4, .swz = Swz::none};
constexpr auto three = [] { auto c = two; c.stages = 5; c.tile.m = 128; return c; }();
inline constexpr Config also{{8, 16}, 3, Swz::wide, false};
"""


def test_objects_are_template_arguments_by_their_values(tmp_path: Path) -> None:
    launches = "".join(f"k<{c}><<<1, 1>>>(nullptr);" for c in ("one", "two", "three", "also", "Config{{1, 2}, 7}"))
    facts = run(tmp_path, SETTINGS + f"void host() {{ {launches} }}")
    assert {tuple(str(o.layout) for o in e.operands) for e in facts.events} == {
        ("(_8,_3):(_1,_8)", "_24:_1"),
        ("(_32,_4):(_1,_32)", "_128:_1"),
        ("(_128,_5):(_1,_128)", "_640:_1"),
        ("(_1,_7):(_0,_1)", "_7:_1"),
    }
    assert {e.enclosing for e in facts.events} >= {
        "k<Config{Tile{8,16},3,Swz::wide,false}>",
        "k<Config{Tile{128,64},5,Swz::none,false}>",
    }
    assert len(facts.launches) == 5  # two of one kernel


KERNELS = """
template <int c> __global__ void k(half_t* p) {
  auto l = Layout<Int<c>>{};
  copy(make_tensor(make_gmem_ptr(p), l), make_tensor<half_t>(l));
}
"""


@pytest.mark.parametrize(
    "dispatch",
    [
        "bool done = false; ([&] { if (!done && m >= cs) { f(Int<cs>{}); done = true; } }(), ...);",
        "([&] { f(Int<cs>{}); }(), ...);",
        "(f(Int<cs>{}), ...);",
        "bool done = false; ((!done && m >= cs ? (f(Int<cs>{}), done = true) : done), ...);",
        "bool done = false; auto one = [&](auto c) { if (m >= c) { f(c); done = true; } }; (one(Int<cs>{}), ...);",
        "auto s = cute::make_tuple([&] { f(Int<cs>{}); return 0; }()...);",
    ],
)
def test_what_is_expanded_may_be_named_in_the_body_of_a_lambda(tmp_path: Path, dispatch: str) -> None:
    text = f"template <int... cs, class F> void each(int m, F&& f) {{ {dispatch} }}\n"
    host = "void host(int m, half_t* p) { each<4, 2, 8>(m, [&](auto c) { k<c><<<1, 32>>>(p); }); }"
    assert {str(e.operands[0].layout) for e in run(tmp_path, KERNELS + text + host).events} == {
        "_4:_1",
        "_2:_1",
        "_8:_1",
    }


def test_a_pack_that_is_expanded_inside_is_not_expanded_again(tmp_path: Path) -> None:
    text = """
    template <int... cs, class... Us> auto each(Us... us) {
      return cute::make_tuple(
          [&] { return make_layout(make_shape(Int<(cs + ...)>{}, Int<sizeof...(cs)>{}, us)); }()...);
    }
    void host() {
      auto both = each<1, 2, 3>(_7{}, _8{});
      auto first = get<0>(both);
      auto second = get<1>(both);
      auto count = make_layout(Int<decltype(rank(both))::value>{});
    }
    """
    facts = run(tmp_path, text)
    assert [printed(facts, n) for n in ("first", "second", "count")] == [
        "(_6,_3,_7):(_1,_6,_18)",
        "(_6,_3,_8):(_1,_6,_18)",
        "_2:_1",
    ]


@pytest.mark.parametrize(
    "call", ["<int V = 128 / sizeof_bits_v<T>>()", "<int V = 8>(int = 1)", "<class U = _8, int V = U::value>()"]
)
def test_template_arguments_of_a_member_s_lambda_have_defaults(tmp_path: Path, call: str) -> None:
    text = f"""
    template <class T> struct Q {{
      static constexpr auto made = []{call} {{ return make_layout(Int<V>{{}}); }}();
    }};
    Q<half_t> q;
    """
    assert printed(run(tmp_path, text), "made") == "_8:_1"


@pytest.mark.parametrize(
    "row",
    ["int64_t(ids[threadIdx.x]) * (n * 8)", "int64_t(rows[threadIdx.x] < 0 ? 0 : rows[threadIdx.x] / n) * (n * 8)"],
)
def test_a_row_that_memory_names_is_a_multiple_of_what_it_is_multiplied_by(tmp_path: Path, row: str) -> None:
    facts = run(
        tmp_path,
        f"""__global__ void k(half_t const* g, int const* ids, int n) {{
          __shared__ int rows[32];
          copy(make_tensor(make_gmem_ptr(g + {row}), Layout<_8>{{}}), make_tensor<half_t>(Layout<_8>{{}}));
        }}
        int main(int n, char**) {{ k<<<1, 32>>>(nullptr, nullptr, n); }}""",
    )
    (event,) = facts.events
    assert divisor(as_expr(event.operands[0].offset)) % 8 == 0, event.operands[0].offset  # type: ignore[arg-type]
