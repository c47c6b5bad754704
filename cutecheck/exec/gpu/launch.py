"""Launch kernels: ``launch.py JOBS.json``, run as a script in a child process. Needs CuPy and a GPU.

JOBS.json: ``{"device": n, "memory": bytes, "runs": [{"kernel", "cubin", "grid", "block", "shared", "times",
"arguments": [...]}]}``. An argument is ``{"u32": n}``, ``{"null": true}``, a buffer ``{"file": path}`` or
``{"zeros": bytes}``, or ``{"map": {...}}``, which points to the tensor map of an earlier buffer; a buffer with
``"save": path`` is written there after the launch. ``times`` > 0: the kernel is timed that often, too. One JSON line a
run on stdout: ``{"status": "ok" | "failed", "error", "milliseconds"}``. After a failure the context is lost: later
runs are not started.
"""

from __future__ import annotations

import ctypes
import json
import resource
import sys
from collections.abc import Callable
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


def prepared(cupy: Any, run: dict[str, Any]) -> tuple[Callable[[], None], list[Any]]:
    """What launches a run's kernel and waits for it, and its arguments on the device."""
    module = cupy.RawModule(path=run["cubin"])
    kernel = module.get_function(run["kernel"])
    if run["shared"] > 48 << 10:
        kernel.max_dynamic_shared_size_bytes = run["shared"]
    made: list[Any] = []
    for a in run["arguments"]:
        made.append(_tensor_map(cupy, a["map"], made) if "map" in a else _argument(cupy, a))

    def work() -> None:
        kernel((run["grid"],), (run["block"],), tuple(made), shared_mem=run["shared"])
        cupy.cuda.get_current_stream().synchronize()

    return work, made


def _run(cupy: Any, run: dict[str, Any]) -> dict[str, Any]:
    work, made = prepared(cupy, run)
    work()
    for value, argument in zip(made, run["arguments"], strict=True):
        if "save" in argument:
            Path(argument["save"]).write_bytes(cupy.asnumpy(value).tobytes())
    taken = []
    for _ in range(run.get("times", 0)):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return {"milliseconds": sorted(taken)} if taken else {}


def _argument(cupy: Any, argument: dict[str, Any]) -> Any:
    import numpy

    if "u32" in argument:
        return numpy.uint32(argument["u32"])
    if "zeros" in argument:
        return cupy.zeros(argument["zeros"], dtype=cupy.uint8)
    if "file" in argument:
        return cupy.asarray(numpy.fromfile(argument["file"], dtype=numpy.uint8))
    return numpy.uint64(0)


def _tensor_map(cupy: Any, given: dict[str, Any], made: list[Any]) -> Any:
    """The encoded map in device memory. Interleaving, L2 promotion and filling are those of make_tma_copy."""
    import numpy

    rank, buffer = len(given["dims"]), made[given["of"]]
    room = numpy.zeros(_MAP_ROOM // 8 + 8, dtype=numpy.uint64)
    first = -room.ctypes.data // 8 % 8  # the driver wants 64 bytes of alignment
    encoded = room[first : first + _MAP_ROOM // 8]

    def numbers(kind: Any, values: list[int]) -> Any:
        return (kind * 5)(*values, *[1] * (5 - len(values)))

    status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(encoded.ctypes.data), ctypes.c_int(given["data_type"]), ctypes.c_uint32(rank),
        ctypes.c_void_p(buffer.data.ptr), numbers(ctypes.c_uint64, given["dims"]),
        numbers(ctypes.c_uint64, given["strides"]), numbers(ctypes.c_uint32, given["box"]),
        numbers(ctypes.c_uint32, []), ctypes.c_int(0), ctypes.c_int(given["swizzle"]), ctypes.c_int(_L2_128B),
        ctypes.c_int(0),
    )  # fmt: skip
    if status:
        raise ValueError(f"cuTensorMapEncodeTiled refuses the tensor map: error {status}")
    if cupy.cuda.runtime.driverGetVersion() <= 13010 and buffer.nbytes < _SMALL:
        encoded[1] &= ~numpy.uint64(1 << 21)  # as make_tma_copy_desc does for small tensors on these drivers
    return cupy.asarray(encoded)


_MAP_ROOM = 512  # an object of make_tma_copy's type: the map of 128 bytes first, then strides
_L2_128B = 2
_SMALL = 131072


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
