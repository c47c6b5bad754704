"""Representative arguments for templated specialisations.

The arguments only have to be legal and varied enough for :mod:`fit` to tell which parameter a printed number or
type comes from; what comes out is checked on fresh arguments by ``--check``.
"""

from __future__ import annotations

import random

from generate_atoms.scan import Spec

Assignment = dict[str, str]

BITS = {
    "half_t": 16, "bfloat16_t": 16, "float": 32, "tfloat32_t": 32, "double": 64, "int8_t": 8, "uint8_t": 8,
    "int32_t": 32, "uint16_t": 16, "uint32_t": 32, "uint64_t": 64, "uint128_t": 128, "float_e4m3_t": 8,
    "float_e5m2_t": 8, "float_e2m3_t": 6, "float_e3m2_t": 6, "float_e2m1_t": 4, "float_ue8m0_t": 8,
    "float_ue4m3_t": 8, "type_erased_dynamic_float4_t": 4,
}  # fmt: skip

_ENUMS = {
    "GMMA::Major": ("GMMA::Major::K", "GMMA::Major::MN"),
    "GMMA::ScaleIn": ("GMMA::ScaleIn::One", "GMMA::ScaleIn::Neg"),
    "GMMA::SparseSel": ("GMMA::SparseSel::Zero", "GMMA::SparseSel::One"),
    "UMMA::Major": ("UMMA::Major::K", "UMMA::Major::MN"),
    "UMMA::ScaleIn": ("UMMA::ScaleIn::One", "UMMA::ScaleIn::Neg"),
    "UMMA::Saturate": ("UMMA::Saturate::False", "UMMA::Saturate::True"),
}

_F8 = ("float_e4m3_t", "float_e5m2_t")
_NARROW = ("float_e4m3_t", "float_e2m3_t", "float_e2m1_t", "float_e5m2_t", "float_e3m2_t")
_TYPES: list[tuple[str, dict[str, tuple[str, ...]]]] = [
    ("CF32", {}),
    ("TF32", {"a_type": ("tfloat32_t", "float"), "b_type": ("tfloat32_t", "float"), "c_type": ("float",)}),
    ("F16BF16", {"a_type": ("half_t", "bfloat16_t"), "b_type": ("bfloat16_t", "half_t"),
                 "c_type": ("float", "half_t")}),
    ("_S8_", {"a_type": ("int8_t", "uint8_t"), "b_type": ("uint8_t", "int8_t"), "c_type": ("int32_t",)}),
    ("MXF8F6F4", {"a_type": _NARROW, "b_type": _NARROW, "c_type": ("float",), "sf_type": ("float_ue8m0_t",)}),
    ("F8F6F4", {"a_type": _NARROW, "b_type": _NARROW, "c_type": ("float", "half_t")}),
    ("MXF4", {"a_type": ("float_e2m1_t", "type_erased_dynamic_float4_t"),
              "b_type": ("type_erased_dynamic_float4_t", "float_e2m1_t"), "c_type": ("float",),
              "sf_type": ("float_ue8m0_t", "float_ue4m3_t")}),
    ("SM120_16x8x64_TN_VS", {"a_type": ("float_e2m1_t",), "b_type": ("float_e2m1_t",), "c_type": ("float",),
                             "sf_type": ("float_ue8m0_t", "float_ue4m3_t")}),
    ("SM120_SPARSE_16x8x128", {"a_type": ("float_e2m1_t",), "b_type": ("float_e2m1_t",), "c_type": ("float",),
                               "sf_type": ("float_ue8m0_t", "float_ue4m3_t")}),
    ("SM120", {"a_type": _NARROW, "b_type": _NARROW, "c_type": ("float",), "sf_type": ("float_ue8m0_t",)}),
    ("UniversalFMA", dict.fromkeys("DABC", ("float", "double", "half_t", "int32_t"))),
    ("UniversalCopy", dict.fromkeys("SD", ("float", "double", "half_t", "uint128_t", "uint8_t"))),
    ("CP_ASYNC", dict.fromkeys("SD", ("float", "double", "uint128_t"))),
    ("", {"ab_vtype": ("half_t", "bfloat16_t")}),
]  # fmt: skip


def _domain(spec: Spec, kind: str, name: str) -> tuple[str, ...]:
    if kind in _ENUMS:
        return _ENUMS[kind]
    if kind == "class" and name == "NumBitsPerTMA":
        return ("Int<1024>", "Int<65536>", "Int<24576>")
    if kind == "class" and name in ("AuxParams_", "TMATensor"):
        return ("int",)
    if kind == "class":
        for key, types in _TYPES:
            if key in spec.op and name in types:
                return types[name]
    if name == "M":
        return ("128", "256") if "2x1SM" in spec.op else ("64", "128")
    if name == "N":
        return ("32", "64", "96", "128", "192", "256", "224")
    if name == "VS":
        if "SM120" in spec.op:
            return ("32",) if "16x8x32" in spec.op or "SPARSE_16x8x64" in spec.op else ("16", "32")
        return ("32", "64") if "SPARSE" in spec.op else ("16", "32")
    if name == "MaxVecBits":
        return ("8", "16", "32", "64", "128")
    if name == "ScaleC":
        return ("0", "3")
    if kind == "pack":
        return ("",)
    raise ValueError(f"no sample for parameter {kind} {name} of {spec.op}")


def _legal(spec: Spec, a: Assignment) -> bool:
    if a.get("sf_type") == "float_ue4m3_t" and a.get("VS") not in ("16",):
        return "SPARSE" in spec.op and a.get("VS") == "32"
    if "SPARSE" in spec.op and a.get("sf_type") and a.get("VS") == "32" and "MXF4" in spec.op:
        return a["sf_type"] == "float_ue4m3_t" or a["sf_type"] == "float_ue8m0_t"
    if ("TF32_" in spec.op or "F16BF16" in spec.op) and "a_type" in a:
        return BITS[a["a_type"]] == BITS[a["b_type"]]
    if "INTERLEAVED" in spec.op or "MXF4_" in spec.op or "MXF4NVF4" in spec.op or "ULTRA" in spec.op:
        return "MN" not in a.get("a_major", "") and "MN" not in a.get("b_major", "")
    return True


def assignments(spec: Spec, rng: random.Random, count: int) -> list[Assignment]:
    """``count`` distinct legal assignments (all of them when there are fewer), every domain value covered."""
    domains = [(name, _domain(spec, kind, name)) for kind, name in spec.params]
    out: list[Assignment] = []
    for i in range(20 * count):
        if i < 2:
            a = {n: d[(i + (k % 2) * (n.startswith(("b_", "tnspB")))) % len(d)] for k, (n, d) in enumerate(domains)}
        else:
            a = {n: rng.choice(d) for n, d in domains}
        if a not in out and _legal(spec, a):
            out.append(a)
        if len(out) == count:
            break
    return out


def instantiate(spec: Spec, a: Assignment) -> str:
    """The traits type as C++ text."""
    import re

    def fill(text: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: a.get(m[0], m[0]), text)

    op = spec.op if spec.op_args is None else f"{spec.op}<{', '.join(map(fill, spec.op_args))}>"
    extra = [fill(e.replace("...", "")) for e in spec.extra]
    head = "MMA_Traits" if spec.kind == "mma" else "Copy_Traits"
    return f"{head}<{', '.join([op, *[e for e in extra if e]])}>"
