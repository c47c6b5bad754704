"""Which edits may remedy a finding: one function a kind of remedy, in the order in which they are tried.

A remedy proposes; what counts is what the check says after the edit (``apply``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cutecheck.engine.fixes.bench import Bench, Proposal
from cutecheck.engine.fixes.remedies import atoms, calls, layouts, partitions, swizzles
from cutecheck.findings import Finding

Remedy = Callable[[Finding, Bench], Iterator[Proposal]]

REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "CUT002": (calls.unused_suppression,),
    "CUT101": (swizzles.free_buffer, partitions.transposed),
    "CUT102": (swizzles.free_buffer, partitions.transposed),
    "CUT103": (swizzles.free_buffer,),
    "CUT104": (partitions.transposed,),
    "CUT105": (partitions.transposed,),
    "CUT202": (partitions.compact_threads,),
    "CUT204": (partitions.plain_permutation,),
    "CUT205": (swizzles.smaller_atom,),
    "CUT301": (partitions.more_values, atoms.fewer_matrices),
    "CUT401": (layouts.static_unit_stride, atoms.narrower),
    "CUT402": (layouts.aligned_strides, layouts.aligned_array, atoms.unassuming, atoms.narrower),
    "CUT403": (layouts.made_like, calls.explicit_width),
    "CUT404": (layouts.aligned_array,),
    "CUT501": (swizzles.free_buffer, swizzles.whole_vectors),
    "CUT502": (atoms.other_major, atoms.narrower),
    "CUT503": (swizzles.canonical,),
    "CUT602": (calls.retiled,),
    "CUT701": (partitions.block_size,),
    "CUT706": (partitions.block_size,),
    "CUT901": (calls.coordinate,),
}


def proposals(finding: Finding, bench: Bench) -> list[Proposal]:
    """Every edit to try for a finding, best first, each once."""
    found: dict[object, Proposal] = {}
    for rank, remedy in enumerate(REMEDIES.get(finding.code, ())):
        for proposal in remedy(finding, bench):
            found.setdefault(proposal.fix.edits, replace(proposal, rank=rank))
    return list(found.values())
