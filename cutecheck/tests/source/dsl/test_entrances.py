"""Where scripts start: tests of pytest and unittest with their fixtures, command lines, benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.eval.limits import Limits
from cutecheck.tests.source.dsl.run import driver, results

HEAD = "import cutlass.cute as cute\n"


def shapes(tmp_path: Path, text: str, **others: str) -> set[str]:
    """The layouts that a script makes, as text."""
    made = driver(tmp_path, HEAD + text, **others)
    assert not made.cut, made.cut
    return {str(r) for found in results(made).values() for r in found}


def test_fixtures_of_the_tree_reach_tests(tmp_path: Path) -> None:
    conftest = """
    import pytest

    @pytest.fixture(params=[2, pytest.param(4, id="four")])
    def rows(request):
        return request.param

    @pytest.fixture(name="columns")
    def _columns(rows):
        yield rows * 8
    """
    text = """
import pytest

@pytest.fixture
def shape(rows, columns):
    return rows, columns

def test_layout(shape, tmp_path):
    cute.make_layout(shape)

def test_of_a_fixture_that_nobody_has(mystery):
    cute.make_layout((7, mystery))
"""
    assert shapes(tmp_path, text, conftest=conftest) == {"(2,16):(1,2)", "(4,32):(1,4)"}


def test_parameters_of_classes_and_marks(tmp_path: Path) -> None:
    text = """
import pytest

@pytest.mark.parametrize("rows", [2, 4])
class TestLayouts:
    scale = 3

    @pytest.fixture
    def columns(self):
        return self.scale

    @pytest.mark.parametrize(("a", "b"), [pytest.param(5, 6, marks=pytest.mark.slow)])
    def test_all(self, rows, a, b, columns):
        cute.make_layout((rows, a, b, columns))

@pytest.fixture
def doubled(request):
    return request.param * 2

@pytest.mark.parametrize("doubled", [4], indirect=True)
def test_indirect(doubled):
    cute.make_layout(doubled)
"""
    assert shapes(tmp_path, text) == {"(2,5,6,3):(1,2,10,60)", "(4,5,6,3):(1,4,20,120)", "8:1"}


def test_cases_of_unittest_are_set_up(tmp_path: Path) -> None:
    text = """
import unittest

class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = 4

    def setUp(self):
        self.columns = self.rows * 2

class Layouts(Base):
    def test_one(self):
        cute.make_layout((self.rows, self.columns))
        self.assertTrue(True)

    def helper(self):
        cute.make_layout((9, self.rows))
"""
    assert shapes(tmp_path, text) == {"(4,8):(1,4)"}


CLICK = """
import click
@click.command()
@click.option('--rows', '-r', default=4)
@click.option('--wide/--narrow', default=False)
def main(rows, wide):"""
REPORT = """
import triton
@triton.testing.perf_report(triton.testing.Benchmark(
    x_names=['rows'], x_vals=[4], line_arg='wide', line_vals=[False], line_names=[''], plot_name='p', args={}))
def main(rows, wide):"""


@pytest.mark.parametrize(
    ("head", "call"),
    [
        (CLICK, "main()"),
        ("import fire\ndef main(rows=4, wide=False):", "fire.Fire(main)"),
        ("import typer\ndef main(rows: int = typer.Option(4, help=''), wide: bool = False):", "typer.run(main)"),
        ("import tyro\ndef main(rows: int = 4, wide: bool = False):", "tyro.cli(main)"),
        (REPORT, "main.run(print_data=True)"),
        (
            REPORT.replace("@triton.testing.perf_report(", "marks = [").replace("))", ")]"),
            "triton.testing.perf_report(marks)(main).run()",
        ),
        (
            "from triton.testing import do_bench as timed, assert_close\ndef main(rows=4, wide=False):",
            "assert_close(1, 1); timed(main, rep=3)",
        ),
    ],
)
def test_programs_run_with_the_defaults_of_their_options(tmp_path: Path, head: str, call: str) -> None:
    text = f"{head}\n    make(rows, 8 if wide else 2)\n\nif __name__ == '__main__':\n    {call}\n"
    assert shapes(tmp_path, "def make(*shape):\n    cute.make_layout(shape)\n" + text) == {"(4,2):(1,4)"}


def test_what_an_import_takes_is_not_the_importers(tmp_path: Path) -> None:
    table = "rows = []\nfor i in range(300):\n    rows.append(i)\n"
    text = HEAD + "import one, two\n" + table + "\ncute.make_layout(len(one.rows) + len(two.rows))\n"
    made = driver(tmp_path, text, limits=Limits(idle_steps=2000), one=table, two=table)
    assert [str(v) for found in results(made).values() for v in found] == ["600:1"]
    made = driver(tmp_path, text, limits=Limits(idle_steps=1000), one=table, two=table)
    assert not results(made)  # half of a table is none


def test_programs_are_started_without_arguments(tmp_path: Path) -> None:
    text = """
import sys

def usage():
    if len(sys.argv) < 3:
        print("which rows?")
        return
    cute.make_layout((3, 3))  # walked: without arguments nothing would be shown

def main(argv=None):
    argv = argv or sys.argv[1:]
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    columns = 16
    if len(sys.argv) > 2:
        columns = int(sys.argv[2])
    for fast in [a == "fast" for a in argv] or [False, True]:
        cute.make_layout((rows, columns, 2 if fast else 1))
    if "--transposed" in sys.argv:
        cute.make_layout((7, 7))

if __name__ == "__main__":
    main()
    usage()
"""
    assert shapes(tmp_path, text) == {"(8,16,1):(1,8,0)", "(8,16,2):(1,8,128)", "(3,3):(1,3)"}
