"""One answer for a buffer: swizzle, else padding, else XOR layout, else the certificate that the family has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cutecheck.model.layout import Swizzle, SwizzleUnit
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.make import make_obligation
from cutecheck.model.prove.obligation import Verdict
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.scheduler import prove
from cutecheck.model.prove.synthesis.padding import Padding, find_padding
from cutecheck.model.prove.synthesis.swizzles import Family, SwizzleSearch, find_swizzle
from cutecheck.model.prove.synthesis.xor_layout import NotConcreteError, XorLayout, find_xor_layout
from cutecheck.records import record

_MOST_KEPT = 256
_SUGGESTED: dict[tuple[Any, ...], Synthesis] = {}  # kernels that differ elsewhere access a buffer alike


@record(frozen=True, slots=True)
class Synthesis:
    """The result for ``count`` accesses; ``text`` says it in one line.

    At most one of ``swizzle``, ``padding`` and ``xor`` is set, none where the ``plain`` layout is free by itself;
    ``search`` then holds its proofs, and what the family gave otherwise.
    """

    count: int
    search: SwizzleSearch
    swizzle: Swizzle | None
    padding: Padding | None
    xor: XorLayout | None
    text: str
    plain: bool = False


def suggest(
    accesses: Sequence[BankAccess],
    *,
    pitch: int | None = None,
    tile: int | None = None,
    unit: SwizzleUnit = SwizzleUnit.ELEMENT,
    descriptor: bool = False,
    whole: int = 1,
    known: str = "",
    arch: str = "",
    options: Options = Options(),  # noqa: B008 - frozen
) -> Synthesis:
    """A layout under which all ``accesses`` of a buffer are proved conflict free.

    ``tile``: elements of the swizzled tile (a member's period must divide it). ``pitch``: elements a row, for
    padding. ``unit``: BYTE for a layout with a pointer swizzle; ``descriptor`` where WGMMA or TMA reads or writes the
    buffer, which state only three swizzles and no padding. ``whole``: elements (bytes for BYTE) of the widest vector of
    accesses that are not listed, which a swizzle must not split either.
    ``known``: how the text calls the accesses.
    """
    known = known or (f"for the {len(accesses)} accesses" if len(accesses) > 1 else "for the access")
    family = Family(tile=tile, descriptor=descriptor, whole=whole)
    asked = tuple(accesses), pitch, family, unit, known, arch
    if options.dump is not None:
        return _searched(*asked, options)
    how = options.timeout_ms, options.rlimit, options.engine, options.without
    found = _SUGGESTED.get((asked, how))
    if found is None:
        if len(_SUGGESTED) >= _MOST_KEPT:
            _SUGGESTED.clear()
        found = _SUGGESTED[asked, how] = _searched(*asked, options)
    return found


def _searched(
    accesses: tuple[BankAccess, ...],
    pitch: int | None,
    family: Family,
    unit: SwizzleUnit,
    known: str,
    arch: str,
    options: Options,
) -> Synthesis:
    descriptor = family.descriptor
    free = tuple(prove(make_obligation(replace(a, swizzle=None), arch=arch), options) for a in accesses)
    if free and all(o.verdict is Verdict.PROVED for o in free) and not descriptor:
        nothing = SwizzleSearch("", None, free, ())
        text = f"the plain layout is free {known}, proved: no swizzle is needed"
        return Synthesis(len(accesses), nothing, None, None, None, text, plain=True)
    search = find_swizzle(accesses, family, options, arch, unit)
    if search.swizzle is not None:
        return Synthesis(
            len(accesses), search, search.swizzle, None, None, f"{_spelled(search.swizzle)} frees it {known}, proved"
        )
    why = (
        f"no {search.family} frees it {known} ({search.members} members, one replayed conflict each)"
        if search.none_exists
        else f"no swizzle found {known}"
    )
    if descriptor:
        return Synthesis(len(accesses), search, None, None, None, f"{why}; a descriptor can state nothing else")
    padding = (
        find_padding(accesses, pitch, options, arch) if pitch is not None and unit is SwizzleUnit.ELEMENT else None
    )
    if padding is not None:
        text = f"{why}; rows of {padding.pitch} elements (padding {padding.extra}) do, proved"
        return Synthesis(len(accesses), search, None, padding, None, text)
    xor: XorLayout | None = None
    try:
        xor = find_xor_layout(accesses, options, arch) if accesses else None
        rest = f"an XOR layout does ({xor}), proved" if xor is not None else "no XOR layout does either"
    except NotConcreteError as error:
        rest = f"XOR layouts not searched: {error}"
    if search.best is not None and xor is None:
        rest += f"; least excess {search.best_excess} with {_spelled(search.best)}"
    return Synthesis(len(accesses), search, None, None, xor, f"{why}; {rest}")


def _spelled(sw: Swizzle) -> str:
    return f"Swizzle<{sw.bits},{sw.base},{sw.shift}>"
