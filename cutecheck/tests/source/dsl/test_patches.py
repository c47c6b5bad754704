"""Methods that a program adds to the DSL's class of tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.run import HEAD, driver, events, results

PATCH = """
import cutlass.cute.tensor as tensors
from cutlass.cutlass_dsl import dsl_user_op

def made():
    @dsl_user_op
    def _packed(self, dtype=None, *, loc=None, ip=None):
        there = cute.make_rmem_tensor(self.shape, dtype or self.element_type, loc=loc, ip=ip)
        cute.autovec_copy(self, there, loc=loc, ip=ip)
        return there
    return _packed

def patch():
    cls = {cls}
    if "_was_patched" not in cls.__dict__:
        {sets}
        setattr(cls, "_was_patched", True)

patch()
"""
USE = """
@cute.kernel
def kernel(a: cute.Tensor):
    rows = a[cute.arch.thread_idx()[0], None]
    mine = rows.packed()
    cute.make_layout(mine.shape, stride=mine.stride)

@cute.jit
def host(a: cute.Tensor):
    kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))

host(make_fake_tensor(cutlass.Float16, (32, 8), stride=(8, 1), assumed_align=16))
"""


@pytest.mark.parametrize("cls", ["tensors._Tensor", "cute.Tensor"])
@pytest.mark.parametrize("sets", ["cls.packed = made()", 'setattr(cls, "packed", made())'])
def test_a_method_that_is_set_on_the_class_is_run(tmp_path: Path, cls: str, sets: str) -> None:
    run = driver(tmp_path, HEAD + PATCH.format(cls=cls, sets=sets) + USE)
    assert [str(v) for made in results(run).values() for v in made] == ["(8):(1)"]
    (copy,) = events(run)
    assert copy.callee == "copy" and [o.space for o in copy.operands] == ["gmem", "rmem"]


def test_without_it_the_method_is_not_known(tmp_path: Path) -> None:
    run = driver(tmp_path, HEAD + USE)
    assert not events(run) and not results(run)
