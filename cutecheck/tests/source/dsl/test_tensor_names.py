"""Run-time extents and strides have the names that the source gives their tensors; contracts are stated by these."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model.prove import Verdict
from cutecheck.source.dsl.values import HostCute
from cutecheck.tests.source.dsl.run import HEAD, variables

MARKED = "import torch\nfrom cutlass.cute.runtime import from_dlpack\n" + (
    "def made(t):\n    return from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1)\n"
    "one, two = torch.zeros(96, 64), torch.zeros(96, 64)\n"
    "x, y, z = from_dlpack(one).mark_layout_dynamic(), made(two), made(two)\n"
    "w = from_dlpack(torch.zeros(96, 64)).mark_compact_shape_dynamic(mode=1)\n"
)
KERNEL = """
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(x: cute.Tensor, copy: cute.TiledCopy):
    mine = copy.get_slice(cute.arch.thread_idx()[0]).partition_S(cute.local_tile(x, (32, 32), (0, 0)))
    kept = cute.make_rmem_tensor_like(mine)
    cute.copy(copy, mine, kept)
    cute.copy(copy, kept, mine)

@cute.jit
def host(x: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 4)))
    kernel(x, copy).launch(grid=(1, 1, 1), block=(128, 1, 1))

scores = torch.zeros(100, 64, dtype=torch.float32)
host(from_dlpack(scores, assumed_align=16).mark_layout_dynamic(leading_dim=1))
"""


def test_extents_and_strides_are_named_by_their_tensor(tmp_path: Path) -> None:
    """Those of a tensor that is marked again are others; one that is made in place has no name."""
    found = variables(tmp_path, HEAD + MARKED)
    x, y, z, w = (found[k] for k in "xyzw")
    assert all(isinstance(t, HostCute) for t in (x, y, z, w))
    assert [str(n) for n in (x.shape[0], y.stride[0], z.shape[1])] == [
        "one.shape[0]",
        "t.stride[0]:i64",
        "t:2.shape[1]",
    ]
    assert str(w.shape[1]).startswith("shape")


@pytest.mark.parametrize("name", ["scores.stride[0]", "scores.stride[0]:i64"])
def test_a_contract_names_them(name: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    settings = Settings(arch=("sm_80",), cache=False)
    report = check(inputs([str(tmp_path)]), settings)
    wanted = [o.reason for o in report.outcomes if o.verdict is Verdict.UNKNOWN]
    assert wanted and all("scores.stride[0]:i64 % 4 == 0" in reason for reason in wanted)
    told = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False, assume=(f"{name} % 4 == 0",)))
    assert {o.verdict for o in told.outcomes} == {Verdict.PROVED}
