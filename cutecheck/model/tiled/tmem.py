"""Tensor memory of sm_100: the fragments of UMMA operands (``cute/atom/mma_traits_sm100_frag.hpp``).

A tensor-memory address counts elements: data path (lane) ``dp`` starts at ``dp * dp_stride``, a column of 32 bits holds
``32 / bits`` elements. Fragments are laid out over (data path, column) first and restrided at the end, as CuTe does.
"""

from __future__ import annotations

import re
from typing import Any

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import (
    compact_col_major,
    composition,
    make_layout,
    rank,
    size,
    take,
    tiled_product,
    upcast,
)
from cutecheck.model.atoms import element_type
from cutecheck.model.ints import CuteError, NotModelledError, less_equal, mul
from cutecheck.model.layout import AnyLayout, Layout
from cutecheck.model.units import Bits

_CAPACITY = Bits(128 * 512 * 32)
_DP = Bits(1 << 21)


def dp_stride(bits: Bits) -> int:
    """``TMEM::DP<T>``: elements of ``bits`` bits from one data path to the next; CuteError unless bits divide 32."""
    if int(bits) <= 0 or 32 % int(bits):
        raise CuteError("tensor-memory pointers need an element width that divides 32", bits)
    return _DP // bits


def _bits(name: str) -> Bits:
    found = element_type(name)
    if found is None or found.bits is None:
        raise NotModelledError(f"the width of the fragment's type {name} is not known")
    return found.bits


def _extent(tmem_shape: Any, *modes: int) -> int:
    value = size(it.get(tmem_shape, *modes))
    if not isinstance(value, int):
        raise CuteError("tensor-memory fragments need static extents", tmem_shape)
    return value


def tmem_fragment(kind: str, tmem_shape: Any) -> AnyLayout:
    """The layout of a fragment of type ``kind`` (``UMMA::tmem_frg<float,uint32_t,1,UMMA::TmemAllocMode::...>``).

    ``tmem_shape`` is the partitioned shape ((M_MMA,N_MMA),Rest0,Rest1,...). CuteError where CuTe asserts.
    """
    m = re.fullmatch(r"UMMA::(tmem_\w+)<(.*)>", kind)
    if m is None:
        raise NotModelledError(f"{kind} is no tensor-memory fragment known here")
    name, args = m[1], _split(m[2])
    if rank(tmem_shape, 0) != 2:
        raise CuteError("Expected post-partitioned shape ((M_MMA,N_MMA),...).", tmem_shape)
    if name == "tmem_frg":
        return _accumulator(args[0], args[1], int(args[2]), args[3].rsplit("::", 1)[-1], tmem_shape)
    if name == "tmem_frg_ws":
        return _weight_stationary(args[0], args[1], int(args[2]), tmem_shape)
    if name in ("tmem_e_frg", "tmem_e_frg_ws"):
        return _metadata(name, args[0], tmem_shape)
    if name == "tmem_sf_frg":
        return _scale_factors(args[0], int(args[2]), args[3] == "true", args[4].rsplit("::", 1)[-1], tmem_shape)
    raise NotModelledError(f"the layout of the tensor-memory fragment {kind} is not known here")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _tiled(atom: Layout, tmem_shape: Any, restride: Layout, step: int = 1) -> AnyLayout:
    """Tile the atom over the rest modes (data paths first, then columns) and restride to addresses."""
    rest = take(tmem_shape, 1, rank(tmem_shape))
    order = make_layout(rest) if step == 1 else make_layout(rest, compact_col_major(rest, step))
    result: AnyLayout = composition(restride, tiled_product(atom, order))
    return result


def _allocation(value: str, storage: str, tmem_shape: Any) -> tuple[int, int, Layout]:
    """M and N of one instruction, and addresses by (data path, column) for values kept in ``storage``."""
    bits, stored = _bits(value), _bits(storage)
    if bits > stored:
        raise CuteError("TMEM MMA allocations require StorageType big enough for ValueType.", value, storage)
    whole = mul(size(tmem_shape), int(stored))
    if not less_equal(whole, int(_CAPACITY)):
        raise CuteError("Requesting more TMEM than is available.", whole)
    m, n = _extent(tmem_shape, 0, 0), _extent(tmem_shape, 0, 1)
    return m, n, Layout((128, 16384), (dp_stride(bits), stored // bits))


def _weight_stationary(value: str, storage: str, sms: int, tmem_shape: Any) -> AnyLayout:
    """Accumulators of weight-stationary MMAs: narrow ones are spread over all data paths."""
    m, n, restride = _allocation(value, storage, tmem_shape)
    if sms != 1:
        raise CuteError("UMMA.WS expects N_SM == 1", sms)
    if m not in (32, 64, 128):
        raise CuteError("Weight stationary UMMA_1SM M-mode size should be 32 or 64 or 128.", m)
    if n not in (64, 128, 256):
        raise CuteError("Dense weight stationary UMMA_1SM N-mode size should be 64 or 128 or 256.", n)
    parts = 128 // m
    atom = Layout((128, n), (1, 128)) if parts == 1 else Layout((m, (n // parts, parts)), (1, (128, m)))
    return _tiled(atom, tmem_shape, restride)


def _accumulator(value: str, storage: str, sms: int, mode: str, tmem_shape: Any) -> AnyLayout:
    m, n, restride = _allocation(value, storage, tmem_shape)
    full = Layout((128, n), (1, 128))
    if sms == 1:
        if mode not in ("Interleaved", "NonInterleaved"):
            raise CuteError("UMMA_1SM only accepts Interleaved or NonInterleaved", mode)
        if m not in (64, 128):
            raise CuteError("UMMA_1SM M-mode size should be 64 or 128.", m)
        if m == 128:
            return _tiled(full, tmem_shape, restride)
        half = Layout(((16, 4), n), ((1, 32), 128))
        return _tiled(half, tmem_shape, restride, 1 if mode == "Interleaved" else 2)
    if mode not in ("Interleaved", "Duplicated"):
        raise CuteError("UMMA_2SM only accepts Interleaved or Duplicated", mode)
    if m not in (32, 64, 128):
        raise CuteError("UMMA_2SM M-mode size should be 32 or 64 or 128.", m)
    if m == 32:
        if mode != "Interleaved":
            raise CuteError("Only TmemAllocMode::Interleaved is supported for UMMA_2SM M_MMA=32", mode)
        return _tiled(Layout((32, (n // 4, 4)), (1, (128, 32))), tmem_shape, restride)
    if m == 64 and mode == "Interleaved":
        return _tiled(Layout((64, (n // 2, 2)), (1, (128, 64))), tmem_shape, restride)
    return _tiled(full, tmem_shape, restride)


def _metadata(name: str, value: str, tmem_shape: Any) -> AnyLayout:
    """Sparsity metadata: one atom of 128 data paths for each width of the operand's elements.

    The weight-stationary one repeats what fewer rows need over all data paths, and has no 4-bit elements.
    """
    bits = _bits(value)
    m, k = _extent(tmem_shape, 0, 0), _extent(tmem_shape, 0, 1)
    plain = Layout((128, 16384), (int(_DP), 1))
    atoms = {
        32: (16, Layout(((8, 2, 8), (8, 2)), ((1, 1024, 16), (128, 8))), upcast(plain, 2)),
        16: (32, Layout(((8, 2, 8), (16, 2)), ((1, 2048, 16), (128, 8))), plain),
        8: (64, Layout((128, 64), (1, 128)), plain),
        4: (128, Layout((128, 128), (1, 128)), Layout((128, 32768), (1 << 22, 1))),
    }
    stationary = name.endswith("_ws")
    if stationary and m not in (32, 64, 128):
        raise CuteError("Weight stationary UMMA_1SM M-mode size should be 32 or 64 or 128.", m)
    if not stationary and m != 128:
        raise CuteError(f"{name}: Only 128 implemented right now.", m)
    if bits not in atoms or (stationary and int(bits) == 4):
        raise CuteError(f"{name}: Invalid ValueType", value)
    if atoms[bits][0] != k:
        raise CuteError(f"{name}: N_MMA == {atoms[bits][0]}", k)
    _, atom, restride = atoms[bits]
    if m < 128:
        atom = _narrow(atom, m, int(bits))
    return _tiled(atom, tmem_shape, restride)


def _narrow(atom: Layout, m: int, bits: int) -> Layout:
    """The metadata atom of ``m`` rows; what is left of the data paths becomes a mode of copies."""
    copies = 128 // m
    shape: Any = atom.shape
    stride: Any = atom.stride
    if bits == 8:
        return Layout((m, (shape[1], copies)), (stride[0], (stride[1], m)))
    rows = (*shape[0][:2], shape[0][2] // copies)
    return Layout((rows, shape[1], copies), (*stride, m))


def _scale_factors(value: str, sms: int, is_a: bool, mode: str, tmem_shape: Any) -> AnyLayout:
    """Scale factors ((MMA_MN,(VecSize,NSF)),MNs,Ks,...), replicated over the four sub-partitions."""
    if rank(tmem_shape) < 3:
        raise CuteError("Expected an MMA partitioned tensor", tmem_shape)
    if rank(tmem_shape, 0, 1) != 2:
        raise CuteError("Expected an MMA-SF partitioned tensor", tmem_shape)
    mn, vector, factors = _extent(tmem_shape, 0, 0), _extent(tmem_shape, 0, 1, 0), _extent(tmem_shape, 0, 1, 1)
    restride = Layout((128, 16384), (dp_stride(_bits(value)), 1))
    if is_a or mode == "ScaleFactorDuplicated4by1":
        atom = Layout((((32, mn // 32), 4), (vector, factors)), (((1, 512), 32), (0, 128)))
    else:
        if sms != 2:
            raise CuteError("Should be 2x2 Datapath", sms)
        atom = Layout((((32, mn // 2 // 32), 2, 2), (vector, factors)), (((1, 512), 64, 32), (0, 128)))
    return _tiled(atom, tmem_shape, restride)
