"""Where the package of the Python DSL is. Its files are read; nothing of an environment is run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

_SITES = ("lib/python3*/site-packages", "lib/python3/dist-packages", "Lib/site-packages")
_WHEEL = "nvidia_cutlass_dsl/*_packages"  # of 4.x
_PACKAGES = (_WHEEL, ".")  # and a folder on the path
OF_PACKAGE = "the source of the DSL's package `cutlass` is "  # how reasons say it, before :func:`absent`
_NAMED = "CUTECHECK_CUTLASS_DSL"


def find_cutlass(roots: tuple[Path, ...]) -> Path | None:
    """The folder with the package ``cutlass`` of the DSL.

    It is the one that ``CUTECHECK_CUTLASS_DSL`` names, that of the interpreter which runs cutecheck, that of a checkout
    around ``roots``, or of an environment of the project: ``.venv`` or ``venv`` beside or around the roots, the active
    one, the interpreter on the path.
    """
    import importlib.util

    given = os.environ.get(_NAMED)
    if given:
        return _named(Path(given))
    try:
        spec = importlib.util.find_spec("cutlass")
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin and (Path(spec.origin).parent / "cute").is_dir():
        return Path(spec.origin).parent.parent
    around = tuple(dict.fromkeys(chain.from_iterable((at, *at.parents) for at in map(Path.resolve, roots))))
    for at in around:
        if (at / "python" / "CuTeDSL" / "cutlass" / "cute").is_dir():
            return at / "python" / "CuTeDSL"
    return next((found for at in _environments(around) if (found := _within(at)) is not None), None)


def told(roots: tuple[Path, ...]) -> str:
    """Where the package is, or what is said of it where it is not: what facts depend on."""
    return str(find_cutlass(roots) or absent())


def absent() -> str:
    """Where the package is not, and what would help."""
    given = os.environ.get(_NAMED)
    if given:
        return f"not in {_NAMED}={given}: name the folder that holds it, or an environment in which it is installed"
    return f"in no environment at hand (pip install 'cutecheck[dsl]', or {_NAMED}=FOLDER)"


def _named(given: Path) -> Path | None:
    """The folder of the package: ``given``, or in it where it is the package, its wheel's, or an environment."""
    inside = (*given.glob(_WHEEL), *given.glob(_WHEEL.rpartition("/")[2]))
    return next(filter(_holds, (given, given.parent, *sorted(inside))), None) or _within(given)


def _holds(folder: Path) -> bool:
    return (folder / "cutlass" / "cute" / "core.py").is_file()


def _environments(around: tuple[Path, ...]) -> Iterator[Path]:
    for at in around:
        yield at / ".venv"
        yield at / "venv"
    yield from (Path(value) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if (value := os.environ.get(name)))
    for name in ("python3", "python"):
        found = shutil.which(name)
        if found:
            yield Path(found).parent.parent  # of the link, where it is one: an environment links to what made it


def _within(environment: Path) -> Path | None:
    """The folder of the package in an environment, by the files of its wheels."""
    if not environment.is_dir():
        return None
    for pattern in _SITES:
        for site in sorted(environment.glob(pattern), reverse=True):
            for package in _PACKAGES:
                for folder in sorted(site.glob(package)) if "*" in package else (site,):
                    if _holds(folder):
                        return folder
    return None
