"""Random legal configurations: atoms x tiles x atom layouts x permutations x swizzles x element types x copies."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from cutecheck.exec.gpu.gemm import GemmProbe, Operand
from cutecheck.exec.gpu.predict import FaultError, traffic
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.model import expr as ex
from cutecheck.model.algebra import composition, make_fragment_like, size, tile_to_shape
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.basis import X
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import CuteError, Dyn, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, Layout, Swizzle
from cutecheck.model.tiled import (
    TiledCopy,
    TiledMMA,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_mma,
)
from cutecheck.model.tiled.smem_atoms import smem_layout_atom

_MMA = {  # operation: element of A, of B, of the accumulators
    "SM70_8x8x4_F32F16F16F32_TN": ("half_t", "half_t", "float"),
    "SM75_16x8x8_F32F16F16F32_TN": ("half_t", "half_t", "float"),
    "SM75_8x8x16_S32S8S8S32_TN": ("int8_t", "int8_t", "int32_t"),
    "SM80_16x8x8_F32F16F16F32_TN": ("half_t", "half_t", "float"),
    "SM80_16x8x16_F32F16F16F32_TN": ("half_t", "half_t", "float"),
    "SM80_16x8x16_F16F16F16F16_TN": ("half_t", "half_t", "half_t"),
    "SM80_16x8x16_F32BF16BF16F32_TN": ("bfloat16_t", "bfloat16_t", "float"),
    "SM80_16x8x8_F32BF16BF16F32_TN": ("bfloat16_t", "bfloat16_t", "float"),
    "SM80_16x8x8_F32TF32TF32F32_TN": ("tfloat32_t", "tfloat32_t", "float"),
    "SM80_16x8x4_F32TF32TF32F32_TN": ("tfloat32_t", "tfloat32_t", "float"),
    "SM80_16x8x16_S32S8S8S32_TN": ("int8_t", "int8_t", "int32_t"),
    "SM80_16x8x32_S32S8S8S32_TN": ("int8_t", "int8_t", "int32_t"),
    "SM80_8x8x4_F64F64F64F64_TN": ("double", "double", "double"),
    "SM89_16x8x32_F32E4M3E4M3F32_TN": ("float_e4m3_t", "float_e4m3_t", "float"),
    "SM89_16x8x32_F32E5M2E4M3F32_TN": ("float_e5m2_t", "float_e4m3_t", "float"),
}
_WGMMA = {
    "F32F16F16": ("half_t", "half_t", "float", 16),
    "F16F16F16": ("half_t", "half_t", "half_t", 16),
    "F32BF16BF16": ("bfloat16_t", "bfloat16_t", "float", 16),
    "F32TF32TF32": ("tfloat32_t", "tfloat32_t", "float", 8),
    "F32E4M3E4M3": ("float_e4m3_t", "float_e4m3_t", "float", 32),
    "S32S8S8": ("int8_t", "int8_t", "int32_t", 32),
}
_REFUSED = (IndexError, CuteError, UndecidedError, FaultError, ValueError, AssertionError)


def _type(name: str) -> DType:
    made = dtype(name)
    assert made is not None
    return made


def _bits(t: DType) -> int:
    assert t.bits is not None
    return int(t.bits)


def _number(value: Any) -> int:
    made = known_value(value)
    assert made is not None
    return made


def legal(
    count: int, seed: int, kind: Callable[[random.Random], tuple[str, CopyProbe | GemmProbe]]
) -> list[tuple[str, Any]]:
    """``count`` different configurations that the model accepts, drawn by ``kind``."""
    generator = random.Random(seed)
    found: dict[Any, str] = {}
    for _ in range(200 * count):
        if len(found) == count:
            break
        try:
            name, probe = kind(generator)
            _accepted(probe)
        except _REFUSED:
            continue
        found.setdefault(probe, name)
    return [(name, probe) for probe, name in found.items()]


def _accepted(probe: CopyProbe | GemmProbe) -> None:
    thread = Dyn(ex.var("threadIdx.x", Domain(0, 1023)))
    for one in [p for p, _ in probe.copies()] if isinstance(probe, GemmProbe) else [probe]:
        for tile, cut in ((one.src, one.tiled.partition_S), (one.dst, one.tiled.partition_D)):
            if tile is not None:
                cut(tile.layout, thread)  # as a kernel does: a layout may be refused only at a run-time thread
    if isinstance(probe, GemmProbe):
        _ = probe.block
        probe.traffic()
        part = probe.mma.get_slice(thread)
        for letter, operand in (("A", probe.a), ("B", probe.b)):
            part.partition_fragment(letter, operand.smem, operand.dtype.bits)
        if probe.shared_bytes > 200 << 10:
            raise ValueError("too much shared memory")
    else:
        traffic(probe)


def mma_gemm(g: random.Random) -> tuple[str, GemmProbe]:
    """A GEMM with warp-level MMAs."""
    name = g.choice(list(_MMA))
    a, b, c = map(_type, _MMA[name])
    atom = mma_op(name)
    m, n = g.choice([(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (2, 4), (4, 2)])
    order = g.choice([(1, m, 0), (n, 1, 0)])
    mma = make_tiled_mma(atom, Layout((m, n, 1), order), _permutation(g, atom, m, n))
    tile = [_number(mma.tile_size(i)) for i in range(3)]
    rows = [t * g.choice([f for f in (1, 2, 4) if t * f <= 64] or [1]) for t in tile[:2]]
    depth = tile[2] * g.choice([f for f in (1, 2, 4, 8) if 16 <= tile[2] * f <= 64])
    threads = _number(size(mma.thr_layout_vmnk))
    tiles = g.choice([1, 2, 3])
    left = _operand(g, a, rows[0], depth, tiles, threads, mma, make_tiled_copy_A)
    right = _operand(g, b, rows[1], depth, tiles, threads, mma, make_tiled_copy_B)
    return name, GemmProbe(mma, left, right, c, Layout((rows[0], rows[1]), (rows[1], 1)))


def _permutation(g: random.Random, atom: Any, m: int, n: int) -> Any:
    am, an, ak = (_number(x) for x in atom.shape_mnk)
    pick = g.randrange(5)
    if pick == 0:
        return None
    if pick == 1:
        return (am * m * g.choice([1, 2]), an * n * g.choice([1, 2]), ak)
    if pick == 2:
        return (X, an * n * 2, X)
    if pick == 3:  # neighbouring atoms of a warp in N, as ldmatrix.x4 of B wants them
        return (am * m, Layout((an, n, 2), (1, an * 2, an)), ak)
    return (Layout((am, m, 2), (1, am * 2, am)), X, X)


def _operand(
    g: random.Random,
    t: DType,
    rows: int,
    depth: int,
    tiles: int,
    threads: int,
    mma: TiledMMA,
    make: Callable[..., TiledCopy],
) -> Operand:
    k_major = g.random() < 0.75
    smem = _shared(g, t, rows, depth, k_major)
    gmem = Layout((rows, depth, tiles), (depth * tiles, 1, depth) if k_major else (1, rows, rows * depth))
    fill = _fill(g, t, rows, depth, threads, k_major)
    return Operand(t, gmem, smem, fill, make(_read_atom(g, t, k_major), mma))


def _shared(g: random.Random, t: DType, rows: int, depth: int, k_major: bool) -> AnyLayout:
    along, across = (depth, rows) if k_major else (rows, depth)
    pick = g.randrange(4)
    if pick == 0:
        pad = g.choice([0, 128 // _bits(t), 64 // min(64, _bits(t))])
        return Layout((rows, depth), (depth + pad, 1) if k_major else (1, rows + pad))
    base = g.choice([128 // _bits(t), max(1, 64 // _bits(t)), 128 // _bits(t)]).bit_length() - 1
    bits, shift = g.choice([1, 2, 3, 3]), g.choice([3, 3, 2, 4])
    if bits > shift:
        raise ValueError("not a swizzle of the family")
    period = 1 << (bits + base + shift)
    swizzle = Swizzle(bits, base, shift)
    if period % along == 0 and across % max(1, period // along) == 0 and pick < 3:
        lines = max(1, period // along)
        plain = Layout((lines, along), (along, 1)) if k_major else Layout((along, lines), (1, along))
        return tile_to_shape(composition(swizzle, plain), (rows, depth))
    if rows * depth % period:
        raise ValueError("the period does not divide the tile")
    return composition(swizzle, Layout((rows, depth), (depth, 1) if k_major else (1, rows)))


def _fill(g: random.Random, t: DType, rows: int, depth: int, threads: int, k_major: bool) -> TiledCopy:
    width = g.choice([w for w in (128, 128, 128, 64, 32, _bits(t)) if w >= _bits(t)])
    words = {128: "uint128_t", 64: "uint64_t", 32: "uint32_t", 16: "uint16_t", 8: "uint8_t"}
    pick = g.randrange(3)
    if pick == 0 and width == 128:
        atom = copy_op("SM80_CP_ASYNC_CACHEGLOBAL", (_type("uint128_t"),), t)
    elif pick == 1 and width >= 32:
        atom = copy_op("SM80_CP_ASYNC_CACHEALWAYS", (_type(words[width]),), t)
    else:
        atom = copy_op("UniversalCopy", (_type(words[width]),), t)
    vector = width // _bits(t)
    along, across = (depth, rows) if k_major else (rows, depth)
    lanes = [n for n in (1, 2, 4, 8, 16, 32) if along % (n * vector) == 0 and n <= threads]
    first = g.choice(lanes[-2:])
    second = max(n for n in range(1, threads // first + 1) if across % n == 0)
    if k_major:
        return make_tiled_copy(atom, Layout((second, first), (first, 1)), Layout((1, vector), (0, 1)))
    return make_tiled_copy(atom, Layout((first, second), (1, first)), Layout((vector, 1), (1, 0)))


def _read_atom(g: random.Random, t: DType, k_major: bool) -> Any:
    if k_major:
        choices = [
            "SM75_U32x4_LDSM_N",
            "SM75_U32x2_LDSM_N",
            "SM75_U32x1_LDSM_N",
            "SM75_U32x4_LDSM_N",
            "element",
            "word",
        ]
    else:
        choices = (
            ["element"]
            if _bits(t) != 16
            else ["SM75_U16x8_LDSM_T", "SM75_U16x4_LDSM_T", "SM75_U16x2_LDSM_T", "element"]
        )
    pick = g.choice(choices)
    if pick == "element":
        return copy_op("UniversalCopy", (t,), t)
    if pick == "word":
        return copy_op("UniversalCopy", (_type("uint32_t" if _bits(t) < 64 else "uint64_t"),), t)
    return copy_op(pick, (), t)


def wgmma_gemm(g: random.Random) -> tuple[str, GemmProbe]:
    """A GEMM with warpgroup MMAs: A from shared memory or registers, canonical layouts."""
    kind = g.choice(list(_WGMMA))
    a, b, c = map(_type, _WGMMA[kind][:3])
    k = _WGMMA[kind][3]
    n = g.choice([8, 16, 32, 64, 96, 128])
    source = g.choice(["SS", "SS", "SS", "RS"])
    free = k == 16  # only 16-bit types may be MN-major
    name = f"SM90::GMMA::MMA_64x{n}x{k}_{kind}_{source}" + ("" if free else "_TN")
    majors = [g.choice(["K", "K", "MN"]) if free else "K" for _ in range(2)]
    if source == "RS":
        majors[0] = "K"
    atom = mma_op(name, tuple(f"GMMA::Major::{x}" for x in majors) if free else ())
    groups = g.choice([1, 1, 2])
    mma = make_tiled_mma(atom, Layout((groups, 1, 1), (1, 0, 0)))
    rows = (64 * groups * g.choice([1, 2]), n * g.choice([1, 2]))
    depth = k * g.choice([1, 2, 4])
    threads = 128 * groups
    operands = []
    tiles = g.choice([1, 2])
    for extent, t, major in zip(rows, (a, b), majors, strict=True):
        k_major = major == "K"
        span = g.choice(["INTER", "SW32", "SW64", "SW128"])
        smem = tile_to_shape(smem_layout_atom(major, span, t), (extent, depth))  # type: ignore[arg-type]
        gmem = Layout((extent, depth, tiles), (depth * tiles, 1, depth) if k_major else (1, extent, extent * depth))
        operands.append((t, gmem, smem, _fill(g, t, extent, depth, threads, k_major)))
    read = make_tiled_copy_A(copy_op("UniversalCopy", (a,), a), mma) if source == "RS" else None
    left, right = Operand(*operands[0], read), Operand(*operands[1], None)
    return name, GemmProbe(mma, left, right, c, Layout(rows, (rows[1], 1)))


def tiled_copy(g: random.Random) -> tuple[str, CopyProbe]:
    """A copy between shared or global memory and registers, or from global to shared memory."""
    t = _type(g.choice(["half_t", "float", "bfloat16_t", "int8_t", "double", "uint16_t"]))
    rows, depth = g.choice([16, 32, 64, 128]), g.choice([16, 32, 64, 96])
    k_major = g.random() < 0.7
    smem = Tile("smem", _shared(g, t, rows, depth, k_major))
    gmem = Tile(
        "gmem", Layout((rows, depth), (depth + g.choice([0, 16]), 1) if k_major else (1, rows + g.choice([0, 16])))
    )
    pick = g.randrange(5)
    threads = g.choice([32, 64, 128, 256])
    if pick == 0:
        return "global to shared", CopyProbe(_fill(g, t, rows, depth, threads, k_major), t, gmem, smem)
    if pick == 1 and _bits(t) == 16:
        op = g.choice(["SM90_U32x4_STSM_N", "SM90_U32x2_STSM_N", "SM90_U32x1_STSM_N"])
        mma = make_tiled_mma(mma_op("SM80_16x8x16_F16F16F16F16_TN"), Layout((2, 1, 1), (1, 0, 0)), (32, 16, 16))
        from cutecheck.model.tiled import make_tiled_copy_C

        store = make_tiled_copy_C(copy_op(op, (), t), mma)
        return "stmatrix", CopyProbe(store, t, None, smem, _fragment(store.partition_S(smem.layout, 0)[0]))
    copier = _fill(g, t, rows, depth, threads, k_major)
    if copier.atom.op.startswith("SM80"):
        raise ValueError("cp.async has no registers")
    tile = g.choice([smem, smem, gmem])
    if pick in (2, 3):
        return f"load from {tile.memory}", CopyProbe(
            copier, t, tile, None, _fragment(copier.partition_D(tile.layout, 0)[0])
        )
    return f"store to {tile.memory}", CopyProbe(copier, t, None, tile, _fragment(copier.partition_S(tile.layout, 0)[0]))


def _fragment(part: AnyLayout) -> Layout:
    made = make_fragment_like(part)
    assert isinstance(made, Layout)
    return made
