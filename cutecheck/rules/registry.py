"""The rules, one line each, in the order of their codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cutecheck.findings import UnknownRuleError
from cutecheck.rules.accumulator_not_set import AccumulatorNotSet
from cutecheck.rules.accumulator_registers import AccumulatorRegisters
from cutecheck.rules.atom_architecture import AtomArchitecture
from cutecheck.rules.atom_refuses import AtomOperation
from cutecheck.rules.atom_threads import AtomThreadCount
from cutecheck.rules.atom_value_type import AtomValueType
from cutecheck.rules.atom_values import AtomValueCount
from cutecheck.rules.bank_conflict_read import BankConflictRead
from cutecheck.rules.bank_conflict_write import BankConflictWrite
from cutecheck.rules.barrier_steps import BarrierStepMissing
from cutecheck.rules.base import Rule
from cutecheck.rules.block_indices import TileOfAnotherBlock
from cutecheck.rules.block_threads import BlockTooSmall
from cutecheck.rules.block_too_large import BlockTooLarge
from cutecheck.rules.buffer_layouts import SameBufferSameLayout
from cutecheck.rules.bulk_copy_size import BulkCopySize
from cutecheck.rules.coalescing import GlobalNotCoalesced
from cutecheck.rules.comma_coordinate import CommaCoordinate
from cutecheck.rules.copy_sizes import CopySizeMismatch
from cutecheck.rules.cp_async_segments import CpAsyncSegments
from cutecheck.rules.cp_async_wait import CpAsyncNotWaited
from cutecheck.rules.divide_loses import DivideLosesElements
from cutecheck.rules.dsl_algebra import AcceptedSilently
from cutecheck.rules.dsl_operation import OperationNotLegal
from cutecheck.rules.dynamic_layout import DynamicLayout
from cutecheck.rules.element_format import ElementFormat
from cutecheck.rules.element_past_end import ElementPastEnd
from cutecheck.rules.epilogue_bank_conflict import EpilogueBankConflict
from cutecheck.rules.fragment_provenance import FragmentNotRetiled
from cutecheck.rules.gmma_layout import GmmaLayout
from cutecheck.rules.launch_limits import LaunchLimits
from cutecheck.rules.ldmatrix_major import LdmatrixMajor
from cutecheck.rules.own import StaleBaseline, UnexplainedSuppression, UnknownSuppression, UnusedSuppression
from cutecheck.rules.partition_rounds_up import PartitionRoundsUp
from cutecheck.rules.permutation_no_effect import PermutationNoEffect
from cutecheck.rules.permutation_not_bijective import PermutationNotBijective
from cutecheck.rules.pipeline_steps import PipelineStepMissing
from cutecheck.rules.predicate_coordinates import PredicateCoordinates
from cutecheck.rules.predicate_shape import PredicateShape
from cutecheck.rules.read_without_write import ReadWithoutWrite
from cutecheck.rules.reduction_lanes import ReductionDropsLanes
from cutecheck.rules.register_counts import RegisterCounts
from cutecheck.rules.slow_plain_copy import SlowPlainCopy
from cutecheck.rules.smem_base_alignment import SmemBaseAlignment
from cutecheck.rules.smem_bounds import SmemOutOfBounds
from cutecheck.rules.smem_capacity import SmemCapacity
from cutecheck.rules.smem_opt_in import DynamicSmemOptIn
from cutecheck.rules.smem_reuse import SmemReuseWithoutBarrier
from cutecheck.rules.stride_of_mode import StrideOfWrongMode
from cutecheck.rules.swizzle_params import SwizzleParams
from cutecheck.rules.tail_not_cleared import TailNotCleared
from cutecheck.rules.tensor_memory import TensorMemoryColumns
from cutecheck.rules.thread_layout import ThreadLayoutNotCompact
from cutecheck.rules.thread_slice import SliceOfOneThread
from cutecheck.rules.tile_does_not_divide import TileDoesNotDivide
from cutecheck.rules.tile_past_end import TilePastEnd
from cutecheck.rules.tiled_mma_rank import TiledMmaRank
from cutecheck.rules.tma_box import TmaBox
from cutecheck.rules.tma_bytes import TmaTransactionBytes
from cutecheck.rules.tma_multicast import TmaMulticast
from cutecheck.rules.tma_store_order import TmaStoreNotOrdered
from cutecheck.rules.tma_strides import TmaGlobalStride
from cutecheck.rules.tv_coverage import TileNotCovered
from cutecheck.rules.vector_alignment import VectorMisaligned
from cutecheck.rules.vectorization import VectorNotContiguous
from cutecheck.rules.wgmma_wait import WgmmaNotWaited
from cutecheck.rules.write_without_read import WriteWithoutRead
from cutecheck.rules.wrong_stage import StageNeverChanges

RULES: tuple[type[Rule], ...] = (
    UnknownSuppression,
    UnusedSuppression,
    StaleBaseline,
    UnexplainedSuppression,
    BankConflictRead,
    BankConflictWrite,
    EpilogueBankConflict,
    GlobalNotCoalesced,
    CpAsyncSegments,
    TileNotCovered,
    ThreadLayoutNotCompact,
    PermutationNotBijective,
    PermutationNoEffect,
    TileDoesNotDivide,
    DivideLosesElements,
    PartitionRoundsUp,
    SameBufferSameLayout,
    SmemOutOfBounds,
    TilePastEnd,
    AcceptedSilently,
    SmemReuseWithoutBarrier,
    CpAsyncNotWaited,
    PipelineStepMissing,
    WgmmaNotWaited,
    TmaStoreNotOrdered,
    BarrierStepMissing,
    StageNeverChanges,
    TileOfAnotherBlock,
    AccumulatorNotSet,
    ReadWithoutWrite,
    WriteWithoutRead,
    StrideOfWrongMode,
    ReductionDropsLanes,
    ElementPastEnd,
    AtomValueCount,
    AtomThreadCount,
    OperationNotLegal,
    AtomValueType,
    AtomOperation,
    AtomArchitecture,
    TiledMmaRank,
    ElementFormat,
    VectorNotContiguous,
    VectorMisaligned,
    SlowPlainCopy,
    SmemBaseAlignment,
    DynamicLayout,
    SwizzleParams,
    LdmatrixMajor,
    GmmaLayout,
    CopySizeMismatch,
    FragmentNotRetiled,
    PredicateShape,
    PredicateCoordinates,
    SliceOfOneThread,
    TailNotCleared,
    BlockTooSmall,
    SmemCapacity,
    AccumulatorRegisters,
    LaunchLimits,
    DynamicSmemOptIn,
    BlockTooLarge,
    TensorMemoryColumns,
    RegisterCounts,
    BulkCopySize,
    TmaGlobalStride,
    TmaBox,
    TmaMulticast,
    TmaTransactionBytes,
    CommaCoordinate,
)


def matches(selector: str, rule: type[Rule]) -> bool:
    """True when the selector is ``ALL``, a prefix of the rule's code, or its name."""
    return selector in ("ALL", rule.name) or (selector != "" and rule.code.startswith(selector.upper()))


def find(selector: str) -> tuple[type[Rule], ...]:
    """The rules a selector names. Raises :class:`UnknownRuleError` when there is none."""
    found = tuple(r for r in RULES if matches(selector, r))
    if not found:
        import difflib

        names = [n for r in RULES for n in (r.code, r.name)]
        near = difflib.get_close_matches(selector, names, n=1, cutoff=0.5)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UnknownRuleError(f"no rule matches '{selector}'{hint}")
    return found


def selected(
    select: Sequence[str] = (), ignore: Sequence[str] = (), extend_select: Sequence[str] = ()
) -> tuple[type[Rule], ...]:
    """The rules to run: longest matching selector decides, ``ignore`` wins a tie. Empty ``select`` is all rules."""
    for selector in (*select, *ignore, *extend_select):
        find(selector)
    wanted = tuple(select) or ("ALL",)
    return tuple(r for r in RULES if _weight((*wanted, *extend_select), r) > _weight(ignore, r))


def _weight(selectors: Iterable[str], rule: type[Rule]) -> int:
    """How exactly the best selector names the rule; -1 for none, 0 for ALL."""
    weights = [0 if s == "ALL" else 100 if s == rule.name else len(s) for s in selectors if matches(s, rule)]
    return max(weights, default=-1)
