"""The operations that random configurations take: what of them decides whether a configuration is legal."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Multiply(NamedTuple):
    text: str
    shape: tuple[int, int, int]
    operands: str  # element type of A and B
    result: str
    descriptors: str = ""  # which of A and B are read through descriptors

    @property
    def threads(self) -> int:
        return 8 if "SM70" in self.text else {1: 1, 64: 128}.get(self.shape[0], 32)


class Move(NamedTuple):
    text: str
    bits: int  # of the values that a thread brings, a multiple of which a tiled copy has
    threads: int


def _wgmma() -> list[Multiply]:
    found = []
    for n in (8, 16, 64, 96, 128, 256):
        for a in "K", "MN":
            for b in "K", "MN":
                majors = f"GMMA::Major::{a},GMMA::Major::{b}"
                found.append(Multiply(f"SM90_64x{n}x16_F32F16F16_SS<{majors}>", (64, n, 16), "half_t", "float", "AB"))
                found.append(Multiply(f"SM90_64x{n}x16_F16F16F16_SS<{majors}>", (64, n, 16), "half_t", "half_t", "AB"))
            if a == "K":
                majors = f"GMMA::Major::K,GMMA::Major::{b}"
                found.append(Multiply(f"SM90_64x{n}x16_F32F16F16_RS<{majors}>", (64, n, 16), "half_t", "float", "B"))
        found.append(Multiply(f"SM90_64x{n}x8_F32TF32TF32_SS_TN<>", (64, n, 8), "tfloat32_t", "float", "AB"))
        found.append(Multiply(f"SM90_64x{n}x32_F32E4M3E4M3_RS_TN<>", (64, n, 32), "float_e4m3_t", "float", "B"))
    return found


MULTIPLIES = [
    *(
        Multiply(f"SM70_8x8x4_{t}_{m}", (8, 8, 4), "half_t", r)
        for t, r in (("F16F16F16F16", "half_t"), ("F32F16F16F32", "float"))
        for m in ("TN", "NT", "NN", "TT")
    ),
    Multiply("SM75_16x8x8_F32F16F16F32_TN", (16, 8, 8), "half_t", "float"),
    Multiply("SM75_8x8x16_S32S8S8S32_TN", (8, 8, 16), "int8_t", "int"),
    Multiply("SM80_16x8x8_F16F16F16F16_TN", (16, 8, 8), "half_t", "half_t"),
    Multiply("SM80_16x8x16_F16F16F16F16_TN", (16, 8, 16), "half_t", "half_t"),
    Multiply("SM80_16x8x16_F32F16F16F32_TN", (16, 8, 16), "half_t", "float"),
    Multiply("SM80_16x8x16_F32BF16BF16F32_TN", (16, 8, 16), "bfloat16_t", "float"),
    Multiply("SM80_16x8x4_F32TF32TF32F32_TN", (16, 8, 4), "tfloat32_t", "float"),
    Multiply("SM80_16x8x8_F32TF32TF32F32_TN", (16, 8, 8), "tfloat32_t", "float"),
    Multiply("SM80_8x8x4_F64F64F64F64_TN", (8, 8, 4), "double", "double"),
    Multiply("SM80_8x8x16_S32S8S8S32_TN", (8, 8, 16), "int8_t", "int"),
    Multiply("SM80_16x8x16_S32S8S8S32_TN", (16, 8, 16), "int8_t", "int"),
    Multiply("SM80_16x8x32_S32S8S8S32_TN", (16, 8, 32), "int8_t", "int"),
    Multiply("SM89_16x8x32_F32E4M3E4M3F32_TN", (16, 8, 32), "float_e4m3_t", "float"),
    Multiply("SM90_16x8x4_F64F64F64F64_TN", (16, 8, 4), "double", "double"),
    Multiply("SM90_16x8x16_F64F64F64F64_TN", (16, 8, 16), "double", "double"),
    *(
        Multiply(f"SM120_16x8x32_TN<{a},{b},float>", (16, 8, 32), "float_e4m3_t", "float")
        for a, b in (
            ("float_e4m3_t", "float_e4m3_t"),
            ("float_e4m3_t", "float_e5m2_t"),
            ("float_e5m2_t", "float_e4m3_t"),
        )
    ),
    Multiply(
        "SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t,float_e4m3_t,float,float_ue8m0_t,32>",
        (16, 8, 32),
        "float_e4m3_t",
        "float",
    ),
    Multiply("UniversalFMA<float>", (1, 1, 1), "float", "float"),
    Multiply("UniversalFMA<half_t,half_t,half_t>", (1, 1, 1), "half_t", "half_t"),
    *_wgmma(),
]

BITS = {
    "int8_t": 8, "float_e4m3_t": 8, "half_t": 16, "bfloat16_t": 16, "uint16_t": 16,
    "float": 32, "int": 32, "tfloat32_t": 32, "double": 64,
}  # fmt: skip
_SIZES = (8, 16, 32, 64, 128)
_MATRICES = [
    Move(f"{a}_{k}{n}_{b}_{s}", 32 * w, 32)
    for a, b in (("SM75", "LDSM"), ("SM90", "STSM"))
    for s, k, n, w in (
        ("N", "U32", "x1", 1), ("N", "U32", "x2", 2), ("N", "U32", "x4", 4),
        ("T", "U16", "x2", 1), ("T", "U16", "x4", 2), ("T", "U16", "x8", 4),
    )
]  # fmt: skip


def multiply(rng: Random) -> Multiply:
    return rng.choice(MULTIPLIES[: -len(_wgmma())]) if rng.random() < 0.7 else rng.choice(_wgmma())


def move(rng: Random, element: str, most: int = 128, threads: int = 128) -> Move:
    """An operation whose values are whole elements, of ``most`` bits at most, for so many threads."""
    least = BITS[element]
    choices: list[Move] = []
    for bits in (b for b in _SIZES if least <= b <= most):
        choices.append(Move(f"UniversalCopy<uint{bits}_t>", bits, 1))
        if bits in (32, 64, 128):
            choices.append(Move(f"SM80_CP_ASYNC_CACHEALWAYS<uint{bits}_t>", bits, 1))
            choices.append(Move(f"SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint{bits}_t>", bits, 1))
        if bits == 128:
            choices.append(Move("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", bits, 1))
    choices.append(Move(f"UniversalCopy<{element}>", least, 1))
    choices.append(Move("DefaultCopy", least, 1))
    choices.append(Move("AutoVectorizingCopyWithAssumedAlignment<64>", least, 1))
    if least <= 32 <= threads:
        plain = [m for m in _MATRICES if m.bits <= most and (least == 16 or "_N" in m.text or rng.random() < 0.1)]
        choices += [*plain, *plain]
        if least == 16:
            choices.append(Move("SM75_U32x1_MOVM_T", 32, 32))
    return rng.choice(choices)
