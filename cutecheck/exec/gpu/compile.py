"""Cubins: NVRTC in a child process (nvcc where there is no NVRTC), cached by content, several at a time."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.gpu.codegen import Unit, headers_digest
from cutecheck.exec.headers import cuda_directories, cutlass_directories, cutlass_version, program

LIMITS = child.Limits(seconds=240.0, memory=12 << 30, file=1 << 30)
OPTIONS = ("-std=c++17", "-w", "-default-device")
_ERROR = re.compile(r"error\s*:\s*(.*)")
_NO_FILE = re.compile(r"could not open|cannot open|No such file or directory")
_HEADING = re.compile(r"^[^\s(][^\n(]*\(\d+\): (?:catastrophic )?error|^ptxas [^\n]*; error", re.M)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A device compiler and CuTe's include folders. ``kind`` nvrtc: ``path`` is the library; nvcc: the program."""

    kind: str
    path: str
    include: tuple[str, ...]
    version: str  # of CUTLASS

    @property
    def identity(self) -> str:
        """What a cached cubin depends on besides its source: compiler file, CUTLASS version, headers."""
        stat = Path(self.path).stat()
        return f"{self.kind} {stat.st_size} {self.version} {self.include[0]} {headers_digest()}"


@dataclass(frozen=True, slots=True)
class NoCompiler:
    """Why nothing can be compiled for a GPU here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """One error of the compiler; ``lines`` of the unit itself that it names, itself or as what was instantiated."""

    message: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A cubin, or the first error of the compiler and all of them.

    Without errors the compiler itself failed: it could not be started, found no file, or was stopped.
    """

    cubin: Path | None
    failure: str = ""
    cached: bool = False
    errors: tuple[Refusal, ...] = ()


def find_compiler(environ: Mapping[str, str] = os.environ) -> Compiler | NoCompiler:
    """NVRTC of ``CUTECHECK_NVRTC``, a CUDA wheel or toolkit; else nvcc; with CuTe's and CUDA's headers.

    ``CUTECHECK_NVCC`` asks for that nvcc instead.
    """
    cutlass = next((d for d in cutlass_directories(environ) if (d / "cute/tensor.hpp").is_file()), None)
    if cutlass is None:
        return NoCompiler("no CuTe headers found (set CUTECHECK_CUTLASS or install nvidia-cutlass)")
    candidates = list(cuda_directories(environ))
    runtime = next((d for d in candidates if (d / "cuda_runtime_api.h").is_file()), None)
    library = next((d for d in candidates if (d / "cuda/std/utility").is_file()), None)
    if runtime is None or library is None:
        return NoCompiler("no CUDA headers found (set CUDA_HOME or install nvidia-cuda-runtime and nvidia-cuda-cccl)")
    include = tuple(dict.fromkeys(map(str, (cutlass, library, runtime))))
    version = cutlass_version(cutlass)
    nvrtc = next((p for p in _nvrtc_libraries(environ) if p.is_file()), None)
    asked = environ.get("CUTECHECK_NVCC") and not environ.get("CUTECHECK_NVRTC")
    if nvrtc is not None and not asked:
        return Compiler("nvrtc", str(nvrtc), include, version)
    for name in (environ.get("CUTECHECK_NVCC"), "nvcc", "/usr/local/cuda/bin/nvcc"):
        if name and (path := program(name)):
            return Compiler("nvcc", path, include, version)
    return NoCompiler("no NVRTC library and no nvcc found (install nvidia-cuda-nvrtc, set CUDA_HOME)")


def _nvrtc_libraries(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("CUTECHECK_NVRTC"):
        yield Path(environ["CUTECHECK_NVRTC"]).absolute()
    for include in cuda_directories(environ):
        for folder in (include.parent / "lib64", include.parent / "lib", include.parent.parent / "cuda_nvrtc" / "lib"):
            yield from sorted(p for p in folder.glob("libnvrtc.so*") if "alt" not in p.name)


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where cubins are kept: ``CUTECHECK_CACHE``, else the user's cache folder."""
    base = environ.get("CUTECHECK_CACHE") or environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cutecheck" / "cubin"


def compile_units(
    units: Sequence[Unit], arch: str, compiler: Compiler, cache: Path | None = None, jobs: int | None = None
) -> list[Compiled]:
    """The cubins of the units, in order; ``arch`` is ``sm_90a`` or the like, ``jobs`` how many at a time (cores)."""
    folder = cache or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        return list(pool.map(lambda u: _one(u, arch, compiler, folder), units))


def headers_failure(arch: str, compiler: Compiler, cache: Path | None = None) -> str:
    """Why the headers of the reference kernels alone do not compile here, empty where they do."""
    text = '#include "kernels.hpp"\nextern "C" __global__ void cutecheck_headers() {}\n'
    made = compile_units([Unit("cutecheck_headers", text)], arch, compiler, cache)[0]
    return "" if made.cubin is not None else f"CuTe's headers do not compile here: {made.failure}"


def cached_name(unit: Unit, arch: str, compiler: Compiler) -> str:
    """The file that holds a unit's cubin in the cache: a digest of everything that it depends on."""
    key = hashlib.sha256("\0".join((unit.text, arch, compiler.identity, *OPTIONS)).encode()).hexdigest()
    return f"{key}.cubin"


def _one(unit: Unit, arch: str, compiler: Compiler, cache: Path) -> Compiled:
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise ValueError(f"no architecture: {arch!r}")
    kept = cache / cached_name(unit, arch, compiler)
    if kept.is_file():
        return Compiled(kept, cached=True)
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
        folder = Path(name)
        source, made = folder / "probe.cu", folder / "probe.cubin"
        source.write_text(unit.text, encoding="utf-8")
        ended = child.run(_command(compiler, arch, source, made), folder, LIMITS)
        if not made.is_file():
            said = () if ended.code is None or ended.code < 0 else refusals(ended.err + ended.out, source.name)
            return Compiled(None, first_error(ended), errors=tuple(said))
        moving = kept.with_suffix(f".{os.getpid()}.{unit.kernel}.part")
        shutil.copyfile(made, moving)
        moving.replace(kept)
    return Compiled(kept)


def _command(compiler: Compiler, arch: str, source: Path, made: Path) -> list[str]:
    folders = [f"-I{d}" for d in (str(Path(__file__).parent), *compiler.include)]
    if compiler.kind == "nvcc":
        number = arch.removeprefix("sm_")
        target = f"-gencode=arch=compute_{number},code=sm_{number}"
        return [compiler.path, "-cubin", target, "-std=c++17", "-w", *folders, str(source), "-o", str(made)]
    script = str(Path(__file__).with_name("nvrtc.py"))
    return [sys.executable, "-I", script, compiler.path, str(source), str(made), f"-arch={arch}", *OPTIONS, *folders]


def refusals(log: str, name: str) -> Iterator[Refusal]:
    """The errors in a compiler's log of the file ``name``."""
    starts = [*(m.start() for m in _HEADING.finditer(log)), len(log)]
    for begin, end in pairwise(starts):
        found = _ERROR.search(log, begin, end)
        if found is not None:
            places = re.findall(rf'(?:at line (\d+) of "?[^"\n]*{name}|^[^\n]*{name}\((\d+)\))', log[begin:end], re.M)
            lines = (int(a or b) for a, b in places)
            if _NO_FILE.search(found[1]):
                return  # what comes after it is no judgement of the source
            yield Refusal(" ".join(found[1].split())[:300], tuple(dict.fromkeys(lines)))


def first_error(ended: child.Ended) -> str:
    """The compiler's first error in one line."""
    match = _ERROR.search(ended.err) or _ERROR.search(ended.out)
    if match:
        return " ".join(match[1].split())[:300]
    last = [line for line in (ended.err + ended.out).splitlines() if line.strip()]
    return " ".join([ended.failure, *last[-1:]])[:300]
