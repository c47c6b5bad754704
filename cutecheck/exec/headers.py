"""Where CuTe's and CUDA's headers are: environment, installed wheels, toolkit. Only looks at paths, runs nothing.

A host compiler needs three things on its include path: a directory with ``cute/tensor.hpp``, one with
``cuda_runtime_api.h`` (and ``crt/``), and one with ``cuda/std/utility`` (libcu++).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Headers:
    """A host compiler and the include directories for CuTe; ``version`` is CUTLASS's, for instance ``4.7.0``."""

    compiler: str
    cutlass: Path
    cuda: tuple[Path, ...]
    version: str

    def arguments(self) -> list[str]:
        """The ``-I`` arguments, CuTe first."""
        return [f"-I{p}" for p in (self.cutlass, *self.cuda)]


@dataclass(frozen=True, slots=True)
class NoHeaders:
    """Why no header can be compiled here."""

    reason: str


def find_headers(environ: Mapping[str, str] = os.environ) -> Headers | NoHeaders:
    """The first complete set: ``CUTECHECK_CXX``/``CXX``/g++, ``CUTECHECK_CUTLASS`` or the nvidia-cutlass wheel, CUDA.

    CUDA's headers come from ``CUDA_HOME``/``CUDA_PATH``, ``/usr/local/cuda`` or NVIDIA's wheels.
    """
    compiler = _compiler(environ)
    if compiler is None:
        return NoHeaders("no host C++ compiler found (g++; set CUTECHECK_CXX)")
    cutlass = _first(cutlass_directories(environ), "cute/tensor.hpp")
    if cutlass is None:
        return NoHeaders("no CuTe headers found (set CUTECHECK_CUTLASS or install nvidia-cutlass)")
    candidates = list(cuda_directories(environ))
    runtime = _first(candidates, "cuda_runtime_api.h", "crt/host_defines.h")
    if runtime is None:
        return NoHeaders("no CUDA headers found (set CUDA_HOME or install nvidia-cuda-runtime and nvidia-cuda-crt)")
    library = _first(candidates, "cuda/std/utility")
    if library is None:
        return NoHeaders("no libcu++ found (set CUDA_HOME or install nvidia-cuda-cccl)")
    cuda = (library, runtime) if library != runtime else (runtime,)
    return Headers(compiler, cutlass, cuda, cutlass_version(cutlass))


def cutlass_directories(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Include directories that may hold ``cute/``: a checkout or include path named by the environment, the wheel.

    They are absolute: compilers run in folders of their own.
    """
    named = environ.get("CUTECHECK_CUTLASS")
    if named:
        yield Path(named).absolute()
        yield Path(named).absolute() / "include"
    for package in packages("cutlass_library"):
        yield package / "source" / "include"


def cuda_directories(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Include directories that may hold CUDA's runtime headers or libcu++."""
    for home in (environ.get("CUDA_HOME"), environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            yield from _with_library(Path(home).absolute() / "include")
            yield from _with_library(Path(home).absolute() / "targets" / "x86_64-linux" / "include")
    for package in packages("nvidia"):
        for include in sorted(package.glob("*/include")):
            yield from _with_library(include)


def cutlass_version(include: Path) -> str:
    """``major.minor.patch`` of an include directory, ``unknown`` without its ``cutlass/version.h``."""
    try:
        text = (include / "cutlass" / "version.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "unknown"
    found = dict(re.findall(r"#define CUTLASS_(MAJOR|MINOR|PATCH)\s+(\d+)", text))
    return ".".join(found.get(k, "0") for k in ("MAJOR", "MINOR", "PATCH")) if found else "unknown"


def _with_library(include: Path) -> Iterator[Path]:
    yield include
    yield include / "cccl"


def _compiler(environ: Mapping[str, str]) -> str | None:
    for name in (environ.get("CUTECHECK_CXX"), environ.get("CXX"), "g++", "clang++"):
        if name and (path := program(name)):
            return path
    return None


def program(name: str) -> str | None:
    """Where a program is, absolute: children run it in folders of their own."""
    found = shutil.which(name)
    return None if found is None else str(Path(found).absolute())


def packages(name: str) -> Iterator[Path]:
    """The folders of an installed package, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return
    if spec is not None:
        yield from map(Path, spec.submodule_search_locations or ())


def _first(directories: Iterable[Path], *files: str) -> Path | None:
    return next((d for d in directories if all((d / f).is_file() for f in files)), None)
