"""Shown paths back to files, as discovery shows them."""

from pathlib import Path

import pytest

from cutecheck.engine.sources import Project, SourceLines
from cutecheck.source.discover import discover


def tree(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"// using namespace cute; {name}\n")


@pytest.mark.parametrize(
    "paths",
    [("a",), ("a", "b"), ("b", "a"), ("a/k.cu", "b/k.cu"), ("b/k.cu", "a"), ("b/k.cu", "a/j.cu"),
     ("b/d/k.cu", "b", "a"),
     (".",), ("a/k.cu", "b/k.cu", "b/d/k.cu", "c/d/k.cu")],
)  # fmt: skip
@pytest.mark.parametrize("absolute", [False, True])
def test_every_shown_path_leads_to_its_file(
    tmp_path: Path, paths: tuple[str, ...], absolute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "a/k.cu", "a/j.cu", "b/k.cu", "b/d/k.cu", "c/d/k.cu")
    monkeypatch.chdir(tmp_path)
    given = [tmp_path / p if absolute else Path(p) for p in paths]
    sources = SourceLines(given)
    project = Project(sources)
    found = discover(given).files
    assert found
    for file in found:
        name = file.file.absolute().relative_to(tmp_path).as_posix()
        assert project.place(file.path) == project.near(file.path) == name
        assert sources(file.path) == [f"// using namespace cute; {name}", ""]
    assert sources("none.cu") is None and project.near("none.cu") == "none.cu"


def test_the_project_is_the_work_tree_and_files_outside_are_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, "p/src/k.cu", "other/x.cu")
    (tmp_path / "p/.git").mkdir()
    monkeypatch.chdir(tmp_path / "p/src")
    project = Project(SourceLines([Path("k.cu"), Path("../../other")]))
    assert (project.place("k.cu"), project.near("k.cu")) == ("src/k.cu", "k.cu")
    assert (project.place("x.cu"), project.near("x.cu")) == (f"{tmp_path}/other/x.cu", "x.cu")
