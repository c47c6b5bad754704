"""What mistakes do, on a GPU, and what cutecheck says of them: ``run.py OUT CUTLASS RESULT.json [-j N] [--seconds N]``.

OUT is what ``make.py`` wrote. Each program is compiled by nvcc (with ``dump.cu``, by which all buffers are written to a
file), run, and its buffers are compared with those of the program without the mistake; programs that still give the
right result are run under ``compute-sanitizer --tool racecheck`` where the mistake is one of order. cutecheck is run as
``python -m cutecheck``: it must be importable.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ARCH = "90a"
WRAPPED = "--wrap=cudaMalloc,--wrap=cudaFree,--wrap=main,--wrap=srand"
OF_ORDER = ("drop-sync", "wait+1", "wait=0", "drop-half", "if-true")
TOLERANCE = {"f16": 0.02, "f32": 1e-4}  # of the largest number of a buffer
FORMAT = {"f16": np.float16, "f32": np.float32}
HANGS = 124


@dataclass
class Result:
    """``does``: rejected (by the compiler), right, wrong, error or hang; ``findings``: code, severity, path, line."""

    name: str
    mistake: dict[str, Any] | None
    does: str = ""
    detail: str = ""
    races: bool | None = None
    findings: list[tuple[str, str, str, int]] = field(default_factory=list)


def command(args: list[str], seconds: float, folder: Path, **variables: str) -> tuple[int, str]:
    try:
        env = {**os.environ, **variables}
        r = subprocess.run(args, cwd=folder, env=env, capture_output=True, timeout=seconds, start_new_session=True)
    except subprocess.TimeoutExpired:
        return HANGS, ""
    return r.returncode, (r.stdout + r.stderr).decode(errors="replace")


def buffers(path: Path) -> list[bytes]:
    data, out, at = path.read_bytes() if path.exists() else b"", [], 0
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        out.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return out


def difference(expected: list[bytes], found: list[bytes], element: str) -> str:
    """What differs by more than rounding; empty where nothing does."""
    if [len(b) for b in expected] != [len(b) for b in found]:
        return "other buffers"
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a == b:
            continue
        size = np.dtype(FORMAT[element]).itemsize
        x, y = (np.frombuffer(d[: len(d) // size * size], FORMAT[element]).astype(np.float64) for d in (a, b))
        finite = np.isfinite(x)
        if (finite != np.isfinite(y)).any():
            return f"buffer {i}: infinite or no numbers"
        largest = max(1e-6, float(np.abs(x[finite]).max())) if finite.any() else 1.0
        apart = np.abs(x - y)[finite] / largest
        if apart.size and apart.max() > TOLERANCE[element]:
            return f"buffer {i}: {int((apart > TOLERANCE[element]).sum())} of {len(x)} numbers"
    return ""


class Runner:
    def __init__(self, out: Path, cutlass: Path, seconds: float) -> None:
        self.out, self.include = out, [f"-I{cutlass}/{d}" for d in ("include", "tools/util/include", "examples/common")]
        self.ends = time.monotonic() + seconds
        self.expected: dict[str, list[list[bytes]]] = {}
        rc, log = command(["nvcc", "-c", str(HERE / "dump.cu"), "-o", "dump.o"], 300, out)
        if rc:
            raise SystemExit(log)

    def check(self, folder: Path) -> list[tuple[str, str, str, int]]:
        paths = [part for i in self.include for part in ("-I", i[2:])]
        args = [
            sys.executable,
            "-m",
            "cutecheck",
            "check",
            "--isolated",
            "--no-cache",
            "-j",
            "1",
            "--arch",
            f"sm_{ARCH}",
        ]
        try:
            r = subprocess.run(
                [*args, "--output-format", "json", ".", *paths], cwd=folder, capture_output=True, timeout=600
            )
            found = json.loads(r.stdout)["findings"]
        except (subprocess.TimeoutExpired, ValueError, KeyError):
            return [("failed", "failure", "", 0)]
        return [(f["code"], f["severity"], f["path"], f["line"]) for f in found]

    def run(self, folder: Path) -> Result | None:
        if time.monotonic() > self.ends:
            return None
        about = json.loads((folder / "mutant.json").read_text())
        result = Result(about["name"], about["mistake"], findings=self.check(folder))
        flags = ["-std=c++17", "-O2", "-w", f"-gencode=arch=compute_{ARCH},code=sm_{ARCH}", "--expt-relaxed-constexpr"]
        build = ["nvcc", *flags, f"-I{HERE / 'stand_ins'}", "-I.", *self.include, "-Xlinker", WRAPPED]
        rc, log = command([*build, about["main"], str(self.out / "dump.o"), "-lcuda", "-o", "prog"], 300, folder)
        if rc:
            result.does, result.detail = "rejected", next((x for x in log.split("\n") if "error" in x), "")[:200]
            return result
        self._runs(folder, about, result)
        order = result.mistake is not None and result.mistake["operator"] in OF_ORDER
        if result.does == "right" and order:
            tool = [
                "compute-sanitizer",
                "--tool",
                "racecheck",
                "--racecheck-report",
                "analysis",
                "--error-exitcode",
                "55",
            ]
            result.races = any(self._once(folder, about, args, tool, 120)[0] == 55 for args in about["runs"])
        for file in ("prog", "dump"):
            (folder / file).unlink(missing_ok=True)
        return result

    def _once(self, folder: Path, about: Any, args: str, tool: list[str], seconds: float) -> tuple[int, str]:
        (folder / "dump").unlink(missing_ok=True)
        frees = str(about["frees"] or "")
        return command([*tool, "./prog", *args.split()], seconds, folder, DUMP=str(folder / "dump"), STOP=frees)

    def _runs(self, folder: Path, about: Any, result: Result) -> None:
        found = []
        for i, args in enumerate(about["runs"]):
            rc, log = self._once(folder, about, args, [], 30)
            if rc:
                result.does, result.detail = ("hang" if rc == HANGS else "error"), log[-200:]
                return
            found.append(buffers(folder / "dump"))
            if about["mistake"] is not None:
                wrong = difference(self.expected[about["name"]][i], found[-1], about["element"])
                if wrong:
                    result.does, result.detail = "wrong", wrong
                    return
        if about["mistake"] is None:
            self.expected[about["name"]] = found
        result.does = "right"


def said(result: Result, base: Result) -> str:
    """The gravest finding that the program without the mistake does not have."""
    new = {f[1] for f in (Counter(result.findings) - Counter(base.findings))}
    return next((s for s in ("failure", "error", "warning", "note") if s in new), "nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("cutlass", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    runner = Runner(options.out.resolve(), options.cutlass.resolve(), options.seconds)
    bases = sorted((options.out / "base").iterdir())
    with ThreadPoolExecutor(options.j) as pool:
        base = {r.name: r for r in pool.map(runner.run, bases) if r is not None}
        good = {n for n, r in base.items() if r.does == "right"}
        made = [d for i in range(1000) for n in sorted(good) if (d := options.out / n / f"{i:03d}").is_dir()]
        results = [r for r in pool.map(runner.run, made) if r is not None]
    options.result.write_text(json.dumps([asdict(r) for r in (*base.values(), *results)]))
    print("not run:", {n: (r.does, r.detail) for n, r in base.items() if n not in good})
    for (does, what), count in sorted(Counter((r.does, said(r, base[r.name])) for r in results).items()):
        print(f"{does:9} {what:8} {count}")
    for r in results:
        what, m = said(r, base[r.name]), r.mistake or {}
        if what == "nothing" and (r.does in ("wrong", "error", "hang") or r.races):
            print(f"silent: {r.name} {m['file']}:{m['line']} {m['operator']}: {m['before']}  =>  {m['after']}")


if __name__ == "__main__":
    main()
