"""Running a plan on a GPU: everything that was measured, as plain JSON values."""

from __future__ import annotations

import datetime
import pickle
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from confirmation import segments
from confirmation.plan import IllegalSource, Plan
from cutecheck.exec.gpu import copies, counters, gemms
from cutecheck.exec.gpu.codegen import Unit, unit
from cutecheck.exec.gpu.compile import compile_units
from cutecheck.exec.gpu.measure import measure, unit_of
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.results import Bench, Measured, Probe
from cutecheck.exec.gpu.run import Buffer, Launch, launch, launch_each
from cutecheck.exec.gpu.tier import EventResult, finding_result, judged

_REPS = 256
_CHUNK = 48
_POISON = 0xCD


def run(plan: Plan, bench: Bench, state: Path | None = None, seconds: float = 1e9) -> dict[str, Any] | None:
    """Every part of the plan; each is independent of the others.

    After ``seconds`` it stops with None; what was measured is kept in ``state`` for the next call.
    """
    begin = time.monotonic()
    out: dict[str, Any] = {"environment": environment(bench)}

    def said(name: str) -> None:
        print(f"{time.monotonic() - begin:7.1f} s  {name}", flush=True)

    probes = [item.probe for item in plan.items if item.kept is None]
    probes += [p for s in plan.sources for _, p in s.events]
    probes += [p for pair in plan.pairs for p in (pair.before, pair.after)] + [p for _, p in plan.pages]
    probes += [one.probe for one in plan.illegal if one.probe is not None and one.kept is None]
    wanted = list(dict.fromkeys(p for p in probes if not isinstance(p, str)))
    said(f"{len(wanted)} different kernels")
    measured = _measured(wanted, bench, said, state, seconds)
    if measured is None:
        return None
    said("measured")
    out["items"] = [
        {**i.kept, "kept": True}
        if i.kept is not None
        else {"group": i.group, "name": i.name, **_one(measured[i.probe] if not isinstance(i.probe, str) else i.probe)}
        for i in plan.items
    ]
    out["earlier"] = plan.earlier
    out["sources"] = [_source(s, measured) for s in plan.sources]
    fresh = iter(_illegal([one for one in plan.illegal if one.kept is None], measured, bench))
    out["illegal"] = [{**one.kept, "kept": True} if one.kept is not None else next(fresh) for one in plan.illegal]
    said("illegal sources")
    out["pairs"] = [
        {"name": p.name, "suggestion": p.suggestion, "before": b, "after": a}
        for p, (b, a) in zip(plan.pairs, timed([(p.before, p.after) for p in plan.pairs], measured, bench), strict=True)
    ]
    out["unpaired"] = [{"name": u.name, "reason": u.reason} for u in plan.unpaired]
    times = timed([tuple(p for _, p in plan.pages)], measured, bench)[0] if plan.pages else []
    out["pages"] = [{"name": n, **t} for (n, _), t in zip(plan.pages, times, strict=True)]
    said("times")
    out["segments"] = segments.measure(list(plan.patterns), bench)
    said("segments")
    return out


def _measured(
    wanted: list[Probe], bench: Bench, said: Callable[[str], None], state: Path | None, seconds: float
) -> dict[Probe, Measured] | None:
    """Everything measured, some probes at a time, so that a lease that ends loses little."""
    begin = time.monotonic()
    done: dict[Probe, Measured] = {}
    if state is not None and state.is_file():
        done = pickle.loads(state.read_bytes())
    left = [p for p in wanted if p not in done]
    chunks = [left[start : start + _CHUNK] for start in range(0, len(left), _CHUNK)]
    with ThreadPoolExecutor(1) as ahead:  # later chunks are compiled while earlier ones run
        compiled = [ahead.submit(_compile, some, bench) for some in chunks]
        for i, some in enumerate(chunks):
            if time.monotonic() - begin > seconds:
                said(f"stopped: {len(left) - i * _CHUNK} kernels left")
                ahead.shutdown(cancel_futures=True)
                return None
            compiled[i].result()
            said(f"{min((i + 1) * _CHUNK, len(left))} of {len(left)} kernels compiled")
            done.update(zip(some, _guarded(some, bench), strict=True))
            if state is not None:
                state.write_bytes(pickle.dumps(done))
            said(f"{min((i + 1) * _CHUNK, len(left))} of {len(left)} kernels measured")
    return done


def _compile(some: list[Probe], bench: Bench) -> None:
    units = {u.kernel: u for p in some if (u := unit_of(p)) is not None}
    compile_units(list(units.values()), bench.arch, bench.compiler, bench.cache, bench.jobs)


def _guarded(some: list[Probe], bench: Bench) -> list[Measured]:
    """The measurements of some probes; a probe that cannot be prepared costs itself alone."""
    try:
        return measure(some, bench)
    except (ValueError, AssertionError, TypeError) as error:
        if len(some) == 1:
            return [Measured("unavailable", f"internal error: {error}")]
        half = len(some) // 2
        return [*_guarded(some[:half], bench), *_guarded(some[half:], bench)]


def environment(bench: Bench) -> dict[str, Any]:
    """Device and versions, as the tools name them."""

    def asked(*command: str) -> str:
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return "unknown"

    ncu = next((source.path for source in bench.sources if source.tool == "ncu"), "")
    name, _, driver = asked("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition(", ")
    version = [x for x in (asked(ncu, "--version").splitlines() if ncu else []) if "Version" in x]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "device": name, "driver": driver, "arch": bench.arch, "compiler": bench.compiler.kind,
        "cuda": next((p for p in asked("nvcc", "--version").split() if p.startswith("V")), "unknown"),
        "cutlass": bench.compiler.version, "ncu": version[0].strip() if version else "none",
        "cupy": _cupy(), "python": platform.python_version(), "devices": bench.devices,
        "metrics": dict(counters.METRICS),
    }  # fmt: skip


def _cupy() -> str:
    from importlib.metadata import packages_distributions, version

    names = packages_distributions().get("cupy", [])
    return f"{names[0]} {version(names[0])}" if names else "none"


def _one(measured: Measured | str) -> dict[str, Any]:
    if isinstance(measured, str):
        return {"outcome": "unavailable", "reason": measured}
    return {
        "outcome": measured.outcome, "reason": measured.reason, "kernel": measured.kernel,
        "predicted": dict(measured.predicted), "counted": [asdict(c) for c in measured.counted],
        "merged": list(measured.merged), "no_counters": measured.no_counters, "tool": measured.tool,
        "checks": list(measured.checks),
    }  # fmt: skip


def _source(source: Any, measured: dict[Probe, Measured]) -> dict[str, Any]:
    results = [
        EventResult(e, None, None, "unavailable", p)
        if isinstance(p, str)
        else judged(e, p, measured[p], source.findings)
        for e, p in source.events
    ]
    found = [finding_result(f, results) for f in source.findings]
    return {
        "group": source.group,
        "name": source.name,
        "events": [
            {"line": r.event.span.line, "kind": r.event.kind, "status": r.status, "reason": r.reason,
             **({} if r.measured is None else {"measured": _one(r.measured)})}
            for r in results
        ],
        "findings": [
            {"code": f.finding.code, "line": f.finding.span.line, "severity": f.finding.severity,
             "status": f.status, "reason": f.reason}
            for f in found
        ],
    }  # fmt: skip


def _illegal(sources: Sequence[IllegalSource], measured: dict[Probe, Measured], bench: Bench) -> list[dict[str, Any]]:
    """Compile each source as it is; run what compiles; look at what was missed, doubled or left poisoned."""
    units = [Unit("illegal", s.text) for s in sources]
    made = compile_units(units, bench.arch, bench.compiler, bench.cache, bench.jobs)
    out: list[dict[str, Any]] = []
    runs: list[tuple[int, Launch]] = []
    for i, (source, compiled) in enumerate(zip(sources, made, strict=True)):
        out.append({"kind": source.kind, "codes": list(source.codes), "text": source.text})
        if compiled.cubin is None:
            out[i].update(shown="refused", reason=compiled.failure)
            continue
        buffer = Buffer(bytes([_POISON]) * (1 << 20), back=True)
        bounds = int(source.text.split("__launch_bounds__(")[1].split(")")[0])
        runs.append((i, Launch("illegal", compiled.cubin, bounds, 0, (buffer,))))
    results = launch_each([[one] for _, one in runs], bench.devices, bench.limits, bench.at_once)
    for (i, _), (got,) in zip(runs, results, strict=True):
        source = sources[i]
        if got.failure:
            out[i].update(shown="faulted", reason=got.failure)
        elif source.probe is not None and source.coverage:
            m = measured[source.probe]
            equal = m.outcome == "equal"
            out[i].update(shown="counted" if equal else "not shown", reason=source.coverage if equal else m.reason)
        elif source.probe is not None and measured[source.probe].outcome == "wrong":
            out[i].update(shown="wrong values", reason=measured[source.probe].reason)
        elif source.kind.startswith("permutation"):
            size = int(source.text.split("Shape<_16, Int<")[1].split(">")[0]) * 16
            left = sum(got.buffers[0][4 * j : 4 * j + 4] == bytes([_POISON]) * 4 for j in range(size))
            out[i].update(
                shown="poison left" if left else "not shown", reason=f"{left} of {size} elements never written"
            )
        else:
            out[i].update(shown="not shown", reason="it compiles and runs")
    return out


def timed(rows: Sequence[Sequence[Probe]], measured: dict[Probe, Measured], bench: Bench) -> list[list[dict[str, Any]]]:
    """Cycles of one run of each probe (the least of three launches), one row in one process."""
    out = []
    for row in rows:
        launches = []
        for probe in row:
            m = measured[probe]
            if m.outcome not in ("equal", "wrong"):
                launches = []
                break
            cubin = compile_units([unit(probe)], bench.arch, bench.compiler, bench.cache)[0].cubin
            assert cubin is not None
            if isinstance(probe, CopyProbe):
                launches.append(copies.launch(probe, copies.sides(probe), m.kernel, cubin, 0, 0, _REPS))
            else:
                launches.append(gemms.launch(probe, gemms.random(probe, 1), m.kernel, cubin, 0, _REPS))
        got = launch([*launches, *launches, *launches]) if launches else []
        if not got or any(one.failure for one in got):
            out.append([{"cycles": None, "reason": next((g.failure for g in got if g.failure), "not run")}] * len(row))
            continue
        times = []
        for i, probe in enumerate(row):
            runs = [got[i + k * len(row)].buffers[-1] for k in range(3)]
            cycles = [max(int.from_bytes(b[j : j + 8], "little") for j in range(0, len(b), 8)) / _REPS for b in runs]
            times.append({"cycles": round(min(cycles), 1), **_waves(measured[probe])})
        out.append(times)
    return out


def _waves(m: Measured) -> dict[str, Any]:
    counted = {c.name: c.measured for c in m.counted if c.name.startswith("wavefronts")}
    return {"wavefronts": sum(counted.values()), "segments": m.predicted.get("cg_segments", 0)}
