"""Random illegal configurations as small sources: what cutecheck must say, and CuTe or the hardware must show."""

from __future__ import annotations

import random
from dataclasses import dataclass

_HEAD = """#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
using namespace cute;
"""


@dataclass(frozen=True)
class Illegal:
    """``kind`` of mistake; ``text`` a source with one kernel, ``illegal``, and one copy or MMA in it."""

    kind: str
    text: str


def illegal(count: int, seed: int) -> list[Illegal]:
    """``count`` different sources, the kinds of mistakes in turn."""
    generator = random.Random(seed)
    found: dict[str, Illegal] = {}
    kinds = list(_KINDS)
    for i in range(100 * count):
        if len(found) == count:
            break
        kind = kinds[i % len(kinds)]
        text = _HEAD + _KINDS[kind](generator)
        found.setdefault(text, Illegal(kind, text))
    return list(found.values())


_TYPES = {"half_t": 16, "float": 32, "int8_t": 8, "bfloat16_t": 16, "double": 64}


def _stage(element: str, smem: str, gmem: str, atom: str, thr: str, val: str, threads: int) -> str:
    return f"""
using Elem = {element};
using Smem = {smem};
using Copier = decltype(make_tiled_copy(Copy_Atom<{atom}, Elem>{{}}, {thr}{{}}, {val}{{}}));
extern "C" __global__ void __launch_bounds__({threads}) illegal(Elem const* src) {{
  __shared__ alignas(128) Elem room[cosize_v<Smem>];
  Tensor g = make_tensor(make_gmem_ptr(src), {gmem}{{}});
  Tensor s = make_tensor(make_smem_ptr(room), Smem{{}});
  Copier copier;
  auto thr = copier.get_slice(threadIdx.x);
  copy(copier, thr.partition_S(g), thr.partition_D(s));
  cp_async_fence();
  cp_async_wait<0>();
}}
"""


def _row(rows: int, columns: int, pitch: int) -> str:
    return f"Layout<Shape<Int<{rows}>, Int<{columns}>>, Stride<Int<{pitch}>, _1>>"


def _values(across: int, along: int) -> str:
    return f"Layout<Shape<Int<{across}>, Int<{along}>>>"


def _threads(rows: int, columns: int) -> str:
    return f"Layout<Shape<Int<{rows}>, Int<{columns}>>, Stride<Int<{columns}>, _1>>"


def _vector(g: random.Random) -> tuple[str, int, int, str]:
    """(element, bits, elements of a 16-byte vector, a 16-byte atom)."""
    element = g.choice(list(_TYPES))
    bits = _TYPES[element]
    atom = g.choice(
        ["SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", "UniversalCopy<uint128_t>"]
    )
    return element, bits, 128 // bits, atom


def _few_values(g: random.Random) -> str:
    element, _, vector, atom = _vector(g)
    rows, lanes = g.choice([8, 16]), g.choice([4, 8])
    short = max(1, vector // 2)
    smem = _row(rows, lanes * short, lanes * short)
    return _stage(element, smem, smem, atom, _threads(rows, lanes), _values(1, short), rows * lanes)


def _across(g: random.Random) -> str:
    """Values that run across the contiguous mode."""
    element, _, vector, atom = _vector(g)
    rows, columns = g.choice([4, 8]), g.choice([16, 32])
    smem = _row(rows * vector, columns, columns)
    return _stage(element, smem, smem, atom, _threads(rows, columns), _values(vector, 1), rows * columns)


def _misaligned(g: random.Random) -> str:
    """Rows whose pitch is no whole number of vectors."""
    element, bits, vector, atom = _vector(g)
    rows, lanes = g.choice([8, 16]), g.choice([4, 8])
    pad = g.choice([p for p in (1, 2, 3, 4, 6, 12) if p * bits % 128])
    smem, gmem = _row(rows, lanes * vector, lanes * vector + pad), _row(rows, lanes * vector, lanes * vector)
    return _stage(element, smem, gmem, atom, _threads(rows, lanes), _values(1, vector), rows * lanes)


def _dynamic_unit(g: random.Random) -> str:
    element, _, vector, atom = _vector(g)
    rows, lanes = g.choice([8, 16, 32]), g.choice([4, 8])
    width = lanes * vector
    smem = _row(rows, width, width)
    gmem = f"make_layout(make_shape(Int<{rows}>{{}}, Int<{width}>{{}}), make_stride(Int<{width}>{{}}, 1))"
    text = _stage(element, smem, "GMEM", atom, _threads(rows, lanes), _values(1, vector), rows * lanes)
    return text.replace("GMEM{}", gmem)


def _does_not_divide(g: random.Random) -> str:
    """A tile that the tiler does not divide."""
    element, _, vector, atom = _vector(g)
    rows, lanes = g.choice([8, 16]), g.choice([4, 8])
    height = rows * g.choice([1, 2]) + rows // 2
    smem = _row(height, lanes * vector, lanes * vector)
    return _stage(element, smem, smem, atom, _threads(rows, lanes), _values(1, vector), rows * lanes)


def _broadcast(g: random.Random) -> str:
    """A thread layout with a stride of zero: threads repeat each other, elements are missed."""
    element = g.choice(list(_TYPES))
    rows, lanes = g.choice([4, 8, 16]), g.choice([8, 16])
    thr = f"Layout<Shape<Int<{rows}>, Int<{lanes}>>, Stride<_0, _1>>"
    smem = _row(rows, lanes * 2, lanes * 2)
    return _stage(element, smem, smem, f"UniversalCopy<{element}>", thr, _values(1, 1), rows * lanes)


def _swizzle_splits(g: random.Random) -> str:
    """A swizzle whose granule is smaller than the vector."""
    element, _, vector, atom = _vector(g)
    base = g.choice([b for b in range(4) if (1 << b) < vector] or [0])
    if (1 << base) >= vector:
        element, vector, base, atom = "half_t", 8, 2, "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>"
    lanes = g.choice([4, 8])
    width = lanes * vector
    plain = _row(8, width, width)
    bits = g.choice([1, 2, 3])
    smem = f"decltype(composition(Swizzle<{bits}, {base}, 3>{{}}, {plain}{{}}))"
    return _stage(element, smem, plain, atom, _threads(8, lanes), _values(1, vector), 8 * lanes)


def _read(mma: str, layout: str, smem: str, atom: str, element: str, threads: int, side: str = "A") -> str:
    return f"""
using Elem = {element};
using Mma = {mma};
using Smem = {smem};
using Reader = decltype(make_tiled_copy_{side}(Copy_Atom<{atom}, Elem>{{}}, Mma{{}}));
extern "C" __global__ void __launch_bounds__({threads}) illegal(Elem* out) {{
  __shared__ alignas(128) Elem room[cosize_v<Smem>];
  Tensor s = make_tensor(make_smem_ptr(room), Smem{{}});
  Mma mma;
  Tensor frag = mma.get_slice(threadIdx.x).partition_fragment_{side}(s);
  Reader reader;
  auto thr = reader.get_slice(threadIdx.x);
  copy(reader, thr.partition_S(s), thr.retile_D(frag));
  out[threadIdx.x] = frag(0);
}}
"""


def _mma(atom: str, m: int, n: int, tile: str = "") -> str:
    return f"TiledMMA<MMA_Atom<{atom}>, Layout<Shape<Int<{m}>, Int<{n}>, _1>>{', ' + tile if tile else ''}>"


_READS = [("SM80_16x8x16_F32F16F16F32_TN", "half_t", 16), ("SM80_16x8x16_F32BF16BF16F32_TN", "bfloat16_t", 16),
          ("SM80_16x8x8_F32TF32TF32F32_TN", "tfloat32_t", 8), ("SM80_16x8x32_S32S8S8S32_TN", "int8_t", 32)]  # fmt: skip


def _wrong_major(g: random.Random) -> str:
    """ldmatrix without transposition from an M-major tile."""
    mma, element, k = g.choice(_READS)
    m, n = g.choice([(1, 1), (2, 1), (2, 2)])
    rows, depth = 16 * m * g.choice([1, 2]), k * g.choice([1, 2])
    smem = f"Layout<Shape<Int<{rows}>, Int<{depth}>>, Stride<_1, Int<{rows}>>>"
    return _read(_mma(mma, m, n), "", smem, "SM75_U32x4_LDSM_N", element, 32 * m * n)


def _wide_ldmatrix(g: random.Random) -> str:
    """ldmatrix.x4 for a B operand of eight columns: too few values."""
    mma, element, k = g.choice(_READS)
    m, n = g.choice([(1, 1), (2, 1), (4, 1), (2, 2)])
    smem = _row(8 * n * g.choice([1, 2, 4]), k * g.choice([1, 2, 4]), k * 4)
    return _read(_mma(mma, m, n), "", smem, "SM75_U32x4_LDSM_N", element, 32 * m * n, "B")


def _padded_ldmatrix(g: random.Random) -> str:
    """Rows of ldmatrix that do not start at multiples of 16 bytes."""
    mma, element, k = g.choice(_READS)
    m = g.choice([1, 2, 4])
    bits = {"half_t": 16, "bfloat16_t": 16, "tfloat32_t": 32, "int8_t": 8}[element]
    pad = g.choice([p for p in (1, 2, 3, 4, 6) if p * bits % 128])
    depth = k * g.choice([1, 2])
    return _read(_mma(mma, m, 1), "", _row(16 * m, depth, depth + pad), "SM75_U32x4_LDSM_N", element, 32 * m)


def _overlapping_permutation(g: random.Random) -> str:
    """A permutation of N that is no bijection: columns are computed twice, others never."""
    mma, element, k = g.choice(_READS[:2])
    n = g.choice([1, 2, 4])
    stride = g.choice([s for s in (4, 8, 12) if s != 8 * n])
    tile = f"Tile<_16, Layout<Shape<_8, Int<{n}>, _2>, Stride<_1, _8, Int<{stride}>>>, Int<{k}>>"
    return f"""
using Elem = {element};
using Mma = {_mma(mma, 1, n, tile)};
extern "C" __global__ void __launch_bounds__({32 * n}) illegal(float* out) {{
  Mma mma;
  Tensor c = make_tensor(make_gmem_ptr(out), Layout<Shape<_16, Int<{16 * n}>>, Stride<Int<{16 * n}>, _1>>{{}});
  Tensor part = mma.get_slice(threadIdx.x).partition_C(c);
  Tensor acc = make_fragment_like(part);
  clear(acc);
  copy(acc, part);
}}
"""


def _wgmma_layout(g: random.Random) -> str:
    """WGMMA operands in layouts that no descriptor can state."""
    n = g.choice([8, 16, 32, 64])
    depth = g.choice([32, 64])
    plain = _row(64, depth, depth)
    smem = g.choice([
        plain,
        f"decltype(composition(Swizzle<3, 3, 3>{{}}, {plain}{{}}))",
        f"decltype(composition(Swizzle<{g.choice([2, 3])}, 4, 3>{{}}, {plain}{{}}))",
        f"Layout<Shape<_64, Int<{depth}>>, Stride<_1, _64>>",
        _row(64, depth, depth + g.choice([4, 8])),
    ])  # fmt: skip
    return f"""
using Elem = half_t;
using Mma = decltype(make_tiled_mma(SM90_64x{n}x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{{}}));
using Smem = {smem};
extern "C" __global__ void __launch_bounds__(128) illegal(Elem* out) {{
  __shared__ alignas(1024) Elem room[cosize_v<Smem>];
  Tensor s = make_tensor(make_smem_ptr(room), Smem{{}});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor part = thr.partition_A(s);
  Tensor frag = thr.make_fragment_A(part);
  (void)frag;
}}
"""


_KINDS = {
    "too few values for the atom": _few_values,
    "vector across the contiguous mode": _across,
    "misaligned rows": _misaligned,
    "run-time unit stride": _dynamic_unit,
    "tile does not divide": _does_not_divide,
    "thread stride of zero": _broadcast,
    "swizzle splits vectors": _swizzle_splits,
    "ldmatrix of the wrong major": _wrong_major,
    "ldmatrix.x4 for eight columns": _wide_ldmatrix,
    "misaligned ldmatrix rows": _padded_ldmatrix,
    "permutation is no bijection": _overlapping_permutation,
    "no wgmma layout": _wgmma_layout,
}
