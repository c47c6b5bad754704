"""A number that the host has from what is not followed is, by its parameter's annotation, one of run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

PROGRAM = """
import devices

import cutlass
import cutlass.cute as cute


@cute.jit
def host(splits: TYPE):
    cute.make_layout((4, splits))


cute.compile(host, max(1, devices.count() // 4))
"""


@pytest.mark.parametrize(("annotation", "status"), [("cutlass.Int32", "resolved"), ("object", "unknown")])
def test_it_need_not_be_known(annotation: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(PROGRAM.replace("TYPE", annotation))
    (site,) = extract(ExtractRequest((tmp_path,))).sites
    assert site.status == status
