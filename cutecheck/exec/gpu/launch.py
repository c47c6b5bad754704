"""Launch kernels: ``launch.py JOBS.json``, run as a script in a child process. Needs CuPy and a GPU.

JOBS.json: ``{"device": n, "memory": bytes, "runs": [{"kernel", "cubin", "grid", "block", "shared", "times",
"arguments": [...]}]}``. An argument is ``{"u32": n}``, ``{"null": true}`` or a buffer ``{"file": path}`` or
``{"zeros": bytes}``; a buffer with ``"save": path`` is written there after the launch. ``times`` > 0: the kernel is
timed that often, too. One JSON line a run on stdout: ``{"status": "ok" | "failed", "error", "milliseconds"}``. After
a failure the context is lost: later runs are not started.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> int:
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent]
    jobs = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    if jobs.get("memory"):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = jobs["memory"] if hard == resource.RLIM_INFINITY else min(jobs["memory"], hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    import cupy

    with cupy.cuda.Device(jobs["device"]):
        for run in jobs["runs"]:
            try:
                print(json.dumps({"status": "ok", **_run(cupy, run)}), flush=True)
            except Exception as error:
                text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                print(json.dumps({"status": "failed", "error": text}), flush=True)
                return 1
    return 0


def _run(cupy: Any, run: dict[str, Any]) -> dict[str, Any]:
    module = cupy.RawModule(path=run["cubin"])
    kernel = module.get_function(run["kernel"])
    if run["shared"] > 48 << 10:
        kernel.max_dynamic_shared_size_bytes = run["shared"]
    made = [_argument(cupy, a) for a in run["arguments"]]
    grid, block = (run["grid"],), (run["block"],)
    kernel(grid, block, tuple(made), shared_mem=run["shared"])
    cupy.cuda.get_current_stream().synchronize()
    for value, argument in zip(made, run["arguments"], strict=True):
        if "save" in argument:
            Path(argument["save"]).write_bytes(cupy.asnumpy(value).tobytes())
    if not run.get("times"):
        return {}
    taken = []
    for _ in range(run["times"]):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        kernel(grid, block, tuple(made), shared_mem=run["shared"])
        end.record()
        end.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return {"milliseconds": sorted(taken)}


def _argument(cupy: Any, argument: dict[str, Any]) -> Any:
    import numpy

    if "u32" in argument:
        return numpy.uint32(argument["u32"])
    if "zeros" in argument:
        return cupy.zeros(argument["zeros"], dtype=cupy.uint8)
    if "file" in argument:
        return cupy.asarray(numpy.fromfile(argument["file"], dtype=numpy.uint8))
    return numpy.uint64(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
