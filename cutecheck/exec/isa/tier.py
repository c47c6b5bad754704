"""From facts to confirmations: what each copy and MMA compiles to, against what its layouts predict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, Union

from cutecheck.exec.confirmation import Status
from cutecheck.exec.isa import codegen, predict
from cutecheck.exec.isa.compile import Bench, Emitted, Kernel, emitted
from cutecheck.exec.isa.counts import MEMORY, MMA, Counts, Key, sass_key, shown
from cutecheck.exec.isa.from_facts import NoCallError, call_of, is_descriptor
from cutecheck.exec.isa.probe import CopyCall, FragmentCall, IsaCall
from cutecheck.exec.spell import UnspellableError
from cutecheck.facts import Call, Event, Facts, Site
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError

ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
_ONLY = {"wgmma": ("sm_90a",), "umma": ("sm_100a",), "tmem_load": ("sm_100a",), "tmem_store": ("sm_100a",)}
Fact: TypeAlias = Union[Site, Event, Call]
_REFUSED = re.compile(r"does not compile: (?:static assertion|.*[GU]MMA::(?:layout_type|make_[gu]mma_desc))")


@dataclass(frozen=True, slots=True)
class IsaOptions:
    """``archs``: what to compile for, where the atom exists."""

    archs: tuple[str, ...] = ARCHS


@dataclass(frozen=True, slots=True)
class ArchResult:
    """One architecture: the counts found in PTX and SASS (None: not read).

    ``compiler``: CUDA's, given C++, or the Python DSL's own.
    """

    arch: str
    status: Status
    reason: str = ""
    ptx: Mapping[Key, int] = field(default_factory=dict)
    sass: Mapping[Key, int] | None = None
    compiler: Literal["cuda", "dsl"] = "cuda"

    @property
    def where(self) -> str:
        """The architecture, and the compiler where it is the DSL's."""
        return f"{self.arch} (DSL)" if self.compiler == "dsl" else self.arch


@dataclass(frozen=True, slots=True)
class IsaResult:
    """A site, event or call: contradicted by any architecture, else confirmed by one."""

    fact: Fact
    predicted: Mapping[Key, int]
    runs: tuple[ArchResult, ...]
    unavailable: str = ""  # why nothing was compiled

    @property
    def status(self) -> Status:
        found = {r.status for r in self.runs}
        return "contradicted" if "contradicted" in found else "confirmed" if "confirmed" in found else "unavailable"

    @property
    def reason(self) -> str:
        """Why it is contradicted or unavailable; what was found, where it is confirmed."""
        if self.status == "confirmed" and self.predicted:
            return shown(self.predicted)
        said = [f"{r.where}: {r.reason}" for r in self.runs if r.status == self.status]
        return "; ".join([self.unavailable, *said] if self.unavailable and self.status == "unavailable" else said)


def confirm(facts: Facts, bench: Bench | str, options: IsaOptions | None = None) -> tuple[IsaResult, ...]:
    """Every site, event and call that makes descriptors, in order; a text in place of the bench says what is missing.

    Compiles code derived from the scanned sources: only for a user who asked for it.
    """
    options = options or IsaOptions()
    subjects: list[Fact] = [*facts.sites, *facts.events, *filter(is_descriptor, facts.calls)]
    planned = {id(f): _plan(f) for f in subjects}
    if isinstance(bench, str):
        return tuple(_unavailable(f, planned[id(f)], bench) for f in subjects)
    wanted: dict[str, dict[Kernel, None]] = {}
    for plan in planned.values():
        if isinstance(plan, _Plan):
            for arch in plan.archs(options.archs):
                wanted.setdefault(arch, {})[plan.kernel] = None
    found = {arch: dict(zip(group, emitted(list(group), arch, bench), strict=True)) for arch, group in wanted.items()}
    return tuple(_judged(f, planned[id(f)], found, options.archs) for f in subjects)


@dataclass(frozen=True, slots=True)
class _Plan:
    call: IsaCall
    predicted: Counter[Key]
    kernel: Kernel

    def archs(self, asked: Iterable[str]) -> list[str]:
        """The architectures asked for that have the atom's instruction."""
        return archs(self.call, asked)


def archs(call: IsaCall, asked: Iterable[str]) -> list[str]:
    """The architectures asked for that have the instruction of the call's atom."""
    atom = call.atom if isinstance(call, CopyCall) else call.mma.atom
    if atom is None:
        return list(asked)
    if atom.kind in _ONLY:
        return [a for a in asked if a in _ONLY[atom.kind]]
    least = _number(atom.arch)
    return [a for a in asked if _number(a) >= least and (least < 120 or a == "sm_120a")]


def _number(arch: str) -> int:
    found = re.search(r"\d+", arch)
    return int(found[0]) if found else 0


def _plan(fact: Fact) -> _Plan | str:
    if isinstance(fact, Site) and (fact.status != "resolved" or fact.value is None):
        return "its value is not resolved"
    try:
        call = call_of(fact)
        return _Plan(call, predict.instructions(call), Kernel(codegen.body(call), codegen.block(call)))
    except (NoCallError, UnspellableError, predict.NoPredictionError) as error:
        return str(error)
    except (CuteError, NotModelledError, UndecidedError) as error:
        return f"its prediction: {error}"


def _unavailable(fact: Fact, plan: _Plan | str, reason: str) -> IsaResult:
    if isinstance(plan, str):
        return IsaResult(fact, {}, (), plan)
    return IsaResult(fact, plan.predicted, (), reason)


def _judged(
    fact: Fact, plan: _Plan | str, found: Mapping[str, Mapping[Kernel, Emitted]], archs: Sequence[str]
) -> IsaResult:
    if isinstance(plan, str):
        return IsaResult(fact, {}, (), plan)
    runs = tuple(judged(arch, plan.call, plan.predicted, found[arch][plan.kernel]) for arch in plan.archs(archs))
    return IsaResult(fact, plan.predicted, runs, "" if runs else f"none of {', '.join(archs)} has its instruction")


def judged(arch: str, call: IsaCall, predicted: Counter[Key], one: Emitted) -> ArchResult:
    """PTX, and SASS where it was read, against the prediction."""
    if isinstance(call, FragmentCall):
        return _taken(arch, call.refused, one.failure)
    if one.failure:
        return ArchResult(arch, "unavailable", one.failure)
    kinds = (*MEMORY, "LD", "ST") if isinstance(call, CopyCall) else MMA
    wrong = []
    if predict.different(predicted, Counter(one.ptx), kinds):
        wrong.append(f"PTX has {shown(_only(one.ptx, kinds))}")
    if one.sass is not None:
        expected = Counter({sass_key(k): n for k, n in predicted.items()})
        sass = _paired(one.sass)
        if predict.different(expected, sass, kinds):
            wrong.append(f"SASS has {shown(_only(sass, kinds))}")
    reason = f"predicted {shown(predicted)}; {'; '.join(wrong)}" if wrong else ""
    return ArchResult(arch, "contradicted" if wrong else "confirmed", reason, one.ptx, one.sass)


def _taken(arch: str, refused: str, failure: str) -> ArchResult:
    """Whether the compiler takes an operand's layout, against what is said of it; other errors say nothing."""
    if failure and not _REFUSED.match(failure):
        return ArchResult(arch, "unavailable", failure)
    found = f"refused: {failure.removeprefix('does not compile: ')}" if failure else "a layout that descriptors state"
    if bool(failure) == bool(refused):
        return ArchResult(arch, "confirmed", found)
    return ArchResult(
        arch, "contradicted", f"predicted {refused or 'that descriptors state it'}; the compiler: {found}"
    )


def _paired(sass: Counts) -> Counter[Key]:
    """A packed multiply-add is two."""
    out = Counter({k: n for k, n in sass.items() if k[0] != "FMA2"})
    out["FMA", "32"] += 2 * sass.get(("FMA2", "32"), 0)
    return out


def _only(counts: Counts, kinds: Sequence[str]) -> dict[Key, int]:
    return {k: n for k, n in counts.items() if k[0] in kinds}
