"""Edits of shared-memory layouts: swizzle parameters, a swizzle around a plain layout, padded rows, WGMMA's atoms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.by_hand import named, strided
from cutecheck.engine.fixes.spelling import Leaf, Region, arguments, flat, layouts, number, tuple_of, with_number
from cutecheck.engine.fixes.text import Change
from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.findings import Finding
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle, SwizzleUnit
from cutecheck.rules.derive.accesses import accesses
from cutecheck.rules.derive.alignment import swizzle_splits
from cutecheck.rules.derive.vectors import leaves

_SWIZZLE = r"(?<!\w)(?:Swizzle\s*<|make_swizzle\s*\()"
_GMMA = r"Layout_(?:K|MN)_(?:SW128|SW64|SW32|INTER)_Atom(?:_Bits)?"
_TYPEDEF = re.compile(r"\s*(\w+)\s*;")
_SPANS = ("SW128", "SW64", "SW32", "INTER")


def free_buffer(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """The layout under which every known access of the buffer is proved free of conflicts."""
    for event in bench.events(finding):
        for access in accesses(event):
            if access.tensor.space != "smem":
                continue
            found = bench.suggestion(event, access.tensor)
            if found is None:
                continue
            swizzle, padding = found.synthesis.swizzle, found.synthesis.padding
            others = _others(bench, event, access.tensor)
            regions = layout_definitions(bench, event, access.tensor)
            if swizzle is not None and found.current is None and _has_strides(bench, regions, event, access.tensor):
                continue  # what the source asks for, and a swizzled layout does not have
            named_types = [r for r, is_type in regions if is_type and _is_named_type(bench, r, root_of(access.tensor))]
            for region, is_type in sorted(regions, key=lambda written: written[0] in named_types):
                users = [t for t, written in others if any(_same(region, r) for r in written)]
                if any(t.space != "smem" for t in users):
                    continue  # elements of global memory would lie elsewhere
                safe = found.safe and _of_all_views(bench, region, event, access.tensor)
                safe = safe and all(map(bench.whole, (access.tensor, *users)))
                if swizzle is not None:
                    yield from _swizzled(bench, region, is_type, found.current, swizzle, safe, region in named_types)
                elif padding is not None:
                    pitch = padding.pitch - padding.extra
                    yield from padded(bench, region, access.tensor, pitch, padding.extra, safe)


def _others(bench: Bench, event: Event, tensor: TensorFact) -> list[tuple[TensorFact, list[Region]]]:
    """Tensors of other memory that have the same layout, and where theirs is written: perhaps at the same place."""
    root = root_of(tensor)
    if not isinstance(root, (Layout, ComposedLayout)):
        return []
    found = bench.written.get((root, event.arch))
    if found is None:
        made = ((c, c.result) for c in bench.makers(root, None, event.arch) if isinstance(c.result, TensorFact))
        regions = _written(bench)
        found = [(t, regions(c)) for c, t in made if t.space in ("smem", "gmem")]
        bench.written[root, event.arch] = found
    return [(t, written) for t, written in found if t.buffer != tensor.buffer]


def _has_strides(bench: Bench, regions: list[tuple[Region, bool]], event: Event, tensor: TensorFact) -> bool:
    """Whether the source asks the layout, by one of its names, or the tensor for strides."""
    calls = [r for c in bench.tensors_made(tensor, event) if (r := bench.region(c.span)) is not None]
    buffers = [
        r for b in bench.facts.buffers if b.buffer_id == tensor.buffer and (r := bench.region(b.span)) is not None
    ]
    places = [*(r for r, _ in regions), *calls, *(r for r in buffers if r.source.python)]
    names = {name for r in places if (name := named(r))}
    names |= {m[1] for r, _ in regions if (m := _TYPEDEF.match(r.source.code, r.end))}
    return any(strided(code, frozenset(names)) for code in {r.source.code for r in places})


def _is_named_type(bench: Bench, region: Region, root: object) -> bool:
    """What a name of the layout stands for where it is not spelled: another name, a macro, a member of a class."""
    if re.fullmatch(r"[\w:]+", region.code):
        return True
    typedef = _TYPEDEF.match(region.source.code, region.end)
    name = typedef[1] if typedef else named(region)
    return not layouts(region) and any(s.value == root for s in bench.context.index.sites_named.get(name, ()))


def root_of(tensor: TensorFact) -> AnyLayout | Unknown:
    """The layout of the whole tensor."""
    return tensor.root_layout if tensor.root_layout is not None else tensor.layout


def _of_all_views(bench: Bench, region: Region, event: Event, tensor: TensorFact) -> bool:
    """Whether every tensor that the kernel makes of this memory has its layout from here.

    Of two layouts of the same elements, as one that words are copied by and one that lanes read their own by, an edit
    of one alone has the reader find other elements than were written.
    """
    views = bench.views_made(tensor, event)
    return len(views) < 2 or all(any(_same(region, r) for r in views_of) for views_of in map(_written(bench), views))


def _written(bench: Bench) -> Callable[[Call], list[Region]]:
    def regions(call: Call) -> list[Region]:
        at = bench.region(call.span)
        if at is None or "(" not in at.code:
            return []
        given = arguments(at, at.code.index("("))
        return [region for part in given[1:] for region, _ in bench.definitions(part)]

    return regions


def _same(one: Region, other: Region) -> bool:
    return (one.source.path, one.begin) == (other.source.path, other.begin)


def layout_definitions(bench: Bench, event: Event | Call, tensor: TensorFact) -> list[tuple[Region, bool]]:
    """Where the layout of a tensor's memory is written: in its ``make_tensor``, or where that takes it from."""
    root = root_of(tensor)
    starts: list[tuple[Region, bool]] = []
    for call in bench.tensors_made(tensor, event):
        region = bench.region(call.span)
        if region is None or "(" not in region.code:
            continue
        given = arguments(region, region.code.rindex("allocate_tensor") + len("allocate_tensor")) if (
            region.source.python and "allocate_tensor" in region.code
        ) else arguments(region, region.code.index("("))  # fmt: skip
        starts += [(part, False) for part in given[1:]]
    if not starts and isinstance(root, (Layout, ComposedLayout)):
        starts = [(r, False) for s in bench.sites(root, event.arch) if (r := bench.region(s.call_span)) is not None]
    found: dict[tuple[str, int], tuple[Region, bool]] = {}
    for start, is_type in starts:
        for region, kind in bench.definitions(start, is_type):
            found.setdefault((region.source.path, region.begin), (region, kind))
    return list(found.values())


def _swizzled(
    bench: Bench, region: Region, is_type: bool, current: Swizzle | None, wanted: Swizzle, safe: bool,
    named_type: bool = False,
) -> Iterator[Proposal]:  # fmt: skip
    title = f"Swizzle<{wanted.bits},{wanted.base},{wanted.shift}>"
    spelled = [region.part(*m.span()) for m in re.finditer(_SWIZZLE, region.code)]
    if spelled:
        if len(spelled) == 1:
            changes = swizzle_numbers(region, spelled[0], current, wanted)
            fix = bench.fix(f"use {title}", list(changes), region.source, safe)
            if fix is not None:
                yield Proposal(fix, sure=True)
        return
    if current is not None or wanted.unit is not SwizzleUnit.ELEMENT:
        return
    if len(layouts(region)) != 1 and not named_type:
        return
    if not named_type and layouts(region)[0].whole.begin != region.begin and not re.match(
        r"(?:cute::)?(?:tile_to_shape|composition|decltype)\b", region.code
    ):  # fmt: skip
        return
    change = region.to(_wrapped(region, is_type, wanted))
    fix = bench.fix(f"swizzle the layout by {title}", [change], region.source, safe)
    if fix is not None:
        yield Proposal(fix, sure=not region.source.python and not named_type)


def swizzle_numbers(region: Region, spelled: Region, current: Swizzle | None, wanted: Swizzle) -> list[Change | None]:
    """Edits of the three parameters, where they are literals that say the current swizzle."""
    given = arguments(region, spelled.end - region.begin - 1)
    values = [number(g) for g in given]
    if len(given) != 3 or None in values:
        return [None]
    if current is not None and values != [current.bits, current.base, current.shift]:
        return [None]
    pairs = zip(given, values, (wanted.bits, wanted.base, wanted.shift), strict=True)
    return [with_number(g, new) for g, old, new in pairs if old != new] or [None]


def _wrapped(region: Region, is_type: bool, sw: Swizzle) -> str:
    text = region.text
    if region.source.python:
        module = "cute."
        return f"{module}make_composed_layout({module}make_swizzle({sw.bits}, {sw.base}, {sw.shift}), 0, {text})"
    prefix = "cute::" if "cute::" in text else ""
    made = f"{prefix}Swizzle<{sw.bits}, {sw.base}, {sw.shift}>{{}}"
    inner = re.fullmatch(r"decltype\s*\((.*)\)", text, re.DOTALL) if is_type else None
    value = inner[1].strip() if inner else f"{text}{{}}" if is_type else text
    whole = f"{prefix}composition({made}, {value})"
    return f"decltype({whole})" if is_type else whole


def padded(bench: Bench, region: Region, tensor: TensorFact, pitch: int, extra: int, safe: bool) -> Iterator[Proposal]:
    """Rows of ``pitch + extra`` elements: every stride that counts whole rows, where all are written out."""
    root = root_of(tensor)
    modes = stride_numbers(root)
    for spelled in layouts(region):
        if spelled.stride is None or modes is None:
            continue
        strides = flat(tuple_of(spelled.stride))
        if len(strides) != len(modes):
            continue
        changes: list[Change | None] = []
        for leaf, stride in zip(strides, modes, strict=True):
            if stride % pitch == 0 and stride:
                rows = stride // pitch
                changes.append(with_number(leaf.region, rows * (pitch + extra), rows * extra))
            elif leaf.value not in (None, stride):
                changes.append(None)
        fix = bench.fix(f"pad the rows to {pitch + extra} elements", changes, region.source, safe)
        if fix is not None:
            yield Proposal(fix, sure=True)


def stride_numbers(layout: object) -> list[int] | None:
    """The strides of all modes in order; None where one is no number."""
    inner = layout.b if isinstance(layout, ComposedLayout) else layout
    found = leaves(inner.shape, inner.stride) if isinstance(inner, Layout) else None
    values = [known_value(s) for _, s in found] if found is not None else [None]
    return [v for v in values if v is not None] if None not in values else None


def whole_vectors(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A swizzle that splits the access's vectors: its base raised to their width."""
    for event in bench.events(finding):
        for access in accesses(event):
            sw = access.root_swizzle
            if sw is None or not swizzle_splits(access):
                continue
            unit = int(access.element_bits) if sw.unit is SwizzleUnit.ELEMENT else 8
            base = (int(access.bits) // unit).bit_length() - 1
            for wanted in (
                Swizzle(sw.bits, base, sw.shift, sw.unit),
                Swizzle(sw.bits, base, max(sw.bits, sw.shift + sw.base - base), sw.unit),
            ):
                for region, is_type in layout_definitions(bench, event, access.tensor):
                    for proposal in _swizzled(bench, region, is_type, sw, wanted, False):
                        yield Proposal(proposal.fix)


def canonical(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A layout that a WGMMA descriptor can state: the swizzle's parameters, or the atom of CuTe."""
    calls = [c for c in bench.facts.calls if c.span == finding.span and c.arch == finding.arch]
    for call in calls:
        tensor = next((a for a in call.arguments if isinstance(a, TensorFact)), None)
        if tensor is None or tensor.dtype is None:
            continue
        root = root_of(tensor)
        current = root.a if isinstance(root, ComposedLayout) and isinstance(root.a, Swizzle) else None
        major = "MN" if "MN-major" in finding.message else "K"
        for region, is_type in layout_definitions(bench, call, tensor):
            if current is not None:
                for bits in dict.fromkeys((min(current.bits, 3), 3, 2, 1)):
                    wanted = Swizzle(bits, 4, 3, current.unit)
                    for proposal in _swizzled(bench, region, is_type, current, wanted, False):
                        yield Proposal(proposal.fix)
            for match in re.finditer(_GMMA, region.code):
                for span in _SPANS:
                    change = region.part(*match.span()).to(f"Layout_{major}_{span}_Atom")
                    if (fix := bench.fix(f"use GMMA::{change.text}", [change], region.source, False)) is not None:
                        yield Proposal(fix)
            spelled = layouts(region)
            if len(spelled) == 1 and spelled[0].whole.begin == region.begin and is_type:
                yield from _atoms(bench, region, spelled[0].shape, tensor, major)


def smaller_atom(finding: Finding, bench: Bench) -> Iterator[Proposal]:
    """A tile that the atom's rows do not divide: CuTe's atom of shorter rows."""
    region = bench.declaration(finding)
    for found in [] if region is None else bench.spelled(region, _GMMA):
        now = next(i for i, span in enumerate(_SPANS) if span in found.text)
        for span in _SPANS[now + 1 :]:
            name = found.text.replace(_SPANS[now], span)
            if (fix := bench.fix(f"use GMMA::{name}", [found.to(name)], found.source, False)) is not None:
                yield Proposal(fix)


def _atoms(bench: Bench, region: Region, shape: Region, tensor: TensorFact, major: str) -> Iterator[Proposal]:
    """``tile_to_shape`` of an atom in place of a plain layout type of literal extents."""
    nested = tuple_of(shape)
    if isinstance(nested, Leaf) or tensor.dtype is None:
        return
    prefix = "cute::" if "cute::" in region.text else ""
    for span in _SPANS:
        atom = f"{prefix}GMMA::Layout_{major}_{span}_Atom<{tensor.dtype.name}>{{}}"
        order = "" if major == "K" else f", {prefix}Step<{prefix}_1, {prefix}_2>{{}}"
        change = region.to(f"decltype({prefix}tile_to_shape({atom}, {shape.text}{{}}{order}))")
        fix = bench.fix(f"tile GMMA::Layout_{major}_{span}_Atom to the shape", [change], region.source, False)
        if fix is not None:
            yield Proposal(fix)
