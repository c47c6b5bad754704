"""Functions that deduce that they return nothing: what `decltype` of a call is, as g++ printed it."""

from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import printed, run

TEXT = """
template <class T> constexpr auto op() { if constexpr (sizeof_bits_v<T> == 4) { return _4{}; } else { return; } }
template <class Op> struct Epilogue {
  static constexpr bool kOp = !cute::is_void_v<Op>;
  static constexpr auto made() { if constexpr (kOp) return Layout<_7>{}; else return Layout<_5>{}; }
};
auto none = [](auto n) { if constexpr (decltype(n)::value == 3) return _3{}; else return; };
template <class T> auto not_followed(T t) { return library::of(t); }
void host() {
  auto empty = Epilogue<decltype(op<half_t>())>::made();
  auto given = Epilogue<decltype(op<int4_t>())>::made();
  auto lambda = Layout<Int<2 + is_void_v<decltype(none(_3{}))>>>{};
  auto empty_lambda = Layout<Int<2 + is_void_v<decltype(none(_4{}))>>>{};
  auto unknown = Layout<Int<2 + is_void_v<decltype(not_followed(1))>>>{};
}
"""


@pytest.mark.parametrize(
    ("name", "layout"), [("empty", "_5:_1"), ("given", "_7:_1"), ("lambda", "_2:_1"), ("empty_lambda", "_3:_1")]
)
def test_the_type_of_a_call_that_returns_nothing(name: str, layout: str, tmp_path: Path) -> None:
    facts = run(tmp_path, TEXT)
    assert printed(facts, name) == layout
    assert [s.status for s in facts.sites if s.symbol.endswith("unknown")] != ["resolved"]
