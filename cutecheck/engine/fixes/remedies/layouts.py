"""Edits of strides, arrays and fragments: static unit strides, rows of whole vectors, alignas, make_tensor_like."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.remedies.swizzles import layout_definitions, root_of, stride_numbers
from cutecheck.engine.fixes.spelling import Region, arguments, flat, layouts, tuple_of, with_number
from cutecheck.engine.fixes.text import Change
from cutecheck.facts import Call, SmemBuffer, TensorFact
from cutecheck.findings import Finding
from cutecheck.rules.derive.accesses import accesses

_STRIDES = r"(?<!\w)(?:make_stride\s*\(|stride\s*=\s*\()"
_ALIGNAS = re.compile(r"alignas\s*\(\s*(\d+)\s*\)")
_BYTE_ALIGNMENT = re.compile(r"byte_alignment\s*=\s*(\d+)")
_SHARED = re.compile(r"__shared__\s+")


def static_unit_stride(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """``make_stride(n, 1)`` has a run-time 1: ``Int<1>{}`` says it at compile time, for the same elements."""
    for event in bench.events(finding):
        for access in accesses(event):
            for region, _ in layout_definitions(bench, event, access.tensor):
                if region.source.python:
                    continue
                for match in re.finditer(_STRIDES, region.code):
                    parts = flat(tuple_of(region.part(match.start(), region.end - region.begin).stripped())) or []
                    given = arguments(region, match.end() - 1)
                    leaves = [leaf for g in given for leaf in flat(tuple_of(g))] or parts
                    ones = [leaf.region for leaf in leaves if leaf.region.text == "1"]
                    prefix = "cute::" if "cute::" in region.text else ""
                    if len(ones) != 1:
                        continue
                    change = ones[0].to(f"{prefix}Int<1>{{}}")
                    fix = bench.fix("make the unit stride static", [change], region.source, True)
                    if fix is not None:
                        yield Proposal(fix, sure=True, uncovers=True)


def aligned_strides(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """Static strides of shared memory that are no whole vectors, raised to the next one."""
    for event in bench.events(finding):
        for access in accesses(event):
            if access.tensor.space != "smem":
                continue
            vector = int(access.count)
            for region, _ in layout_definitions(bench, event, access.tensor):
                for spelled in layouts(region):
                    if spelled.stride is None:
                        continue
                    written = flat(tuple_of(spelled.stride))
                    known = stride_numbers(root_of(access.tensor)) or []
                    numbers = known if len(known) == len(written) else [leaf.value for leaf in written]
                    for step in range(4):
                        changes: list[Change | None] = []
                        for leaf, value in zip(written, numbers, strict=True):
                            if value is not None and value > 1 and value % vector:
                                up = (-(-value // vector) + step) * vector
                                changes.append(with_number(leaf.region, up, up - value))
                        title = f"strides of whole {int(access.bits) // 8}-byte vectors"
                        if changes and (fix := bench.fix(title, changes, region.source, False)) is not None:
                            yield Proposal(fix)


def aligned_array(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """``alignas`` of a shared array, or the DSL's ``byte_alignment``: what the finding says is needed, or 128."""
    stated = re.search(r"needs (\d+)", finding.message)
    buffers = [b for b in bench.facts.buffers if b.span == finding.span and b.arch == finding.arch]
    # of other accesses the array is not at fault: a stride is, or where the tensor starts
    low = (a for e in bench.events(finding) for a in accesses(e) if a.base_known and a.base % a.width_bytes)
    names = {a.tensor.buffer for a in low}
    buffers = buffers or [b for b in bench.facts.buffers if b.buffer_id in names and b.arch == finding.arch]
    for buffer in buffers:
        yield from _aligned(buffer, int(stated[1]) if stated else 128, bench)
    if "into its struct" in finding.message:  # a member, which its vectors' width will do
        wide = {a.tensor.buffer: int(a.width_bytes) for e in bench.events(finding) for a in accesses(e)}
        for buffer in bench.facts.buffers:
            if buffer.buffer_id in wide and buffer.arch == finding.arch and buffer not in buffers:
                yield from _aligned(buffer, wide[buffer.buffer_id], bench)


def _aligned(buffer: SmemBuffer, need: int, bench: Bench) -> Iterator[Proposal]:
    region = bench.region(buffer.span)
    if region is None:
        return
    source = region.source
    if source.python:
        named = _BYTE_ALIGNMENT.search(region.code)
        change = region.part(*named.span(1)).to(str(need)) if named else None
    else:
        code = source.code
        begin = max(code.rfind(c, 0, region.begin) for c in ";{}") + 1
        found = _ALIGNAS.search(code, begin, region.begin)
        shared = _SHARED.search(code, begin, region.begin)
        first = re.compile(r"\S").search(code, begin)
        if found:
            change = Change(*found.span(1), str(max(need, math.lcm(need, int(found[1])))))
        elif shared:
            change = Change(shared.end(), shared.end(), f"alignas({need}) ")
        else:
            change = Change(first.start(), first.start(), f"alignas({need}) ") if first else None
    what = f"`{buffer.name}`" if buffer.name else "the allocation"
    fix = bench.fix(f"align {what} to {need} bytes", [change], source, True)
    if fix is not None:
        yield Proposal(fix, sure=True, uncovers=True)


def made_like(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A fragment that keeps the order of the memory it is copied from or to."""
    for event in bench.events(finding):
        region = bench.region(event.span)
        if region is None or len(event.operands) < 2:
            continue
        given = arguments(region, region.code.index("(")) if "(" in region.code else []
        registers = [t for t in event.operands[:2] if t.space == "rmem"]
        memory = [t for t in event.operands[:2] if t.space != "rmem"]
        if len(given) < 2 or len(registers) != 1 or len(memory) != 1:
            continue
        at = event.operands.index(registers[0])
        fragment, other = given[-2:][at], given[-2:][1 - at]
        for definition, _ in bench.resolve(fragment.text, region.source, region.begin):
            if not re.match(r"(?:cute::)?make_tensor\s*<", definition.code):
                continue
            prefix = "cute::" if definition.text.startswith("cute::") else ""
            change = definition.to(f"{prefix}make_tensor_like({other.text})")
            fix = bench.fix(f"keep the order of `{other.text}`", [change], region.source, False)
            if fix is not None and _known_before(other, definition):
                yield Proposal(fix)


def _known_before(used: Region, at: Region) -> bool:
    """Every name of an expression occurs above a place already."""
    above = at.source.code[: at.begin]
    return all(re.search(rf"\b{re.escape(n)}\b", above) for n in used.names())


def tensor_result(call: Call) -> TensorFact | None:
    return call.result if isinstance(call.result, TensorFact) else None
