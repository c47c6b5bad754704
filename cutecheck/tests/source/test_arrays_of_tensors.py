"""Arrays of tensors and members that are tensors: each has its own place, as CuTe's objects do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Event, Unknown
from cutecheck.source.extract import ExtractRequest, extract

PREAMBLE = """
#include <cute/tensor.hpp>
using namespace cute;
using L = Layout<Shape<_128, _4>>;
using View = decltype(make_tensor(make_smem_ptr((float*)nullptr), L{}));
using Sums = decltype(make_tensor<float>(Shape<_4>{}));
__device__ View part(float* x, int i) { return make_tensor(make_smem_ptr(x + 512 * i), L{}); }
struct State {
  View view[2];
  Sums one, two, more[2];
  float* stage[2];
  __device__ void set(float* x) { view[0] = part(x, 0); view[1] = part(x, 1); stage[0] = x; stage[1] = x + 512; }
  __device__ void go(int n) { BODY; }
};
__global__ void member(int n) { __shared__ float x[1024]; State s; s.set(x); s.go(n); }
__global__ void local(int n) { __shared__ float x[1024]; Sums sums[2]; LOCAL; }
void run(int n) { KERNEL<<<1, 128>>>(n); }
"""


def copied(folder: Path, kernel: str, body: str) -> list[Event]:
    where = {"member": "BODY", "local": "LOCAL"}[kernel]
    text = PREAMBLE.replace(where, body).replace("KERNEL", kernel).replace("BODY", "").replace("LOCAL", "")
    (folder / "k.cu").write_text(text)
    events = extract(ExtractRequest((folder,), ("sm_80",))).events
    assert events and all(e.reason is None for e in events)
    return list(events)


def offsets(events: list[Event], at: int) -> list[str]:
    return [str(e.operands[at].offset).partition("#")[0] for e in events]


@pytest.mark.parametrize(
    ("kernel", "body", "expected"),
    [
        ("member", "copy(view[0](_0{}, _), one); copy(view[1](_0{}, _), two)", ["0", "512"]),
        ("member", "copy(part(stage[0], 0)(_0{}, _), one); copy(part(stage[1], 0)(_0{}, _), two)", ["0", "512"]),
        ("member", "for (int i = 0; i < 2; ++i) copy(view[i](_0{}, _), more[i])", ["512*i"]),
        ("local", "View a[2] = {part(x, 0), part(x, 1)}; copy(a[0](_0{}, _), sums[0]); copy(a[1](_0{}, _), sums[1])",
         ["0", "512"]),
        ("local", "View a[2]; a[0] = part(x, 0); a[1] = part(x, 1);"
         "for (int i = 0; i < 2; ++i) copy(a[i](_0{}, _), sums[i])", ["512*i"]),
        ("local", "cute::array<View, 2> a{part(x, 0), part(x, 1)}; copy(a[1](_0{}, _), sums[1])", ["512"]),
    ],
)  # fmt: skip
def test_a_view_is_where_it_was_assigned(tmp_path: Path, kernel: str, body: str, expected: list[str]) -> None:
    events = copied(tmp_path, kernel, body)
    assert offsets(events, 0) == expected
    assert {str(e.operands[0].buffer).rpartition("::")[2] for e in events} == {"x"}


@pytest.mark.parametrize(
    ("kernel", "body"),
    [
        ("member", "copy(view[0](_0{}, _), one); copy(view[1](_0{}, _), two)"),
        ("member", "copy(view[0](_0{}, _), more[0]); copy(view[1](_0{}, _), more[1])"),
        ("member", "copy(view[0](_0{}, _), one); copy(view[1](_0{}, _), more[0])"),
        ("local", "copy(part(x, 0)(_0{}, _), sums[0]); copy(part(x, 1)(_0{}, _), sums[1])"),
    ],
)
def test_each_has_its_own_registers(tmp_path: Path, kernel: str, body: str) -> None:
    places = {(e.operands[1].buffer, str(e.operands[1].offset)) for e in copied(tmp_path, kernel, body)}
    assert len(places) == 2
    assert all(str(buffer).startswith("rmem@") for buffer, _ in places)


def test_an_element_that_is_written_at_an_index_that_is_not_known_is_none_of_them(tmp_path: Path) -> None:
    (event,) = copied(tmp_path, "local", "View a[2] = {part(x, 0), part(x, 1)}; a[n] = part(x, n); copy(a[0], a[0])")
    fact = event.operands[0]
    assert str(fact.layout) == "(_128,_4):(_1,_128)"
    assert isinstance(fact.offset, Unknown) or fact.offset is None


def test_views_that_lie_unevenly_are_somewhere(tmp_path: Path) -> None:
    body = "View a[3] = {part(x, 0), part(x, 3), part(x, 1)}; copy(a[n](_0{}, _), sums[0])"
    (event,) = copied(tmp_path, "local", body)
    assert str(event.operands[0].layout) == "(_4):(_128)" and event.operands[0].space == "smem"
    assert not str(event.operands[0].buffer).endswith("::x")
