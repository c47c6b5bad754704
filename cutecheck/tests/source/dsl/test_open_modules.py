"""Modules whose names, and classes whose subclasses, nobody knows: what imports them is evaluated as far as it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import ExtractRequest, extract

KERNELS = """import cutlass
import cutlass.cute as cute
from lib import *

@cute.jit
def f():
    cute.make_layout((TILE, 8))
    cute.make_layout((4, 8))

f()
"""
LIBS = {
    "globals().update(os.environ)": ("resolved", "resolved"),
    "globals().update({n: 1 for n in names})\nhere, there = locals(), vars()": ("unknown", "resolved"),
    "globals()[os.environ['TILE']] = 8": ("unknown", "resolved"),
    "for n in names:\n    class Base: pass\n    class A(Base): pass\nclass Last(Base): pass": ("resolved", "resolved"),
}


@pytest.mark.parametrize("body", LIBS)
def test_what_imports_them_is_evaluated(tmp_path: Path, body: str) -> None:
    head = "import os\nnames = os.environ['NAMES'].split()\nTILE = 64\n"
    (tmp_path / "lib.py").write_text(f"{head}{body}\n")
    (tmp_path / "k.py").write_text(KERNELS)
    found = extract(ExtractRequest((tmp_path,)))
    assert not found.errors
    assert tuple(s.status for s in sorted(found.sites, key=lambda s: s.span.line)) == LIBS[body]
