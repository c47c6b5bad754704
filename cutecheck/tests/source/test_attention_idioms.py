"""What Blackwell's attention kernels do with atoms and tuples, against CuTe itself on the host."""

from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.notation import show
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import run

# the operation of A in shared memory as that of A in tensor memory: its scales are deduced, its majors and types, too
TO_TS = """
template <class A, class B, class C, int M, int N, UMMA::Major tA, UMMA::Major tB, UMMA::ScaleIn sA, UMMA::ScaleIn sB,
          class... Ts, class... Us>
constexpr auto to_ts(TiledMMA<MMA_Atom<SM100_MMA_F16BF16_SS<A, B, C, M, N, tA, tB, sA, sB>, Ts...>, Us...>) {
  return TiledMMA<MMA_Atom<SM100_MMA_F16BF16_TS<A, B, C, M, N, tA, tB, sA, sB, UMMA::Saturate::False>, Ts...>, Us...>{};
}
"""
MMAS = """
  auto ss = make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::MN>{});
  TiledMMA ts = to_ts(ss);
  Layout a = ts.get_slice(0).make_fragment_A(partition_shape_A(ts, Shape<_128, _64>{})).layout();
  Layout c = partition_fragment_C(ts, Shape<_128, _128>{}).layout();
"""
SAME = [
    ("SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>",
     "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K, UMMA::ScaleIn::One>"),
    ("SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>",
     "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K, UMMA::ScaleIn::Neg>"),
    ("SM100_MMA_S8_SS<int8_t, int8_t, int, 128, 64, UMMA::Major::K, UMMA::Major::K>",
     "SM100_MMA_S8_SS<int8_t, int8_t, int, 128, 64, UMMA::Major::K, UMMA::Major::K, UMMA::Saturate::False>"),
]  # fmt: skip
PAIRS = "".join(
    f"  auto pair{i} = make_layout(Int<is_same_v<{a}, {b}> ? 1 : 2>{{}}, _8{{}});\n" for i, (a, b) in enumerate(SAME)
)
LEAVES = """
  auto shape = make_tuple(_8{}, make_tuple(_4{}, make_tuple(_3{}, _2{})));
  auto stride = make_tuple(_1{}, make_tuple(make_tuple(_5{}, _7{}), make_tuple(_9{}, _2{})));
  auto twice = make_layout(transform_leaf(shape, [](auto s) { return s * _2{}; }));
  auto some = make_layout(transform_leaf(shape, [](auto s) {
    if constexpr (decltype(s)::value < 4) { return _1{}; } else { return s; } }));
  auto both = make_layout(shape, transform_leaf(shape, make_tuple(_1{}, make_tuple(_5{}, make_tuple(_9{}, _2{}))),
                                                [](auto s, auto d) { return s * d; }));
  auto leaf = make_layout(transform_leaf(_8{}, [](auto s) { return s + _1{}; }), _3{});
"""
ELEMENTS = """
  auto shape_of = make_tuple(8, make_tuple(_4{}, 3));
  auto copied = shape_of;
  get<0>(shape_of) = 16;
  get<1, 1>(shape_of) += 2;
  get<1>(get<1>(shape_of)) *= 2;
  auto written = make_layout(shape_of);
  auto kept = make_layout(copied);
  auto staged = composition(Swizzle<3, 4, 3>{}, Layout<Shape<_128, _64, Shape<_4, _2>>>{});
  auto unstaged = composition(staged, prepend<3>(make_layout(_1{}), _));
  auto first = composition(Layout<Shape<_8, _4>>{}, append<2>(make_layout(_2{}), _));
"""
NAMES = [
    "written",
    "kept",
    "unstaged",
    "first",
    "a",
    "c",
    *(f"pair{i}" for i in range(len(SAME))),
    "twice",
    "some",
    "both",
    "leaf",
]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    shown = "".join(f'print({n}); print("\\n");' for n in NAMES)
    text = "".join(f"#include <{h}>\n" for h in ("cstdio", "cute/tensor.hpp", "cute/atom/mma_atom.hpp"))
    program = f"{text}using namespace cute;\n{TO_TS}int main() {{ {MMAS}{PAIRS}{LEAVES}{ELEMENTS}{shown} }}\n"
    return lines_of(tmp_path_factory.mktemp("attention"), program)[-len(NAMES) :]


def test_atoms_and_leaves_are_those_of_cute(tmp_path: Path, real: list[str]) -> None:
    facts = run(tmp_path, f"{TO_TS}\nvoid host() {{ {MMAS}{PAIRS}{LEAVES}{ELEMENTS} }}", arch="sm_100a")
    values: dict[str, Any] = {s.symbol.rpartition("::")[2]: s.value for s in facts.sites}
    assert [show(values[n]) for n in NAMES] == real
    (ts,) = [s for s in facts.sites if s.symbol == "host::ts"]
    assert ts.status == "resolved" and ts.value.atom.op == "SM100_MMA_F16BF16_TS"


@pytest.mark.parametrize(
    "call",
    [
        "transform(unknown(), [&](auto x) { n = 8; return x; })",
        "transform_leaf(unknown(), [&](auto x) { n = 8; return x; })",
        "transform_leaf(make_tuple(unknown(), 1), [&](auto x) { n = 8; return x; })",
        "transform_apply(unknown(), [&](auto x) { n = 8; return x; }, [](auto... x) { return 1; })",
        "for_each(unknown(), [&](auto x) { n = 8; })",
        "transform(t, [&](float x) { n = 8; return x; })",
    ],
)
def test_what_a_function_of_elements_writes_is_not_known_where_these_are_not(tmp_path: Path, call: str) -> None:
    facts = run(
        tmp_path,
        f"""
auto unknown();
__global__ void k(float* p) {{
  int n = 4;
  Tensor t = make_tensor(make_gmem_ptr(p), Layout<_8>{{}});
  {call};
  copy(make_tensor(make_gmem_ptr(p + n), Layout<_8>{{}}), make_tensor<float>(Layout<_8>{{}}));
}}
""",
    )
    (event,) = facts.events
    assert str(event.operands[0].offset) not in ("4", "8")


def test_an_element_that_one_branch_writes_may_be_either(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
__global__ void k(float* p, int n, int const* lengths) {
  auto shape = make_tuple(_8{}, n, 16);
  if (lengths) { get<1>(shape) = lengths[blockIdx.x]; }
  get<2>(shape) = 32;
  copy(make_tensor(make_gmem_ptr(p), make_layout(shape)), make_tensor(make_gmem_ptr(p), make_layout(shape)));
}
""",
    )
    (event,) = facts.events
    shape = event.operands[0].layout.shape
    assert shape[0] == 8 and str(shape[2]) == "32"
    assert "lengths" in str(shape[1]) and "n" in str(shape[1])
