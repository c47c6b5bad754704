"""What a loop's counter may be: also where the body changes it, or its bound, in ways that the text does not show."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model import expr as ex
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
template <class T> __device__ void seen(T const& t) {{ copy(t, t); }}
template <class T> __device__ void bump(T& t, int by) {{ t += by; }}
__global__ void k(int n) {{
  __shared__ half_t s[65536];
  int x = 0;
  {head} {{ {body} seen(make_tensor(make_smem_ptr(s + i), Layout<_8>{{}})); {rest} }}
}}
void host(int n) {{ k<<<1, 32>>>(n); }}
"""


def bounds(folder: Path, head: str, body: str, rest: str = "") -> tuple[int | None, int | None]:
    (folder / "k.cu").write_text(KERNEL.format(head=head, body=body, rest=rest))
    (event,) = extract(ExtractRequest((folder,), ("sm_80",))).events
    offset = event.operands[0].offset
    return (None, None) if isinstance(offset, Unknown) else ex.bounds(as_expr(offset))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "body", "rest", "values"),
    [
        ("int lim = 2; for (int i = 0; i < lim; ++i)", "if (i == 1) lim = 4;", "", (0, 3)),
        ("int lim = 2; int& l = lim; for (int i = 0; i < lim; ++i)", "if (i == 1) l = 4;", "", (0, 3)),
        ("for (int i = 0; i < 6; ++i)", "int* p = &i; *p += 3;", "", (3, 8)),
        ("for (int i = 0; i < 6; ++i)", "", "int* p = &i; *p -= n;", (-8, 5)),
        ("for (int i = 0; i < 6; ++i)", "", "bump(i, -n);", (-8, 5)),
        ("for (int i = 0; i < 6; ++i)", "", "auto f = [&] { i -= n; }; f();", (-8, 5)),
        ("for (int i = 0; i < 6; ++i)", "", "if (n > 2) { int& r = i; r = -4; continue; }", (-3, 5)),
        ("for (unsigned i = 2; i < 3; --i)", "", "", (0, 2)),
        ("for (unsigned i = 8; i > 0; i -= 3)", "", "if (i > 9) break;", (2, (1 << 32) - 1)),
        ("for (int i = 0; i < -1u; ++i)", "if (i > 5) break;", "", (0, 5)),
        ("int lim = 2; for (int i = 0; i < lim; ++i)", "lim = n;", "break;", (0, 0)),
    ],
)
def test_a_counter_may_be_all_that_it_is(
    tmp_path: Path, head: str, body: str, rest: str, values: tuple[int, int]
) -> None:
    lo, hi = bounds(tmp_path, head, body, rest)
    assert lo is None or lo <= values[0]
    assert hi is None or hi >= values[1]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("int lim = 4; for (int i = 0; i < lim; ++i)", "x = lim;", (0, 3)),
        ("for (unsigned i = 0; i < 7u; ++i)", "int const& r = i; x = r;", (0, 6)),
        ("for (unsigned i = 8; i > 0; --i)", "", (1, 8)),
        ("for (int i = 8; i >= 0; --i)", "", (0, 8)),
    ],
)
def test_a_counter_that_only_counts_is_between_its_bounds(
    tmp_path: Path, head: str, body: str, expected: tuple[int, int]
) -> None:
    assert bounds(tmp_path, head, body) == expected
