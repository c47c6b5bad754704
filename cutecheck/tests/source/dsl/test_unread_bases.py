"""What objects have whose classes are derived from some that are not read."""

from __future__ import annotations

from pathlib import Path

from cutecheck.source.eval.values import Scalar
from cutecheck.tests.source.dsl.run import variables

TEXT = """
from dataclasses import dataclass
import torch
from cutlass.base_dsl.typing import JitArgument

@dataclass
class Arguments(JitArgument):
    tile: int = 64

class Function(torch.utils.Unread):
    own = 1

a, f = Arguments(), Function()
f.set = 2
R = [hasattr(a, "tile"), hasattr(a, "add"), hasattr(Arguments, "add"), hasattr(f, "own"), hasattr(f, "set")]
N = [hasattr(f, "other"), hasattr(Function, "other")]
"""


def test_what_an_object_has_of_a_class_that_is_not_read(tmp_path: Path) -> None:
    """An argument of the DSL has what its own class says; what a class of a library has is not known."""
    found = variables(tmp_path, TEXT)
    assert found["R"] == [True, False, False, True, True]
    assert found["N"] == [Scalar(None, "bool")] * 2
