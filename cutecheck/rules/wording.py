"""The words of findings: the source's names, one of a thing in the singular, functions as the language has them."""

from __future__ import annotations

import re
from dataclasses import replace

from cutecheck.facts import Span
from cutecheck.model.prove.obligation import Witness

_NUMBERED = re.compile(r"\b([A-Za-z_]\w*)([#~]\??\d+)")


def in_names_of_source(witness: Witness) -> Witness:
    """The words of a witness without the numbers that keep variables apart, small ones where names are equal."""
    ends: dict[str, list[str]] = {}
    for name, end in _NUMBERED.findall("\n".join((witness.summary, *witness.lines))):
        if end not in ends.setdefault(name, []):
            ends[name].append(end)

    def plain(hit: re.Match[str]) -> str:
        name, among = hit[1], ends[hit[1]]
        return f"{name}#{among.index(hit[2]) + 1}" if len(among) > 1 else name

    summary, *lines = (_NUMBERED.sub(plain, text) for text in (witness.summary, *witness.lines))
    return replace(witness, summary=summary, lines=tuple(lines))


_UNITS = "byte column copy element group instruction lane register sector segment stage thread value warp wavefront"
_ONE = re.compile(rf"(?<![\w.,/`-])1 ({'|'.join(_UNITS.split())})s\b")


def in_singular(text: str) -> str:
    """The text of a finding with one of a thing in the singular."""
    return _ONE.sub(r"1 \1", text)


_DSL_NAMES = {
    "__syncthreads": "cute.arch.sync_threads",
    "__syncwarp": "cute.arch.sync_warp",
    "cluster_sync": "cute.arch.cluster_arrive() and cute.arch.cluster_wait",
    "cp_async_fence": "cute.arch.cp_async_commit_group",
    "cp_async_wait": "cute.arch.cp_async_wait_group",
    "warpgroup_arrive": "warpgroup.fence",
    "warpgroup_commit_batch": "warpgroup.commit_group",
    "warpgroup_wait": "warpgroup.wait_group",
    "tma_store_fence": "cute.arch.fence_view_async_shared",
    "fence_view_async_shared": "cute.arch.fence_view_async_shared",
    "tma_store_arrive": "cute.arch.cp_async_bulk_commit_group",
    "tma_store_wait": "cute.arch.cp_async_bulk_wait_group",
    "NamedBarrier::sync": "pipeline.NamedBarrier.arrive_and_wait",
}
_CPP = re.compile(rf"(?<![\w.:])({'|'.join(map(re.escape, _DSL_NAMES))})(?:<(\w+)>)?(\(\))?(?!\w)")


def in_dsl(text: str) -> str:
    """Functions of CuTe and CUDA as the DSL has them; what stands in backticks is the source's own."""

    def named(hit: re.Match[str]) -> str:
        return f"{_DSL_NAMES[hit[1]]}({hit[2] or ''})"

    parts = text.split("`")
    parts[::2] = (_CPP.sub(named, part) for part in parts[::2])
    return "`".join(parts)


def worded(text: str, span: Span) -> str:
    """A text of a finding as it is shown at ``span``."""
    return in_singular(in_dsl(text) if span.is_python else text)
