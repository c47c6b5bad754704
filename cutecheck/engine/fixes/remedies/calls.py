"""Edits of calls and comments: coordinates, retiled fragments, an explicit width, suppressions that silence nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.spelling import Region, arguments
from cutecheck.engine.fixes.text import Change
from cutecheck.findings import Finding


def coordinate(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """``(0, _)`` as a coordinate: ``make_coord(0, _)``. What the call computes changes, so it is unsafe."""
    region = bench.region(finding.span)
    if region is None or region.source.python:
        return
    at = region.begin
    code = region.source.code
    if not region.code.startswith("("):
        at = len(code[:at].rstrip()) - 1
    if code[at : at + 1] != "(":
        return
    prefix = "cute::" if "using namespace cute" not in code else ""
    fix = bench.fix("make it a coordinate", [Change(at, at, f"{prefix}make_coord")], region.source, False)
    if fix is not None:
        yield Proposal(fix, sure=True)


_FRAGMENT = re.compile(r"(?:(\w+)\.(?:get_\w+\([^)]*\)\.)?)?(?:partition|make)_fragment_([ABC])\s*\(\s*(\w+)")
_SLICE = re.compile(r"(\w+)\.get_(?:thread_)?slice\b")


def retiled(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """The copy built from the fragment's own MMA, and the fragment retiled by it."""
    side = re.search(r"retile_([SD])", finding.label)
    region = bench.region(finding.span)
    if side is None or region is None or region.source.python or "(" not in region.code:
        return
    given = arguments(region, region.code.index("("))
    if len(given) < 3:
        return
    fragment, other = (given[-2], given[-1]) if side[1] == "S" else (given[-1], given[-2])
    thread = re.match(r"([\w.()]*?)\.partition_[SD]\s*\(", other.code)
    made = next((d for d, _ in bench.resolve(fragment.text, region.source, region.begin)), None)
    source = None if made is None else _FRAGMENT.match(made.code)
    if thread is None or source is None:
        return
    mma = source[1] or source[3]
    for slices, _ in [] if made is None or source[1] is None else bench.resolve(mma, made.source, made.begin):
        of = _SLICE.match(slices.code)
        mma = of[1] if of else mma
    for copy, _ in bench.definitions(given[0]):
        call = re.search(r"(?<!\w)make_tiled_copy\s*\(", copy.code)
        parts = arguments(copy, call.end() - 1) if call else []
        if not call or len(parts) != 3 or not re.search(rf"\b{mma}\b", copy.source.code[: copy.begin]):
            continue
        changes = [
            Region(copy.source, parts[1].begin, parts[2].end).to(mma),
            copy.part(call.start(), call.end()).to(f"make_tiled_copy_{source[2]}("),
            fragment.to(f"{thread[1]}.retile_{side[1]}({fragment.text})"),
        ]
        title = f"build the copy from `{mma}` and retile `{fragment.text}`"
        if (fix := bench.fix(title, list(changes), region.source, False)) is not None:
            yield Proposal(fix)


def explicit_width(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """``copy(a, b)`` of layouts that are not static: an atom that says the alignment which was proved."""
    wide = re.search(r"where (\d+) are", finding.message)
    region = bench.region(finding.span)
    if wide is None or region is None or region.source.python:
        return
    call = re.match(r"((?:cute::)?)copy\s*\(", region.code)
    if call is None or len(arguments(region, call.end() - 1)) != 2:
        return
    atom = f"{call[1]}AutoVectorizingCopyWithAssumedAlignment<{wide[1]}>{{}}, "
    at = region.begin + call.end()
    if (fix := bench.fix(f"copy {wide[1]} bits at a time", [Change(at, at, atom)], region.source, True)) is not None:
        yield Proposal(fix)


def unused_suppression(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """The comment goes, and its line with it where nothing else is on it; or one of its codes."""
    region = bench.region(finding.span)
    if region is None:
        return
    text = region.source.text
    begin, end = region.begin, region.end
    if not text.startswith(("//", "#", "/*"), begin):
        before, after = re.compile(r"\s*,\s*\Z").search(text, 0, begin), re.compile(r"\s*,\s*").match(text, end)
        change = Change(before.start(), end, "") if before else Change(begin, after.end() if after else end, "")
        if (fix := bench.fix("remove the code that silences nothing", [change], region.source, True)) is not None:
            yield Proposal(fix, sure=True)
        return
    line = text.rfind("\n", 0, begin) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    if text[end:stop].strip():
        return
    if text[line:begin].strip():
        change = Change(line + len(text[line:begin].rstrip()), len(text[:stop].rstrip("\r")), "")
    else:
        change = Change(line, min(stop + 1, len(text)), "")
    if (fix := bench.fix("remove the unused suppression", [change], region.source, True)) is not None:
        yield Proposal(fix, sure=True)
