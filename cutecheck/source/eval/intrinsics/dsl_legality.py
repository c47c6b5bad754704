"""Which operations the DSL takes: shape, element types, accumulator and architecture (``cute.nvgpu``, 4.8.1)."""

from __future__ import annotations

from typing import Any

from cutecheck.source.eval.intrinsics.dsl_ops import OpValue
from cutecheck.source.eval.intrinsics.dsl_show import type_name
from cutecheck.source.eval.values import ScalarType

_F8F6F4 = ("Float8E5M2", "Float8E4M3FN", "Float6E3M2FN", "Float6E2M3FN", "Float4E2M1FN")
_F8 = ("Float8E4M3FN", "Float8E5M2")
_TMEM_ARCHS = (100, 101, 103, 107, 110)
_CONSUMER = (120, 121)


def _type(op: OpValue, *names: str) -> str:
    for name in names:
        v = op.get(name)
        if isinstance(v, ScalarType):
            return type_name(v.dtype)
    return ""


def _number(arch: str) -> int:
    digits = "".join(c for c in arch if c.isdigit())
    return int(digits) if digits else 0


def illegal(op: OpValue, arch: str) -> str | None:
    """Why the DSL refuses an operation; None when it takes it, or when a field that decides is not known.

    ``arch`` empty: the architecture is not certain, and decides nothing.
    """
    if "Mma" in op.name:
        found = {"warp": _warp, "warpgroup": _warpgroup, "tcgen05": _tensor_memory}.get(op.module)
        return None if found is None else found(op, _number(arch))
    if arch and op.module == "tcgen05" and op.name.startswith(("Ld", "St", "Cp")) and _number(arch) not in _TMEM_ARCHS:
        return f"it needs tensor memory (sm_100, sm_103 or sm_110), and this is {arch}"
    if op.name.startswith("LdRed") and getattr(op.get("repeat"), "name", "") == "x1":
        return "expects the number of repetitions to be one of [2, 4, 8, 16, 32, 64, 128], but got 1"
    count = op.get("num_matrices")
    if isinstance(count, int) and op.name.startswith(("LdMatrix", "StMatrix")):
        allowed = {"LdMatrix16x16x8bOp": (1, 2), "LdMatrix16x8x8bOp": (2, 4)}.get(op.name, (1, 2, 4))
        if count not in allowed:
            return f"expects `num_matrices` to be one of {list(allowed)}, but got {count}"
    return None


def _warp(op: OpValue, arch: int) -> str | None:
    ab, acc, shape = _type(op, "ab_dtype"), _type(op, "acc_dtype"), op.get("shape_mnk")
    if "MX" in op.name:
        return _warp_scaled(op, arch, acc)
    shapes: dict[str, tuple[Any, ...]] = {
        "MmaF16BF16Op": ((16, 8, 8), (16, 8, 16)), "MmaFP8Op": ((16, 8, 32), (16, 8, 16)),
        "MmaTF32Op": ((16, 8, 4), (16, 8, 8)), "MmaF16BF16SparseOp": ((16, 8, 16), (16, 8, 32)),
    }  # fmt: skip
    types = {"MmaFP8Op": _F8}.get(op.name, ("Float16", "BFloat16", "TFloat32"))
    if ab and ab not in types:
        return f"expects `ab_dtype` to be one of {', '.join(types)}, but got {ab}"
    if acc and acc not in (("Float32", "Float16") if op.name != "MmaTF32Op" else ("Float32",)):
        return f"expects `acc_dtype` to be Float16 or Float32, but got {acc}"
    if ab == "BFloat16" and acc == "Float16":
        return "expects `acc_dtype` to be Float32 when `ab_dtype` is BFloat16"
    known = shapes.get(op.name)
    if known and isinstance(shape, tuple) and all(isinstance(x, int) for x in shape) and shape not in known:
        return f"expects `shape_mnk` to be one of {' or '.join(map(str, known))}, but got {shape}"
    return None


def _warp_scaled(op: OpValue, arch: int, acc: str) -> str | None:
    if arch and arch not in _CONSUMER:
        return f"expects sm_120 or sm_121, but got sm_{arch}"
    ab, scale = _type(op, "ab_dtype"), _type(op, "sf_type")
    wanted = {"MmaMXF8Op": _F8, "MmaMXF4Op": ("Float4E2M1FN",), "MmaMXF4NVF4Op": ("Float4E2M1FN",)}.get(op.name)
    if wanted and ab and ab not in wanted:
        return f"expects `ab_dtype` to be {' or '.join(wanted)}, but got {ab}"
    if acc and acc != "Float32":
        return f"expects `acc_dtype` to be Float32, but got {acc}"
    scales = ("Float8E8M0FNU", "Float8E4M3FN") if op.name == "MmaMXF4NVF4Op" else ("Float8E8M0FNU",)
    if scale and scale not in scales:
        return f"expects `sf_type` to be {' or '.join(scales)}, but got {scale}"
    return None


def _warpgroup(op: OpValue, arch: int) -> str | None:
    shape, a, acc = op.get("shape_mnk"), _type(op, "a_dtype"), _type(op, "acc_dtype")
    if arch and arch != 90:
        return f"expects sm_90a, but got sm_{arch}"
    if isinstance(shape, tuple) and all(isinstance(x, int) for x in shape):
        m, n = shape[:2]
        if m != 64:
            return f"expects the M-mode to be 64, but got {m}"
        if not 8 <= n <= 256 or n % 8:
            return f"expects the N-mode to satisfy 8 <= N <= 256 and N % 8 == 0, but got {n}"
    if op.name == "MmaF16BF16Op" and a == "BFloat16" and acc == "Float16":
        return "expects `acc_dtype` to be Float32 when `a_dtype` is BFloat16"
    return None


def _tensor_memory(op: OpValue, arch: int) -> str | None:
    if arch and arch not in _TMEM_ARCHS:
        return f"it needs tensor memory (sm_100, sm_103 or sm_110), and this is sm_{arch}"
    shape, acc = op.get("shape_mnk"), _type(op, "acc_dtype")
    two = getattr(op.get("cta_group"), "name", "ONE") == "TWO"
    if isinstance(shape, tuple) and all(isinstance(x, int) for x in shape):
        m, n = shape[:2]
        scaled = op.get("sf_dtype") is not None
        b = op.get("b_dtype")
        byte = isinstance(b, ScalarType) and b.dtype.bits == 8 and not scaled
        transposed = byte and getattr(op.get("b_major_mode"), "name", "") == "MN"
        rows = (128, 256) if two else (128,) if scaled else (64, 128)
        if m not in rows:
            return f"expects the M-mode to be {' or '.join(map(str, rows))}, but got {m}"
        step = (16 if two else 8) * (2 if transposed else 1)
        if not step <= n <= 256 or n % step:
            return f"expects the N-mode to satisfy {step} <= N <= 256 and N % {step} == 0, but got {n}"
    a = _type(op, "a_dtype")
    if op.name == "MmaF16BF16Op" and a == "BFloat16" and acc == "Float16":
        return "expects `acc_dtype` to be Float32 when `ab_dtype` is BFloat16"
    if op.name in ("MmaF8F6F4Op", "MmaMXF8F6F4Op") and a and a not in _F8F6F4:
        return f"expects `a_dtype` to be an 8-, 6- or 4-bit float, but got {a}"
    return None
