"""Objects of a derived class that are made of one of its base: its converting constructor is run."""

from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import run

HEAD = """
struct Work { int m = 0; bool valid = false; __device__ bool is_valid() const { return valid; } };
template <class Base> struct With : public Base {
  int stage = 3;
  With() = default;
  __device__ With(Base const& base) : Base(base) {}
};
using More = With<Work>;
template <class F> __device__ auto told(F f, Work w) {
  using Told = decltype(f(w));
  Told with = w;
  if (with.is_valid()) with = f(w);
  return with;
}
"""
KERNEL = """
__global__ void kernel(float* p, int n) {
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_8{}, 16)));
  Tensor one = make_tensor<float>(Layout<Shape<_8>>{});
  Work work;
  work.m = 5;
  work.valid = n > 3;
  %s
  copy(g(_, x.%s), one);
}
void host(float* p, int n) { kernel<<<1, 32>>>(p, n); }
"""


MADE = ["More x = work;", "More x(work);", "auto x = told([](Work w) { return More{w}; }, work);"]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(("member", "offset"), [("stage", 24), ("m", 40)])
def test_what_is_made_of_a_base(made: str, member: str, offset: int, tmp_path: Path) -> None:
    (event,) = run(tmp_path, HEAD + KERNEL % (made, member)).events
    assert event.reason is None
    assert str(event.operands[0].offset) == str(offset)
