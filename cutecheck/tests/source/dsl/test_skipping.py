"""Tests that are not run on an architecture, or not at all: what they would launch is no configuration of the tree."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.run import driver, sites

HEAD = """
import sys
import unittest
import pytest
import torch
import cutlass.cute as cute

MAJOR = torch.cuda.get_device_capability()[0]
"""
TESTS = (
    HEAD
    + """
only_10 = pytest.mark.skipif(MAJOR not in (10, 11), reason="tensor memory")

def require(major):
    if MAJOR != major:
        pytest.skip("another architecture")

@pytest.fixture
def ten():
    require(10)
    return 10

def test_inside():
    if MAJOR != 10:
        pytest.skip("another architecture")
    cute.make_layout(1)

def test_by_a_helper():
    require(10)
    cute.make_layout(2)

@only_10
def test_by_a_mark_that_is_kept():
    cute.make_layout(3)

@pytest.mark.skipif(MAJOR < 10, reason="old")
@pytest.mark.skipif("sys.platform == 'win32'")
def test_by_a_mark():
    cute.make_layout(4)

@pytest.mark.skip
def test_never():
    cute.make_layout(5)

@pytest.mark.parametrize("rows", [
    6, pytest.param(7, marks=only_10), pytest.param(8, marks=[pytest.mark.skip(reason="slow")]),
])
def test_rows(rows):
    cute.make_layout(rows)

@only_10
class TestClass:
    def test_of_it(self):
        cute.make_layout(9)

def test_by_a_fixture(ten):
    cute.make_layout(ten)

class Case(unittest.TestCase):
    @unittest.skipUnless(MAJOR == 10, "another architecture")
    def test_unless(self):
        cute.make_layout(11)

    @unittest.skipIf(MAJOR == 10, "another architecture")
    def test_if(self):
        cute.make_layout(12)

    def test_inside(self):
        if MAJOR == 9:
            self.skipTest("another architecture")
        cute.make_layout(13)

@pytest.mark.xfail(reason="what fails here may be what is found")
def test_expected():
    cute.make_layout(14)

@pytest.mark.xfail(MAJOR == 9, run=False)
def test_expected_and_not_run():
    cute.make_layout(15)

@pytest.mark.skipif(torch.randn(3).sum().item() > 0, reason="nobody knows")
def test_perhaps():
    cute.make_layout(16)

def test_perhaps_inside():
    if torch.randn(3).sum().item() > 0:
        pytest.skip("nobody knows")
    cute.make_layout(17)
    try:
        require(10)
    except ValueError:
        pass
    cute.make_layout(18)
"""
)


def shapes(folder: Path, text: str, arch: str) -> set[object]:
    made = driver(folder, text, arch=arch)
    assert not made.cut
    texts = [str(s.result).partition(":")[0].lstrip("_") if s.status == "resolved" else s.reason for s in sites(made)]
    return {int(t) if isinstance(t, str) and t.isdigit() else t for t in texts}


def test_what_is_run_on_an_architecture(tmp_path: Path) -> None:
    always = {6, 12, 13, 14, 15, 16, 17, 18}
    assert shapes(tmp_path, TESTS, "sm_80") == always
    assert shapes(tmp_path, TESTS, "sm_90a") == always - {13, 15}
    assert shapes(tmp_path, TESTS, "sm_100a") == always - {12} | {1, 2, 3, 4, 7, 9, 10, 11}


@pytest.mark.parametrize(
    "says", ["pytestmark = pytest.mark.skipif(MAJOR != 10, reason='x')", "pytestmark = [pytest.mark.skip]",
             "if MAJOR != 10:\n    pytest.skip('x', allow_module_level=True)"],
)  # fmt: skip
def test_a_module_whose_tests_are_not_run(says: str, tmp_path: Path) -> None:
    body = "\ndef helper(rows):\n    cute.make_layout((rows, 4))\n\ndef test_rows():\n    helper(4)\n"
    assert shapes(tmp_path, HEAD + says + body, "sm_90a") == set()
    assert (shapes(tmp_path, HEAD + says + body, "sm_100a") == set()) is ("[" in says)


def test_a_program_ends_where_it_says_so(tmp_path: Path) -> None:
    text = """
    if __name__ == "__main__":
        cute.make_layout(1)
        if MAJOR < 9:
            sys.exit("too old")
        cute.make_layout(2)
        try:
            sys.exit(0)
            cute.make_layout(3)
        except Exception:
            cute.make_layout(4)
        except SystemExit:
            cute.make_layout(5)
        cute.make_layout(6)
    """
    text = HEAD + textwrap.dedent(text)
    assert shapes(tmp_path, text, "sm_80") == {1}
    assert shapes(tmp_path, text, "sm_90a") == {1, 2, 5, 6}
