"""What this machine has for the GPU tier: devices, CuPy, a device compiler, counters; or why not."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.gpu.compile import NoCompiler, find_compiler
from cutecheck.exec.gpu.counters import find_sources
from cutecheck.exec.gpu.results import Bench
from cutecheck.exec.gpu.run import environment

_ASK = """
import sys
try:
    import cupy
except ImportError:
    sys.exit("CuPy is not installed (extra gpu)")
try:
    count = cupy.cuda.runtime.getDeviceCount()
    if not count:
        sys.exit("no CUDA device")
    print(count, cupy.cuda.Device(0).compute_capability)
except cupy.cuda.runtime.CUDARuntimeError as error:
    sys.exit(f"no CUDA device: {error}")
"""


def find_bench(environ: Mapping[str, str] = os.environ, wanted: str = "auto") -> Bench | str:
    """The bench of this machine, or why the tier is unavailable. CUDA is only asked in a child process.

    ``wanted``: the one way to measure wavefronts, see :func:`find_sources`.
    """
    compiler = find_compiler(environ)
    if isinstance(compiler, NoCompiler):
        return compiler.reason
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as folder:
        limits = child.Limits(seconds=60.0, memory=1 << 46)
        ended = child.run([sys.executable, "-c", _ASK], Path(folder), limits, environment())
    if ended.failure:
        last = [line for line in ended.err.splitlines() if line.strip()][-1:]
        return " ".join(last or [ended.failure])[:300]
    count, capability = ended.out.split()
    number = int(capability)
    arch = f"sm_{number}a" if number >= 90 else f"sm_{number}"
    at_once = max(4, min(16, os.cpu_count() or 4))
    return Bench(compiler, arch, int(count), find_sources(environ, wanted), at_once=at_once)
