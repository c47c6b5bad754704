"""Which architectures a translation unit speaks of: by the atoms and guards of its own files, not of CUTLASS's.

An instruction that later architectures have too (``SM75_U32x4_LDSM_N``, ``SM90_TMA_LOAD``) asks for none of its own
beside one that they alone have: a Hopper kernel that reads with ldmatrix is no kernel of Ampere. Where anything is
guarded by an architecture the unit may be compiled for each; a tag (``arch::Sm90``) asks for its own. A unit that is
named after one of these (``fwd_hdim128_sm90.cu``), as libraries name what they compile for it alone, is for that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.source.cpp.tree import Tree

DEFAULT_ARCH = "sm_80"
# an architecture of each generation, and the numbers (SM70_ to SM120_, arch::Sm90, CUTLASS's switches) that ask for it
ARCHITECTURES = {"sm_80": (70, 90), "sm_90a": (90, 100), "sm_100a": (100, 120), "sm_120a": (120, 130)}
_SWITCH = r"(?:CUTE|CUTLASS)_ARCH_(?:[A-Z]\w*_)?SM(?=\d+[AF]?_\w*(?:ENABLED|SUPPORTED)\b)"
_SM = re.compile(rf"\b(?:SM(?=\d+_)|arch::Sm(?=\d+\b)|{_SWITCH})(\d\d\d?)|__CUDA_ARCH__\s*>=?\s*(\d\d\d\d?)")
_CARRIED = re.compile(r"\bSM(?:(?:7\d|8\d)_\w|90_(?:TMA|BULK|U\d))")
_GUARDED = re.compile(r"__CUDA_ARCH__|\b(?:CUTE|CUTLASS)_ARCH_\w+_(?:ENABLED|SUPPORTED)\b")
_NAMED_AFTER = re.compile(r"(?:^|[_.-])sm_?(\d\d\d?)[af]?\.\w+$", re.IGNORECASE)
_LIBRARY = re.compile(r"(^|/)include/(cute|cutlass)/|^cutlass/")  # from the root, or as `-I` names it

_Named = tuple[frozenset[str], frozenset[str], bool]


def architectures_of(path: str, tree: Tree, own: frozenset[str], many: bool) -> tuple[str, ...]:
    """Where there are many units, a test bed that they share speaks for all: a unit's own file goes before."""
    after = _NAMED_AFTER.search(path)
    meant = _generations([int(after[1])] if after else ())
    if many and (alone := _chosen([tree.once(path, _named)])):
        return alone
    closure = [*tree.closure(path, DEFAULT_ARCH), *tree.fragments(path, DEFAULT_ARCH)]
    files = [p for p in closure if p == path or (p in own and not _LIBRARY.search(p))]
    found = _chosen([tree.once(p, _named) for p in files])
    return tuple(a for a in found if a in meant) or found or (DEFAULT_ARCH,)


def _named(text: str) -> _Named:
    """The architectures that a text names, those of them by more than an instruction of all later ones, and guards."""
    carried = frozenset(m.start() for m in _CARRIED.finditer(text))
    every, own = set(), set()
    for match in _SM.finditer(text):
        number = int(match[1]) if match[1] else int(match[2]) // 10
        every.add(number)
        if match.start() not in carried:
            own.add(number)
    return _generations(every), _generations(own), _GUARDED.search(text) is not None


def _chosen(named: list[_Named]) -> tuple[str, ...]:
    every = {a for some, _, _ in named for a in some}
    if not any(guarded for _, _, guarded in named):
        latest = [a for a in ARCHITECTURES if a in every][-1:]
        every = {*latest, *(a for _, own, _ in named for a in own)}
    return tuple(a for a in ARCHITECTURES if a in every)


def _generations(numbers: Iterable[int]) -> frozenset[str]:
    return frozenset(arch for arch, (low, high) in ARCHITECTURES.items() if any(low <= n < high for n in numbers))
