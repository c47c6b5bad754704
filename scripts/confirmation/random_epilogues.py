"""Random GEMMs with tensor-map loads and epilogues through shared memory, and copies of tensor maps alone."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from confirmation import random_legal as legal
from cutecheck.exec.gpu.gemm import GemmProbe, Operand
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.exec.gpu.tensor_maps import map_of
from cutecheck.model.algebra import composition, tile_to_shape
from cutecheck.model.atoms import copy_op
from cutecheck.model.dtype import DType
from cutecheck.model.layout import AnyLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, make_tiled_copy, make_tiled_copy_C
from cutecheck.model.tiled.smem_atoms import smem_layout_atom
from cutecheck.model.tiled.tma import make_tma_copy

_SPANS = ("INTER", "SW32", "SW64", "SW128")


def tma_wgmma(g: random.Random) -> tuple[str, GemmProbe]:
    """Warpgroup MMAs whose operands are loaded by tensor maps (one of them by a copy now and then)."""
    name, probe = legal.wgmma_gemm(g)
    a, b = mapped(probe.a), mapped(probe.b)
    if g.random() < 0.2:
        a = probe.a
    return f"{name}, TMA", _with_epilogue(g, replace(probe, a=a, b=b)) if g.random() < 0.4 else replace(probe, a=a, b=b)


def tma_mma(g: random.Random) -> tuple[str, GemmProbe]:
    """Warp-level MMAs whose operands are loaded by tensor maps into swizzled rows."""
    name, probe = legal.mma_gemm(g)
    operands = []
    for o in (probe.a, probe.b):
        stride: Any = o.gmem.stride
        shape: Any = o.gmem.shape
        span = smem_layout_atom("K" if stride[1] == 1 else "MN", g.choice(_SPANS), o.dtype)  # type: ignore[arg-type]
        operands.append(mapped(replace(o, smem=tile_to_shape(span, (shape[0], shape[1])))))
    return f"{name}, TMA", replace(probe, a=operands[0], b=operands[1])


def staged(g: random.Random) -> tuple[str, GemmProbe]:
    """GEMMs of both kinds with an epilogue through shared memory."""
    name, probe = g.choice([legal.mma_gemm, legal.wgmma_gemm])(g)
    return f"{name}, epilogue", _with_epilogue(g, probe)


def direct(g: random.Random) -> tuple[str, GemmProbe]:
    """GEMMs whose accumulators go straight to global memory by a copy."""
    name, probe = g.choice([legal.mma_gemm, legal.wgmma_gemm])(g)
    atom = copy_op("UniversalCopy", (legal._type(_word(g, probe.d_dtype)),), probe.d_dtype)
    return f"{name}, direct stores", replace(probe, write=make_tiled_copy_C(atom, probe.mma))


def tma_copy(g: random.Random) -> tuple[str, CopyProbe]:
    """One tile by a tensor map, into or out of shared memory."""
    t = legal._type(g.choice(["half_t", "bfloat16_t", "float", "int8_t", "double"]))
    rows, depth = g.choice([16, 32, 64, 128]), g.choice([16, 32, 64, 96, 128])
    k_major = g.random() < 0.6
    smem = tile_to_shape(smem_layout_atom("K" if k_major else "MN", g.choice(_SPANS), t), (rows, depth))  # type: ignore[arg-type]
    pad = g.choice([0, 16, 64])
    gmem = Layout((rows, depth), (depth + pad, 1) if k_major else (1, rows + pad))
    op = g.choice(["SM90_TMA_LOAD", "SM90_TMA_STORE"])
    copy = _checked(make_tma_copy(op, gmem, t, smem))
    whole, tile = Tile("gmem", gmem), Tile("smem", smem)
    return op, CopyProbe(copy, t, *((whole, tile) if op == "SM90_TMA_LOAD" else (tile, whole)))


def mapped(operand: Operand) -> Operand:
    """The operand loaded by a tensor map for its shared-memory layout; ValueError where the driver would refuse it."""
    return replace(operand, copy=_checked(make_tma_copy("SM90_TMA_LOAD", operand.matrix, operand.dtype, operand.smem)))


def _checked(copy: TiledCopy) -> TiledCopy:
    found = map_of(copy)
    broken = found.violations()
    inner, span = int(found.box[0]) * int(found.internal_bits) // 8, 16 << found.swizzle.bits
    if broken or inner % 16 or (found.swizzle.bits and inner > span):
        raise ValueError("; ".join(broken) or f"a box whose inner mode has {inner} bytes")
    return copy


def _with_epilogue(g: random.Random, probe: GemmProbe) -> GemmProbe:
    m, n, _ = probe.extents
    t = probe.d_dtype
    threads = probe.block
    if g.random() < 0.4:
        smem: AnyLayout = tile_to_shape(smem_layout_atom("K", g.choice(_SPANS), t), (m, n))  # type: ignore[arg-type]
        write = _checked(make_tma_copy("SM90_TMA_STORE", probe.gmem_d, t, smem))
    else:
        smem = _rows(g, t, m, n)
        write = _store(g, t, m, n, threads)
    if t.name == "half_t" and g.random() < 0.6:
        atom = copy_op(g.choice(["SM90_U32x4_STSM_N", "SM90_U32x2_STSM_N", "SM90_U32x1_STSM_N"]), (), t)
    else:
        atom = copy_op("UniversalCopy", (legal._type(_word(g, t)),), t)
    return replace(probe, stage=make_tiled_copy_C(atom, probe.mma), smem_d=smem, write=write)


def _word(g: random.Random, t: DType) -> str:
    """The element, or two of them: neighbours in a row of the accumulators."""
    pair = {16: "uint32_t", 32: "uint64_t", 64: "uint128_t", 8: "uint16_t"}[legal._bits(t)]
    return g.choice([t.name, pair])


def _rows(g: random.Random, t: DType, m: int, n: int) -> AnyLayout:
    wide = 128 // legal._bits(t)
    if g.random() < 0.5:
        return Layout((m, n), (n + g.choice([0, wide, 2 * wide]), 1))
    bits, base = g.choice([1, 2, 3]), wide.bit_length() - 1
    lines = max(1, (1 << (bits + base + 3)) // n)
    return tile_to_shape(composition(Swizzle(bits, base, 3), Layout((lines, n), (n, 1))), (m, n))


def _store(g: random.Random, t: DType, m: int, n: int, threads: int) -> TiledCopy:
    words = {128: "uint128_t", 64: "uint64_t", 32: "uint32_t", 16: "uint16_t", 8: "uint8_t"}
    width = g.choice([w for w in (128, 64, 32, legal._bits(t)) if w >= legal._bits(t)])
    vector = width // legal._bits(t)
    lanes = g.choice([k for k in (1, 2, 4, 8, 16, 32) if n % (k * vector) == 0][-2:])
    rows = max(k for k in range(1, threads // lanes + 1) if m % k == 0)
    atom = copy_op("UniversalCopy", (legal._type(words[width]),), t)
    return make_tiled_copy(atom, Layout((rows, lanes), (lanes, 1)), Layout((1, vector), (0, 1)))
