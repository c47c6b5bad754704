"""Loops over objects of the program that have ``begin()`` and ``end()``."""

from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import run

KERNEL = """
struct Where { int m, n; };
class Tiles {
 public:
  class Iterator {
   public:
    __device__ Iterator(int at, int step) : at_(at), step_(step) {}
    __device__ Where operator*() const { return {at_ % 4, at_ / 4}; }
    __device__ Iterator& operator++() { at_ += step_; return *this; }
    __device__ bool operator!=(Iterator const& end) const { return at_ < end.at_; }
   private:
    int at_, step_;
  };
  __device__ Tiles(int first, int step, int count) : first_(first), step_(step), count_(count) {}
  __device__ Iterator begin() const { return {first_, step_}; }
  __device__ Iterator end() const { return {count_, step_}; }
 private:
  int first_, step_, count_;
};
struct Many { int first; __device__ Tiles tiles(int count) const { return Tiles(first, 1, count); } };
__global__ void __launch_bounds__(128) kernel(float const* in, float* out, int count) {
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_64{}, _4{}, count), make_stride(_1{}, _64{}, _256{}));
  Tensor o = make_tensor(make_gmem_ptr(out), make_shape(_64{}, _4{}, count), make_stride(_1{}, _64{}, _256{}));
  Tiles const tiles(blockIdx.x, gridDim.x, count);
  Many const many{int(blockIdx.x)};
  LOOP
}
void host(float* p, int n) { kernel<<<16, 128>>>(p, p, n); }
"""
BODY = "{ Tensor r = make_fragment_like(g(_, M, N)); copy(g(_, M, N), r); copy(r, o(_, M, N)); }"
LOOPS = {
    "names": "for (auto const [m, n] : tiles) " + BODY.replace("M", "m").replace("N", "n"),
    "a variable": "for (auto const at : tiles) " + BODY.replace("M", "at.m").replace("N", "at.n"),
    "a reference": "for (Where const& at : tiles) " + BODY.replace("M", "at.m").replace("N", "at.n"),
    "a call": "for (auto [m, n] : many.tiles(count)) " + BODY.replace("M", "m").replace("N", "n"),
    "one that goes on": "for (auto [m, n] : tiles) { if (m == 1) continue; "
    + BODY.replace("M", "m").replace("N", "n")
    + "}",
}


@pytest.mark.parametrize("way", LOOPS)
def test_what_is_copied_in_the_loop_is_known(tmp_path: Path, way: str) -> None:
    facts = run(tmp_path, KERNEL.replace("LOOP", LOOPS[way]))
    read, written = facts.events
    assert read.reason is None and written.reason is None
    assert [str(o.layout) for o in read.operands] == ["(_64):(_1)"] * 2
    (loop,) = read.loops
    assert loop.trips is None
    assert "% 4" in str(read.operands[0].offset) and str(read.operands[0].offset) == str(written.operands[1].offset)


def test_a_loop_over_an_object_that_is_not_followed(tmp_path: Path) -> None:
    facts = run(
        tmp_path, KERNEL.replace("LOOP", LOOPS["names"]).replace("Iterator begin() const", "Iterator start() const")
    )
    assert all(e.reason is not None or "unknown" in str(e.operands[0].layout) for e in facts.events)
