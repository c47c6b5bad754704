"""Where the package of the Python DSL is. Its files are read; nothing of an environment is run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

_SITES = ("lib/python3*/site-packages", "lib/python3/dist-packages", "Lib/site-packages")
_PACKAGES = ("nvidia_cutlass_dsl/*_packages", ".")  # the wheels of 4.x, and a folder on the path


def find_cutlass(roots: tuple[Path, ...]) -> Path | None:
    """The folder with the package ``cutlass`` of the DSL.

    It is the one that ``CUTECHECK_CUTLASS_DSL`` names, that of the interpreter which runs cutecheck, that of a checkout
    around ``roots``, or of an environment of the project: ``.venv`` or ``venv`` beside or around the roots, the active
    one, the interpreter on the path.
    """
    import importlib.util

    given = os.environ.get("CUTECHECK_CUTLASS_DSL")
    if given:
        return Path(given)
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
                    if (folder / "cutlass" / "cute" / "core.py").is_file():
                        return folder
    return None
