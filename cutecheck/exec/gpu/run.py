"""Running launches in child processes: a time and a memory limit each, spread over the GPUs of the host."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, Union

from cutecheck.exec import child

# CUDA reserves address space by the terabyte: the child limits its data itself
MEMORY = 16 << 30
LIMITS = child.Limits(seconds=120.0, memory=1 << 46, file=2 << 30)
_KEPT = ("LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "PYTHONPATH",
         "VIRTUAL_ENV", "CUTECHECK_CACHE")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Number:
    """A 32-bit argument."""

    value: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A device buffer: its bytes before the launch, and whether they are wanted back."""

    data: bytes
    back: bool = False


@dataclass(frozen=True, slots=True)
class EncodedMap:
    """A pointer to a tensor map over the buffer that is argument ``of``; enumerators as the CUDA driver has them.

    ``dims`` and ``box`` count elements, ``strides`` are bytes of the modes from the second on.
    """

    of: int
    data_type: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


Argument: TypeAlias = Union[Number, Buffer, EncodedMap, None]


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch; an argument that is None is a null pointer."""

    kernel: str
    cubin: Path
    block: int
    shared: int
    arguments: tuple[Argument, ...]
    grid: int = 1
    times: int = 0


@dataclass(frozen=True, slots=True)
class Launched:
    """What came back: ``failure`` in words or the buffers that were wanted, and times in milliseconds, sorted."""

    failure: str = ""
    buffers: tuple[bytes, ...] = ()
    milliseconds: tuple[float, ...] = field(default=())


def environment() -> dict[str, str]:
    """What a child needs to find the driver and CuPy; no variables of the user's besides."""
    kept = {k: os.environ[k] for k in _KEPT if k in os.environ}
    paths = [p for p in sys.path if p and Path(p).is_dir()]
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "CUPY_CACHE_IN_MEMORY": "1"}


def launch_each(
    launches: Sequence[Sequence[Launch]], devices: int = 1, limits: child.Limits = LIMITS, at_once: int = 4
) -> list[list[Launched]]:
    """Each group of launches in a child process of its own, ``at_once`` children a device."""

    def one(i: int) -> list[Launched]:
        return launch(launches[i], i % max(1, devices), limits)

    with ThreadPoolExecutor(max(1, devices) * at_once) as pool:
        return list(pool.map(one, range(len(launches))))


def launch(launches: Sequence[Launch], device: int = 0, limits: child.Limits = LIMITS) -> list[Launched]:
    """Some launches in one child process, in order."""
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
        folder = Path(name)
        jobs = write_jobs(launches, folder, device)
        script = str(Path(__file__).with_name("launch.py"))
        ended = child.run([sys.executable, script, str(jobs)], folder, limits, environment())
        return read_results(launches, folder, ended)


def write_jobs(launches: Sequence[Launch], folder: Path, device: int) -> Path:
    """The file of jobs for ``launch.py``, with its buffers beside it."""
    runs = []
    for i, one in enumerate(launches):
        arguments: list[dict[str, Any]] = []
        for j, argument in enumerate(one.arguments):
            if argument is None:
                arguments.append({"null": True})
            elif isinstance(argument, Number):
                arguments.append({"u32": argument.value})
            elif isinstance(argument, EncodedMap):
                arguments.append({"map": asdict(argument)})
            else:
                file = folder / f"{i}.{j}.in"
                file.write_bytes(argument.data)
                arguments.append({"file": str(file)})
                if argument.back:
                    arguments[-1]["save"] = str(folder / f"{i}.{j}.out")
        runs.append({
            "kernel": one.kernel, "cubin": str(one.cubin), "grid": one.grid, "block": one.block,
            "shared": one.shared, "times": one.times, "arguments": arguments,
        })  # fmt: skip
    jobs = folder / "jobs.json"
    jobs.write_text(json.dumps({"device": device, "memory": MEMORY, "runs": runs}), encoding="utf-8")
    return jobs


def read_results(launches: Sequence[Launch], folder: Path, ended: child.Ended) -> list[Launched]:
    """One result a launch; those after a failure say that they were not started."""
    lines = [json.loads(line) for line in ended.out.splitlines() if line.startswith("{")]
    out: list[Launched] = []
    for i, one in enumerate(launches):
        if i >= len(lines):
            last = [x for x in ended.err.splitlines() if x.strip()][-1:]
            reason = "not started: an earlier launch failed" if out and out[-1].failure else ""
            out.append(Launched(reason or " ".join(["the child was", ended.failure, *last])[:300]))
        elif lines[i]["status"] != "ok":
            out.append(Launched(lines[i]["error"]))
        else:
            files = [folder / f"{i}.{j}.out" for j, a in enumerate(one.arguments) if isinstance(a, Buffer) and a.back]
            buffers = tuple(f.read_bytes() for f in files)
            out.append(Launched("", buffers, tuple(lines[i].get("milliseconds", ()))))
    return out
