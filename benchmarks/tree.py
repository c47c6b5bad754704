"""Time and memory over whole trees: ``python benchmarks/tree.py TREE... [--compile FILE -I DIR...]``.

For each tree: ``cutecheck check`` cold and warm, with one process and with two, each in a process and with a cache
folder of its own. Prints wall-clock and CPU seconds, files a second, and the peak memory of the largest process.
``--compile`` compares one translation unit: nvcc (``-c``, for sm_80) against cutecheck on the same file. Those of
FlashAttention need PyTorch's headers, or stand-ins for the three that they include, on the ``-I`` path.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import cutecheck
from cutecheck.source.discover import SUFFIXES


@dataclass(frozen=True, slots=True)
class Sample:
    """One child: seconds of wall clock and of CPU, MiB of its largest process, its exit code."""

    wall: float
    cpu: float
    peak_mib: int
    code: int


def measured(command: list[str], limit: float, **variables: str) -> Sample:
    """Run a command in a process group that is a child of a child, so that its own peak is seen."""
    script = (
        "import os,resource,subprocess,sys,time\n"
        "t=time.perf_counter()\n"
        "try: code=subprocess.run(sys.argv[2:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL,"
        "timeout=float(sys.argv[1])).returncode\n"
        "except subprocess.TimeoutExpired: code=-1\n"
        "u=resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(time.perf_counter()-t,u.ru_utime+u.ru_stime,u.ru_maxrss>>10,code)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(limit), *command],
        capture_output=True, text=True, check=True, env={**_environment(), **variables},
    )  # fmt: skip
    wall, cpu, peak, code = found.stdout.split()
    return Sample(float(wall), float(cpu), int(peak), int(code))


def _environment() -> dict[str, str]:
    """Compiled modules are kept, as they are for a user: without them every start compiles 400 files."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def shown(name: str, sample: Sample, files: int) -> str:
    rate = f"{files / sample.wall:8.0f} files/s" if files else ""
    end = "" if sample.code in (0, 1) else f"  exit {sample.code}"
    return f"{name:<28}{sample.wall:8.1f} s wall {sample.cpu:8.1f} s CPU {sample.peak_mib:6d} MiB {rate}{end}"


def tree(path: Path, limit: float, command: str) -> None:
    files = sum(p.suffix in SUFFIXES for p in path.rglob("*") if p.is_file())
    print(f"{path.name}: {files} source files")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(Path(cutecheck.__file__).parent)], check=False)
    base = [sys.executable, "-m", "cutecheck", command, str(path), "--isolated", "--output-format", "json"]
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            run = [*base, "-j", str(jobs), "--output-file", str(Path(folder) / "out.json")]
            for state in ("cold", "warm"):
                sample = measured(run, limit, CUTECHECK_CACHE_DIR=str(Path(folder) / "cache"))
                print(shown(f"  {command} {state}, -j {jobs}", sample, files), flush=True)


def compared(file: Path, include: list[str], limit: float) -> None:
    """One translation unit: the compiler against cutecheck on that file alone."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [f for i in include for f in ("-I", i)]
        nvcc = ["nvcc", "-std=c++17", "-arch=sm_80", "--expt-relaxed-constexpr", "--expt-extended-lambda", *flags]
        compiler = measured([*nvcc, "-c", str(file), "-o", str(Path(folder) / "out.o")], limit)
        own = measured(
            [sys.executable, "-m", "cutecheck", "facts", str(file), "--isolated", "-j", "1", "--output-format", "json",
             "--output-file", str(Path(folder) / "out.json")], limit, CUTECHECK_CACHE_DIR=str(Path(folder) / "cache")
        )  # fmt: skip
    print(f"{file.name}")
    print(shown("  nvcc -c", compiler, 0))
    print(shown("  cutecheck facts, cold", own, 0))
    if compiler.code != 0:
        print("  the file does not compile with these include folders")
        return
    print(f"  {compiler.cpu / own.cpu:.0f} times the CPU time, {compiler.wall / own.wall:.0f} times the wall clock")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--command", choices=("check", "facts"), default="check")
    parser.add_argument("--compile", type=Path, metavar="FILE")
    parser.add_argument("-I", "--include", action="append", default=[])
    parser.add_argument("--limit", type=float, default=3600, metavar="SECONDS", help="of one run (3600)")
    given = parser.parse_args()
    started = time.perf_counter()
    for path in given.trees:
        tree(path, given.limit, given.command)
    if given.compile is not None:
        compared(given.compile, given.include, given.limit)
    print(f"{time.perf_counter() - started:.0f} s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end, "
          f"largest of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
