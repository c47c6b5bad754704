"""Templates that are defined in terms of ever more of themselves, which no compiler takes, end soon and say nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

_SECONDS = 10
_HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
ENDLESS = {
    "template <class T> struct Tr { static constexpr int v = 1; };\n"
    "template <class T> struct Tr<T*> { static constexpr int v = Tr<T**>::v + 10; };\n": "Tr<half_t*>::v",
    "template <int N, class S = cute::tuple<>> struct Rep {\n"
    "  using type = typename Rep<N - 1, decltype(append(S{}, Int<N>{}))>::type; };\n": "size(typename Rep<3>::type{})",
}


@pytest.mark.parametrize(("declarations", "shown"), ENDLESS.items(), ids=("pointers", "tuples"))
def test_an_endless_template_ends(declarations: str, shown: str, tmp_path: Path) -> None:
    began = time.process_time()
    assert number(tmp_path, kernel(_HEAD + declarations), "", shown) is None
    assert time.process_time() - began < _SECONDS
