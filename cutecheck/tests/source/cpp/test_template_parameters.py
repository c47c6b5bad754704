"""Templates as template arguments: specialisations that take a type apart into a template and its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
template <class T, template <int...> class U> struct is_a { static constexpr int value = 0; };
template <template <int...> class U, int... Args> struct is_a<U<Args...>, U> { static constexpr int value = 1; };
template <class A, class B> struct alike { static constexpr int value = 0; };
template <template <class> class U, class A, class B> struct alike<U<A>, U<B>> { static constexpr int value = 1; };
template <class T> struct rebound;
template <template <int...> class U, int First, int... Rest> struct rebound<U<First, Rest...>> {
  using type = U<First + 1, Rest...>;
};
template <int A, int B> struct One { static constexpr int n = 10 * A + B; };
template <int A, int B> struct Two { static constexpr int n = 100 * A + B; };
namespace other { template <int A, int B> struct One { static constexpr int n = 7; }; }
template <class T> struct Box {};
template <class T> struct Bag {};
template <class Schedule, class Enable = void> struct Kernel;
template <class Schedule> struct Kernel<Schedule, cute::enable_if_t<is_a<Schedule, One>::value>> {
  static constexpr int n = 3;
};
template <class Schedule> struct Kernel<Schedule, cute::enable_if_t<is_a<Schedule, Two>::value>> {
  static constexpr int n = 5;
};
"""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("is_a<One<1, 2>, One>::value", 1),
        ("is_a<One<1, 2>, Two>::value", 0),
        ("is_a<other::One<1, 2>, One>::value", 0),  # of one name, and another template
        ("is_a<other::One<1, 2>, other::One>::value", 1),
        ("alike<Box<int>, Box<float>>::value", 1),
        ("alike<Box<int>, Bag<int>>::value", 0),
        ("rebound<One<1, 2>>::type::n", 22),
        ("rebound<Two<1, 2>>::type::n", 202),
        ("Kernel<One<4, 4>>::n", 3),
        ("Kernel<Two<4, 4>>::n", 5),
    ],
)
def test_a_template_is_deduced_and_compared_by_its_declaration(tmp_path: Path, number: str, value: int) -> None:
    (tmp_path / "a.cu").write_text(HEAD + f"void f() {{ auto l = cute::make_layout(cute::Int<{number}>{{}}); }}")
    (site,) = extract(ExtractRequest((tmp_path,))).sites
    assert str(site.value).startswith(f"_{value}:")
