"""What the matrix runs, worked out from sources and seeds: nothing here needs a GPU."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confirmation import fixes, random_epilogues, random_legal
from confirmation.illegal import illegal
from confirmation.segments import Pattern, patterns
from cutecheck.config import Settings
from cutecheck.engine.run import check, extract_facts, inputs
from cutecheck.exec.gpu.gemm import GemmProbe, Operand
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.exec.gpu.results import Probe
from cutecheck.exec.gpu.tier import coverage, plan, site_probe
from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.model.algebra import composition, tile_to_shape
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import dtype
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.tiled import make_tiled_copy, make_tiled_copy_A, make_tiled_copy_B, make_tiled_mma

ARCH = "sm_90a"


@dataclass(frozen=True)
class Item:
    """One configuration of the matrix; ``probe`` is a text where no reference kernel stands for it."""

    group: str
    name: str
    probe: Probe | str


@dataclass(frozen=True)
class Source:
    """A whole file, checked: its events with their probes, and what was found in it."""

    group: str
    name: str
    events: tuple[tuple[Event, Probe | str], ...]
    findings: tuple[Finding, ...]
    own: tuple[CopyProbe | None, ...]  # for each finding: a copy of one tile of its TiledCopy
    text: str  # empty for Python


@dataclass(frozen=True)
class IllegalSource:
    """A source that must not work: what cutecheck says of it, and a probe for its counts where there is one."""

    kind: str
    text: str
    codes: tuple[str, ...]
    probe: CopyProbe | None
    coverage: str


@dataclass(frozen=True)
class Plan:
    sources: tuple[Source, ...] = ()
    items: tuple[Item, ...] = ()
    illegal: tuple[IllegalSource, ...] = ()
    pairs: tuple[fixes.Pair, ...] = ()
    pages: tuple[tuple[str, Any], ...] = ()
    patterns: tuple[Pattern, ...] = ()
    unpaired: tuple[fixes.Unpaired, ...] = ()


_DRAWN: dict[str, tuple[int, int, Callable[..., Any]]] = {  # how many, seed, what draws one
    "mma.sync GEMM": (130, 11, random_legal.mma_gemm),
    "wgmma GEMM": (40, 12, random_legal.wgmma_gemm),
    "copy": (80, 13, random_legal.tiled_copy),
    "wgmma GEMM with TMA": (40, 21, random_epilogues.tma_wgmma),
    "mma.sync GEMM with TMA": (20, 22, random_epilogues.tma_mma),
    "GEMM, epilogue through shared memory": (40, 23, random_epilogues.staged),
    "GEMM, epilogue by a copy": (20, 24, random_epilogues.direct),
    "TMA copy": (30, 25, random_epilogues.tma_copy),
}
_ILLEGAL, _ILLEGAL_PARTS, _PATTERNS = 120, 4, 6000


def make(cases: Path, fixtures: Path, flash: Path | None, scratch: Path, scale: float = 1.0) -> Plan:
    """The whole matrix, worked out by several processes; ``scale`` below 1 makes a smaller one for a trial."""

    def n(count: int) -> int:
        return max(2, int(count * scale))

    files = sorted([*fixtures.glob("*/*.cu"), *cases.glob("*/*.cu"), *cases.glob("*/*.py")])
    if scale < 1:
        files = files[:: int(1 / scale)]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        attention = pool.submit(_flash, flash, scale) if flash is not None else None
        wrong = [pool.submit(_illegal, scratch, n(_ILLEGAL), part) for part in range(_ILLEGAL_PARTS)]
        drawn = [pool.submit(_drawn, group, n(count)) for group, (count, _, _) in _DRAWN.items()]
        suggested = [pool.submit(_fixes, f) for f in files]
        checked = [pool.submit(_source, "cases" if f.is_relative_to(cases) else "fixtures", f) for f in files]
        compared = [pair for one in suggested for pair in one.result()]
        return Plan(
            tuple(one.result() for one in checked),
            (*(item for one in drawn for item in one.result()), *(attention.result() if attention else ())),
            tuple(one for part in wrong for one in part.result()),
            tuple(p for p in compared if isinstance(p, fixes.Pair)),
            tuple(pages()),
            tuple(patterns(n(_PATTERNS), 14)),
            tuple(p for p in compared if isinstance(p, fixes.Unpaired)),
        )


def _drawn(group: str, count: int) -> list[Item]:
    _, seed, draw = _DRAWN[group]
    return [Item(f"random {group}", name, probe) for name, probe in random_legal.legal(count, seed, draw)]


def _fixes(file: Path) -> list[fixes.Pair | fixes.Unpaired]:
    return list(fixes.pairs([file], ARCH))


def _source(group: str, path: Path) -> Source:
    report = check(inputs([str(path)]), replace(Settings(), arch=(ARCH,)))
    events = report.facts.events
    return Source(
        group,
        f"{path.parent.name}/{path.name}",
        tuple((e, plan(e, events)) for e in events),
        report.findings,
        tuple(site_probe(f, report.facts.sites) for f in report.findings),
        "" if path.suffix == ".py" else path.read_text(encoding="utf-8"),
    )


def _flash(folder: Path, scale: float) -> list[Item]:
    """FlashAttention-2: every copy and GEMM of its kernels that a reference kernel stands for, in half precision."""
    facts = extract_facts([folder], replace(Settings(), arch=("sm_80",)))
    found: dict[Probe, str] = {}
    for event in facts.events:
        probe = plan(event, ()) if event.kind == "copy" else plan(event, _around(event, facts.events))
        if isinstance(probe, str):
            continue
        kinds = {probe.dtype.name} if isinstance(probe, CopyProbe) else {probe.a.dtype.name, probe.b.dtype.name}
        if "bfloat16_t" not in kinds:
            found.setdefault(probe, f"{event.span.path}:{event.span.line} {_head_dim(event)}")
    rows = [Item("FlashAttention-2", name, probe) for probe, name in found.items()]
    return rows if scale >= 1 else rows[:: int(1 / scale)]


def _around(event: Event, events: Sequence[Event]) -> list[Event]:
    return [e for e in events if e.enclosing == event.enclosing and e.arch == event.arch]


def _head_dim(event: Event) -> str:
    import re

    match = re.search(r"kernel_traits<(\d+)", event.enclosing)
    return f"head dimension {match[1]}" if match else ""


def _illegal(scratch: Path, count: int, part: int) -> list[IllegalSource]:
    """Every so many of the illegal configurations, checked."""
    scratch.mkdir(parents=True, exist_ok=True)
    made = []
    for i, one in list(enumerate(illegal(count, 15)))[part::_ILLEGAL_PARTS]:
        file = scratch / f"illegal_{i:03}.cu"
        file.write_text(one.text, encoding="utf-8")
        report = check(inputs([str(file)]), replace(Settings(), arch=(ARCH,)))
        codes = tuple(dict.fromkeys(f.code for f in report.findings if f.severity == "error"))
        planned = [plan(e, report.facts.events) for e in report.facts.events]
        probe = next((p for p in planned if isinstance(p, CopyProbe)), None)
        made.append(IllegalSource(one.kind, one.text, codes, probe, coverage(probe) if probe is not None else ""))
    return made


def pages() -> list[tuple[str, Any]]:
    """The FlashAttention-2 tile of 128 columns in half precision: lanes a row and pages, alone and in a GEMM."""
    half, wide = dtype("half_t"), dtype("uint128_t")
    assert half is not None and wide is not None
    atom = copy_op("SM80_CP_ASYNC_CACHEGLOBAL", (wide,), half)
    page64 = composition(Swizzle(3, 3, 3), Layout((8, 64), (64, 1)))
    page128 = composition(Swizzle(3, 3, 4), Layout((8, 128), (128, 1)))
    variants = []
    for lanes, page, name in (
        (16, page64, "16 lanes a row, two pages of 64 columns"),
        (16, page128, "16 lanes a row, one page of 128 columns"),
        (8, page64, "8 lanes a row, two pages of 64 columns"),
        (8, page128, "8 lanes a row, one page of 128 columns"),
    ):
        copy = make_tiled_copy(atom, Layout((128 // lanes, lanes), (lanes, 1)), Layout((1, 8), (0, 1)))
        smem = tile_to_shape(page, (128, 128))
        gmem = Tile("gmem", Layout((128, 128), (128, 1)))
        variants.append((f"{name}, copy", CopyProbe(copy, half, gmem, Tile("smem", smem))))
        variants.append((f"{name}, GEMM", _page_gemm(copy, page)))
    return variants


def _page_gemm(copy: Any, page: Any) -> GemmProbe:
    half, single = dtype("half_t"), dtype("float")
    assert half is not None and single is not None
    mma = make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), Layout((2, 2, 1), (1, 2, 0)), (32, 32, 16))
    read = copy_op("SM75_U32x4_LDSM_N", (), half)
    operands = [
        Operand(half, Layout((64, 128, 4), (512, 1, 128)), tile_to_shape(page, (64, 128)), copy, make(read, mma))
        for make in (make_tiled_copy_A, make_tiled_copy_B)
    ]
    return GemmProbe(mma, operands[0], operands[1], single, Layout((64, 64), (64, 1)))
