"""A layout for one shared-memory buffer that makes all of its accesses free of bank conflicts.

``suggest(accesses)`` tries, in this order: ``Swizzle<B,M,S>`` (``swizzles``), padding of the rows (``padding``), a
general XOR layout (``xor_layout``). What is offered was proved again by the engines for all accesses together; that
no member of the swizzle family works is shown by one replayed conflict a member.
"""

from cutecheck.model.prove.synthesis.padding import Padding, find_padding
from cutecheck.model.prove.synthesis.suggest import Synthesis, suggest
from cutecheck.model.prove.synthesis.swizzles import Family, SwizzleSearch, find_swizzle
from cutecheck.model.prove.synthesis.vectors import VectorCopy, suggest_vectors
from cutecheck.model.prove.synthesis.xor_layout import XorLayout, find_xor_layout

__all__ = [
    "Family",
    "Padding",
    "SwizzleSearch",
    "Synthesis",
    "VectorCopy",
    "XorLayout",
    "find_padding",
    "find_swizzle",
    "find_xor_layout",
    "suggest",
    "suggest_vectors",
]
