"""Template lists in template lists that the grammar loses track of."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts
from cutecheck.model.layout import Layout
from cutecheck.model.notation import show

MODES = "Shape<Int<a>, Int<b>, Int<c>, Int<d>>, Stride<_1, Int<a>, Int<a * b>, Int<a * b * c>>"


VALUED = MODES.replace("Int<a>", "Int<int(T::kA)>")


@pytest.mark.parametrize(
    "member",
    [
        f"using L = Layout<{VALUED}>;",  # no type of a function
        f"__device__ static auto made() -> Layout<{VALUED}> {{ return {{}}; }} using L = decltype(made());",
        f"using L = Layout<{MODES}>;",
        f"typedef Layout<{MODES}> L;",
        f"using L = typename Is<Layout<{MODES}>>::type;",
        f"using L = decltype(make_layout({MODES.replace('>>, ', '>>{}, ')}{{}}));",
    ],
)
def test_an_alias_of_many_lists_in_lists_has_all_its_arguments(tmp_path: Path, member: str) -> None:
    (tmp_path / "k.cu").write_text(f"""
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Is {{ using type = T; }};
struct Sizes {{ static constexpr int kA = 2; }};
template <class T, int a, int b, int c, int d> struct M {{ {member} }};
__global__ void k() {{
  using Y = typename M<Sizes, 2, 3, 4, 5>::L;
  copy(make_tensor<float>(Y{{}}), make_tensor<float>(Y{{}}));
}}
""")
    (event,) = extract_facts([tmp_path / "k.cu"], Settings(arch=("sm_90a",), compile_commands="none")).events
    for operand in event.operands:
        assert isinstance(operand.layout, Layout)
        assert show(operand.layout) == "(_2,_3,_4,_5):(_1,_2,_6,_24)"
