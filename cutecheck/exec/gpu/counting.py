"""Wavefronts and sectors of bare runs against the prediction: by ncu, else CUPTI, else by timing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import TypeAlias, Union

from cutecheck.exec.gpu import copies, counters, cycles, gemms, predict
from cutecheck.exec.gpu.counters import NoCounters, Source
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.results import Bench, Compared, Measured, Probe
from cutecheck.exec.gpu.run import Launch, launch_each
from cutecheck.model.ints import CuteError

_AIDS = ("inst_local_ld", "sectors_missed")
COMPARED = tuple(name for name in counters.METRICS if name not in _AIDS)
_BATCH = 24  # kernels a profiled process
_WIDTHS = (2, -2, 4, 8)  # accesses made one, or one made two
# predicted only where a copy of the checked code makes them
_OPTIONAL = ("sectors_st", "sectors_ld", "sectors_read", "inst_wgmma")
Item: TypeAlias = tuple[Probe, Path]
Counted: TypeAlias = Union[dict[str, int], NoCounters]


def predicted(probe: Probe, merged: Sequence[int] = ()) -> tuple[dict[str, int], str]:
    """The counts of a bare run, and why the prediction says that it faults."""
    try:
        if isinstance(probe, CopyProbe):
            return predict.traffic(probe, merged=merged[0] if merged else 1).done(), ""
        return probe.traffic(merged).done(), ""
    except (predict.FaultError, ValueError, CuteError) as error:
        return {}, str(error)


def bare(probe: Probe, kernel: str, cubin: Path, reps: int = 1) -> Launch:
    """A launch that does nothing but the work."""
    if isinstance(probe, CopyProbe):
        return copies.launch(probe, copies.sides(probe), kernel, cubin, 0, 0, reps)
    return gemms.launch(probe, gemms.coded(probe), kernel, cubin, 0, reps)


def count(running: Mapping[Probe, Path], done: dict[Probe, Measured], bench: Bench) -> None:
    """Add what was counted to the results of the probes that ran right.

    The first source that can count one of them counts all; why a better one could not stands in ``no_counters``.
    """
    items = list(running.items())
    if not items:
        return
    reasons: list[str] = []
    for source in bench.sources:
        if source.tool == "cycles":
            _time(items, done, bench, "; ".join(reasons))
            return
        first = _counters(items[:1], done, source, 0)[0]
        if not isinstance(first, NoCounters):
            _count_all(items, done, bench, source)
            return
        reasons.append(first.reason)
    for probe, _ in items:
        done[probe] = replace(done[probe], no_counters="; ".join(reasons) or "not asked for")


def _count_all(items: list[Item], done: dict[Probe, Measured], bench: Bench, source: Source) -> None:
    """Batches in turn to the devices, one profiled process a device at a time."""
    batches = [items[start : start + _BATCH] for start in range(0, len(items), _BATCH)]

    def of_device(device: int) -> list[tuple[list[Item], Sequence[Counted]]]:
        return [(b, _counters(b, done, source, device)) for b in batches[device :: max(1, bench.devices)]]

    with ThreadPoolExecutor(max(1, bench.devices)) as pool:
        results = [pair for some in pool.map(of_device, range(max(1, bench.devices))) for pair in some]
    for batch, got in results:
        for (probe, _), one in zip(batch, got, strict=True):
            if isinstance(one, NoCounters):
                done[probe] = replace(done[probe], no_counters=one.reason)
            else:
                done[probe] = _held(probe, replace(done[probe], tool=source.tool), one)


def _counters(batch: Sequence[Item], done: Mapping[Probe, Measured], source: Source, device: int) -> Sequence[Counted]:
    """A batch that gives no counters is halved, so that one kernel costs only itself."""
    launches = [bare(probe, done[probe].kernel, cubin) for probe, cubin in batch]
    got = counters.count(launches, source, counters.METRICS, device)
    if not isinstance(got, NoCounters):
        return got
    if len(batch) == 1:
        return [got]
    half = len(batch) // 2
    return [*_counters(batch[:half], done, source, device), *_counters(batch[half:], done, source, device)]


def _time(items: list[Item], done: dict[Probe, Measured], bench: Bench, why: str) -> None:
    timed = [(p, c) for p, c in items if isinstance(p, CopyProbe)]
    rows = [cycles.launches(p, done[p].kernel, c) for p, c in timed if isinstance(p, CopyProbe)]
    # one child a device at a time: children that share a GPU would lengthen each other's cycles
    results = dict(zip([p for p, _ in timed], launch_each(rows, bench.devices, bench.limits, 1), strict=True))
    before = f"{why}; " if why else ""
    for probe, _ in items:
        old = done[probe]
        got = cycles.timed(results[probe], old.predicted) if probe in results else "cycles tell nothing of a GEMM"
        done[probe] = by_time(old, got, before)


def by_time(old: Measured, got: cycles.Timed | str, before: str = "") -> Measured:
    """A result with what timing says of its wavefronts; ``before``: why nothing better measured them."""
    if isinstance(got, str):
        return replace(old, no_counters=f"{before}timing: {got}")
    if not got.refuted and not got.agrees:
        said = f"{got.cycles:.0f} cycles for {got.predicted} wavefronts: other costs hide them"
        return replace(old, no_counters=f"{before}timing: {said}")
    compared = Compared("cycles", got.predicted, round(got.cycles), round(got.most))
    reason = f"{got.cycles:.0f} cycles, fewer than {got.predicted} wavefronts take" if got.refuted else ""
    return replace(
        old, outcome="wrong" if got.refuted else "equal", reason=reason, counted=(compared,), tool="cycles",
        no_counters=before.removesuffix("; "), checks=(*old.checks, "cycles"),
    )  # fmt: skip


def _held(probe: Probe, old: Measured, got: Mapping[str, int]) -> Measured:
    """Counters against the prediction, as CuTe emits the accesses or as the compiler merged them."""
    compared = _compared(old.predicted, got)
    merged: tuple[int, ...] = ()
    if any(c.name in ("inst_ld", "inst_st") and not c.agrees for c in compared):
        for factors in _factors(probe):
            counts, fault = predicted(probe, factors)
            again = _compared(counts, got)
            if not fault and all(c.agrees for c in again):
                compared, merged = again, factors
                break
    wrong = [c for c in compared if not c.agrees]
    reason = "; ".join(f"{c.name}: {c.measured} measured, {c.predicted} predicted" for c in wrong)
    return replace(
        old, outcome="wrong" if wrong else "equal", reason=reason, counted=compared, merged=merged,
        checks=(*old.checks, "counters"),
    )  # fmt: skip


def _compared(expected: Mapping[str, int], got: Mapping[str, int]) -> tuple[Compared, ...]:
    """Every counter that is predicted or not zero; global stores of a GEMM without a write copy are not predicted.

    Where registers are spilled, sectors that come from L2 are those of local memory, too: the plain loads that miss L1
    are then counted for themselves, and with cp.async besides nothing tells them apart.
    """
    measured = dict(got)
    if measured.get("inst_local_ld"):
        missed = measured.get("sectors_missed")
        if measured.get("inst_ldgsts") or missed is None:
            measured.pop("sectors_read", None)
        else:
            measured["sectors_read"] = missed
    out = []
    for name in COMPARED:
        if name not in measured or (name not in expected and name in _OPTIONAL):
            continue
        if expected.get(name, 0) or measured[name]:
            out.append(Compared(name, expected.get(name, 0), measured[name]))
    return tuple(out)


def _factors(probe: Probe) -> Iterator[tuple[int, ...]]:
    """How the compiler may have merged or split plain accesses of one or two of the copies, the least first."""
    number = 1 if isinstance(probe, CopyProbe) else sum(1 for _ in probe.copies())
    for changed in (1, 2):
        for places in combinations(range(number), changed):
            for chosen in product(_WIDTHS, repeat=changed):
                factors = [1] * number
                for place, factor in zip(places, chosen, strict=True):
                    factors[place] = factor
                yield tuple(factors)
