"""Edits of who copies what: value and thread layouts of tiled copies, permutations, block sizes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.spelling import Region, arguments, flat, layouts, number, spelled, tuple_of, with_number
from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.rules.derive.vectorized import vector_copy

_COPY = r"(?<!\w)make_tiled_copy(?:_tv)?\s*\("


def more_values(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A value layout with fewer values than one instruction of the atom moves: one mode of it made longer."""
    counts = re.search(r": (\d+), (\d+)", finding.message)
    region = bench.declaration(finding)
    if counts is None or region is None or int(counts[2]) % int(counts[1]):
        return
    ratio = int(counts[2]) // int(counts[1])
    match = re.search(_COPY, region.code)
    given = arguments(region, match.end() - 1) if match else []
    if len(given) != 3:
        return
    for at, _ in bench.definitions(given[2]):
        for layout in layouts(at)[:1]:
            leaves = [leaf for leaf in flat(tuple_of(layout.shape)) if leaf.value is not None]
            for leaf in sorted(leaves, key=lambda x: (-(x.value or 0), -x.region.begin)):
                change = with_number(leaf.region, (leaf.value or 0) * ratio)
                title = f"{counts[2]} values a thread"
                if layout.stride is None and (fix := bench.fix(title, [change], at.source, False)) is not None:
                    yield Proposal(fix)


def compact_threads(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A thread layout that is not one-to-one: without its strides it is."""
    region = bench.declaration(finding)
    if region is None:
        return
    for at, _ in bench.definitions(region):
        match = re.search(_COPY, at.code)
        given = arguments(at, match.end() - 1) if match else []
        for written, _ in bench.definitions(given[1]) if len(given) > 1 else []:
            for layout in layouts(written)[:1]:
                if layout.stride is None:
                    continue
                change = Region(written.source, layout.shape.end, layout.stride.end).to("")
                fix = bench.fix("number the threads without gaps", [change], written.source, False)
                if fix is not None:
                    yield Proposal(fix)


def plain_permutation(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A permutation that is the identity: the plain size says the same."""
    size = re.search(r"plain size (\d+)", finding.message)
    mode = re.search(r"\) of ([MNK]) in", finding.message)
    region = bench.declaration(finding)
    if size is None or mode is None or region is None or region.source.python:
        return
    for at, _ in bench.definitions(region):
        for match in re.finditer(r"(?<!\w)(?:Tile\s*<|make_tile\s*\()", at.code):
            given = arguments(at, match.end() - 1)
            index = "MNK".index(mode[1])
            if len(given) <= index or not re.match(r"(?:cute::)?(?:Layout|make_layout)\b", given[index].code):
                continue
            prefix = "cute::" if given[index].text.startswith("cute::") else ""
            tail = "{}" if match[0].endswith("(") else ""
            change = given[index].to(f"{prefix}{spelled(int(size[1]))}{tail}")
            if (fix := bench.fix(f"write the plain size {size[1]}", [change], at.source, True)) is not None:
                yield Proposal(fix, sure=True)
            return


def transposed(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """Threads and values that walk the tile along its contiguous mode, in the widest vectors proved for it."""
    for event in bench.events(finding):
        region = None if event.tiled_span is None else bench.region(event.tiled_span)
        if region is None:
            continue
        for at, _ in bench.definitions(region):
            match = re.search(_COPY, at.code)
            given = arguments(at, match.end() - 1) if match else []
            if len(given) != 3:
                continue
            yield from _rewritten(event, at, given, bench)
            break


def _rewritten(event: Event, at: Region, given: list[Region], bench: Bench) -> Iterator[Proposal]:
    for contiguous in (1, 0):
        found = vector_copy(event, contiguous, same_width=True)
        if found is None:
            continue
        spell = _dsl if at.source.python else _cpp
        prefix = "cute::" if "cute::" in given[1].text else ""
        changes = [
            part.to(spell(layout.shape, layout.stride, prefix))
            for part, layout in zip(given[1:], (found.threads, found.values), strict=True)
        ]
        title = f"threads {found.threads}, values {found.values}"
        if (fix := bench.fix(title, list(changes), at.source, False)) is not None:
            yield Proposal(fix)


def _cpp(shape: object, stride: object, prefix: str) -> str:
    def numbers(values: object) -> str:
        return ", ".join(f"{prefix}{spelled(v)}" for v in (values if isinstance(values, tuple) else (values,)))

    return f"{prefix}Layout<{prefix}Shape<{numbers(shape)}>, {prefix}Stride<{numbers(stride)}>>{{}}"


def _dsl(shape: object, stride: object, prefix: str) -> str:
    return f"cute.make_layout({shape}, stride={stride})"


def block_size(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """The block as large as the tiled object: the literal of the launch or of its launch bounds."""
    needs = re.search(r"of (\d+) threads in a block of (\d+)", finding.message)
    if needs is None:
        return
    want, have = needs[1], needs[2]
    for launch in bench.facts.launches:
        if not any(r.span == launch.span for r in finding.related) and launch.kernel != finding.enclosing:
            continue
        source = bench.files(launch.span.path)
        if source is None:
            continue
        begin = source.offset(launch.span.line, launch.span.column)
        code = source.code
        if source.python:
            area = Region(source, *source.region(launch.span))
            found = re.search(r"block\s*=\s*[\[(]", area.code)
            places = arguments(area, found.end() - 1)[:1] if found else []
        elif launch.origin == "launch_bounds":
            start = max(code.rfind(c, 0, begin) for c in ";{}") + 1
            bounds = re.compile(r"__launch_bounds__\s*\(").search(code, start)
            places = arguments(Region(source, start, len(code)), bounds.end() - 1 - start)[:1] if bounds else []
        else:
            chevrons = re.compile(r"<<<(.*?)>>>", re.DOTALL).search(code, begin)
            places = _parts(Region(source, *chevrons.span(1)))[1:2] if chevrons else []
        for place in places:
            for at, _ in itertools.islice(bench.definitions(place), 4):
                literal = at if number(at) is not None else None
                if literal is not None and number(literal) == int(have):
                    fix = bench.fix(f"a block of {want} threads", [literal.to(want)], source, False)
                    if fix is not None:
                        yield Proposal(fix)


def _parts(region: Region) -> list[Region]:
    """Comma-separated parts of a stretch."""
    code, found, start, depth = region.code, [], 0, 0
    for i, c in enumerate(code):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            found.append(region.part(start, i).stripped())
            start = i + 1
    return [*found, region.part(start, len(code)).stripped()]
