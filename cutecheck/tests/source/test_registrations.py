"""Calls where a declaration should stand register code: kernels launched by it are met."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <int N> __global__ void kern(float* p) {
  auto t = make_tensor(make_gmem_ptr(p), Layout<Int<N>>{});
  copy(t, make_tensor_like(t));
}
template <int N> void launch(float* p) { kern<N><<<1, 32>>>(p); }
void before();
"""


@pytest.mark.parametrize(
    "register",
    [
        'REG("a").set_body([](float* p) { launch<8>(p); });',
        'REG("a").attr("T: float").set_body_typed([] { launch<8>(nullptr); });',
        'REG("a").set_body_typed(launch<8>);',
        'REG("a", &launch<8>);',
        'AT_START({ before(); lib::def("a", [](float* p) { launch<8>(p); }); });',
        "AT_START({ before(); launch<8>(nullptr); });",
    ],
)
def test_registered_code_is_walked(tmp_path: Path, register: str) -> None:
    (tmp_path / "k.cu").write_text(KERNEL + register + "\nvoid after() {}\n")
    facts = extract(ExtractRequest((tmp_path,)))
    assert [str(e.operands[0].layout) for e in facts.events] == ["_8:_1"]
    assert not facts.errors


def test_macros_without_code_are_stepped_over(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        KERNEL + 'REG("a", before);\nREG("b").after("c");\nvoid go() { launch<8>(nullptr); }'
    )
    facts = extract(ExtractRequest((tmp_path,)))
    assert [str(e.operands[0].layout) for e in facts.events] == ["_8:_1"]
    assert not facts.errors


@pytest.mark.parametrize(
    "register",
    [
        "template <int... N> int add() { (list().emplace_back([](float* p) { launch<N>(p); }), ...); return 0; }\n"
        "static int done = add<8, 16>();",
        "template <class F, int... N> int add(F f, std::integer_sequence<int, N...>) {\n"
        "  (list().emplace_back([f](float* p) { f(p, Int<N>{}); }), ...);\n  return 0;\n}\n"
        "static int done = add([](auto p, auto n) { launch<decltype(n)::value>(p); },\n"
        "    std::integer_sequence<int, 8, 16>{});",
        "template <class F, class... T> int add(F f, std::tuple<T...>) {\n"
        "  (list().emplace_back([f](float* p) { using Each = T; f(p, Each{}); }), ...);\n  return 0;\n}\n"
        "static int done = add([](auto p, auto n) { launch<decltype(n)::value>(p); }, std::tuple<_8, _16>{});",
    ],
)
def test_closures_that_a_pack_registers_keep_its_elements(tmp_path: Path, register: str) -> None:
    """A function that gets a closure may write what it captures, but no template argument."""
    listed = "std::vector<std::function<void(float*)>>& list();\n"
    (tmp_path / "k.cu").write_text(KERNEL + "#include <functional>\n#include <vector>\n" + listed + register)
    facts = extract(ExtractRequest((tmp_path,)))
    assert sorted(str(e.operands[0].layout) for e in facts.events) == ["_16:_1", "_8:_1"]
