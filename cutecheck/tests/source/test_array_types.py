"""Types of arrays as template arguments: what they are spelled like, and which specialisation takes them."""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Whole { using type = T; static constexpr int bytes = sizeof(T); };
template <class T> struct First;
template <class T, int N> struct First<T[N]> { static constexpr int extent = N; using inner = T; };
template <class T> struct Two { static constexpr int extents = 0; };
template <class T, size_t A, size_t B> struct Two<T[A][B]> { static constexpr int extents = A * 100 + B; };
template <class T> struct Of { using type = Two<T[2][5]>; };
using Matrix = int[3][7];
struct Held { int c[4][6]; };
template <class T, class Tensor> __device__ void seen(Tensor const& t) { copy(t, t); }
__global__ void k() {
  __shared__ half_t s[65536];
  int local[4][6];
  Held h;
  seen<int[2][3]>(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host() { k<<<1, 32>>>(); }
"""


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("Whole<int[2][3]>::bytes", 24),
        ("First<int[2]>::extent", 2),
        ("First<int[2][3]>::extent", 2),
        ("First<First<int[2][3]>::inner>::extent", 3),
        ("First<Matrix>::extent", 3),
        ("Two<int[2][3]>::extents", 203),
        ("Two<Matrix>::extents", 307),
        ("Two<int[5]>::extents", 0),
        ("Two<cute::array<int, 5>>::extents", 0),
        ("Of<float>::type::extents", 205),
        ("Two<decltype(h.c)>::extents", 406),
        ("Two<decltype(local)>::extents", 406),
        ("int(std::is_same_v<int[2][3], First<int[5][2][3]>::inner>)", 1),
        ("int(std::is_same_v<int[2][3], int[3][2]>)", 0),
        ("std::rank_v<int[2][3]>", 2),
    ],
)
def test_types_of_arrays(tmp_path: Path, shown: str, value: int) -> None:
    """g++ gives these numbers."""
    (tmp_path / "k.cu").write_text(KERNEL.replace("SHOWN", shown))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert not isinstance(event.operands[0].offset, Unknown)
    assert as_expr(event.operands[0].offset).constant == value  # type: ignore[arg-type]
    assert "seen<int[2][3]," in event.enclosing
