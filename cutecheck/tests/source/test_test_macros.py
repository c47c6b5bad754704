"""Blocks and registrations of Catch2, doctest and Google Benchmark are roots where their headers are not read."""

from pathlib import Path

import pytest

from cutecheck.tests.source.test_gtest import widths

TYPES = "struct A { static constexpr int bits = 32; };\nstruct B { static constexpr int bits = 64; };\n"
WRITTEN = {
    'TEST_CASE("copies", "[copy]") { run<32>(); SECTION("wide") { run<64>(); REQUIRE(1 == 1); } }': ["32", "64"],
    'SCENARIO("a") { GIVEN("b") { WHEN("c") { run<32>(); THEN("d") { CHECK(true); } } } }\n'
    'TEST_CASE("second") { SUBCASE("x") { run<64>(); } }': ["32", "64"],
    'TEMPLATE_TEST_CASE("copies", "[copy]", A, B) { run<TestType::bits>(); }': ["32", "64"],
    'TEST_CASE_TEMPLATE("copies", T, A, B) { run<T::bits>(); }': ["32", "64"],
    "template <class T> void speed(benchmark::State& state) { for (auto _ : state) run<T::bits>(); }\n"
    "BENCHMARK_TEMPLATE(speed, A)->Arg(1)->Arg(2);\nBENCHMARK(speed<B>);": ["32", "64"],
    "template <class T> void speed(benchmark::State& state, int n) { run<T::bits>(); }\n"
    "BENCHMARK_CAPTURE(speed<A>, small, 5)->Unit(benchmark::kMillisecond);": ["32"],
    "#define TEST_CASE(name) void name##_case()\nTEST_CASE(own) { run<32>(); }\nSECTION_OF(x);": ["32"],
}


@pytest.mark.parametrize("text", WRITTEN)
def test_what_a_macro_stands_for_is_walked(tmp_path: Path, text: str) -> None:
    assert widths(tmp_path, TYPES + text) == WRITTEN[text]
