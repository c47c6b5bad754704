"""Numbers that nothing is known of are told by the variables that were made for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct Params { half_t* p; int n; };
__global__ void kernel(Params const p) {
  auto t = make_tensor(make_gmem_ptr(p.p), make_shape(p.n, _4{}));
  copy(t, t);
}
int main(int argc, char** argv) {
  DECLARED;
  Params p{};
  p.n = rows * 8;
  kernel<<<1, 32>>>(p);
}
"""


@pytest.mark.parametrize(
    "declared",
    [
        "int rows = argc > 1 ? std::atoi(argv[1]) : 16",
        "int const m = 4, rows = std::stoi(argv[1])",
        "long rows = parse(argv)",
    ],
)
def test_the_name_is_that_of_the_variable(tmp_path: Path, declared: str) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("DECLARED", declared))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].layout).startswith("({8*rows#")
