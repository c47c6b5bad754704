"""Template parameters that two arguments deduce: tensors of one type are of other buffers and threads. By g++."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <class T> CUTE_DEVICE void both(T const& from, T& to) { copy(from, to); }
template <class T> CUTE_DEVICE void pair(cute::tuple<T, T>& ts) { copy(get<0>(ts), get<1>(ts)); }
template <class Thr, class T> CUTE_DEVICE void two(Thr const& a, Thr const& b, T& t) {
  copy(a.partition_S(t), b.partition_D(t)); }
struct Has { template <class T> CUTE_DEVICE void step(int, T& to, T const& from) { copy(from, to); } };
template <class T> CUTE_DEVICE void either(T& to, T const& from) { copy(from, to); }
template <class T, class U> CUTE_DEVICE void either(T& to, U const& from) { copy(from(_, 0), to(_, 0)); }
__global__ void k(half_t const* p, half_t* q) {
  auto a = make_tensor<float>(Shape<_4>{});
  auto b = make_fragment_like(a);
  auto gp = make_tensor(make_gmem_ptr(p), Shape<_8, _2>{});
  auto gq = make_tensor(make_gmem_ptr(q), Shape<_8, _2>{});
  auto gr = make_tensor(make_gmem_ptr(q) + 16, Shape<_8, _2>{});
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<_4>{}, Layout<_2>{});
  BODY
}
void host() { k<<<1, 32>>>(nullptr, nullptr); }
"""
SMALL, PART = "(_4):(_1)", "((_1,_2),_1,_2):((_0,_1),_0,_8)"


def _copies(tmp_path: Path, body: str) -> list[tuple[str, str]]:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body))
    return [(str(e.operands[0].layout), str(e.operands[1].layout)) for e in extract(ExtractRequest((tmp_path,))).events]


@pytest.mark.parametrize(
    ("body", "copied"),
    [
        ("both(a, b);", SMALL),
        ("Has{}.step(0, b, a);", SMALL),
        ("auto x = gq(_, 0); both(gr(_, 1), x);", "(_8):(_1)"),
        ("auto ab = cute::make_tuple(a, b); pair(ab);", SMALL),
        ("two(tiled.get_slice(threadIdx.x), tiled.get_slice(threadIdx.x + 1), gq);", PART),
    ],
)
def test_two_tensors_of_one_type_deduce_a_parameter(tmp_path: Path, body: str, copied: str) -> None:
    assert _copies(tmp_path, body) == [(copied, copied)]


@pytest.mark.parametrize("body", ["both(make_tensor<float>(Shape<_2, _2>{}), b);", "both(gp(_, 0), b);"])
def test_tensors_of_other_types_do_not(tmp_path: Path, body: str) -> None:
    assert not _copies(tmp_path, body)


def test_overloads_that_only_constness_tells_apart_are_not_guessed(tmp_path: Path) -> None:
    # g++: the first of `either` for gr and gq, the second for gq and gp, whose elements are constant
    assert not _copies(tmp_path, "either(gr, gq);")
    assert not _copies(tmp_path, "either(gq, gp);")
