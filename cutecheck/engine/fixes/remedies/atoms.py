"""Edits of the copy atom's name: ldmatrix of fewer matrices or transposing, narrower vectors, no assumed alignment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.spelling import Region
from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.rules.derive.accesses import Access, accesses
from cutecheck.rules.derive.vectors import contiguous_elements

_LDSM = r"SM75_U(?:32x(?:1|2|4)_LDSM_N|16x(?:2|4|8)_LDSM_T)"
_WIDTHS = {128: "uint128_t", 64: "uint64_t", 32: "uint32_t", 16: "uint16_t", 8: "uint8_t"}


def fewer_matrices(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """ldmatrix.x4 gives more values than the MMA has: x2 or x1."""
    region = bench.declaration(finding)
    if region is None:
        return
    for found in bench.spelled(region, _LDSM):
        for name in _smaller(found.text):
            fix = bench.fix(f"use {name}", [found.to(name)], found.source, False)
            if fix is not None:
                yield Proposal(fix)


def _smaller(name: str) -> list[str]:
    match = re.fullmatch(r"(SM75_U(?:32|16)x)(\d)(_LDSM_[NT])", name)
    assert match is not None
    return [f"{match[1]}{n}{match[3]}" for n in (4, 2, 1) if n < int(match[2]) and not (n == 1 and match[3][-1] == "T")]


def other_major(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """Rows along the other mode: the transposing ldmatrix of as many matrices for 16-bit elements, or back."""
    for event, access in _sides(finding, bench):
        for found in _atom(event, bench, _LDSM):
            n = re.search(r"x(\d)_LDSM_([NT])", found.text)
            assert n is not None
            run = int(access.element_bits)
            if run == 16:
                name = f"SM75_U16x{int(n[1]) * 2}_LDSM_T" if n[2] == "N" else f"SM75_U32x{int(n[1]) // 2}_LDSM_N"
                if (fix := bench.fix(f"use {name}", [found.to(name)], found.source, False)) is not None:
                    yield Proposal(fix)
            name = f"UniversalCopy<{_WIDTHS[32 if n[2] == 'N' else run]}>"
            for text in dict.fromkeys((name, f"UniversalCopy<{_WIDTHS.get(run, 'uint32_t')}>")):
                if (fix := bench.fix(f"use {text}", [found.to(text)], found.source, False)) is not None:
                    yield Proposal(fix)


def narrower(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """An atom of the widest vector that the elements allow."""
    for event, access in _sides(finding, bench):
        element = int(access.element_bits)
        run = int(contiguous_elements(access.vector)) * element
        for found in _atom(event, bench, r"(?<!\w)uint(?:128|64|32)_t(?!\w)"):
            now = int(re.sub(r"\D", "", found.text))
            for bits in (64, 32, 16, 8):
                if bits < now and bits >= element and (run >= bits or run == element):
                    fix = bench.fix(f"use vectors of {bits // 8} bytes", [found.to(_WIDTHS[bits])], found.source, False)
                    if fix is not None:
                        yield Proposal(fix)


def unassuming(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """``DefaultCopy`` assumes no alignment that the source does not state."""
    for event, _ in _sides(finding, bench):
        for found in _atom(event, bench, r"(?<!\w)AutoVectorizingCopy(?:WithAssumedAlignment\s*<\s*\d+\s*>)?(?!\w)"):
            if (fix := bench.fix("use DefaultCopy", [found.to("DefaultCopy")], found.source, False)) is not None:
                yield Proposal(fix)


def _sides(finding: Finding, bench: Bench) -> Iterator[tuple[Event, Access]]:
    for event in bench.events(finding):
        for access in accesses(event):
            yield event, access


def _atom(event: Event, bench: Bench, pattern: str) -> list[Region]:
    region = None if event.tiled_span is None else bench.region(event.tiled_span)
    return [] if region is None else bench.spelled(region, pattern)
