"""Running a plan on a GPU: everything that was measured, as plain JSON values."""

from __future__ import annotations

import datetime
import hashlib
import pickle
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from confirmation import segments
from confirmation.plan import IllegalSource, Plan, Source
from cutecheck.exec.gpu import copies, counters, gemms
from cutecheck.exec.gpu.codegen import Unit, unit
from cutecheck.exec.gpu.compile import Compiled, compile_units
from cutecheck.exec.gpu.measure import count, measure, unit_of, values
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.results import Bench, Measured, Probe
from cutecheck.exec.gpu.run import Buffer, Launch, launch, launch_each
from cutecheck.exec.gpu.sources import by_source
from cutecheck.exec.gpu.tier import EventResult, by_site, finding_result, judged

_REPS = 256
_CHUNK = 48
_POISON = 0xCD
Ran: TypeAlias = tuple[dict[Probe, Measured], dict[Probe, Path]]


def run(plan: Plan, bench: Bench, state: Path | None = None, seconds: float = 1e9) -> dict[str, Any] | None:
    """Every part of the plan; each is independent of the others.

    After ``seconds`` it stops with None; what was measured is kept in ``state`` for the next call.
    """
    begin = time.monotonic()
    out: dict[str, Any] = {"environment": environment(bench)}

    def said(name: str) -> None:
        print(f"{time.monotonic() - begin:7.1f} s  {name}", flush=True)

    probes = [item.probe for item in plan.items]
    probes += [p for s in plan.sources for _, p in s.events] + [p for s in plan.sources for p in s.own if p is not None]
    probes += [p for pair in plan.pairs for p in (pair.before, pair.after)] + [p for _, p in plan.pages]
    probes += [one.probe for one in plan.illegal if one.probe is not None]
    wanted = list(dict.fromkeys(p for p in probes if not isinstance(p, str)))
    said(f"{len(wanted)} different kernels")
    kept = State(state, out["environment"])
    whole = {one.text: Unit("illegal", one.text) for one in plan.illegal}
    whole |= {s.text: Unit("source", s.text) for s in plan.sources if s.findings and s.text}
    got = _measured(wanted, list(whole.values()), bench, said, kept, begin + seconds)
    if got is None:
        return None
    measured, compiled = got[0], dict(zip(whole, got[1], strict=True))
    said("measured")
    out["calls"] = kept.calls
    out["items"] = [
        {"group": i.group, "name": i.name, **_one(measured[i.probe] if not isinstance(i.probe, str) else i.probe)}
        for i in plan.items
    ]
    out["sources"] = [_source(s, measured, compiled.get(s.text)) for s in plan.sources]
    out["illegal"] = _illegal(plan.illegal, [compiled[one.text] for one in plan.illegal], measured, bench)
    said("illegal sources")
    times = timed([*((p.before, p.after) for p in plan.pairs), tuple(p for _, p in plan.pages)], measured, bench)
    out["pairs"] = [
        {"name": p.name, "suggestion": p.suggestion, "before": b, "after": a}
        for p, (b, a) in zip(plan.pairs, times[:-1], strict=True)
    ]
    out["unpaired"] = [{"name": u.name, "reason": u.reason} for u in plan.unpaired]
    out["pages"] = [{"name": n, **t} for (n, _), t in zip(plan.pages, times[-1], strict=True)]
    said("times")
    out["segments"] = segments.measure(list(plan.patterns), bench)
    said("segments")
    out["seconds"] = round(time.monotonic() - begin)
    return out


class State:
    """What was measured, kept in a file for a run in several calls; only of this code, device and date."""

    def __init__(self, file: Path | None, environment: dict[str, Any]) -> None:
        self.file, self.calls, self.done = file, 1, dict[str, Measured]()
        self.stamp = (environment, _code())
        if file is not None and file.is_file():
            stamp, calls, done = pickle.loads(file.read_bytes())
            if stamp == self.stamp:
                self.calls, self.done = calls + 1, done

    def add(self, some: dict[Probe, Measured]) -> None:
        self.done.update((key(p), m) for p, m in some.items())
        if self.file is not None:
            self.file.write_bytes(pickle.dumps((self.stamp, self.calls, self.done)))


def key(probe: Probe) -> str:
    """A probe by its content; what is predicted of it follows from that and the code, which :class:`State` stamps."""
    return hashlib.sha256(repr(probe).encode()).hexdigest()


def _code() -> str:
    """A digest of all code that predicts, makes and measures."""
    root = Path(__file__).resolve().parents[2]
    files = sorted(
        f for f in [*(root / "cutecheck").rglob("*.[ph]*"), *(root / "scripts").rglob("*.py")] if f.is_file()
    )
    kept = [f.read_bytes() for f in files if f.suffix in (".py", ".hpp") and "tests" not in f.parts]
    return hashlib.sha256(b"\0".join(kept)).hexdigest()


def _measured(
    wanted: list[Probe], whole: list[Unit], bench: Bench, said: Callable[[str], None], kept: State, end: float
) -> tuple[dict[Probe, Measured], list[Compiled]] | None:
    """Everything measured, some probes at a time: compiled, run and counted side by side; then whole sources."""
    keys = {p: key(p) for p in wanted}
    left = [p for p in wanted if keys[p] not in kept.done]
    chunks = [left[start : start + _CHUNK] for start in range(0, len(left), _CHUNK)]
    ahead = ThreadPoolExecutor(1)
    compiled = [ahead.submit(_compile, some, bench) for some in chunks]
    sources = ahead.submit(compile_units, whole, bench.arch, bench.compiler, bench.cache, bench.jobs)

    def ran(i: int) -> Ran | Exception:
        compiled[i].result()
        try:
            return values(chunks[i], bench)
        except (ValueError, AssertionError, TypeError) as error:
            return error

    with ThreadPoolExecutor(1) as runner:
        running = [runner.submit(ran, i) for i in range(len(chunks))]
        for i, some in enumerate(chunks):
            if time.monotonic() > end:
                said(f"stopped: {len(left) - i * _CHUNK} kernels left")
                for one in (*running, *compiled, sources):
                    one.cancel()
                return None
            got = running[i].result()
            if isinstance(got, Exception):
                kept.add(dict(zip(some, _guarded(some, bench), strict=True)))
            else:
                done, cubins = got
                count(done, cubins, bench)
                kept.add(done)
            said(f"{min((i + 1) * _CHUNK, len(left))} of {len(left)} kernels measured")
    return {p: kept.done[keys[p]] for p in wanted}, sources.result()


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
    gpus = asked("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, _, driver = gpus.partition("\n")[0].partition(", ")
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


def _source(source: Source, measured: dict[Probe, Measured], compiled: Compiled | None) -> dict[str, Any]:
    results = [
        EventResult(e, None, None, "unavailable", p)
        if isinstance(p, str)
        else judged(e, p, measured[p], source.findings)
        for e, p in source.events
    ]
    found = [
        by_source(by_site(finding_result(f, results), p, None if p is None else measured[p]), compiled)
        for f, p in zip(source.findings, source.own, strict=True)
    ]
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


def _illegal(
    sources: Sequence[IllegalSource], made: Sequence[Compiled], measured: dict[Probe, Measured], bench: Bench
) -> list[dict[str, Any]]:
    """Run the sources that compile as they are; look at what was missed, doubled or left poisoned."""
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
    """Cycles of one run of each probe (the least of three launches, a row's in turn), all in one process."""
    wanted = [_launches(row, measured, bench) for row in rows]
    got = launch([one for row in wanted for one in row])
    if any(one.failure for one in got):  # then each row in a process of its own
        got = [one for row in wanted for one in (launch(row) if row else [])]
    out, at = [], 0
    for row, launches in zip(rows, wanted, strict=True):
        mine = got[at : at + len(launches)]
        at += len(launches)
        failure = next((one.failure for one in mine if one.failure), "" if mine else "not run")
        times: list[dict[str, Any]] = []
        for i, probe in enumerate(row):
            if failure:
                times.append({"cycles": None, "reason": failure})
                continue
            runs = [mine[i + k * len(row)].buffers[-1] for k in range(3)]
            cycles = [max(int.from_bytes(b[j : j + 8], "little") for j in range(0, len(b), 8)) / _REPS for b in runs]
            times.append({"cycles": round(min(cycles), 1), **_waves(measured[probe])})
        out.append(times)
    return out


def _launches(row: Sequence[Probe], measured: dict[Probe, Measured], bench: Bench) -> list[Launch]:
    """Three launches of each probe of a row, in turn; none where one of them does not run."""
    launches = []
    for probe in row:
        m = measured[probe]
        if m.outcome not in ("equal", "wrong"):
            return []
        cubin = compile_units([unit(probe)], bench.arch, bench.compiler, bench.cache)[0].cubin
        assert cubin is not None
        if isinstance(probe, CopyProbe):
            launches.append(copies.launch(probe, copies.sides(probe), m.kernel, cubin, 0, 0, _REPS))
        else:
            launches.append(gemms.launch(probe, gemms.random(probe, 1), m.kernel, cubin, 0, _REPS))
    return launches * 3


def _waves(m: Measured) -> dict[str, Any]:
    counted = {c.name: c.measured for c in m.counted if c.name.startswith("wavefronts")}
    return {"wavefronts": sum(counted.values()), "segments": m.predicted.get("cg_segments", 0)}
