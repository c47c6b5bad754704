"""What was measured of a probe, held against what was predicted; and what it is measured with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, Union

from cutecheck.exec import child
from cutecheck.exec.gpu.compile import Compiler
from cutecheck.exec.gpu.counters import Source
from cutecheck.exec.gpu.gemm import GemmProbe
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.run import LIMITS

Probe: TypeAlias = Union[CopyProbe, GemmProbe]
# refused: CuTe does not compile it; faulted: the hardware stops it; wrong: it runs, and differs from the prediction
Outcome = Literal["equal", "refused", "faulted", "wrong", "unavailable"]


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

    ``tool``: what counted (``ncu``, ``cupti``), or ``cycles``, which is of lower confidence: ``counted`` then compares
    cycles with wavefronts, within bounds.

    ``merged``: factors by which the compiler merged narrow accesses of the copies (-2: split wide ones), where the
    emitted width does not explain the instruction count; addresses are then those of the accesses it made.
    ``counted`` is empty with ``no_counters`` saying why.
    """

    outcome: Outcome
    reason: str = ""
    kernel: str = ""
    predicted: Mapping[str, int] = field(default_factory=dict)
    counted: tuple[Compared, ...] = ()
    merged: tuple[int, ...] = ()
    no_counters: str = ""
    tool: str = ""
    checks: tuple[str, ...] = ()

    @property
    def differences(self) -> tuple[Compared, ...]:
        return tuple(c for c in self.counted if not c.agrees)


@dataclass(frozen=True, slots=True)
class Bench:
    """What probes are measured with; ``sources`` of wavefronts in the order in which they are tried."""

    compiler: Compiler
    arch: str
    devices: int = 1
    sources: tuple[Source, ...] = ()
    cache: Path | None = None
    limits: child.Limits = LIMITS
    at_once: int = 6
    jobs: int | None = None
