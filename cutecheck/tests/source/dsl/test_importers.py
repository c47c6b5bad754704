"""A check of changed files: what imports them is run, the nearest first, as far as there are steps for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.cache import open_store
from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Facts
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

LIBRARY = """
import cutlass
import cutlass.cute as cute

@cute.jit
def tile(n: cutlass.Constexpr):
    return cute.make_layout((n, 4))
"""
DRIVER = """
import cutlass.cute as cute
from lib import tile

total = 0
for i in range(150):
    total = total + i * i
tile({n})
"""
FAR = "import cutlass.cute as cute\nimport driver1\ndriver1.tile(99)\n"
SHORT = Limits(steps_per_root=6_000)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "lib.py").write_text(LIBRARY)
    for n in range(1, 20):
        (tmp_path / f"driver{n}.py").write_text(DRIVER.format(n=n))
    (tmp_path / "a_far.py").write_text(FAR)
    return tmp_path


def sizes(found: Facts) -> list[str]:
    return sorted({str(s.result)[1:].split(",")[0] for s in found.sites if s.span.path == "lib.py" and s.result})


def hook(tree: Path, *names: str, limits: Limits = SHORT, jobs: int = 1, cache: Path | None = None) -> Facts:
    store = None if cache is None else open_store(str(cache))
    changed = tuple(tree / name for name in names)
    return extract(ExtractRequest((tree,), changed=changed, limits=limits, jobs=jobs, store=store))


def test_all_that_imports_a_file_is_run_where_there_are_steps(tree: Path) -> None:
    found = hook(tree, "lib.py", limits=Limits())
    assert len(sizes(found)) == 20 and not found.notes and not found.unfinished


def test_the_nearest_are_run_first_and_the_rest_is_said(tree: Path) -> None:
    found = hook(tree, "lib.py")
    assert 0 < len(sizes(found)) < 19 and "99" not in sizes(found)
    (note,) = found.notes
    assert note.startswith(f"{20 - len(sizes(found))} of the files that import what changed were not run")
    assert found.files_with_cute == 1 + len(sizes(found))


@pytest.mark.parametrize("jobs", [1, 2])
def test_side_by_side_and_kept_is_the_same(tree: Path, jobs: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    cold, cache = hook(tree, "lib.py"), tmp_path_factory.mktemp("cache")
    assert repr(hook(tree, "lib.py", jobs=jobs, cache=cache)) == repr(cold)
    assert repr(hook(tree, "lib.py", cache=cache)) == repr(cold)


def test_a_file_that_changed_itself_is_run(tree: Path) -> None:
    (tree / "driver9.py").write_text(DRIVER.format(n=50))
    assert "50" not in sizes(hook(tree, "lib.py"))
    assert "50" in sizes(hook(tree, "lib.py", "driver9.py"))


@pytest.mark.parametrize("steps", [6_000, 2_000_000])
def test_nothing_is_unused_in_what_was_not_run_from_everywhere(tree: Path, steps: int) -> None:
    """A suppression may be of what comes of an importer that was left out."""
    (tree / "lib.py").write_text(LIBRARY.replace("(n, 4))", "(n, 4))  # cutecheck: ignore[CUT202]"))
    report = check(inputs([str(tree / "lib.py")], str(tree)), Settings(cache=False, max_steps=steps))
    assert [f.code for f in report.findings] == ["CUT002"] * (steps > 6_000)


def test_a_file_named_alone_says_that_nothing_calls_it(tree: Path) -> None:
    def notes(*names: str) -> tuple[str, ...]:
        return extract(ExtractRequest(tuple(tree / n for n in names))).notes

    (note,) = notes("lib.py")
    assert note.startswith("1 configuration is called with values that nothing in the named files binds (lib.py:7): ")
    assert not notes("lib.py", "driver1.py")  # which calls it
    assert not hook(tree, "lib.py", limits=Limits()).notes
    (tree / "lib.py").write_text(LIBRARY + "# cutecheck: instantiate tile(4)\n")
    assert not notes("lib.py")
    for n in range(1, 20):
        (tree / f"driver{n}.py").unlink()
    (tree / "a_far.py").unlink()
    (tree / "lib.py").write_text(LIBRARY)
    (note,) = extract(ExtractRequest((tree,))).notes  # of a folder nothing else is asked where most of it is called
    assert note.startswith("1 of 1 configurations in Python are called")
