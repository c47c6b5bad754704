"""The annotation of a parameter says nothing of what an object is: one of a derived class stays one."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.dsl.run import HEAD, driver, results

PROGRAM = (
    HEAD
    + """
from dataclasses import dataclass


@dataclass
class Base:
    def row(self):
        return 4


@dataclass
class Own(Base):
    columns: int

    def row(self):
        return 8


@cute.kernel
def kernel(x: cute.Tensor, p: Base):
    shaped(p)


@cute.jit
def shaped(p: Base):
    cute.make_layout((p.row(), p.columns))


@cute.jit
def host(x: cute.Tensor):
    kernel(x, Own(16)).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (64,), stride=(1,), assumed_align=16))
"""
)


def test_an_object_of_a_derived_class_keeps_its_own(tmp_path: Path) -> None:
    found = {call: values for (_, call), values in results(driver(tmp_path, PROGRAM)).items()}
    assert [str(v) for v in found["make_layout"]] == ["(8,16):(1,8)"]
