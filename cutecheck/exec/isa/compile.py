"""Kernels through the device compiler, many a translation unit: PTX, and SASS where a disassembler is installed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.gpu import nvrtc
from cutecheck.exec.gpu.compile import OPTIONS, Compiler, NoCompiler, cache_folder, find_compiler, first_error
from cutecheck.exec.headers import packages, program
from cutecheck.exec.isa import codegen, counts
from cutecheck.exec.isa.counts import Key

LIMITS = child.Limits(seconds=300.0, memory=12 << 30, file=1 << 30)
CHUNK = 32
_ARCH = re.compile(r"sm_\d+[af]?")
_NAME = re.compile(r"isa_[0-9a-f]{16}")
_NO_ARCH = re.compile(
    r"unsupported gpu architecture|invalid value for --gpu-architecture"
    r"|is not defined for option 'gpu-(?:architecture|name)'",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """Statements of one kernel and its block size; named by its content."""

    body: str
    threads: int

    @property
    def name(self) -> str:
        digest = hashlib.sha256(f"{codegen.header_digest()} {self.threads} {self.body}".encode())
        return f"isa_{digest.hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Emitted:
    """What the compiler emitted for a kernel: ``failure`` says why there is nothing; ``sass`` None: no disassembler."""

    ptx: Mapping[Key, int] = field(default_factory=dict)
    sass: Mapping[Key, int] | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """Device compiler and disassembler (nvdisasm or cuobjdump, None for neither)."""

    compiler: Compiler
    disassembler: str | None
    cache: Path | None = None
    jobs: int | None = None
    limits: child.Limits = LIMITS

    @property
    def identity(self) -> str:
        """What a cached result depends on besides the kernel."""
        reader = hashlib.sha256(Path(counts.__file__).read_bytes()).hexdigest()
        return f"{self.compiler.identity} {codegen.header_digest()} {self.disassembler} {reader}"


def find_bench(environ: Mapping[str, str] = os.environ) -> Bench | str:
    """The tools of this machine, or why nothing can be compiled for a GPU."""
    compiler = find_compiler(environ)
    return compiler.reason if isinstance(compiler, NoCompiler) else Bench(compiler, find_disassembler(environ))


def find_disassembler(environ: Mapping[str, str] = os.environ) -> str | None:
    """``CUTECHECK_NVDISASM``, nvdisasm or cuobjdump of the path, a toolkit or NVIDIA's wheels."""
    named = environ.get("CUTECHECK_NVDISASM")
    if named:
        return program(named) or (str(Path(named).absolute()) if Path(named).is_file() else None)
    for name in ("nvdisasm", "cuobjdump"):
        homes = [environ[v] for v in ("CUDA_HOME", "CUDA_PATH") if environ.get(v)]
        for candidate in (name, *(str(Path(h) / "bin" / name) for h in (*homes, "/usr/local/cuda"))):
            if path := program(candidate):
                return path
        for package in packages("nvidia"):
            # wheels unpack it without its run bit: a private copy gets one
            if found := next((p for p in sorted(package.glob(f"*/bin/{name}")) if p.is_file()), None):
                return str(found)
    return None


def emitted(kernels: Sequence[Kernel], arch: str, bench: Bench) -> list[Emitted]:
    """What each kernel compiles to for one architecture, in order; equal kernels are compiled once."""
    if not _ARCH.fullmatch(arch):
        raise ValueError(f"no architecture: {arch!r}")
    kept = _Kept(bench, arch)
    found = {k: kept.read(k) for k in dict.fromkeys(kernels)}
    missing = [k for k, e in found.items() if e is None]
    jobs = bench.jobs or os.cpu_count() or 1
    size = max(1, min(CHUNK, -(-len(missing) // jobs)))
    chunks = [missing[i : i + size] for i in range(0, len(missing), size)]
    with ThreadPoolExecutor(jobs) as pool:
        for made in pool.map(lambda c: _chunk(c, arch, bench), chunks):
            for kernel, one in made.items():
                found[kernel] = one
                kept.write(kernel, one)
    return [found[k] or Emitted(failure="the compiler said nothing of it") for k in kernels]


def _chunk(kernels: Sequence[Kernel], arch: str, bench: Bench) -> dict[Kernel, Emitted]:
    """Compile kernels together; those that the compiler names are set apart, the rest is halved until it compiles."""
    out: dict[Kernel, Emitted] = {}
    wanted = list(kernels)
    while wanted:
        with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
            folder = Path(name)
            ended = _compile(wanted, arch, bench, folder)
            if (folder / "probe.ptx").is_file() and (folder / "probe.cubin").is_file():
                out.update(_read(wanted, folder, bench))
                return out
        text = ended.err + ended.out
        if _NO_ARCH.search(text):
            return {**out, **dict.fromkeys(wanted, Emitted(failure=f"the compiler has no {arch}"))}
        failures = blamed(text)
        apart = [k for k in wanted if k.name in failures]
        if not apart and len(wanted) == 1:
            return {**out, wanted[0]: Emitted(failure=_reason(ended))}
        for k in apart:
            out[k] = Emitted(failure=f"does not compile: {failures[k.name]}")
        wanted = [k for k in wanted if k not in out]
        if not apart:
            half = len(wanted) // 2
            out.update(_chunk(wanted[:half], arch, bench))
            wanted = wanted[half:]
    return out


def _reason(ended: child.Ended) -> str:
    if ended.code is None or ended.code < 0:
        return f"the compiler was {ended.failure}"
    return f"does not compile: {first_error(ended)}"


def _compile(kernels: Sequence[Kernel], arch: str, bench: Bench, folder: Path) -> child.Ended:
    source, made = folder / "probe.cu", folder / "probe.cubin"
    source.write_text(codegen.unit([(k.name, k.body, k.threads) for k in kernels]), encoding="utf-8")
    compiler = bench.compiler
    folders = [f"-I{d}" for d in (str(codegen.HEADER.parent), *compiler.include)]
    if compiler.kind == "nvcc":
        number = arch.removeprefix("sm_")
        target = f"-gencode=arch=compute_{number},code=sm_{number}"
        command = [compiler.path, "-cubin", target, "-std=c++17", "-w", "-keep", "-keep-dir", str(folder), *folders]
        return child.run([*command, str(source), "-o", str(made)], folder, bench.limits)
    script = str(Path(nvrtc.__file__))
    command = [sys.executable, "-I", script, compiler.path, str(source), str(made), f"-arch={arch}", *OPTIONS]
    return child.run([*command, *folders], folder, bench.limits)


def blamed(errors: str) -> dict[str, str]:
    """Kernels that the compiler's messages name, each with its first error.

    A message runs from its ``error`` line to the next; the instantiation context below it names the kernel.
    """
    out: dict[str, str] = {}
    message = ""
    for line in errors.splitlines():
        if found := re.search(r"\berror\s*(?:#\d+(?:-D)?)?\s*:\s*(.*)", line):
            message = " ".join(found[1].split())[:300]
        if message:
            for name in _NAME.findall(line):
                out.setdefault(name, message)
    return out


def _read(kernels: Sequence[Kernel], folder: Path, bench: Bench) -> dict[Kernel, Emitted]:
    ptx = counts.ptx_counts((folder / "probe.ptx").read_text(encoding="utf-8", errors="replace"))
    sass = None
    if bench.disassembler is not None:
        sass = sass_of(folder / "probe.cubin", bench.disassembler, folder, bench.limits)
    return {
        k: Emitted(dict(ptx.get(k.name, Counter())), None if sass is None else dict(sass.get(k.name, Counter())))
        for k in kernels
    }


def sass_of(cubin: Path, disassembler: str, folder: Path, limits: child.Limits) -> dict[str, Counter[Key]] | None:
    """Instructions of each kernel of a cubin by nvdisasm or cuobjdump; None where the tool cannot read it."""
    tool = _runnable(disassembler, folder)
    flags = ["-c"] if "nvdisasm" in Path(tool).name else ["-sass"]
    ended = child.run([tool, *flags, str(cubin)], folder, limits)
    return None if ended.failure else counts.sass_counts(ended.out)


def _runnable(tool: str, folder: Path) -> str:
    """The tool, or a private copy that may be run."""
    if os.access(tool, os.X_OK):
        return tool
    copy = folder / Path(tool).name
    shutil.copyfile(tool, copy)
    copy.chmod(0o700)
    return str(copy)


class _Kept:
    """Results of earlier runs, by content. Timeouts and crashes of the compiler are not kept."""

    def __init__(self, bench: Bench, arch: str) -> None:
        self.folder = (bench.cache or cache_folder().parent) / "isa"
        self.salt = f"{bench.identity} {arch}"

    def _file(self, kernel: Kernel) -> Path:
        return self.folder / (hashlib.sha256(f"{self.salt} {kernel.name}".encode()).hexdigest() + ".json")

    def read(self, kernel: Kernel) -> Emitted | None:
        """What was kept; None for nothing, or nothing readable."""
        try:
            data = json.loads(self._file(kernel).read_text(encoding="utf-8"))
            return Emitted(dict(_keys(data["ptx"])), None if data["sass"] is None else dict(_keys(data["sass"])),
                           str(data["failure"]))  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, kernel: Kernel, one: Emitted) -> None:
        if one.failure.startswith("the compiler"):
            return
        data = {"ptx": [[*k, n] for k, n in one.ptx.items()], "failure": one.failure,
                "sass": None if one.sass is None else [[*k, n] for k, n in one.sass.items()]}  # fmt: skip
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = self._file(kernel)
            part = file.with_suffix(f".{os.getpid()}.part")
            part.write_text(json.dumps(data), encoding="utf-8")
            part.replace(file)
        except OSError:
            return  # a cache that cannot be written is none


def _keys(rows: Sequence[Sequence[object]]) -> Iterator[tuple[Key, int]]:
    for kind, width, count in rows:
        yield (str(kind), str(width)), int(str(count))
