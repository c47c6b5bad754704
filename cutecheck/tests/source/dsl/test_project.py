"""A folder of a DSL library checked by itself: what calls it from its project is run for what it comes to there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cutecheck.cache import open_store
from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Facts
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.project import around
from cutecheck.source.request import ExtractRequest

LIBRARY = """
import cutlass
import cutlass.cute as cute

@cute.jit
def tile(n: cutlass.Constexpr):
    return cute.make_layout((n, 4))
"""
TEST = """
import cutlass.cute as cute
from {package} import tile

cute.make_layout(77)

def test_tile():
    total = 0
    for i in range(150):
        total = total + i * i
    tile({n})
"""

BOOK = ["%matplotlib inline\n", "from lib.tiles import (\n", "    tile,\n", ")\n", "tile(32)\n"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "tiles.py").write_text(LIBRARY)
    (tmp_path / "tests").mkdir()
    for n in (8, 16):
        (tmp_path / "tests" / f"test_{n}.py").write_text(TEST.format(package="lib.tiles", n=n))
    return tmp_path / "lib"


def facts(*paths: Path, jobs: int = 1, cache: Path | None = None, limits: Limits | None = None) -> Facts:
    store = None if cache is None else open_store(str(cache))
    return extract(ExtractRequest(paths, jobs=jobs, store=store, limits=limits or Limits()))


def results(found: Facts) -> list[str]:
    return sorted(str(s.result) for s in found.sites)


def test_tests_beside_a_library_are_run_for_what_they_call_there(library: Path) -> None:
    found = facts(library)
    assert results(found) == ["(16,4):(1,16)", "(8,4):(1,8)"]  # and none of the tests' own
    assert {s.span.file for s in found.sites} == {"tiles.py"}
    assert found.notes == ("what is named is called from the project around it, too: ../tests/test_16.py and 1 more",)
    assert found.files == found.files_with_cute == 1


def test_a_notebook_beside_a_library_calls_it_too(library: Path) -> None:
    shutil.rmtree(library.parent / "tests")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": BOOK}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (library.parent / "tour.ipynb").write_text(json.dumps(book))
    found = facts(library)
    assert results(found) == ["(32,4):(1,32)"] and found.notes[0].endswith(": ../tour.ipynb")


def test_where_nothing_calls_it_a_line_says_so(library: Path) -> None:
    shutil.rmtree(library.parent / "tests")
    (note,) = facts(library).notes
    assert note.startswith("1 of 1 configurations in Python are called with values that nothing here binds (tiles.py:7")
    (library / "bound.py").write_text("import cutlass.cute as cute\ncute.make_layout(4)\n")
    assert not facts(library).notes  # a helper that nothing uses is no reason for a line


def test_nothing_of_the_project_is_run_where_all_is_bound(library: Path) -> None:
    (library / "use.py").write_text("import cutlass.cute as cute\nfrom tiles import tile\ntile(32)\n")
    found = facts(library)
    assert results(found) == ["(32,4):(1,32)"] and not found.notes


def test_a_module_of_the_same_name_is_another(library: Path) -> None:
    """And where the folder calls most of its own, the rest is no reason to read on."""
    for n in (8, 16):
        shutil.copy(library / "tiles.py", library.parent / "tests" / "tiles.py")
        (library.parent / "tests" / f"test_{n}.py").write_text(TEST.format(package="tiles", n=n))
    (note,) = facts(library).notes
    assert note.startswith("1 of 1 configurations")
    helper = "from lib.tiles import tile\ndef twice(n):\n    tile(2 * n)\n"
    (library.parent / "tests" / "helper.py").write_text(helper)
    test = TEST.replace("tile(", "twice(").format(package="helper", n=8).replace("import tile", "import twice")
    (library.parent / "tests" / "test_8.py").write_text(test)
    assert results(facts(library)) == ["(16,4):(1,16)"]
    own = "import cutlass.cute as cute\ndef test_own():\n    for n in (2, 4):\n        cute.make_layout(n)\n"
    (library / "test_own.py").write_text(own + "        cute.make_layout((n, 3))\n")
    assert not facts(library).notes  # it has tests, which bind most of it


def test_what_is_wrong_with_the_others_is_not_said(library: Path) -> None:
    (library.parent / "tests" / "test_8.py").write_text(TEST.format(package="lib.tiles", n=8) + "def broken(:\n")
    found = facts(library)
    assert "(16,4):(1,16)" in results(found) and not found.errors


def test_those_without_steps_are_counted_and_nothing_is_then_unused(library: Path) -> None:
    for n in range(20, 60):
        (library.parent / "tests" / f"test_{n}.py").write_text(TEST.format(package="lib.tiles", n=n))
    found = facts(library, limits=Limits(steps_per_root=6_000))
    (note,) = found.notes
    assert note.endswith(" that import it were not run (max-steps)") and 3 <= len(results(found)) < 30
    (library / "tiles.py").write_text(LIBRARY.replace("(n, 4))", "(n, 4))  # cutecheck: ignore[CUT202]"))
    for steps, said in ((6_000, []), (2_000_000, ["CUT002"])):
        report = check(inputs([str(library)]), Settings(cache=False, max_steps=steps))
        assert [f.code for f in report.findings] == said


@pytest.mark.parametrize("jobs", [1, 2])
def test_side_by_side_and_kept_is_the_same(library: Path, jobs: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    for n in range(20, 30):
        (library.parent / "tests" / f"test_{n}.py").write_text(TEST.format(package="lib.tiles", n=n))
    cold, cache = facts(library), tmp_path_factory.mktemp("cache")
    assert repr(facts(library, jobs=jobs, cache=cache)) == repr(cold)
    assert repr(facts(library, cache=cache)) == repr(cold)


def test_a_report_is_kept_until_the_project_changes(library: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(cache_dir=str(tmp_path_factory.mktemp("cache")))

    def places() -> set[tuple[str, str]]:
        sites = check(inputs([str(library)]), settings, counts_alone=True).facts.sites
        return {(s.span.file, s.status) for s in sites}

    assert places() == places() == {("tiles.py", "resolved")}
    (library.parent / "more").mkdir()
    text = LIBRARY.replace("tile", "other")
    (library / "more.py").write_text(text)
    assert places() == {("tiles.py", "resolved"), ("more.py", "unbound")}
    test = TEST.format(package="lib.more", n=4).replace("import tile", "import other").replace("tile(4)", "other(4)")
    (library.parent / "more" / "test_new.py").write_text(test)
    assert places() == {("tiles.py", "resolved"), ("more.py", "resolved")}


def test_the_project_is_a_repository_or_what_is_built_as_one(tmp_path: Path) -> None:
    inner = tmp_path / "python" / "package" / "kernels"
    inner.mkdir(parents=True)
    assert around([inner]) is None or around([inner]) in tmp_path.parents
    (tmp_path / "python" / "setup.py").touch()
    assert around([inner]) == tmp_path / "python"
    (inner / "pyproject.toml").touch()
    assert around([inner]) is None  # it is one by itself, as far as is seen
    (tmp_path / ".git").mkdir()
    assert around([inner]) == around([inner, tmp_path / "python"]) == tmp_path
    assert around([tmp_path]) is None  # all of it is named
