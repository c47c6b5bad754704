"""Hardware counters by CUPTI's range profiler: ``cupti.py LIBRARY JOBS.json METRIC...``, run in a child process.

Every launch of the jobs (see ``launch.py``) is a range of its own, replayed by CUPTI where one pass cannot count all
metrics. One JSON line a launch on stdout: ``{"kernel": name, "counters": {metric: value}}``.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

_POINTER, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_TEXTS = ctypes.POINTER(_TEXT)
_AUTO_RANGE, _KERNEL_REPLAY = 1, 1

# fields after (structSize, pPriv) of each call's parameters, as CUPTI's headers declare them
_FIELDS: dict[str, list[tuple[str, Any]]] = {
    "cuptiProfilerInitialize": [],
    "cuptiDeviceGetChipName": [("device", _SIZE), ("chip", _TEXT)],
    "cuptiProfilerGetCounterAvailability": [("context", _POINTER), ("size", _SIZE), ("image", _POINTER)],
    "cuptiProfilerHostInitialize": [
        ("type", ctypes.c_int), ("chip", _TEXT), ("availability", _POINTER), ("host", _POINTER),
    ],
    "cuptiProfilerHostConfigAddMetrics": [("host", _POINTER), ("metrics", _TEXTS), ("count", _SIZE)],
    "cuptiProfilerHostGetConfigImageSize": [("host", _POINTER), ("size", _SIZE)],
    "cuptiProfilerHostGetConfigImage": [("host", _POINTER), ("size", _SIZE), ("image", _POINTER)],
    "cuptiProfilerHostEvaluateToGpuValues": [
        ("host", _POINTER), ("data", _POINTER), ("size", _SIZE), ("range", _SIZE), ("metrics", _TEXTS),
        ("count", _SIZE), ("values", ctypes.POINTER(ctypes.c_double)),
    ],
    "cuptiRangeProfilerEnable": [("context", _POINTER), ("profiler", _POINTER)],
    "cuptiRangeProfilerGetCounterDataSize": [
        ("profiler", _POINTER), ("metrics", _TEXTS), ("count", _SIZE), ("ranges", _SIZE), ("nodes", ctypes.c_uint32),
        ("size", _SIZE),
    ],
    "cuptiRangeProfilerCounterDataImageInitialize": [("profiler", _POINTER), ("size", _SIZE), ("data", _POINTER)],
    "cuptiRangeProfilerSetConfig": [
        ("profiler", _POINTER), ("config_size", _SIZE), ("config", _POINTER), ("data_size", _SIZE),
        ("data", _POINTER), ("range", ctypes.c_int), ("replay", ctypes.c_int), ("ranges", _SIZE),
        ("levels", ctypes.c_uint16), ("least_level", ctypes.c_uint16), ("pass_index", _SIZE),
        ("target_level", ctypes.c_uint16),
    ],
    "cuptiRangeProfilerStart": [("profiler", _POINTER)],
    "cuptiRangeProfilerStop": [
        ("profiler", _POINTER), ("pass_index", _SIZE), ("target_level", _SIZE), ("all_passes", ctypes.c_uint8),
    ],
    "cuptiRangeProfilerDecodeData": [("profiler", _POINTER), ("dropped", _SIZE)],
    "cuptiRangeProfilerGetCounterDataInfo": [("data", _POINTER), ("size", _SIZE), ("ranges", _SIZE)],
}  # fmt: skip


class CuptiError(RuntimeError):
    """A call of CUPTI failed."""


class Cupti:
    """The calls of one library; each returns its parameters after the call."""

    def __init__(self, library: Path) -> None:
        for name in ("libnvperf_host.so", "libnvperf_target.so"):
            for found in sorted(library.parent.glob(f"{name}*")):
                ctypes.CDLL(str(found), mode=ctypes.RTLD_GLOBAL)  # CUPTI looks for them by name
        self.library = ctypes.CDLL(str(library))

    def __call__(self, name: str, **given: Any) -> Any:
        kind = type(name, (ctypes.Structure,), {"_fields_": [("own_size", _SIZE), ("own", _POINTER), *_FIELDS[name]]})
        parameters: Any = kind(**given)
        last = kind._fields_[-1][0]  # type: ignore[attr-defined]
        field = getattr(kind, last)
        parameters.own_size = field.offset + field.size
        status = getattr(self.library, name)(ctypes.byref(parameters))
        if status:
            said = _TEXT()
            self.library.cuptiGetResultString(status, ctypes.byref(said))
            raise CuptiError(f"{name}: {(said.value or b'').decode()} ({status})")
        return parameters

    def host(self, chip: bytes, availability: Any = None) -> Any:
        """A profiler host object of a chip; needs no GPU."""
        return self("cuptiProfilerHostInitialize", type=0, chip=chip, availability=availability).host

    def config(self, host: Any, metrics: Any, count: int) -> Any:
        """The image of the configuration that counts some metrics; needs no GPU."""
        self("cuptiProfilerHostConfigAddMetrics", host=host, metrics=metrics, count=count)
        size = self("cuptiProfilerHostGetConfigImageSize", host=host).size
        image = (ctypes.c_uint8 * size)()
        self("cuptiProfilerHostGetConfigImage", host=host, size=size, image=ctypes.addressof(image))
        return image


def texts(names: list[str]) -> Any:
    """An array of C strings."""
    return (_TEXT * len(names))(*(n.encode() for n in names))


class Session:
    """The range profiler of the current context, configured for some metrics."""

    def __init__(self, call: Cupti, device: int, metrics: list[str]) -> None:
        self.call, self.names, self.count = call, texts(metrics), len(metrics)
        call("cuptiProfilerInitialize")
        chip = call("cuptiDeviceGetChipName", device=device).chip
        size = call("cuptiProfilerGetCounterAvailability").size
        available = (ctypes.c_uint8 * size)()
        call("cuptiProfilerGetCounterAvailability", size=size, image=ctypes.addressof(available))
        self.host = call.host(chip, ctypes.addressof(available))
        self.config = call.config(self.host, self.names, self.count)
        self.profiler = call("cuptiRangeProfilerEnable").profiler

    def counted(self, work: Any) -> list[float]:
        """The metrics of the one kernel that ``work`` launches and waits for."""
        call, profiler = self.call, self.profiler
        size = call(
            "cuptiRangeProfilerGetCounterDataSize", profiler=profiler, metrics=self.names, count=self.count, ranges=1,
            nodes=1,
        ).size  # fmt: skip
        data = (ctypes.c_uint8 * size)()
        at = ctypes.addressof(data)
        call("cuptiRangeProfilerCounterDataImageInitialize", profiler=profiler, size=size, data=at)
        call(
            "cuptiRangeProfilerSetConfig", profiler=profiler, config_size=len(self.config),
            config=ctypes.addressof(self.config), data_size=size, data=at, range=_AUTO_RANGE, replay=_KERNEL_REPLAY,
            ranges=1, levels=1, least_level=1, pass_index=0, target_level=0,
        )  # fmt: skip
        call("cuptiRangeProfilerStart", profiler=profiler)
        work()
        call("cuptiRangeProfilerStop", profiler=profiler)
        call("cuptiRangeProfilerDecodeData", profiler=profiler)
        if not call("cuptiRangeProfilerGetCounterDataInfo", data=at, size=size).ranges:
            raise CuptiError("no range was recorded")
        values = (ctypes.c_double * self.count)()
        call(
            "cuptiProfilerHostEvaluateToGpuValues", host=self.host, data=at, size=size, range=0, metrics=self.names,
            count=self.count, values=values,
        )  # fmt: skip
        return list(values)


def main(arguments: list[str]) -> int:
    library, jobs, *metrics = arguments
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent]
    import cupy

    from cutecheck.exec.gpu.launch import prepared

    given = json.loads(Path(jobs).read_text(encoding="utf-8"))
    with cupy.cuda.Device(given["device"]):
        cupy.zeros(1)  # makes the context
        try:
            session = Session(Cupti(Path(library)), given["device"], metrics)
            for run in given["runs"]:
                work, _ = prepared(cupy, run)
                values = session.counted(work)
                print(json.dumps({"kernel": run["kernel"], "counters": dict(zip(metrics, values, strict=True))}))
        except (CuptiError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
