"""Wavefronts by timing, where no counter can be read: shared memory serves one wavefront a cycle.

Of lower confidence: a run that takes fewer cycles than the predicted wavefronts refutes the prediction; one that takes
about as many agrees with it; more cycles may have other causes and say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cutecheck.exec.gpu import copies
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.run import Launch, Launched

_FEW, _MANY = 64, 320  # repetitions: the difference holds no start-up
_TIMES = 3
CLASSES = ("ld", "ldmatrix", "st", "stmatrix")
# of a copy with n wavefronts: never fewer cycles than 0.95 n, and at most this many where nothing else costs
_LEAST, _MOST, _SLACK = 0.95, 1.1, 12.0


@dataclass(frozen=True, slots=True)
class Timed:
    """Cycles of one run of a copy, and the wavefronts of shared memory predicted for it."""

    cycles: float
    predicted: int
    ideal: int

    @property
    def refuted(self) -> bool:
        return self.cycles < _LEAST * self.predicted

    @property
    def agrees(self) -> bool:
        return not self.refuted and self.cycles <= self.most

    @property
    def most(self) -> float:
        return _MOST * self.predicted + _SLACK

    @property
    def tells(self) -> bool:
        """Whether a copy without conflicts would have shown itself."""
        return self.cycles > _MOST * self.ideal + _SLACK


def launches(probe: CopyProbe, kernel: str, cubin: Path) -> list[Launch]:
    """Few and many repetitions, some times over."""
    s = copies.sides(probe)
    return [copies.launch(probe, s, kernel, cubin, 0, 0, reps) for reps in (_FEW, _MANY)] * _TIMES


def timed(launched: list[Launched], predicted: Mapping[str, int]) -> Timed | str:
    """Cycles of one run from the results of :func:`launches`; a text where they do not tell."""
    failure = next((one.failure for one in launched if one.failure), "")
    if failure:
        return failure
    waves = sum(predicted.get(f"wavefronts_{kind}", 0) for kind in CLASSES)
    if not waves:
        return "the copy has no access to shared memory that cycles show"
    took = [_longest(one.buffers[-1]) for one in launched]
    return Timed((min(took[1::2]) - min(took[::2])) / (_MANY - _FEW), waves, _ideal(predicted))


def _ideal(predicted: Mapping[str, int]) -> int:
    return sum(predicted.get(f"ideal_{kind}", 0) for kind in CLASSES)


def _longest(buffer: bytes) -> int:
    return max(int.from_bytes(buffer[i : i + 8], "little") for i in range(0, len(buffer), 8))
