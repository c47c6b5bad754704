"""Macros of test and benchmark libraries, as functions and registrations: also where their headers are not read.

Catch2 and doctest have blocks after a macro for functions, some for each type of a list; Google Benchmark's register
functions. GoogleTest's are told by name (``lower/gtest.py``).
"""

from __future__ import annotations

from cutecheck.source.cpp.words import words

_NAMED = "CUTECHECK_JOIN(CUTECHECK_CASE_, __LINE__)"
_CASE = f"static void {_NAMED}()"
_BLOCK = "if (true)"  # of a case: it is run


def _typed(parameter: str) -> str:
    """A template for a block that is to follow, and a variable whose initialiser calls it with every type."""
    case = f"template <class {parameter}> {_CASE}"
    each = f"[]<class... T>() {{ ({_NAMED}<T>(), ...); return 0; }}.template operator()<__VA_ARGS__>()"
    return f"{case}; static int CUTECHECK_JOIN(CUTECHECK_TYPES_, __LINE__) = {each}; {case}"


_REGISTERED = "static auto* CUTECHECK_JOIN(CUTECHECK_BENCHMARK_, __LINE__) = ::benchmark::RegisterBenchmark"
TEST_MACROS: dict[str, tuple[tuple[str, ...], str]] = {  # parameters before the variadic ones, and body
    "CUTECHECK_PASTE": (("A", "B"), "A##B"),
    "CUTECHECK_JOIN": (("A", "B"), "CUTECHECK_PASTE(A, B)"),
    **dict.fromkeys(("TEST_CASE", "SCENARIO"), ((), _CASE)),
    **dict.fromkeys(words("SECTION SUBCASE DYNAMIC_SECTION GIVEN WHEN THEN AND_WHEN AND_THEN"), ((), _BLOCK)),
    "TEMPLATE_TEST_CASE": (("NAME", "TAGS"), _typed("TestType")),
    "TEST_CASE_TEMPLATE": (("NAME", "PARAMETER"), _typed("PARAMETER")),
    "BENCHMARK_TEMPLATE": (("FUNCTION",), f'{_REGISTERED}("", &FUNCTION<__VA_ARGS__>)'),
    "BENCHMARK_TEMPLATE1": (("FUNCTION", "A"), f'{_REGISTERED}("", &FUNCTION<A>)'),
    "BENCHMARK_TEMPLATE2": (("FUNCTION", "A", "B"), f'{_REGISTERED}("", &FUNCTION<A, B>)'),
    "BENCHMARK_CAPTURE": (
        ("FUNCTION", "NAME"),
        f'{_REGISTERED}("", [](::benchmark::State& state) {{ FUNCTION(state, __VA_ARGS__); }})',
    ),
}  # fmt: skip
