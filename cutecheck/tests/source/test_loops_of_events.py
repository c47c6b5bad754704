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


ONCE = """
struct Work {{ int at = 0; bool valid = false; __device__ bool is_valid(int) const {{ return {valid}; }} }};
struct One {{
  __device__ Work first() const {{ return {{int(blockIdx.x), true}}; }}
  __device__ Work next(Work const& w) const {{ return {next}; }}
}};
__global__ void move(float* p, int n) {{
  auto t = make_tensor(make_gmem_ptr(p), Layout<Shape<_4, _4>>{{}});
  One one; int i = 0;
  {head} {{ {inside} copy(t(_, w.at), t(_, 1)); {ends} }}
  copy(t(_, i), t(_, 1));
}}
void host(float* p, int n) {{ move<<<1, 1>>>(p, n); }}
"""
FOR = "for (auto w = one.first(); w.is_valid(n); w = one.next(w))"


@pytest.mark.parametrize(
    ("valid", "following", "head", "inside", "ends", "loops", "after"),
    [
        ("valid", "{-1, false}", FOR, "", "++i;", 0, "1"),
        ("valid", "{-1, false}", FOR, "if (n > 3) break;", "++i;", 0, None),
        ("valid", "{w.at, w.at < 4}", FOR, "", "++i;", 1, None),
        ("at < 4", "{-1, false}", FOR, "", "++i;", 1, None),  # -1 < 4
        ("valid", "{-1, false}", FOR, "if (n > 3) continue;", "++i;", 1, None),
        ("valid", "{-1, false}", "Work w; do", "++i;", "} while (w.valid); {", 0, "1"),
        ("valid", "{-1, false}", "Work w; do", "++i;", "w.valid = n > i; } while (w.valid); {", 1, None),
        ("valid", "{-1, false}", "auto w = one.first(); while (w.valid)", "++i;", "w.valid = false;", 0, "1"),
        ("valid", "{-1, false}", "Work w; while (n > 3)", "++i;", "if (n > 7) return; break;", 0, None),
        ("valid", "{-1, false}", "Work w; while (n > 3)", "++i;", "if (n > 7) break;", 1, None),
        ("valid", "{-1, false}", "Work w{n, n > 3}; while (w.valid)", "++i;", "w.valid = false;", 0, None),
        ("valid", "{-1, false}", "Work w{n, n > 3}; while (w.valid)", "if (i == 2) w.valid = false;", "++i;", 1, None),
    ],
)
def test_a_loop_whose_condition_fails_after_its_first_pass_is_none(
    valid: str, following: str, head: str, inside: str, ends: str, loops: int, after: str | None, tmp_path: Path
) -> None:
    """A scheduler of one tile a block: what only another pass could do wrong was said of it."""
    text = ONCE.format(valid=valid, next=following, head=head, inside=inside, ends=ends)
    first, second = sorted(run(tmp_path, text).events, key=lambda e: e.order)
    assert len(first.loops) == loops and not second.loops
    assert after is None or str(second.operands[0].offset) == str(int(after) * 4)
