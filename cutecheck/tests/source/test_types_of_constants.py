"""Which constants are of one type, and what templates take them; the classes and numbers are those that g++ printed."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from cutecheck.model.notation import show
from cutecheck.source.evaluate import evaluate
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

# of each list all are one type, and those of two lists are not
ALIKE = (
    ("std::true_type", "std::bool_constant<(2 > 1)>", "std::integral_constant<bool, true>",
     "typename std::is_same<int, int>::type", "typename cute::is_same<int, int>::type",
     "typename std::is_integral<int>::type"),
    ("cute::true_type", "C<true>", "constant<bool, true>", "decltype(_1{} == _1{})", "decltype(!_0{})",
     "decltype(_1{} && _1{})", "typename is_static<_1>::type", "typename cute::is_integral<int>::type",
     "decltype(has_single_bit(_1{}))", "decltype(elem_less(Shape<_1>{}, Shape<_2>{}))",
     "decltype(lex_less(_1{}, _2{}))"),
    ("_1", "C<1>", "Int<true>", "constant<int, 1>", "decltype(+cute::true_type{})", "decltype(C<true>{} * _1{})",
     "decltype(cute::true_type{} & cute::true_type{})", "decltype(cute::integral_constant<int, 1>{} + _0{})",
     "decltype(safe_div(_4{}, _4{}))", "decltype(shiftr(_4{}, _2{}))", "decltype(rank(Shape<_1>{}))"),
    ("C<1u>", "decltype(C<1u>{} * _1{})", "decltype(Int<7>{} - C<6u>{})", "decltype(gcd(C<3u>{}, _2{}))",
     "decltype(size(Shape<C<1u>, _1>{}))", "decltype(cute::min(C<1u>{}, _2{}))"),
    ("cute::integral_constant<int, 1>",), ("cute::integral_constant<bool, true>",), ("C<(short)1>",),
    ("std::integral_constant<int, 1>",), ("std::integral_constant<uint32_t, 1>",),
    ("typename std::tuple_size<Shape<_1>>::type", "std::integral_constant<size_t, 1>"),
    ("decltype(std::true_type{} && std::true_type{})", "decltype(!std::true_type{})",
     "typename C<true>::value_type", "bool"),
    ("decltype(std::integral_constant<int, 1>{} + _0{})", "typename C<1>::value_type", "int"),
    ("_0", "decltype(C<0u>{} * 4)", "decltype(4 % _1{})"), ("C<0u>", "decltype(C<0u>{} * C<4u>{})"),
    ("Shape<cute::true_type>", "decltype(make_shape(cute::true_type{}))"), ("Shape<_1>",),
    ("decltype(make_tuple(std::true_type{}))",),
)  # fmt: skip
PRINTED = {
    "Int<1>{}": "1010001001103", "C<1u>{}": "0010001000005", "cute::true_type{}": "0110001100011",
    "std::true_type{}": "0000110010002", "std::integral_constant<int, 1>{}": "0000100000000",
    "cute::integral_constant<int, 1>{}": "1011001001004", "cute::integral_constant<bool, true>{}": "0111001100000",
    "C<(short)1>{}": "0010001000000", "std::is_same<int, int>{}": "0000110010000",
    "cute::is_static<_1>{}": "0110001100000", "_2{} == _2{}": "0110001100011",
    "cute::is_integral<int>{}": "0110001100000", "std::is_integral<int>{}": "0000110010000",
}  # fmt: skip
TREE = """#include <cute/tensor.hpp>
using namespace cute;
template <int N> constexpr int f(Int<N>) { return 1; } constexpr int f(...) { return 0; }
template <bool B> constexpr int g(bool_constant<B>) { return 1; } constexpr int g(...) { return 0; }
template <auto N> constexpr int h(C<N>) { return 1; } constexpr int h(...) { return 0; }
template <class T, T v> constexpr int k(cute::integral_constant<T, v>) { return 1; } constexpr int k(...) { return 0; }
template <class T, T v> constexpr int s(std::integral_constant<T, v>) { return 1; } constexpr int s(...) { return 0; }
template <bool b> constexpr int t(std::bool_constant<b>) { return 1; } constexpr int t(...) { return 0; }
template <class T, T v> constexpr int c(cute::constant<T, v>) { return 1; } constexpr int c(...) { return 0; }
constexpr int ct(cute::true_type) { return 1; } constexpr int ct(...) { return 0; }
constexpr int st(std::true_type) { return 1; } constexpr int st(...) { return 0; }
constexpr int i1(Int<1>) { return 1; } constexpr int i1(...) { return 0; }
template <class T> struct P { static constexpr int v = 0; };
template <int N> struct P<Int<N>> { static constexpr int v = 1; };
template <class T> struct Q { static constexpr int v = 0; };
template <bool N> struct Q<bool_constant<N>> { static constexpr int v = 1; };
template <class T> struct W { static constexpr int v = 0; };
template <> struct W<true_type> { static constexpr int v = 1; };
template <> struct W<std::true_type> { static constexpr int v = 2; };
template <> struct W<_1> { static constexpr int v = 3; };
template <> struct W<cute::integral_constant<int, 1>> { static constexpr int v = 4; };
template <> struct W<C<1u>> { static constexpr int v = 5; };
"""
ASKED = ("f", "g", "h", "k", "s", "t", "c", "ct", "st", "i1", "P", "Q", "W")


def test_types_of_constants() -> None:
    one_of_each = [types[0] for types in ALIKE]
    pairs = [(a, b, True) for a, *others in ALIKE for b in others]
    pairs += [(a, b, False) for a, b in combinations(one_of_each, 2)]
    wrong = [p for p in pairs if str(evaluate(f"std::is_same_v<{p[0]}, {p[1]}>")) != str(int(p[2]))]
    assert not wrong


def _layouts(folder: Path, text: str) -> dict[str, str]:
    (folder / "k.cu").write_text(text)
    return {s.symbol: show(s.value) for s in extract(ExtractRequest((folder,), ("sm_90a",))).sites}


def test_what_templates_and_overloads_take(tmp_path: Path) -> None:
    text = TREE
    for i, value in enumerate(PRINTED):
        for ask in ASKED:
            asked = f"{ask}({value})" if ask.islower() else f"{ask}<decltype({value})>::v"
            text += f"using L{i}_{ask} = Layout<Int<{asked}>>;\n"
    found = _layouts(tmp_path, text)
    shown = {
        value: "".join(found[f"L{i}_{a}"].partition(":")[0].strip("_") for a in ASKED)
        for i, value in enumerate(PRINTED)
    }
    assert shown == PRINTED


@pytest.mark.parametrize(
    ("opened", "size"), [("using namespace cute;", 2), ("using namespace std;", 3), ("using std::true_type;", 3)]
)
def test_which_constants_a_name_means(opened: str, size: int, tmp_path: Path) -> None:
    text = f"""#include <cute/tensor.hpp>
{opened}
template <class T> struct W {{ static constexpr int v = 1; }};
template <> struct W<cute::true_type> {{ static constexpr int v = 2; }};
template <> struct W<std::true_type> {{ static constexpr int v = 3; }};
using Site = cute::Layout<cute::Int<W<true_type>::v>>;
"""
    assert _layouts(tmp_path, text)["Site"].startswith(f"_{size}:")


def test_a_constant_of_an_enumerator(tmp_path: Path) -> None:
    text = """#include <cute/tensor.hpp>
using namespace cute;
enum class Mode { A = 1, B = 2 };
template <class T> struct W { static constexpr int v = 4; };
template <> struct W<_1> { static constexpr int v = 1; };
template <> struct W<C<Mode::A>> { static constexpr int v = 2; };
template <Mode M> constexpr int of(C<M>) { return M == Mode::B ? 8 : 16; }
using Site = Layout<Shape<Int<W<_1>::v>, Int<W<C<Mode::A>>::v>, Int<W<C<Mode::B>>::v>, Int<of(C<Mode::B>{})>>>;
"""
    assert _layouts(tmp_path, text)["Site"].startswith("(_1,_2,_4,_8):")
