"""CUDA's device functions of floating-point numbers, and votes of warps: what each returns.

None writes memory or calls the program's code. Of most results the type is known alone (CUDA Math API; CUDA C++
Programming Guide, warp vote functions).
"""

from __future__ import annotations

import re

from cutecheck.model.expr import ANY, NATURAL
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import Scalar, ScalarType, Value


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_STEMS = _names(
    """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv exp exp10
    exp2 expm1 fabs fdim fdividef floor fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 logb nearbyint
    nextafter normcdf pow rcbrt remainder rhypot rint round rsqrt scalbn sin sinh sinpi sqrt tan tanh tgamma trunc"""
)
_MODES = ("rn", "rz", "ru", "rd")
_FAST = _names("""__cosf __exp10f __expf __fdividef __log10f __log2f __logf __powf __saturatef __sinf __tanf""")
_WHOLE = _names("""int uint ll ull""")
_HALVES = {"half": "__half", "bfloat16": "__nv_bfloat16"}
_PAIRS = {"half": "__half2", "bfloat16": "__nv_bfloat162"}


def _results() -> dict[str, str]:
    """The type that each function returns by its name."""
    found = {f"{stem}f": "float" for stem in _STEMS if not stem.endswith("f")} | {"fdividef": "float"}
    found |= dict.fromkeys(_FAST, "float") | {"__int_as_float": "float", "__uint_as_float": "float"}
    for mode in _MODES:
        found |= {f"__f{op}_{mode}": "float" for op in ("add", "sub", "mul", "div", "maf", "rcp", "sqrt")}
        found |= {f"__d{op}_{mode}": "double" for op in ("add", "sub", "mul", "div", "rcp", "sqrt")}
        found |= {f"__{whole}2float_{mode}": "float" for whole in _WHOLE}
        found |= {f"__fma_{mode}": "double", f"__double2float_{mode}": "float"}
    found |= {"__frsqrt_rn": "float", "__int2double_rn": "double", "__uint2double_rn": "double"}
    for kind, one in _HALVES.items():
        two = _PAIRS[kind]
        found |= {f"__{kind}2float": "float", f"__float2{kind}": one, f"__double2{kind}": one}
        found |= {f"__float2{kind}_{mode}": one for mode in _MODES}
        found |= {f"__{whole}2{kind}_{mode}": one for whole in _WHOLE for mode in _MODES}
        found |= {f"__float2{kind}2_rn": two, f"__floats2{kind}2_rn": two, f"__float22{kind}2_rn": two}
        found |= {f"__halves2{kind}2": two, f"__{kind}2{kind}2": two, f"__{kind}22float2": "float2"}
    return found | {"__low2float": "float", "__high2float": "float"}


RESULTS = _results()
_OF_FIRST = _names(
    """__hadd __hadd_rn __hadd_sat __hsub __hsub_rn __hmul __hmul_rn __hmul_sat __hdiv __hfma __hfma_relu __hfma_sat
    __hneg __habs __hmax __hmax_nan __hmin __hmin_nan hexp hexp2 hexp10 hlog hlog2 hlog10 hsqrt hrsqrt hrcp hsin
    hcos htanh hfloor hceil hrint htrunc __hadd2 __hadd2_rn __hsub2 __hmul2 __hmul2_rn __h2div __hfma2 __hfma2_relu
    __hneg2 __habs2 __hmax2 __hmax2_nan __hmin2 __hmin2_nan h2exp h2exp2 h2log h2log2 h2sqrt h2rsqrt h2rcp h2tanh
    __lowhigh2highlow"""
)
_TRUTHS = _names(
    """__heq __hne __hlt __hle __hgt __hge __hisnan __hisinf __hbeq2 __hbne2 __hbgt2 __hblt2 isnan isinf"""
)
_VOTES = {
    "__any_sync": "int", "__all_sync": "int", "__ballot_sync": "unsigned int", "__activemask": "unsigned int",
    "__match_any_sync": "unsigned int", "__reduce_add_sync": "", "__reduce_max_sync": "", "__reduce_min_sync": "",
    "__reduce_and_sync": "unsigned int", "__reduce_or_sync": "unsigned int", "__reduce_xor_sync": "unsigned int",
}  # fmt: skip


@function(*RESULTS, tolerant=True)
def _number(c: Call) -> Value:
    return Scalar(None, RESULTS[c.name])


@function(*(stem for stem in _STEMS if not stem.endswith("f")), tolerant=True)
def _overloaded(c: Call) -> Value:
    """``exp2(x)``: a ``float`` of one, a ``double`` of a ``double`` or of integers (C++ standard, cmath.syn)."""
    kinds = {_kind(a) for a in c.raw}
    if None in kinds:
        raise Unsupported(f"`{c.name}` of a value of unknown type")
    return Scalar(None, "float" if kinds == {"float"} else "double")


@function(*_OF_FIRST)
def _same(c: Call) -> Value:
    kind = _kind(c.raw[0]) if c.raw else None
    if kind is None:
        raise Unsupported(f"`{c.name}` of a value of unknown type")
    return Scalar(None, kind)


@function(*_TRUTHS, tolerant=True)
def _truth(c: Call) -> Value:
    return Scalar(None, "bool")


@function(*_VOTES, tolerant=True)
def _vote(c: Call) -> Value:
    """Of each warp its own."""
    kind = _VOTES[c.name] or (_kind(c.raw[1]) if len(c.raw) > 1 else None)
    if kind is None or not re.search("int", kind):
        raise Unsupported(f"`{c.name}` of a value of unknown type")
    return Scalar(some(c.m, c.name.strip("_"), NATURAL if "unsigned" in kind else ANY, True), kind)


def _kind(value: Value) -> str | None:
    of = type_of(value)
    return of.dtype.name if isinstance(of, ScalarType) else None
