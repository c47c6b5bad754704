"""Static integers of another type than ``int`` (``C<3u>``, ``true_type``), which layouts take as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.model.integers import INTEGERS, canonical, common_type, promoted, wrapped

STD = "std"
CUDA = "cuda::std"
CUTE = "cute"  # its ``integral_constant``, which derives from ``C``


class Constant(int):
    """A static integer that is no ``C`` of an ``int``; equal to one that is, and facts say nothing of it.

    ``family``: whose ``integral_constant`` it is, empty of ``C``. ``of``: the enumerator that it holds.
    """

    ctype: str
    family: str = ""
    of: Any = None

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def constant_of(value: int, ctype: str, family: str = "") -> int:
    """``C<value>{}`` of a constant of a type; what is computed of ``int`` are plain numbers."""
    name = canonical(ctype)
    if name == "bool":
        return _TRUTHS[family, value != 0]
    if name not in INTEGERS or (name == "int" and not family):
        return int(value)
    return _made(wrapped(int(value), name), ctype, family)


def enumerated(value: int, ctype: str, enumerator: Any) -> int:
    """``C<E::x>{}``."""
    made = _made(value, ctype, "")
    made.of = enumerator
    return made


def _made(value: int, ctype: str, family: str) -> Constant:
    made = Constant(value)
    made.ctype = ctype
    if family:
        made.family = family
    return made


_TRUTHS = {(f, v): _made(int(v), "bool", f) for f in ("", CUTE, STD, CUDA) for v in (False, True)}
FALSE, TRUE = _TRUTHS["", False], _TRUTHS["", True]


def truth_constant(value: object, family: str = "") -> int:
    """``bool_constant<value>{}``."""
    return _TRUTHS[family, bool(value)]


def type_of_constant(value: object) -> str:
    return value.ctype if isinstance(value, Constant) else "int"


def family_of(value: object) -> str:
    return value.family if isinstance(value, Constant) else ""


def is_foreign(value: object) -> bool:
    """An ``integral_constant`` that is none of CuTe's: an operand of operators as the number that it holds."""
    return isinstance(value, Constant) and value.family in (STD, CUDA)


def base_of(value: Constant) -> int:
    """The ``C`` that ``cute::integral_constant`` derives from."""
    return constant_of(int(value), value.ctype)


def _typed(name: str, shift: bool = False) -> Callable[[Constant, Any], Any]:
    compute = getattr(int, name)

    def run(self: Constant, other: Any) -> Any:
        made = compute(self, other)
        if made is NotImplemented:
            return made
        ctype = promoted(self.ctype) if shift else common_type(self.ctype, type_of_constant(other))
        # Algorithms of the model count on numbers without end: one that does not fit has no type of its own.
        return constant_of(made, ctype) if wrapped(made, ctype) == made else made

    return run


for _name in ("add", "mul", "sub", "floordiv", "mod", "and", "or", "xor"):
    for _side in (f"__{_name}__", f"__r{_name}__"):
        setattr(Constant, _side, _typed(_side))
