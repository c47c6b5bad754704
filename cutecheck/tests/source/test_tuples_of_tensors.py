"""References to the tensors in a tuple, and CuTe's algorithms over such tuples."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Event, Unknown
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(half_t* p, half_t* q, int n) {
  auto t = make_tuple(make_tensor(make_gmem_ptr(p), Layout<Shape<_8, _4>>{}),
                      make_tensor(make_gmem_ptr(q), Layout<_4>{}));
  BODY
}
"""


def _sources(tmp_path: Path, body: str) -> list[Event]:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body))
    return list(extract(ExtractRequest((tmp_path,))).events)


@pytest.mark.parametrize(
    "body",
    [
        "auto& a = get<0>(t); auto& b = get<1>(t); copy(a, make_tensor_like(a)); copy(b, make_tensor_like(b));",
        "auto const& a = get<0>(t); auto& b = get<1>(t); copy(a, make_tensor_like(a)); copy(b, make_tensor_like(b));",
        "auto& a = get<0>(t); auto r = transform(t, [](auto const& x) { return make_tensor_like(x); });"
        "copy(a, get<0>(r)); auto& b = get<1>(t); copy(b, get<1>(r));",
    ],
)
def test_elements_are_places(tmp_path: Path, body: str) -> None:
    shown = [(e.operands[0].buffer, str(e.operands[0].layout)) for e in _sources(tmp_path, body)]
    assert shown == [("p", "(_8,_4):(_1,_8)"), ("q", "_4:_1")]


def test_in_a_loop(tmp_path: Path) -> None:
    body = """auto& a = get<0>(t); auto r = make_tensor_like(a(_, 0)); float sum = 0;
    for (int i = 0; i < n; ++i) { copy(a(_, i), r); for_each(make_seq<8>{}, [&](auto j) { sum += float(r(j)); }); }"""
    (event,) = _sources(tmp_path, body)
    assert event.operands[0].buffer == "p"
    assert str(event.operands[0].layout) == "(_8):(_1)"


@pytest.mark.parametrize(
    "write",
    [
        "a.data() = a.data() + n;",
        "auto f = [](auto& x) { x.data() = x.data() + 8; }; f(get<0>(t));",
        "a = make_tensor(make_gmem_ptr(q), Layout<Shape<_8, _4>>{});",
        "helper(a);",
    ],
)
def test_what_is_written_through_them_is_not_where_it_was(tmp_path: Path, write: str) -> None:
    """Through the reference or the tuple: neither has the old address."""
    body = f"auto& a = get<0>(t); {write} copy(a, make_tensor_like(a)); copy(get<0>(t), make_tensor_like(a));"
    for event in _sources(tmp_path, body):
        source = event.operands[0]
        moved = isinstance(source.layout, Unknown) or isinstance(source.offset, Unknown) or source.buffer == "q"
        assert moved or str(source.offset) != "0", source
