"""Vector types of CUDA (``uint2``), as values that know their type: a tuple of CuTe's is none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Span
from cutecheck.model.dtype import dtype
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.tuples import Vector
from cutecheck.source.eval.values import Scalar, ScalarType, Value

AXES = ("x", "y", "z", "w")
ELEMENTS = {
    "char": "signed char", "uchar": "unsigned char", "short": "short", "ushort": "unsigned short", "int": "int",
    "uint": "unsigned int", "long": "long", "ulong": "unsigned long", "longlong": "long long",
    "ulonglong": "unsigned long long", "float": "float", "double": "double",
}  # fmt: skip
KIND = re.compile(f"({'|'.join(ELEMENTS)})([1-4])")


def filled(m: Machine, ctype: str, parts: Iterable[Value], span: Span) -> Vector | None:
    """``uint2 v = {a}``: what is given as components of its type, the others 0; None for no vector type."""
    known = KIND.fullmatch(ctype)
    given = tuple(parts)
    if known is None or len(given) > int(known[2]):
        return None
    of = ScalarType(dtype(ELEMENTS[known[1]]))  # type: ignore[arg-type]
    rest = (Scalar(0, "int"),) * (int(known[2]) - len(given))
    return Vector((m.dialect.cast(of, v, span) for v in (*given, *rest)), ctype)
