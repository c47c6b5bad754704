"""Search of the swizzle family: every member is tried, each failure is a replayed conflict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cutecheck.model.layout import Swizzle, SwizzleUnit
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.engines import banks, residues
from cutecheck.model.prove.make import make_obligation
from cutecheck.model.prove.obligation import Outcome, Verdict, Witness
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.replay import replayed
from cutecheck.model.prove.scheduler import prove
from cutecheck.records import record


@record(frozen=True, slots=True)
class Family:
    """``Swizzle<B,M,S>`` with ``B <= max_bits``, ``M <= max_base``, ``B <= S <= max_shift``; vectors stay whole.

    With ``tile`` (elements) only members whose period divides it: others leave the allocation. Negative shifts are
    left out: they move bits upwards and so permute banks among themselves, which frees nothing. ``descriptor`` keeps
    to the three that WGMMA and TMA can state: ``Swizzle<1..3,4,3>`` on bytes. ``whole`` units stay together besides.
    """

    max_bits: int = 5
    max_base: int = 7
    max_shift: int = 7
    tile: int | None = None
    descriptor: bool = False
    whole: int = 1

    def members(self, accesses: Sequence[BankAccess], unit: SwizzleUnit) -> Iterator[Swizzle]:
        """Fewest bits first, then the smallest base and shift."""
        widths = [int(a.vector_bits) // (int(a.element_bits) if unit is SwizzleUnit.ELEMENT else 8) for a in accesses]
        low = max(max(1, w).bit_length() - 1 for w in (*widths, self.whole))
        scale = 1 if unit is SwizzleUnit.ELEMENT else max(int(a.element_bits) for a in accesses) // 8
        for bits in range(1, self.max_bits + 1):
            for base in range(low, self.max_base + 1):
                for shift in range(bits, self.max_shift + 1):
                    if self.descriptor and (unit is SwizzleUnit.ELEMENT or bits > 3 or (base, shift) != (4, 3)):
                        continue
                    if self.tile is None or self.tile * max(1, scale) % (1 << (bits + base + shift)) == 0:
                        yield Swizzle(bits, base, shift, unit)

    def __str__(self) -> str:
        if self.descriptor:
            return "Swizzle<B,4,3> on bytes, B <= 3"
        inside = f", period dividing {self.tile} elements" if self.tile is not None else ""
        return f"Swizzle<B,M,S>, B <= {self.max_bits}, M <= {self.max_base}, B <= S <= {self.max_shift}{inside}"


@record(frozen=True, slots=True)
class SwizzleSearch:
    """What the family gives: the member that is proved for all accesses, or why each fails.

    ``conflicts`` has a witness for every member when there is none (the certificate); ``best`` is then the member
    with the least excess (sum over accesses of the costliest instruction) and ``best_excess`` that sum. ``undecided``
    members have no answer; with any of them "none" is not claimed.
    """

    family: str
    swizzle: Swizzle | None
    outcomes: tuple[Outcome, ...]
    conflicts: tuple[tuple[Swizzle, int, Witness], ...]
    best: Swizzle | None = None
    best_excess: int | None = None
    undecided: tuple[Swizzle, ...] = ()
    members: int = 0

    @property
    def none_exists(self) -> bool:
        return self.swizzle is None and not self.undecided and len(self.conflicts) == self.members


def find_swizzle(
    accesses: Sequence[BankAccess],
    family: Family = Family(),  # noqa: B008 - frozen
    options: Options = Options(),  # noqa: B008 - frozen
    arch: str = "",
    unit: SwizzleUnit = SwizzleUnit.ELEMENT,
) -> SwizzleSearch:
    """The first member of the family under which every access is proved conflict free."""
    free = _first(accesses, family, options, arch, unit)
    return free if free is not None else _failures(accesses, family, options, arch, unit)


def _first(
    accesses: Sequence[BankAccess], family: Family, options: Options, arch: str, unit: SwizzleUnit
) -> SwizzleSearch | None:
    """The first member that is proved, each of those before it having a conflict or no answer; None: there is none."""
    order = list(range(len(accesses)))
    for count, sw in enumerate(family.members(accesses, unit), 1):
        fails = None
        for i in order:
            answer = banks.bank_access(make_obligation(replace(accesses[i], swizzle=sw)), any_will_do=True)
            if answer.answer != "holds":
                fails = i
                break
        if fails is not None:
            order = [fails, *(i for i in order if i != fails)]  # what failed last is likely to fail next
            continue
        outcomes = tuple(prove(make_obligation(replace(a, swizzle=sw), arch=arch), options) for a in accesses)
        if all(o.verdict is Verdict.PROVED for o in outcomes):
            return SwizzleSearch(str(family), sw, outcomes, (), members=count)
    return None


def _failures(
    accesses: Sequence[BankAccess], family: Family, options: Options, arch: str, unit: SwizzleUnit
) -> SwizzleSearch:
    """Why each member fails."""
    conflicts: list[tuple[Swizzle, int, Witness]] = []
    undecided: list[Swizzle] = []
    best: tuple[int, Swizzle] | None = None
    measured: dict[tuple[int, Swizzle], int] = {}
    count = 0
    order = list(range(len(accesses)))
    for sw in family.members(accesses, unit):
        count += 1
        found = _conflict(accesses, order, sw, options, measured)
        if found is None:
            outcomes = tuple(prove(make_obligation(replace(a, swizzle=sw), arch=arch), options) for a in accesses)
            if all(o.verdict is Verdict.PROVED for o in outcomes):
                return SwizzleSearch(str(family), sw, outcomes, (), members=count)
            undecided.append(sw)
            continue
        place, witness = found
        if witness is None:
            undecided.append(sw)
            continue
        conflicts.append((sw, place, witness))
        order = [place, *(i for i in order if i != place)]  # what failed last is likely to fail next
    if len(accesses) and not undecided:
        for sw, _, _ in conflicts:
            excess = _excess(accesses, sw, options, measured, None if best is None else best[0])
            if excess is not None and (best is None or excess < best[0]):
                best = (excess, sw)
    return SwizzleSearch(
        str(family),
        None,
        (),
        tuple(conflicts),
        best[1] if best else None,
        best[0] if best else None,
        tuple(undecided),
        count,
    )


def _conflict(
    accesses: Sequence[BankAccess],
    order: list[int],
    sw: Swizzle,
    options: Options,
    measured: dict[tuple[int, Swizzle], int],
) -> tuple[int, Witness | None] | None:
    """The first access with a conflict and its replayed witness (None: no answer); None when all are free.

    ``measured`` gets the excess of each access that was looked at.
    """
    unanswered: int | None = None
    for i in order:
        obligation = make_obligation(replace(accesses[i], swizzle=sw))
        answer = residues.run(obligation, options)
        measured[i, sw] = dict(answer.measure).get("excess", 0)
        if answer.answer == "fails":
            witness = replayed(obligation, answer)
            if witness is not None:
                return i, witness
        if answer.answer != "holds":
            unanswered = i
    return None if unanswered is None else (unanswered, None)


def _excess(
    accesses: Sequence[BankAccess],
    sw: Swizzle,
    options: Options,
    measured: dict[tuple[int, Swizzle], int],
    most: int | None,
) -> int | None:
    """The excess of all accesses; None as soon as it is no less than ``most``."""
    total = sum(measured.get((i, sw), 0) for i in range(len(accesses)))
    for i, access in enumerate(accesses):
        if most is not None and total >= most:
            return None
        if (i, sw) not in measured:
            answer = residues.run(make_obligation(replace(access, swizzle=sw)), options)
            total += dict(answer.measure).get("excess", 0)
    return total if most is None or total < most else None
