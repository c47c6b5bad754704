"""Shared-memory layouts of a swizzle that does nothing stay composed in the DSL (4.8.1), unlike in C++ CuTe."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HOST = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import tcgen05


@cute.jit
def host(a: cute.Tensor):
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.KIND, cutlass.BFloat16)
    staged = tcgen05.tile_to_mma_shape(atom, SHAPE, order=(1, 2, 3))
    cute.make_composed_layout(staged.inner, 0, staged.outer)
    cute.make_layout(staged.outer.shape, stride=staged.outer.stride)


cute.compile(host, cute.runtime.make_fake_tensor(cutlass.BFloat16, (8,), stride=(1,)))
"""


@pytest.mark.parametrize(
    ("kind", "shape", "expected", "outer"),
    [
        (
            "MN_INTER",
            "((8, 16), 1, 4, 2)",
            "S<0,4,3> o 0 o ((8,16),1,4,2):((1,8),0,128,512)",
            "((8,16),1,4,2):((1,8),0,128,512)",
        ),
        (
            "MN_SW32",
            "((8, 16), 2, 4, 2)",
            "S<1,4,3> o 0 o ((8,16),2,4,2):((1,16),8,256,1024)",
            "((8,16),2,4,2):((1,16),8,256,1024)",
        ),
    ],
)
def test_they_have_an_outer_layout(kind: str, shape: str, expected: str, outer: str, tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(HOST.replace("KIND", kind).replace("SHAPE", shape))
    sites = extract(ExtractRequest((tmp_path,), archs=("sm_100a",))).sites
    assert all(s.status == "resolved" for s in sites)
    made = [str(s.result).replace("_", "") for s in sorted(sites, key=lambda s: s.span)]
    assert made[1:] == [expected, outer]
