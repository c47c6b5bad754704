"""Function templates whose parameters' types or defaults are not there for some arguments: others take these."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
template <bool B> using if_t = std::enable_if_t<B, int>;
template <bool B> using if2_t = typename std::enable_if<B, int>::type;
template <class T> using four_t = if_t<sizeof(T) == 4>;
template <class T> using tag_t = typename T::tag;
struct A { using tag = int; int x; };
struct B { int y; };
template <class T, if_t<sizeof(T) == 4> = 0> constexpr int direct(T) { return 4; }
template <class T, if_t<sizeof(T) == 8> = 0> constexpr int direct(T) { return 8; }
template <class T, if2_t<sizeof(T) == 4> = 0> constexpr int member(T) { return 4; }
template <class T, if2_t<sizeof(T) == 8> = 0> constexpr int member(T) { return 8; }
template <class T> constexpr if_t<sizeof(T) == 4> result(T) { return 4; }
template <class T> constexpr if_t<sizeof(T) == 8> result(T) { return 8; }
template <class T, four_t<T> = 0> constexpr int nested(T) { return 4; }
template <class T, if_t<sizeof(T) == 8> = 0> constexpr int nested(T) { return 8; }
template <class T, class = typename T::tag> constexpr int tagged(T) { return 4; }
constexpr int tagged(...) { return 8; }
template <class T, class = tag_t<T>> constexpr int aliased(T) { return 4; }
constexpr int aliased(...) { return 8; }
template <class T, class = decltype(T{}.x)> constexpr int has_x(T) { return 4; }
constexpr int has_x(...) { return 8; }
template <class T, class = std::void_t<typename T::tag>> constexpr int voided(T) { return 4; }
constexpr int voided(...) { return 8; }
template <class T, tag_t<T> = 0> constexpr int valued(T) { return 4; }
constexpr int valued(...) { return 8; }
"""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("direct(1)", 4),
        ("direct(1.0)", 8),
        ("member(1)", 4),
        ("member(1.0)", 8),
        ("result(1)", 4),
        ("result(1.0)", 8),
        ("nested(1)", 4),
        ("nested(1.0)", 8),
        *((f"{f}(A{{}})", 4) for f in ("tagged", "aliased", "has_x", "voided", "valued")),
        *((f"{f}(B{{}})", 8) for f in ("tagged", "aliased", "has_x", "voided", "valued")),
    ],
)
def test_what_cannot_be_formed_is_no_candidate(tmp_path: Path, number: str, value: int) -> None:
    (tmp_path / "k.cu").write_text(HEAD + f"using L = Layout<Shape<_2, Int<{number}>>>;\n")
    assert [str(s.value) for s in extract(ExtractRequest((tmp_path,))).sites] == [f"(_2,_{value}):(_1,_2)"]


def test_what_may_not_be_there_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        HEAD
        + """
#include <somewhere/else.hpp>
using L = Layout<Shape<_2, Int<tagged(elsewhere::Thing{})>>>;
"""
    )
    assert not [s for s in extract(ExtractRequest((tmp_path,))).sites if s.status == "resolved"]
