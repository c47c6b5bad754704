"""The loops around an event: their lengths where they count, none of the host's; when barriers are reached."""

from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import event, run

KERNEL = """
__global__ void move(float* p, int n) {
  auto t = make_tensor(make_gmem_ptr(p), Layout<Shape<_4, _4>>{});
  %s { copy(t(_, 0), t(_, 1)); %s }
}
void host(float* p, int n) {
  %s move<<<1, 1>>>(p, n);
}
"""


@pytest.mark.parametrize(
    ("loop", "trips"),
    [
        ("for (int i = 0; i < 3; ++i)", 3),
        ("for (int i = 1; i <= 7; i += 2)", 4),
        ("for (int i = 0; i < 7; i += 2)", 4),
        ("for (int i = 5; i < 3; ++i)", 0),
        ("for (int i = 0; i < n; ++i)", None),
        ("for (int i = n; i < 8; ++i)", None),
        ("for (int i = 8; i > 0; --i)", None),
        ("while (n > 0)", None),
    ],
)
def test_how_often_a_body_runs(loop: str, trips: int | None, tmp_path: Path) -> None:
    (around,) = event(run(tmp_path, KERNEL % (loop, "", ""))).loops
    assert around.trips == trips and around.span.line == 6
    if trips is not None:  # by counting
        head = loop.removeprefix("for (int ").removesuffix(")")
        start, condition, step = head.split("; ")
        i, count = int(start.split("= ")[1]), 0
        while eval(condition, {"i": i}):
            i, count = i + (int(step.split("= ")[1]) if "+=" in step else 1), count + 1
        assert count == trips


def test_a_loop_around_the_launch_is_not_the_kernels(tmp_path: Path) -> None:
    found = event(run(tmp_path, KERNEL % ("", "", "for (int i = 0; i < 100; ++i)")))
    assert found.loops == () and found.loop_depth == 0


def test_a_barrier_is_reached_each_time_a_helper_is_called(tmp_path: Path) -> None:
    text = "auto meet = [] { __syncthreads(); }; for (int i = 0; i < 2; ++i) meet(); meet();"
    calls = [c for c in run(tmp_path, KERNEL % ("", text, "")).calls if c.function == "__syncthreads"]
    assert [len(c.loops) for c in sorted(calls, key=lambda c: c.order)] == [1, 0]
