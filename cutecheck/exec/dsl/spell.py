"""Model values as expressions of the Python DSL, for the namespace that ``trace.py`` gives them.

Only literals and the names of that namespace are written: nothing of the scanned source is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import expr as ex
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.notation_dsl import is_wide, show_dsl
from cutecheck.model.tiled import TiledCopy, TiledMMA

RUN_TIME = 12  # parameters of each width that the traced function has
_BITS = re.compile(r", (\d+) b>")
_ENUMERATOR = re.compile(r"[A-Z]\w*\.[A-Za-z]\w*")
_TENSOR = re.compile(r'!cute\.(?:memref|coord_tensor)<[\w<>,. "():?{}=@*+-]*>', re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*")
# CUTLASS's element types by the DSL's names
ELEMENTS = {
    "half_t": "Float16", "bfloat16_t": "BFloat16", "float": "Float32", "double": "Float64", "tfloat32_t": "TFloat32",
    "float_e4m3_t": "Float8E4M3FN", "float_e5m2_t": "Float8E5M2", "float_ue8m0_t": "Float8E8M0FNU",
    "float_ue4m3_t": "Float8E4M3", "float_e2m1_t": "Float4E2M1FN", "float_e2m3_t": "Float6E2M3FN",
    "float_e3m2_t": "Float6E3M2FN", "int8_t": "Int8", "int16_t": "Int16", "int32_t": "Int32", "int64_t": "Int64",
    "uint8_t": "Uint8", "uint16_t": "Uint16", "uint32_t": "Uint32", "uint64_t": "Uint64", "bool": "Boolean",
    "int4b_t": "Int4", "uint4b_t": "Uint4", "uint128_t": "Uint128", "Int128": "Int128",
}  # fmt: skip


class UnspellableError(ValueError):
    """The value has no expression in the DSL; the message says why."""


@dataclass
class Spelling:
    """One expression in the making. Each run-time integer becomes a parameter of the traced function."""

    taken: dict[Expr, str] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=lambda: {"i": 0, "w": 0})

    def value(self, v: object) -> str:
        """The expression of a value; UnspellableError when there is none."""
        if v is None or isinstance(v, (bool, Underscore)):
            return repr(v) if isinstance(v, bool) else "None"
        if isinstance(v, int):
            return repr(int(v))
        if isinstance(v, str):
            return self._text(v)
        if isinstance(v, tuple):
            return "(" + "".join(f"{self.value(x)}, " for x in v) + ")"
        if isinstance(v, Dyn):
            return self._run_time(v)
        if isinstance(v, DType):
            if v.name not in ELEMENTS:
                raise UnspellableError(f"the DSL has no element type {v.name}")
            return f"element({ELEMENTS[v.name]!r})"
        if isinstance(v, dict):
            return _tensor(v) if v.get("kind") == "Tensor" else self._operation(v)
        if isinstance(v, ScaledBasis):
            return f"cute.ScaledBasis({self.value(v.value)}, {[int(i) for i in v.path]!r})"
        if isinstance(v, Swizzle):
            return f"cute.make_swizzle({int(v.bits)}, {int(v.base)}, {int(v.shift)})"
        if isinstance(v, Layout):
            return f"cute.make_layout({self.value(v.shape)}, stride={self.value(v.stride)})"
        if isinstance(v, ComposedLayout):
            return f"cute.make_composed_layout({self.value(v.a)}, {self.value(v.offset)}, {self.value(v.b)})"
        if isinstance(v, (CopyAtom, MMAAtom, TiledCopy, TiledMMA)):
            return self._configured(v)
        if isinstance(v, Sym):
            raise UnspellableError(f"the static value {v} is open")
        if isinstance(v, Unknown):
            raise UnspellableError(f"an argument is {v.reason}")
        raise UnspellableError(f"no expression for a {type(v).__name__}")

    def _text(self, v: str) -> str:
        if _ENUMERATOR.fullmatch(v):
            return f"enumerator({v!r})"
        raise UnspellableError("an argument is a text")

    def _run_time(self, v: Dyn) -> str:
        """A parameter, a multiple of what is known."""
        if v.expr.constant is not None:
            raise UnspellableError("a run-time integer of a known value")
        if v.expr not in self.taken:
            letter = "w" if is_wide(v.expr) else "i"
            number = self.count[letter]
            if number >= RUN_TIME:
                raise UnspellableError(f"more than {RUN_TIME} run-time integers")
            self.count[letter] += 1
            self.taken[v.expr] = f"{letter}[{number}]"
        name, div = self.taken[v.expr], ex.divisor(v.expr)
        return f"cute.assume({name}, divby={div})" if div > 1 else name

    def _operation(self, fields: dict[str, Any]) -> str:
        kind = fields.get("kind")
        if not isinstance(kind, str) or not _NAME.fullmatch(kind):
            raise UnspellableError("an operation without a name")
        return f"operation(json.loads({json.dumps(fields)!r}))"

    def _configured(self, v: CopyAtom | MMAAtom | TiledCopy | TiledMMA) -> str:
        if isinstance(v, TiledCopy):
            tiler = v.tiler_mn if isinstance(v.tiler_mn, tuple) else (v.tiler_mn,)
            modes = "".join(f"{self._mode(m)}, " for m in tiler)
            return f"cute.make_tiled_copy({self.value(v.atom)}, {self.value(v.layout_tv)}, ({modes}))"
        if isinstance(v, TiledMMA):
            atom = self._operation(_printed_operation(v.atom))
            modes = "".join(f"{self._mode(m)}, " for m in v.permutation_mnk)
            return f"cute.make_tiled_mma({atom}, {self.value(v.atom_layout_mnk)}, permutation_mnk=({modes}))"
        operation = self._operation(_printed_operation(v))
        if isinstance(v, MMAAtom):
            return f"cute.make_mma_atom({operation})"
        width = _BITS.search(dict(v.extra).get("dsl type", ""))
        bits = f", num_bits_per_copy={width[1]}" if width else ""
        return f"cute.make_copy_atom({operation}, {self.value(v.value_type)}{bits})"

    def _mode(self, mode: object) -> str:
        if isinstance(mode, Layout) and isinstance(mode.shape, int) and mode.stride == 1:
            return self.value(mode.shape)
        return self.value(mode)


def _tensor(fields: dict[str, Any]) -> str:
    """A tensor of which the function sees no more than its type."""
    kind, element = fields.get("type"), fields.get("dtype")
    if not isinstance(kind, str) or not _TENSOR.fullmatch(kind):
        raise UnspellableError("a tensor whose type is not known")
    if element is not None and element not in ELEMENTS.values():
        raise UnspellableError(f"a tensor of {element}")
    return f"tensor({kind!r}, {element!r})"


def _printed_operation(atom: CopyAtom | MMAAtom) -> dict[str, Any]:
    found = json.loads(dict(atom.extra).get("dsl op", "null"))
    if not isinstance(found, dict):
        raise UnspellableError(f"{atom.op} is no operation of the DSL")
    return found


def call(name: str, arguments: tuple[object, ...], keywords: tuple[tuple[str, object], ...]) -> str:
    """The expression of a recorded call; UnspellableError where an argument has none."""
    if not all(_NAME.fullmatch(part) for part in name.split(".")):
        raise UnspellableError(f"no name: {name!r}")
    spelling = Spelling()
    given = [spelling.value(a) for a in arguments]
    given += [f"{k}={spelling.value(a)}" for k, a in keywords if _NAME.fullmatch(k)]
    return f"function({name!r})({', '.join(given)})"


def takes_tensors(text: str) -> bool:
    """Whether an expression has tensors in it: they come from nothing, so that it can be traced but not compiled."""
    return "tensor('" in text


def value(v: object) -> str:
    """The expression of a configuration."""
    return Spelling().value(v)


__all__ = ["ELEMENTS", "RUN_TIME", "Spelling", "UnspellableError", "call", "show_dsl", "takes_tensors", "value"]
