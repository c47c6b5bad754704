"""What `using namespace` of a function brings is seen where the namespaces around both meet, not before them."""

from __future__ import annotations

from pathlib import Path

from cutecheck.model.notation import show
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

TEXT = """
#include <cute/tensor.hpp>
namespace other { namespace detail { constexpr int there() { return 3; } } constexpr int far() { return 5; }
  constexpr int near() { return 7; } using Named = int; }
namespace mine {
namespace detail { constexpr int here() { return 16; } }
constexpr int near() { return 32; }
template <class T> constexpr int first() { using namespace other; return detail::here(); }
template <class T> constexpr int second() { using namespace other; return near() + far(); }
template <class T> constexpr int third() { using namespace mine::detail; return here(); }
}
auto a = cute::make_layout(cute::Int<mine::first<int>()>{});
auto b = cute::make_layout(cute::Int<mine::second<int>()>{});
auto c = cute::make_layout(cute::Int<mine::third<int>()>{});
"""


def test_names_around_a_function_hide_those_that_its_using_directives_bring_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(TEXT)
    found = extract(ExtractRequest((tmp_path,)))
    assert [str(s.value) for s in found.sites] == ["_16:_1", "_37:_1", "_16:_1"]


OF_NAMESPACE = """
#include <cute/tensor.hpp>
namespace other { namespace detail { constexpr int there() { return 3; } } constexpr int far() { return 5; }
  constexpr int near() { return 7; } }
namespace mine {
namespace detail { template <int N> struct Held { static constexpr int value = N; }; }
constexpr int near() { return 32; }
inline namespace v2 {
using namespace other;
inline namespace literals { constexpr int twice(int n) { return 2 * n; } }
template <class T> constexpr int first() { return detail::Held<16>::value; }
template <class T> constexpr int second() { return near() + twice(4); }
}
namespace inner { template <class T> constexpr int fourth() { return detail::Held<48>::value + near(); } }
}
auto a = cute::make_layout(cute::Int<mine::first<int>()>{});
auto b = cute::make_layout(cute::Int<mine::second<int>()>{});
auto d = cute::make_layout(cute::Int<mine::inner::fourth<int>()>{});
"""


def test_names_around_a_namespace_hide_those_that_its_using_directives_bring(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(OF_NAMESPACE)
    found = extract(ExtractRequest((tmp_path,)))
    assert [str(s.value) for s in found.sites] == ["_16:_1", "_40:_1", "_80:_1"]


BY_OTHER_WAYS = """
#include <cute/tensor.hpp>
namespace ct = cute;
namespace lib { namespace detail { namespace sizes { constexpr int rows = 64, columns = 32; } } }
namespace own = lib::detail::sizes;
using namespace own;
namespace q::inline v2 { namespace literals {
template <char... Ds> constexpr auto operator""_i() {
  constexpr int v = [] { int r = 0; ((r = r * 10 + (Ds - '0')), ...); return r; }();
  return cute::Int<v>{};
}
template <char... Ds> constexpr auto operator""_digits() { return cute::Int<sizeof...(Ds)>{}; }
constexpr int operator""_twice(unsigned long long v) { return int(v) * 2; }
} }
namespace q {
using namespace ct;
using namespace literals;
namespace inner = ::lib::detail;
using namespace inner::sizes;
auto a = make_layout(make_shape(8_i, 010_digits));
auto b = make_layout(Int<8_twice>{});
auto c = make_layout(Int<columns>{});
}
auto d = ct::make_layout(ct::Int<rows>{});
"""


def test_namespaces_by_aliases_and_of_inline_ones(tmp_path: Path) -> None:
    """As nvcc prints them."""
    (tmp_path / "a.cu").write_text(BY_OTHER_WAYS)
    found = extract(ExtractRequest((tmp_path,)))
    assert [show(s.value) for s in found.sites] == ["(_8,_3):(_1,_8)", "_16:_1", "_32:_1", "_64:_1"]
