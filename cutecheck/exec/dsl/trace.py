"""Run as a script by an interpreter with nvidia-cutlass-dsl: ``trace.py PROBES FIRST``.

PROBES is a JSON list of expressions. Each is evaluated while the DSL traces a function, from FIRST on; what it gives is
printed as one JSON line between two marks, so that a crash tells which probe it was. The standard library and the DSL
are all it imports.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import cutlass
from cutlass import Int32, Int64, cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import builtin

BEGIN, END = "\x1e", "\x1d"
MODULES = [
    importlib.import_module(f"cutlass.cute.nvgpu{m}") for m in ("", ".warp", ".cpasync", ".warpgroup", ".tcgen05")
]
FIELDS = {
    "CopyAtom": ("thr_id", "value_type", "layout_src_tv", "layout_dst_tv"),
    "TiledCopy": ("thr_id", "value_type", "layout_src_tv", "layout_dst_tv", "size", "layout_tv_tiled", "tiler_mn",
                  "layout_src_tv_tiled", "layout_dst_tv_tiled"),
    "MmaAtom": ("thr_id", "shape_mnk", "tv_layout_A", "tv_layout_B", "tv_layout_C"),
    "TiledMma": ("thr_id", "shape_mnk", "tv_layout_A", "tv_layout_B", "tv_layout_C", "size", "thr_layout_vmnk",
                 "permutation_mnk", "tv_layout_A_tiled", "tv_layout_B_tiled", "tv_layout_C_tiled"),
}  # fmt: skip


def element(name: str) -> Any:
    return getattr(cutlass, name)


def enumerator(text: str) -> Any:
    """``LayoutEnum.ROW_MAJOR`` of whichever module has it."""
    name, _, member = text.partition(".")
    for module in (*MODULES, importlib.import_module("cutlass.utils"), cutlass):
        if hasattr(module, name):
            return getattr(getattr(module, name), member)
    raise LookupError(f"the installed DSL has no {name}")


def function(name: str) -> Any:
    """A function by the name that a site records: ``cute.make_layout``, ``utils.hopper_helpers.make_smem_layout_a``."""
    parts = name.split(".")
    made: Any = cutlass
    for i, part in enumerate(parts):
        if not hasattr(made, part):
            importlib.import_module(".".join(["cutlass", *parts[: i + 1]]))
        made = getattr(made, part)
    return made


def tensor(kind: str, dtype: str | None) -> Any:
    """A tensor of a printed type, from nothing: what is traced with it is never run."""
    made = builtin.unrealized_conversion_cast([ir.Type.parse(kind)], [Int32(0).ir_value()])
    wrapped = importlib.import_module("cutlass.cute.tensor")._Tensor
    return wrapped(made) if dtype is None else wrapped(made, element(dtype))


def operation(fields: dict[str, Any]) -> Any:
    """An operation from its printed fields: the class of that name whose fields are these."""
    given = {k: v for k, v in fields.items() if k != "kind"}
    for module in MODULES:
        made: Any = getattr(module, fields["kind"], None)
        if not inspect.isclass(made) or not hasattr(made, "__dataclass_fields__"):
            continue
        names = set(made.__dataclass_fields__)
        parameters = list(inspect.signature(made).parameters)
        if (
            not set(given) <= names | set(parameters)
            or ("a_src" in names) != ("a_src" in given)
            or ("cta_group" in names) != ("cta_group" in given)
        ):
            continue
        values = {k: field_value(v, module) for k, v in given.items()}
        named = {
            **values,
            "ab_dtype": values.get("ab_dtype", values.get("a_dtype")),
            "instruction_shape": values.get("shape_mnk"),
        }
        return made(**{p: named[p] for p in parameters if p in named and named[p] is not None})
    raise LookupError(f"the installed DSL has no {fields['kind']} with these fields")


def field_value(text: Any, module: Any) -> Any:
    if not isinstance(text, str):
        return text
    if re.fullmatch(r"\([\d, ]*\)", text):
        return tuple(int(n) for n in re.findall(r"\d+", text))
    name, dot, member = text.partition(".")
    if dot and hasattr(module, name):
        return getattr(getattr(module, name), member)
    return enumerator(text) if dot else element(text)


def shown(value: Any) -> Any:
    """A value as sites record it: text, numbers, or named fields."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, cute.Tensor):
        return shown_tensor(value)
    if isinstance(value, (tuple, list)) and any(isinstance(x, cute.Tensor) for x in value):
        return [shown(x) for x in value]
    if isinstance(value, tuple) and not all(isinstance(x, int) for x in value):
        return [x if isinstance(x, int) else part(x) for x in value]
    kind = type(value).__name__
    fields = FIELDS.get(kind)
    if fields is not None:
        out = {"kind": kind, "type": str(value.type)}
        for name in fields:
            try:
                out[name] = part(getattr(value, name))
            except Exception as error:
                out[name] = f"{type(error).__name__}: {error}"
        return out
    if " object at 0x" in str(value):
        return kind
    return part(value)


def shown_tensor(value: Any) -> dict[str, Any]:
    """A tensor: its type, and of one in memory the fields of it."""
    out = {"kind": "Tensor", "type": str(value.type)}
    if "coord_tensor" not in out["type"]:
        out |= {"layout": part(value.layout), "dtype": value.element_type.__name__, "memspace": value.memspace.name}
    return out


def part(value: Any) -> Any:
    if isinstance(value, (bool, int)) or value is None:
        return value
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, (tuple, list)):
        if value and all(isinstance(x, int) for x in value):
            return "(" + ", ".join(map(str, value)) + ("," if len(value) == 1 else "") + ")"
        return [mode(x) for x in value]
    # the DSL leaves the closing bracket of a negative shift out
    return re.sub(r"S<(-?\d+),(-?\d+),(-?\d+) o", r"S<\1,\2,\3> o", str(value))


def mode(value: Any) -> Any:
    if value is None or str(value) == "_":
        return None
    return f"{value}:{int(value != 1)}" if isinstance(value, int) else part(value)


NAMES = {"cute": cute, "cutlass": cutlass, "json": json, "element": element, "enumerator": enumerator,
         "function": function, "operation": operation, "tensor": tensor}  # fmt: skip
WANTED: list[tuple[int, str]] = []


def evaluate(i: tuple[Any, ...], w: tuple[Any, ...]) -> None:
    for number, text in WANTED:
        print(f"\n{BEGIN}{number}", flush=True)
        try:
            said = {"value": shown(eval(text, dict(NAMES, i=i, w=w)))}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(f"\n{END}{json.dumps(said)}", flush=True)


@cute.jit  # type: ignore[untyped-decorator]
def traced(
    i0: Int32, i1: Int32, i2: Int32, i3: Int32, i4: Int32, i5: Int32, i6: Int32, i7: Int32, i8: Int32, i9: Int32,
    i10: Int32, i11: Int32, w0: Int64, w1: Int64, w2: Int64, w3: Int64, w4: Int64, w5: Int64, w6: Int64, w7: Int64,
    w8: Int64, w9: Int64, w10: Int64, w11: Int64,
) -> None:  # fmt: skip
    evaluate((i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11), (w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11))


def main(arguments: list[str]) -> int:
    probes = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    WANTED[:] = list(enumerate(probes))[int(arguments[1]) :]
    print(f"\n{BEGIN}version {getattr(cutlass, '__version__', '')}", flush=True)
    cute.compile(traced, *(Int32(1) for _ in range(12)), *(Int64(1) for _ in range(12)))
    print(f"\n{BEGIN}compiled", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
