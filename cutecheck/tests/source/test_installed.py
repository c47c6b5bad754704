"""Where the source of the DSL's package is looked for, and which is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.installed import find_cutlass


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
    monkeypatch.setenv("CUTECHECK_CUTLASS_DSL", str(nothing / "named"))
    assert ask() == nothing / "named"


def test_another_package_of_that_name_is_none(nothing: Path) -> None:
    (nothing / "project" / "venv" / "lib" / "python3.11" / "site-packages" / "cutlass").mkdir(parents=True)
    assert find_cutlass((nothing / "project",)) is None
