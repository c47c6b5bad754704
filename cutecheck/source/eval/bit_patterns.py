"""The bits of numbers: what they are as numbers of another type of the same size."""

from __future__ import annotations

import math
import struct

from cutecheck.model.integers import INTEGERS
from cutecheck.source.eval.values import Scalar

_FLOATS = {"float": "f", "double": "d", "half_t": "e", "half": "e", "__half": "e"}
_BYTE = 8


def as_type(value: Scalar, name: str) -> Scalar | None:
    """A number read as another type; None where its bits are not known or are not those of all of the other."""
    data = _bytes(value)
    if data is None or name == "bool":
        return None
    if name in INTEGERS:
        bits, signed = INTEGERS[name]
        return Scalar(int.from_bytes(data, "little", signed=signed), name) if bits == len(data) * _BYTE else None
    code = _FLOATS.get(name)
    if code is None or struct.calcsize(code) != len(data):
        return None
    number: float = struct.unpack("<" + code, data)[0]
    return None if math.isnan(number) else Scalar(number, name)


def _bytes(value: Scalar) -> bytes | None:
    if isinstance(value.value, int) and value.ctype in INTEGERS:
        size = INTEGERS[value.ctype][0]
        return (value.value % (1 << size)).to_bytes(size // _BYTE, "little")
    if isinstance(value.value, (int, float)) and value.ctype in _FLOATS:
        return struct.pack("<" + _FLOATS[value.ctype], value.value)
    return None
