"""A call of the algebra: as C++, as the model computes it, and as one line of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutecheck.model import algebra
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.ints import Dyn, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Major, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.notation import show


def cpp(value: Any) -> str:
    """A model value as a C++ expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"Int<{value}>{{}}"
    if isinstance(value, Dyn):
        number = value.value
        assert number is not None
        return str(number) if number >= 0 else f"({number})"
    if isinstance(value, tuple):
        return "cute::tuple<>{}" if not value else f"cute::make_tuple({','.join(map(cpp, value))})"
    if isinstance(value, Underscore):
        return "_"
    if isinstance(value, ScaledBasis):
        return f"(E<{','.join(map(str, value.path))}>{{}} * {cpp(value.value)})"
    if isinstance(value, Swizzle):
        return f"Swizzle<{value.bits},{value.base},{value.shift}>{{}}"
    if isinstance(value, SmemPtrFlag):
        return f"smem_ptr_flag_bits<{value.bits}>{{}}"
    if isinstance(value, MixedBits):
        return f"MixedBits<{value.static}u,{value.flags}u>{{{value.dynamic}u}}"
    if isinstance(value, Layout):
        return f"make_layout({cpp(value.shape)},{cpp(value.stride)})"
    if isinstance(value, ComposedLayout):
        return f"make_composed_layout({cpp(value.a)},{cpp(value.offset)},{cpp(value.b)})"
    if isinstance(value, Major):
        return f"{value.value}{{}}"
    raise TypeError(value)


@dataclass(frozen=True)
class Row:
    fn: str
    args: tuple[Any, ...]
    targs: tuple[int, ...] = ()

    def cpp(self) -> str:
        shown = [cpp(a) for a in self.args]
        if self.fn == "call":
            return f"{shown[0]}({shown[1]})"
        if self.fn == "with_shape":
            return f"{shown[0]}.with_shape({','.join(shown[1:])})"
        if self.fn == "recast_layout":
            types = ",".join(f"uint_bit_t<{b}>" for b in self.targs)
            return f"recast_layout<{types}>({shown[0]})"
        template = f"<{','.join(map(str, self.targs))}>" if self.targs else ""
        name = f"cute::{self.fn}"
        return f"{name}{template}({','.join(shown)})"

    def model(self) -> Any:
        if self.fn == "call":
            return self.args[0](self.args[1])
        if self.fn in ("append", "prepend"):
            return getattr(algebra, self.fn)(*self.args, rank=self.targs[0])
        if self.fn == "replace":
            return algebra.replace(self.args[0], self.targs[0], self.args[1])
        return getattr(algebra, self.fn)(*self.args, *self.targs)


class UndefinedError(Exception):
    """The row divides by a run-time 0: no value to compare."""


def describe(result: Any) -> str:
    """What the C++ side prints for a result: text, and for layouts size, cosize, rank, depth and values."""
    text = show(result)
    if "{" in text:
        raise UndefinedError(text)
    if isinstance(result, (Layout, ComposedLayout)) and not isinstance(getattr(result, "b", None), Swizzle):
        if not it.flatten_to_tuple(result.shape):
            return text
        size = known_value(algebra.size(result))
        assert size is not None
        text += f"|{size}|{show(algebra.cosize(result))}|{show(algebra.rank(result))}|{show(algebra.depth(result))}"
        values = [show(result(Dyn.of(i))) for i in range(min(size, 40))]
        text += "|" + ";".join(values)
        if isinstance(result(Dyn.of(0)), (int, Dyn)):
            assert [int(v.replace("_", "")) for v in values] == algebra.offsets(result)[:40], text
            text += "|" + str(sum(x * (i % 1000 + 1) for i, x in enumerate(algebra.offsets(result))) % 1000000007)
    return text
