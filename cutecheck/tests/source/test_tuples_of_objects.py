"""A tuple of ``{}`` holds an object of each class that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
#include <tuple>
using namespace cute;
template <int N> struct Cfg { static constexpr int threads = 10 + N; int x = N; };
enum class Kind { a = 0, b = 4 };
constexpr auto whole = std::tuple<Cfg<2>>{};
constexpr std::tuple<Cfg<3>, Cfg<4>> several{};
"""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("std::get<0>(std::tuple<Cfg<1>>{}).threads", 11),
        ("std::get<0>(whole).threads", 12),
        ("std::get<1>(several).threads", 14),
        ("std::apply([](auto... c) { return (c.threads + ...); }, std::tuple<Cfg<6>, Cfg<7>>{})", 33),
        ("std::apply([](auto c) { return c.x; }, std::tuple<Cfg<9>>{})", 9),
        ("std::get<1>(std::tuple<int, Cfg<5>>{1, {}}).x", 5),
        ("std::pair<int, Cfg<5>>{1, {}}.second.x", 5),
        ("std::get<0>(std::get<1>(std::tuple<int, std::tuple<Cfg<5>>>{})).x", 5),
        ("get<0>(cute::tuple<Cfg<1>>{}).threads", 11),
        ("3 + int(std::get<0>(std::tuple<Kind>{}))", 3),
        ("get<1>(Shape<int, _7>{})", 7),
    ],
)
def test_a_tuple_of_nothing(tmp_path: Path, number: str, value: int) -> None:
    (tmp_path / "k.cu").write_text(HEAD + f"using L = Layout<Shape<_2, Int<{number}>>>;\n")
    assert [str(s.value) for s in extract(ExtractRequest((tmp_path,))).sites] == [f"(_2,_{value}):(_1,_2)"]
