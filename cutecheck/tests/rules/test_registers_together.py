"""Accumulators that are never alive at once share their registers (CUT703)."""

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}, Tile<_32, _32, _16>{}));
using Out = decltype(make_layout(Shape<_128, _160>{}, LayoutRight{}));
"""
MAKE = "auto {0} = partition_fragment_C(Mma{{}}, Shape<_128, _160>{{}});\n clear({0}); "
STORE = "copy({0}, Mma{{}}.get_slice(threadIdx.x).partition_C(make_tensor(make_gmem_ptr(out + {1}), Out{{}})));\n "
ONE, TWO, STORE_ONE, STORE_TWO = (
    MAKE.format("one"),
    MAKE.format("two"),
    STORE.format("one", 0),
    STORE.format("two", 20480),
)
RIGHT = {
    "one_after_the_other": ONE + STORE_ONE + TWO + STORE_TWO,
    "in_blocks": f"{{ {ONE} {STORE_ONE} }} {{ {TWO} {STORE_TWO} }}",
    "two_branches": f"if (n) {{ {ONE} {STORE_ONE} }} else {{ {TWO} {STORE_TWO} }}",
    "after_a_return": f"if (n) {{ {ONE} {STORE_ONE} return; }} {TWO} {STORE_TWO}",
    "cases": f"switch (n) {{ case 0: {{ {ONE} {STORE_ONE} break; }} case 1: {{ {TWO} {STORE_TWO} }} }}",
    "branches_in_a_loop": f"for (int i = 0; i < n; ++i) {{ if (i % 2) {{ {ONE} {STORE_ONE} }} "
    f"else {{ {TWO} {STORE_TWO} }} }}",
    "roles": f"if (threadIdx.x < 64) {{ {ONE} for (int i = 0; i < n; ++i) {{ {STORE_ONE} }} }} "
    f"else {{ {TWO} for (int i = 0; i < n; ++i) {{ {STORE_TWO} }} }}",
}
WRONG = {
    "both": ONE + TWO + STORE_TWO + STORE_ONE,
    "around_a_loop": f"{ONE} for (int i = 0; i < n; ++i) {{ {TWO} {STORE_TWO} {STORE_ONE} }}",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("registers")
    text, runs = HEAD, ""
    for name, body in {**RIGHT, **WRONG}.items():
        text += f"__global__ void __launch_bounds__(128) {name}(float* out, int n) {{ {body} }}\n"
        runs += f"  {name}<<<1, 128>>>(out, n);\n"
    (folder / "k.cu").write_text(f"{text}void run(float* out, int n) {{\n{runs}}}\n")
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_80",), select=("CUT703",)))
    assert not made.failures
    assert not made.errors
    return {f.enclosing for f in made.findings}


@pytest.mark.parametrize("name", RIGHT)
def test_not_at_once(name: str, found: set[str]) -> None:
    assert name not in found


@pytest.mark.parametrize("name", WRONG)
def test_at_once(name: str, found: set[str]) -> None:
    assert name in found
