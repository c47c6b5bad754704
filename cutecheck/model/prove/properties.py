"""The properties that can be obliged: one frozen payload each, over model objects.

Offsets are expressions in **elements, before any swizzle**, over run-time variables; one of the variables is the
thread (``threadIdx.x`` unless named otherwise), the others are taken as uniform over a warp. Extents and strides are
CuTe integers (``int``, ``Dyn``, ``Sym``). ``what`` is how the user's source calls the thing, used in witnesses.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, Union

from cutecheck.model.access import AccessKind
from cutecheck.model.expr import Expr, const
from cutecheck.model.ints import Condition, Int
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle
from cutecheck.model.units import Bits, ByteCount, Bytes, ElementCount, Elements, bits_to_bytes
from cutecheck.records import record

Major = Literal["K", "MN"]

THREAD = "threadIdx.x"
NO_REST = Layout((), ())
ZERO = const(0)


@record(frozen=True, slots=True)
class BankAccess:
    """Shared-memory accesses of one copy: every warp instruction takes as many wavefronts as it has phases.

    Lane ``t`` moves ``vector_bits`` consecutive bits at element ``swizzle(offset(t) + rest(r))``, for each of the
    ``threads`` threads and each coordinate ``r`` of ``rest`` (every coordinate is another instruction; iterations and
    values beyond the vector). For ldmatrix and stmatrix ``offset`` is the lane's row address, ``matrices`` is N of
    ``.xN`` and ``vector_bits`` is 128. ``base_alignment`` is what is known of the allocation's address, in bytes.
    ``active``: only threads that meet these conditions (of the thread index alone) take part, a guard's lanes.
    Predicated accesses: a proof covers every subset of those lanes, a refutation assumes all of them active.
    """

    kind: AccessKind
    element_bits: Bits
    vector_bits: Bits
    offset: Expr
    threads: int
    swizzle: Swizzle | None = None
    rest: Layout = NO_REST
    matrices: int = 0
    transposed: bool = False
    thread: str = THREAD
    base_alignment: Bytes = Bytes(16)
    predicated: bool = False
    what: str = ""
    active: tuple[Condition, ...] = ()

    @property
    def vector_bytes(self) -> Bytes:
        """IndivisibleError for vectors of no whole number of bytes."""
        return bits_to_bytes(self.vector_bits)


@record(frozen=True, slots=True)
class Coverage:
    """A thread-value layout hits every element of a tile exactly once.

    ``layout`` maps (thread, value) to the tile's column-major index, as ``get_layoutS_TV`` gives it; its codomain is
    ``tile`` (a shape). With ``replicated``, threads of stride-0 thread modes hold copies (MMA operands) and count once.
    """

    layout: Layout
    tile: IntTuple
    replicated: bool = False
    what: str = ""


@record(frozen=True, slots=True)
class Bijective:
    """A layout permutes ``[0, size)``: a PermutationMNK entry on its mode of the tile."""

    layout: Layout
    size: Int
    what: str = ""


@record(frozen=True, slots=True)
class Injective:
    """No two coordinates of a layout share an offset (stride-0 modes of size > 1 are overlaps)."""

    layout: AnyLayout
    what: str = ""


@record(frozen=True, slots=True)
class CosizeFits:
    """Every offset of a layout, after its swizzle and the ``offset`` of its first element, lies in an allocation.

    ``base``: elements between a multiple of the swizzle's period and the allocation. A swizzle on addresses is one on
    ``base`` and offset together, so ``base <= swizzle(base + offset + ...) < base + allocation``.
    """

    layout: AnyLayout
    allocation: ElementCount
    offset: Expr = ZERO
    what: str = ""
    base: Expr = ZERO


@record(frozen=True, slots=True)
class LayoutEqual:
    """Two layouts are the same function on linear indices: equal sizes and equal offsets."""

    left: AnyLayout
    right: AnyLayout
    what: str = ""


@record(frozen=True, slots=True)
class Count:
    """One number that must equal another: ``actual`` of the configuration, ``required`` by the atom."""

    name: str
    actual: Int
    required: Int


@record(frozen=True, slots=True)
class AtomCounts:
    """Threads and values a configuration offers against what its atom needs."""

    counts: tuple[Count, ...]
    what: str = ""


@record(frozen=True, slots=True)
class Division:
    """``dividend % divisor == 0`` for one mode, named as in the source (``kBlockM``, ``mode 0``)."""

    name: str
    dividend: Int
    divisor: Int


@record(frozen=True, slots=True)
class Divides:
    """Every mode of a tile is a whole number of tilers."""

    modes: tuple[Division, ...]
    what: str = ""


@record(frozen=True, slots=True)
class Holds:
    """Every condition holds for all parameters that meet the hypotheses: capacities, equalities, bounds."""

    conditions: tuple[Condition, ...]
    what: str = ""


@record(frozen=True, slots=True)
class Alignment:
    """Every vector of an access starts at a byte address divisible by ``vector_bytes``.

    The address is ``base + element_bits/8 * swizzle(offset + rest)`` with ``base`` a multiple of ``base_alignment``.
    """

    element_bits: Bits
    vector_bytes: Bytes
    offset: Expr
    base_alignment: Bytes
    rest: Layout = NO_REST
    swizzle: Swizzle | None = None
    what: str = ""


@record(frozen=True, slots=True)
class Contiguous:
    """The first ``count`` elements of a layout are at consecutive offsets; ``static``: by compile-time strides.

    A run-time unit stride does not vectorize, so ``static`` asks for static shapes and strides of those elements.
    """

    layout: AnyLayout
    count: Elements
    static: bool = True
    what: str = ""


@record(frozen=True, slots=True)
class InBounds:
    """Each coordinate lies in ``[0, extent)`` under the obligation's hypotheses (its predicate among them)."""

    coordinates: tuple[Expr, ...]
    extents: tuple[Int, ...]
    what: str = ""


@record(frozen=True, slots=True)
class GmemSectors:
    """A warp's global access touches at most ``factor`` times the least number of 32-byte sectors.

    Same addressing as :class:`BankAccess`, without a swizzle; the least is ``ceil(distinct bytes / 32)``.
    """

    element_bits: Bits
    vector_bits: Bits
    offset: Expr
    threads: int
    rest: Layout = NO_REST
    thread: str = THREAD
    base_alignment: Bytes = Bytes(16)
    factor: int = 2
    what: str = ""

    @property
    def vector_bytes(self) -> Bytes:
        """IndivisibleError for vectors of no whole number of bytes."""
        return bits_to_bytes(self.vector_bits)


@record(frozen=True, slots=True)
class GmmaCanonical:
    """A shared-memory tile is one of the canonical layouts a descriptor can state (PTX ISA, wgmma and tcgen05).

    ``layout`` is (MN, K) of one instruction's operand, in elements, with its byte-unit swizzle or none. UMMA
    (tcgen05) has one swizzle more, ``Sw<2,5,2>`` of MN-major operands: 128 bytes in pieces of 32, four deep.
    K is 32 bytes of a dense operand; 64 of a sparse MMA's B and, MN-major, 16 of its A.
    """

    layout: AnyLayout
    element_bits: Bits
    major: Major
    what: str = ""
    engine: Literal["GMMA", "UMMA"] = "GMMA"


def operand_depths(g: GmmaCanonical) -> tuple[int, ...]:
    """The extents of K, in elements, that an instruction's operand can have (cute/atom/mma_traits_sm90_gmma.hpp)."""
    unit = 128 // int(g.element_bits)
    return (2 * unit, 4 * unit) if g.major == "K" else (2 * unit, 4 * unit, unit)


@record(frozen=True, slots=True)
class TmaLimits:
    """Limits of ``cuTensorMapEncodeTiled``: box extents in elements, global strides of modes 1.. in bytes.

    ``swizzle_bytes`` is the span (0, 32, 64 or 128); ``multicast`` and ``cluster`` count CTAs.
    """

    box: tuple[ElementCount, ...]
    element_bits: Bits
    global_strides_bytes: tuple[ByteCount, ...] = ()
    inner_stride: Int = 1
    swizzle_bytes: Bytes = Bytes(0)
    global_alignment: Bytes | None = None
    multicast: Int = 1
    cluster: Int = 1
    what: str = ""


Payload: TypeAlias = Union[
    BankAccess,
    Coverage,
    Bijective,
    Injective,
    CosizeFits,
    LayoutEqual,
    AtomCounts,
    Divides,
    Holds,
    Alignment,
    Contiguous,
    InBounds,
    GmemSectors,
    GmmaCanonical,
    TmaLimits,
]

# The stable kebab name of each property, used in obligation ids, JSON and `--show-proofs`.
PROPERTY_NAMES: dict[type[Payload], str] = {
    BankAccess: "bank-conflict-free",
    Coverage: "covers-tile-once",
    Bijective: "permutation-bijective",
    Injective: "layout-injective",
    CosizeFits: "fits-allocation",
    LayoutEqual: "layouts-equal",
    AtomCounts: "atom-counts",
    Divides: "divides",
    Holds: "condition",
    Alignment: "vector-aligned",
    Contiguous: "vector-contiguous",
    InBounds: "in-bounds",
    GmemSectors: "coalesced",
    GmmaCanonical: "gmma-canonical",
    TmaLimits: "tma-limits",
}
