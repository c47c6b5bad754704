"""Loops over the numbers of a thread: passes that change nothing more are not walked, all others are."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.dsl.run import HEAD, driver, results

KERNEL = (
    HEAD
    + """
    @cute.jit
    def larger(a, b):
        if cutlass.const_expr(b is None):
            return cute.arch.fmax(a, 0.0)
        return cute.arch.fmax(a, b)

    @cute.jit
    def told(i):
        if cutlass.const_expr(i == 61):
            cute.make_layout((i, 2))

    @cute.kernel
    def kernel():
        x = cute.make_rmem_tensor(4096, cutlass.Float32)
        m = [x[0], x[1]]
        for i in cutlass.range_constexpr(4096):
            c = 4 * i
            x[i] = cute.arch.exp2(x[i]) if x[i] > 1.0 else x[i]
            m[0] = larger(m[0], x[i])
        cute.make_layout((i, c))                        # last
    {0}

    @cute.jit
    def host():
        kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host)
    """
)


def _layouts(tmp_path: Path, body: str = "") -> tuple[list[object], int]:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    made = driver(tmp_path, KERNEL.replace("    {0}\n", lines))
    assert not made.cut
    return [v for (_, call), values in results(made).items() if call == "make_layout" for v in values], made.spent


def test_a_few_passes_of_a_loop_over_registers_tell_what_all_leave(tmp_path: Path) -> None:
    found, steps = _layouts(tmp_path)
    assert found == ["(4095,16380):(1,4095)"]
    assert steps < 2_000  # one pass takes about 30


def test_what_a_pass_takes_from_the_one_before_is_followed_through_all(tmp_path: Path) -> None:
    found, _ = _layouts(
        tmp_path, "n = 3\nfor i in cutlass.range_constexpr(50):\n    x[i] = x[n]\n    n += 2\ncute.make_layout((n, 5))"
    )
    assert "(103,5):(1,103)" in found


def test_a_pass_that_something_asks_for_is_walked(tmp_path: Path) -> None:
    found, _ = _layouts(tmp_path, "for i in cutlass.range_constexpr(64):\n    x[i] = x[i] + 1\n    told(i)")
    assert "(61,2):(1,61)" in found
    found, _ = _layouts(
        tmp_path,
        "for i in cutlass.range_constexpr(64):\n    x[i] = 0.0\n    if i == 33:\n        cute.make_layout((i, 3))",
    )
    assert "(33,3):(1,33)" in found
    found, _ = _layouts(
        tmp_path, "n = [0] * 64\nfor i in cutlass.range_constexpr(64):\n    n[i] = i\ncute.make_layout((n[40], 7))"
    )
    assert "(40,7):(1,40)" in found
    found, _ = _layouts(
        tmp_path, "n = 4\nfor i in cutlass.range_constexpr(64):\n    n = n if i != 50 else 9\ncute.make_layout((n, 7))"
    )
    assert "(9,7):(1,9)" in found
