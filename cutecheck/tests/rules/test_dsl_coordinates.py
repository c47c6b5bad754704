"""Numbers that pick from a mode of a tensor of the DSL: behind its end nothing is said by the DSL (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32


@cute.kernel
def kernel(n):
    stages = 2
    s = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout((32, 8, stages)), byte_alignment=128)
    r = cute.make_rmem_tensor((4, (2, 3)), Float32)
    rows = cute.make_identity_tensor((64, 8))
    wide = cute.make_rmem_tensor(cute.make_layout(((32, 4), 2, 3), stride=((1, 32), 128, 256)), Float32)
    first = wide[(None, None), 0, n]
    z = cute.make_tensor(r.iterator, cute.make_layout((4, 2), stride=(1, 0)))
    {0}


@cute.jit
def host(n):
    kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, cutlass.Int32(3))
"""


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("s[None, None, stages - 1]", False),
        ("s[None, None, stages]", True),
        ("s[None, None, n]", False),
        ("s[31, 7, 0] = 1.0", False),
        ("s[0, 8, 0] = 1.0", True),
        ("x = r[23]", False),
        ("x = r[24]", True),
        ("if rows[24, 0][0] < n: x = r[24]", False),  # of a row that the matrix may not have
        ("if cute.arch.thread_idx()[0] < 3: x = r[24]", True),
        ("x = r[3, (1, 2)]", False),
        ("x = r[3, (2, 0)]", True),
        ("x = r[3, 5]", False),
        ("x = z[0, 7]", False),  # all of them are one element
        ("x = first[0, 7]", False),  # of the second half, which follows on the first
        ("x = first[0, 8]", True),
        ("x = wide[(None, None), None, 0][0, 4, 0]", True),  # meant is [(0, 0), 1]
        ("x = wide[(0, 0), None, n][2]", True),  # of another stage
    ],
)
def test_coordinates_are_of_their_mode(tmp_path: Path, body: str, wrong: bool) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.replace("{0}", body))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT211",)))
    assert [f.code for f in report.findings] == ["CUT211"] * wrong and not report.errors
