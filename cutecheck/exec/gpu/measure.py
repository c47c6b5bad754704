"""Probes through compiler, hardware and counters: what was measured, held against what was predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from cutecheck.exec.gpu import codegen, copies, counting, gemms
from cutecheck.exec.gpu.compile import Compiled, compile_units, headers_failure
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.results import Bench, Measured, Probe
from cutecheck.exec.gpu.run import Launch, Launched, launch_each
from cutecheck.exec.spell import UnspellableError
from cutecheck.model.ints import CuteError, UndecidedError


def measure(probes: Sequence[Probe], bench: Bench, tell: Callable[[str], None] = lambda _: None) -> list[Measured]:
    """Every probe, in order; equal probes are measured once. ``tell`` hears of each step done."""
    done, running = values(probes, bench)
    tell(f"{len(running)} kernels run")
    count(done, running, bench)
    return [done[p] for p in probes]


def values(probes: Sequence[Probe], bench: Bench) -> tuple[dict[Probe, Measured], dict[Probe, Path]]:
    """Compile and run every probe and compare what it moved or computed: the results, and the cubins that ran."""
    units: dict[Probe, codegen.Unit | str] = {}
    for probe in probes:
        if probe not in units:
            units[probe] = _unit(probe)
    named = {u.kernel: u for u in units.values() if not isinstance(u, str)}
    made = dict(
        zip(
            named, compile_units(list(named.values()), bench.arch, bench.compiler, bench.cache, bench.jobs), strict=True
        )
    )
    done: dict[Probe, Measured] = {}
    running: dict[Probe, Path] = {}
    no_judge = _no_judge(made.values(), bench)
    for probe, unit in units.items():
        if isinstance(unit, str):
            done[probe] = Measured("unavailable", unit)
        elif (cubin := made[unit.kernel].cubin) is None:
            failure = made[unit.kernel].failure
            if no_judge or not made[unit.kernel].errors:
                done[probe] = Measured("unavailable", no_judge or f"not compiled: {failure}")
            else:
                done[probe] = Measured("refused", failure, unit.kernel, counting.predicted(probe)[0])
        else:
            running[probe] = cubin
    done.update(_values(running, units, bench))
    return done, running


def _no_judge(made: Iterable[Compiled], bench: Bench) -> str:
    """Why errors of the compiler say nothing of the probes: the headers alone have them, too."""
    if all(one.cubin is not None for one in made):
        return ""
    return headers_failure(bench.arch, bench.compiler, bench.cache)


def count(done: dict[Probe, Measured], running: Mapping[Probe, Path], bench: Bench) -> None:
    """Add the counters of those that ran right."""
    counting.count({p: c for p, c in running.items() if done[p].outcome == "equal"}, done, bench)


def unit_of(probe: Probe) -> codegen.Unit | None:
    """The translation unit of a probe, None where it has none."""
    made = _unit(probe)
    return None if isinstance(made, str) else made


def _unit(probe: Probe) -> codegen.Unit | str:
    try:
        if isinstance(probe, CopyProbe):
            copies.sides(probe)
        else:
            _ = probe.rows, probe.places  # a copy that mixes rows computes no GEMM
        return codegen.unit(probe)
    except (UnspellableError, ValueError, CuteError, UndecidedError) as error:
        return str(error)


def _values(
    running: Mapping[Probe, Path], units: Mapping[Probe, codegen.Unit | str], bench: Bench
) -> dict[Probe, Measured]:
    """Run every probe in a child process of its own and compare what it moved or computed."""
    groups = {probe: _launches(probe, units[probe], cubin) for probe, cubin in running.items()}
    results = launch_each(list(groups.values()), bench.devices, bench.limits, bench.at_once)
    out = {}
    for probe, launched in zip(groups, results, strict=True):
        unit = units[probe]
        assert isinstance(unit, codegen.Unit)
        counts, fault = counting.predicted(probe)
        failure = next((one.failure for one in launched if one.failure), "")
        if failure:
            out[probe] = Measured("faulted", failure, unit.kernel, counts)
            continue
        wrong = _wrong(probe, launched)
        if not wrong and fault:
            wrong = f"it runs, although {fault}"
        checks = (
            ("values", "poison", "counts") if isinstance(probe, CopyProbe) else ("coded integers", "float64", "poison")
        )
        out[probe] = Measured("wrong" if wrong else "equal", wrong, unit.kernel, counts, checks=checks)
    return out


def _launches(probe: Probe, unit: codegen.Unit | str, cubin: Path) -> list[Launch]:
    assert isinstance(unit, codegen.Unit)
    if isinstance(probe, CopyProbe):
        s = copies.sides(probe)
        flags = copies.FILL | copies.DUMP | copies.COUNT
        return [copies.launch(probe, s, unit.kernel, cubin, part, flags) for part in range(copies.parts(probe, s))]
    return [
        gemms.launch(probe, inputs, unit.kernel, cubin, gemms.FILL)
        for inputs in (gemms.coded(probe), gemms.random(probe, 1))
    ]


def _wrong(probe: Probe, launched: Sequence[Launched]) -> str:
    if isinstance(probe, CopyProbe):
        wrong = copies.compare(probe, copies.sides(probe), launched)
        return "" if not wrong else f"{len(wrong)} differences, the first: {wrong[0]}"
    exact = gemms.compare(probe, gemms.coded(probe), launched[0], exact=True)
    return exact or gemms.compare(probe, gemms.random(probe, 1), launched[1], exact=False)


def totals(results: Sequence[Measured]) -> dict[str, int]:
    """How many of each outcome."""
    return dict(Counter(r.outcome for r in results))
