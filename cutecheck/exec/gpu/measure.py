"""Probes through compiler, hardware and counters: what was measured, held against what was predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias, Union

from cutecheck.exec import child
from cutecheck.exec.gpu import codegen, copies, counters, gemms, predict
from cutecheck.exec.gpu.compile import Compiler, compile_units
from cutecheck.exec.gpu.gemm import GemmProbe
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.run import LIMITS, Launch, Launched, launch_each
from cutecheck.exec.spell import UnspellableError
from cutecheck.model.ints import CuteError, UndecidedError

Probe: TypeAlias = Union[CopyProbe, GemmProbe]
# refused: CuTe does not compile it; faulted: the hardware stops it; wrong: it runs, and differs from the prediction
Outcome = Literal["equal", "refused", "faulted", "wrong", "unavailable"]
COMPARED = tuple(counters.METRICS)
_COPY_CHECKS = ("coordinate codes", "poison", "counts of every element")
_GEMM_CHECKS = ("coordinate-coded integers", "float64", "poison")
_BATCH = 24  # kernels a profiled process


@dataclass(frozen=True, slots=True)
class Compared:
    """One counter of a bare run: predicted (or the bounds of the prediction) and measured."""

    name: str
    predicted: int
    measured: int
    most: int | None = None  # where the model gives bounds: ``predicted`` is the least

    @property
    def agrees(self) -> bool:
        return self.predicted <= self.measured <= (self.predicted if self.most is None else self.most)


@dataclass(frozen=True)
class Measured:
    """The result of one probe. ``predicted`` also holds the ideals and the segments of cp.async.cg.

    ``merged``: factors by which the compiler merged narrow accesses of the copies, where the emitted width does not
    explain the instruction count (the addresses are then those of the merged accesses). ``counted`` is empty with
    ``no_counters`` saying why.
    """

    outcome: Outcome
    reason: str = ""
    kernel: str = ""
    predicted: Mapping[str, int] = field(default_factory=dict)
    counted: tuple[Compared, ...] = ()
    merged: tuple[int, ...] = ()
    no_counters: str = ""
    checks: tuple[str, ...] = ()

    @property
    def differences(self) -> tuple[Compared, ...]:
        return tuple(c for c in self.counted if not c.agrees)


NOT_ASKED = counters.NoCounters("not asked for")


@dataclass(frozen=True, slots=True)
class Bench:
    """What probes are measured with; ``ncu`` may say why there are no counters."""

    compiler: Compiler
    arch: str
    devices: int = 1
    ncu: str | counters.NoCounters = NOT_ASKED
    cache: Path | None = None
    limits: child.Limits = LIMITS
    at_once: int = 6
    jobs: int | None = None


def measure(probes: Sequence[Probe], bench: Bench, tell: Callable[[str], None] = lambda _: None) -> list[Measured]:
    """Every probe, in order; equal probes are measured once. ``tell`` hears of each step done."""
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
    for probe, unit in units.items():
        if isinstance(unit, str):
            done[probe] = Measured("unavailable", unit)
        elif (cubin := made[unit.kernel].cubin) is None:
            done[probe] = Measured("refused", made[unit.kernel].failure, unit.kernel, _predicted(probe)[0])
        else:
            running[probe] = cubin
    done.update(_values(running, units, bench))
    tell(f"{len(running)} kernels run")
    _count({p: c for p, c in running.items() if done[p].outcome == "equal"}, done, bench)
    return [done[p] for p in probes]


def unit_of(probe: Probe) -> codegen.Unit | None:
    """The translation unit of a probe, None where it has none."""
    made = _unit(probe)
    return None if isinstance(made, str) else made


def _unit(probe: Probe) -> codegen.Unit | str:
    try:
        if isinstance(probe, CopyProbe):
            copies.sides(probe)
        return codegen.unit(probe)
    except (UnspellableError, ValueError, CuteError, UndecidedError) as error:
        return str(error)


def _predicted(probe: Probe, merged: Sequence[int] = ()) -> tuple[dict[str, int], str]:
    """The counts of a bare run, and why the prediction says that it faults."""
    try:
        if isinstance(probe, CopyProbe):
            return dict(predict.traffic(probe, merged=merged[0] if merged else 1).counts), ""
        return dict(probe.traffic(merged).counts), ""
    except (predict.FaultError, ValueError, CuteError) as error:
        return {}, str(error)


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
        counts, fault = _predicted(probe)
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


def bare(probe: Probe, kernel: str, cubin: Path, reps: int = 1) -> Launch:
    """A launch that does nothing but the work."""
    if isinstance(probe, CopyProbe):
        return copies.launch(probe, copies.sides(probe), kernel, cubin, 0, 0, reps)
    return gemms.launch(probe, gemms.coded(probe), kernel, cubin, 0, reps)


def _count(running: Mapping[Probe, Path], done: dict[Probe, Measured], bench: Bench) -> None:
    """Add the hardware's counters to the results of the probes that ran right."""
    items = list(running.items())
    for start in range(0, len(items), _BATCH):
        batch = items[start : start + _BATCH]
        for (probe, _), got in zip(batch, _counters(batch, done, bench), strict=True):
            old = done[probe]
            if isinstance(got, counters.NoCounters):
                done[probe] = Measured(
                    "equal", "", old.kernel, old.predicted, no_counters=got.reason, checks=old.checks
                )
            else:
                done[probe] = _held(probe, old, got)


def _counters(
    batch: Sequence[tuple[Probe, Path]], done: Mapping[Probe, Measured], bench: Bench
) -> Sequence[dict[str, int] | counters.NoCounters]:
    if isinstance(bench.ncu, counters.NoCounters):
        return [bench.ncu] * len(batch)
    launches = [bare(probe, done[probe].kernel, cubin) for probe, cubin in batch]
    got = counters.count(launches, bench.ncu, counters.METRICS)
    if not isinstance(got, counters.NoCounters):
        return got
    if len(batch) == 1:
        return [got]
    half = len(batch) // 2
    return [*_counters(batch[:half], done, bench), *_counters(batch[half:], done, bench)]


def _held(probe: Probe, old: Measured, got: Mapping[str, int]) -> Measured:
    """Counters against the prediction, as CuTe emits the accesses or as the compiler merged them."""
    compared = _compared(old.predicted, got)
    merged: tuple[int, ...] = ()
    if not all(c.agrees for c in compared):
        for factors in _factors(probe):
            counts, fault = _predicted(probe, factors)
            again = _compared(counts, got)
            if not fault and all(c.agrees for c in again):
                compared, merged = again, factors
                break
    wrong = [c for c in compared if not c.agrees]
    reason = "; ".join(f"{c.name}: {c.measured} measured, {c.predicted} predicted" for c in wrong)
    return Measured(
        "wrong" if wrong else "equal", reason, old.kernel, old.predicted, compared, merged,
        checks=(*old.checks, "counters"),
    )  # fmt: skip


def _compared(predicted: Mapping[str, int], got: Mapping[str, int]) -> tuple[Compared, ...]:
    """Every counter that is predicted or not zero; global stores of a GEMM without a write copy are not predicted."""
    out = []
    for name in COMPARED:
        if name not in got or (name not in predicted and name in ("sectors_st", "sectors_ld", "inst_wgmma")):
            continue
        ours = predicted.get(name, 0)
        if ours or got[name]:
            most = predicted.get(f"{name}_most", ours)
            out.append(Compared(name, ours, got[name], most if most != ours else None))
    return tuple(out)


def _factors(probe: Probe) -> Iterator[tuple[int, ...]]:
    """How the compiler may have merged accesses, the least first."""
    number = 1 if isinstance(probe, CopyProbe) else sum(1 for _ in probe.copies())
    yield from sorted((f for f in product((1, 2, 4, 8), repeat=min(number, 4)) if set(f) != {1}), key=sum)


def totals(results: Sequence[Measured]) -> dict[str, int]:
    """How many of each outcome."""
    return dict(Counter(r.outcome for r in results))
