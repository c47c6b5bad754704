"""Where the source of the DSL's package is looked for, and which is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.installed import absent, find_cutlass
from cutecheck.source.request import ExtractRequest


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No environment at hand but those of the test."""
    for name in ("CUTECHECK_CUTLASS_DSL", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (tmp_path / "project" / "kernels").mkdir(parents=True)
    return tmp_path


def _package(folder: Path) -> Path:
    (folder / "cutlass" / "cute").mkdir(parents=True)
    (folder / "cutlass" / "cute" / "core.py").touch()
    return folder


def test_environments_of_the_project_are_looked_at_last(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = nothing / "project"

    def ask() -> Path | None:
        return find_cutlass((project / "kernels",))

    assert ask() is None
    (nothing / "bin").mkdir()
    (nothing / "bin" / "python3").touch(0o755)
    monkeypatch.setenv("PATH", str(nothing / "bin"))
    on_path = _package(nothing / "lib" / "python3.12" / "site-packages" / "nvidia_cutlass_dsl" / "python_packages")
    assert ask() == on_path
    active = _package(
        nothing / "active" / "lib" / "python3.11" / "site-packages" / "nvidia_cutlass_dsl" / "dsl_packages"
    )
    monkeypatch.setenv("VIRTUAL_ENV", str(nothing / "active"))
    assert ask() == active
    own = _package(project / ".venv" / "Lib" / "site-packages")
    assert ask() == own
    checkout = project / "python" / "CuTeDSL"
    (checkout / "cutlass" / "cute").mkdir(parents=True)
    assert ask() == checkout
    named = _package(nothing / "named")
    monkeypatch.setenv("CUTECHECK_CUTLASS_DSL", str(named))
    assert ask() == named


@pytest.mark.parametrize(
    "given",
    [
        "env/lib/python3.12/site-packages/nvidia_cutlass_dsl/dsl_packages",
        "env/lib/python3.12/site-packages/nvidia_cutlass_dsl/dsl_packages/cutlass",
        "env/lib/python3.12/site-packages/nvidia_cutlass_dsl",
        "env/lib/python3.12/site-packages",
        "env",
    ],
)
def test_the_named_folder_may_be_around_the_package(nothing: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    package = _package(nothing / "env/lib/python3.12/site-packages/nvidia_cutlass_dsl/dsl_packages")
    monkeypatch.setenv("CUTECHECK_CUTLASS_DSL", str(nothing / given))
    assert find_cutlass((nothing / "project",)) == package


def test_a_named_folder_without_the_package_is_said(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert absent().startswith("in no environment at hand")
    monkeypatch.setenv("CUTECHECK_CUTLASS_DSL", str(nothing))
    _package(nothing / "project" / ".venv" / "Lib" / "site-packages")
    assert find_cutlass((nothing / "project",)) is None
    assert absent().startswith(f"not in CUTECHECK_CUTLASS_DSL={nothing}: name the folder that holds it")


def test_another_package_of_that_name_is_none(nothing: Path) -> None:
    (nothing / "project" / "venv" / "lib" / "python3.11" / "site-packages" / "cutlass").mkdir(parents=True)
    assert find_cutlass((nothing / "project",)) is None


def test_what_is_not_known_for_want_of_it_is_a_line_of_the_report(nothing: Path) -> None:
    file = nothing / "project" / "kernels" / "a.py"
    file.write_text(
        "import cutlass\nimport cutlass.cute as cute\nimport cutlass.utils.blackwell_helpers as helpers\n"
        "tiler = helpers.some_tiler(128)\nlayout = cute.make_layout(tiler)\nknown = cute.make_layout((4, 8))\n"
    )
    (note,) = extract(ExtractRequest((file.parent,))).notes
    assert note.startswith(
        "not known: 1 configuration of the Python DSL; the source of the DSL's package `cutlass` is "
    )
    _package(nothing / "project" / ".venv" / "Lib" / "site-packages")
    helpers = nothing / "project" / ".venv" / "Lib" / "site-packages" / "cutlass" / "utils" / "blackwell_helpers.py"
    helpers.parent.mkdir()
    helpers.write_text("def some_tiler(n):\n    return (n, 64)\n")
    facts = extract(ExtractRequest((file.parent,)))
    assert not facts.notes and "(_128,_64):(_1,_128)" in [str(s.value) for s in facts.sites]
