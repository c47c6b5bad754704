"""Fresh random cases, compiled with CuTe's own headers in one translation unit and compared with the model.

``python -m cutecheck.tests.model.differential --cases 2000 --seed 1`` runs it at scale; the test suite runs a few.
A row is a function, arguments (model values) and template arguments. The model's verdict (text, or CuteError) must be
CuTe's: accepted rows are compiled and run, refused rows are compiled and must fail on their line.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutecheck.exec.headers import Headers, NoHeaders, find_headers
from cutecheck.model import algebra
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis, Underscore, X
from cutecheck.model.ints import CuteError, Dyn, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Major, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.notation import show
from cutecheck.model.version import cute_version, using_cute


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


PROLOGUE = r"""
#include <cstdio>
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct ends_in_swizzle : false_type {};
template <class A, class O, int B, int M, int S>
struct ends_in_swizzle<ComposedLayout<A, O, Swizzle<B, M, S>>> : true_type {};
template <class T> static void describe(T const& r) {
  if constexpr (std::is_same<T, bool>::value) { printf("_%d", int(r)); }
  else { print(r); }
  if constexpr (is_layout<T>::value && !ends_in_swizzle<T>::value) {
    if constexpr (rank(decltype(shape(r)){}) > 0) {
      int n = size(r);
      printf("|%d|", n); print(cosize(r)); printf("|"); print(rank(r)); printf("|"); print(depth(r)); printf("|");
      for (int i = 0; i < n && i < 40; ++i) {
        if (i) printf(";");
        if constexpr (is_std_integral<decltype(r(1))>::value) { print(int(r(i))); }  // a recast offset is unsigned
        else { print(r(i)); }
      }
      if constexpr (is_std_integral<decltype(r(1))>::value || is_static<decltype(r(1))>::value
                    && is_integral<decltype(r(1))>::value && !is_scaled_basis<decltype(r(1))>::value) {
        long long h = 0;
        for (int i = 0; i < n; ++i) h += (long long)(int)(r(i)) * (i % 1000 + 1);
        h %= 1000000007LL; if (h < 0) h += 1000000007LL;
        printf("|%lld", h);
      }
    }
  }
}
"""


def translation_unit(rows: list[tuple[int, Row]]) -> tuple[str, dict[int, int]]:
    """Source text, and which line belongs to which row."""
    lines = PROLOGUE.splitlines()
    owner = {}
    for key, row in rows:
        lines.append(f"static void row_{key}() {{ auto r = {row.cpp()}; describe(r); }}")
        owner[len(lines)] = key
    lines.append("int main() {")
    for key, _ in rows:
        lines.append(f'printf("\\n#{key} "); row_{key}(); fflush(stdout);')
        owner[len(lines)] = key
    lines.append("}")
    return "\n".join(lines) + "\n", owner


def compile_rows(headers: Headers, rows: list[tuple[int, Row]], link: bool) -> tuple[dict[int, str], dict[int, str]]:
    """Outputs of the rows (when linked), and error text of those that do not compile."""
    source, owner = translation_unit(rows)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.cpp"
        path.write_text(source)
        program = Path(directory) / "rows"
        command = [headers.compiler, "-std=c++17", "-O0", "-w", "-fmax-errors=0", "-ftemplate-backtrace-limit=0"]
        command += [*headers.arguments(), str(path)]
        command += ["-o", str(program)] if link else ["-fsyntax-only"]
        built = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        if built.returncode != 0:
            errors = attribute_errors(built.stderr, owner)
            if not errors:
                raise RuntimeError(built.stderr[-3000:])
            return {}, errors
        if not link:
            return {}, {}
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=600, check=False)
        outputs = {}
        for line in ran.stdout.replace("\0", "").splitlines():  # CUTLASS 3.5 prints a NUL after every bracket
            if line.startswith("#"):
                key, _, text = line.partition(" ")
                outputs[int(key[1:])] = text
        if ran.returncode != 0:
            last = max(outputs, default=-1)
            outputs[last] = outputs.get(last, "") + f" <crashed {ran.returncode}>"
        return outputs, {}


def attribute_errors(stderr: str, owner: dict[int, int]) -> dict[int, str]:
    """The first error of each row, from the compiler's messages (rows named by ``row_N`` or by their line)."""
    errors: dict[int, str] = {}
    context: set[int] = set()
    complete = False
    for line in stderr.splitlines():
        if re.search(r": In |: error:|required from|rows\.cpp:", line) is None:
            continue
        if complete and ("error:" not in line) and "note:" not in line:
            context, complete = set(), False
        context |= {int(k) for k in re.findall(r"row_(\d+)\(\)", line)}
        context |= {owner[int(n)] for n in re.findall(r"rows\.cpp:(\d+)", line) if int(n) in owner}
        message = re.search(r"error: (.*)", line)
        if message:
            complete = True
            for key in context:
                errors.setdefault(key, message.group(1))
    return errors


class Generator:
    """Random layouts and arguments; ``dynamic`` is the chance that an integer is a run-time one."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dynamic = 0.0

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def integer(self, value: int) -> Any:
        return Dyn.of(value) if self.chance(self.dynamic) else value

    def extent(self) -> int:
        return self.rng.choice([1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 12, 16])

    def extents(self, modes: int, limit: int = 512, powers: bool = False) -> list[int]:
        result = []
        total = 1
        for _ in range(modes):
            e = self.rng.choice([1, 2, 2, 4, 4, 8, 16]) if powers else self.extent()
            if total * e > limit:
                e = 1
            total *= e
            result.append(e)
        return result

    def nest(self, items: list[Any]) -> Any:
        """A random nesting of a flat list of leaves; None marks in-place construction of a profile."""
        if len(items) == 1 and self.chance(0.6):
            return items[0]
        groups: list[Any] = []
        i = 0
        while i < len(items):
            n = self.rng.choice([1, 1, 1, 2, 3])
            chunk = items[i : i + n]
            groups.append(chunk[0] if len(chunk) == 1 and self.chance(0.9) else tuple(chunk))
            i += n
        return tuple(groups)

    def shape(self, limit: int = 512, powers: bool = False) -> Any:
        leaves = self.extents(self.rng.choice([1, 2, 2, 3, 3, 4]), limit, powers)
        return self.nest([self.integer(e) for e in leaves])

    def layout(self, limit: int = 512, powers: bool = False, compact: float = 0.75) -> Layout:
        extents = self.extents(self.rng.choice([1, 2, 2, 3, 3, 4]), limit, powers)
        order = list(range(len(extents)))
        if self.chance(0.6):
            self.rng.shuffle(order)
        strides = [0] * len(extents)
        current = 1
        for i in order:
            strides[i] = current
            current *= extents[i]
            if not self.chance(compact):
                current *= self.rng.choice([1, 2, 3, 4])
        for i in range(len(strides)):
            if self.chance(0.05):
                strides[i] = 0
            if self.chance(0.03):
                strides[i] = -strides[i]
            if not powers and self.chance(0.05):
                strides[i] = self.rng.choice([1, 2, 3, 5, 6, 7, 10, 24])
        profile = self.nest(list(range(len(extents))))
        shape = it.transform_leaf(profile, lambda i: self.integer(extents[i]))
        stride = it.transform_leaf(profile, lambda i: self.integer(strides[i]))
        return Layout(shape, stride)

    def swizzle(self) -> Swizzle:
        bits = self.rng.choice([0, 1, 1, 2, 2, 3, 3])
        shift = self.rng.choice([bits, bits, bits + 1, 3, 4])
        shift = max(shift, bits)
        if self.chance(0.15):
            shift = -shift
        return Swizzle(bits, self.rng.choice([0, 1, 2, 3, 3, 4]), shift)

    def swizzled(self, limit: int = 1024, flagged: float = 0.15) -> ComposedLayout:
        base = self.layout(limit, powers=True, compact=0.95)
        offset: Any = 0
        if self.chance(flagged):
            offset = SmemPtrFlag(self.rng.choice([8, 16, 32]))
        elif self.chance(0.15):
            offset = self.integer(self.rng.choice([0, 8, 16, 24, 64]))
        first: Any = self.layout(64, compact=1.0) if self.chance(0.05) else self.swizzle()
        return algebra.make_composed_layout(first, offset, base)

    def any_layout(self) -> Any:
        return self.swizzled() if self.chance(0.3) else self.layout()

    def divisor(self, n: int) -> int:
        return self.rng.choice([d for d in range(1, n + 1) if n % d == 0])

    def tiler_mode(self, extent: int) -> Any:
        pick = self.rng.random()
        if pick < 0.45:
            return self.integer(self.divisor(extent))
        if pick < 0.75:
            d = self.divisor(extent)
            step = self.divisor(max(1, extent // d))
            return Layout(self.integer(d), self.integer(step))
        if pick < 0.82:
            return X
        if pick < 0.9:
            return self.integer(self.extent())
        return self.layout(32)

    def tiler(self, layout: Any) -> Any:
        modes = algebra.rank(layout)
        if self.chance(0.25):
            return self.tiler_mode(known_value(algebra.size(layout)) or 1)
        count = self.rng.randint(1, modes)
        return tuple(self.tiler_mode(known_value(algebra.size(layout, i)) or 1) for i in range(count))

    def profile(self, shape: Any) -> Any:
        if isinstance(shape, tuple) and self.chance(0.7):
            return tuple(self.profile(s) for s in shape[: self.rng.randint(1, len(shape))])
        return self.integer(1)

    def coordinate(self, shape: Any, underscore: float = 0.0) -> Any:
        if self.chance(underscore):
            return X
        if isinstance(shape, tuple) and self.chance(0.8):
            return tuple(self.coordinate(s, underscore) for s in shape)
        n = known_value(it.product(shape)) or 1
        return self.integer(self.rng.randrange(max(1, n)))

    def identity(self) -> Layout:
        return algebra.make_identity_layout(self.shape(64))

    def row(self) -> Row:
        self.dynamic = self.rng.choice([0.0, 0.0, 0.0, 0.2, 0.5, 1.0])
        name = self.rng.choice(list(RECIPES))
        return RECIPES[name](self, name)


def _one(g: Generator, name: str) -> Row:
    return Row(name, (g.layout(),))


def _one_any(g: Generator, name: str) -> Row:
    return Row(name, (g.any_layout(),))


def _composition(g: Generator, name: str) -> Row:
    pick = g.rng.random()
    if pick < 0.25:
        a: Any = g.layout(4096, powers=True) if g.chance(0.5) else g.layout(1024)
        n = known_value(algebra.size(a)) or 1
        d = g.divisor(n)
        return Row(name, (a, Layout(g.integer(d), g.integer(g.divisor(n // d)))))
    if pick < 0.5:
        powers = g.chance(0.6)
        return Row(name, (g.layout(2048, powers=powers), g.layout(256, powers=powers)))
    if pick < 0.65:
        a = g.any_layout()
        return Row(name, (a, g.tiler(a)))
    if pick < 0.75:
        return Row(name, (g.swizzled(), g.layout(256, powers=True)))
    if pick < 0.83:
        return Row(name, (g.layout(256, powers=True), g.swizzle()))
    if pick < 0.9:
        return Row(name, (g.layout(256, powers=True), g.swizzled(256)))
    if pick < 0.93:
        return Row(name, (g.swizzle(), g.swizzle()))
    shape = g.shape(256)
    identity = algebra.make_identity_layout(shape)
    return Row(name, (identity, g.tiler(identity)))


def _complement(g: Generator, name: str) -> Row:
    a = g.any_layout()
    if g.chance(0.3):
        return Row(name, (a,))
    if g.chance(0.25):
        return Row(name, (a, g.shape(256)))
    return Row(name, (a, g.integer(g.rng.choice([1, 24, 64, 100, 128, 512, 1000]))))


def _divide(g: Generator, name: str) -> Row:
    a = g.identity() if g.chance(0.08) else g.any_layout()
    return Row(name, (a, g.tiler(a)))


def _product(g: Generator, name: str) -> Row:
    a = g.any_layout()
    if g.chance(0.15):
        return Row(name, (a, tuple(g.integer(g.extent()) for _ in range(g.rng.randint(1, algebra.rank(a))))))
    if g.chance(0.1):
        return Row(name, (g.layout(16, powers=True), g.swizzled(64, 0.0)))
    if g.chance(0.1):
        return Row(name, (a, g.integer(g.extent())))
    return Row(name, (a, g.layout(16)))


def _rank_product(g: Generator, name: str) -> Row:
    return Row(name, (g.any_layout(), g.layout(16)))


def _tile_to_shape(g: Generator, name: str) -> Row:
    a = g.any_layout()
    extents = [known_value(algebra.size(a, i)) or 1 for i in range(algebra.rank(a))]
    target: list[Any] = [g.integer(e * g.rng.choice([1, 1, 2, 3, 4])) for e in extents]
    if g.chance(0.15):
        target[0] = g.integer(g.extent())
    if g.chance(0.4):
        target.append(g.integer(g.rng.choice([1, 2, 3, 4])))
    shape: Any = tuple(target) if len(target) > 1 or g.chance(0.8) else target[0]
    if g.chance(0.5) and isinstance(shape, tuple):
        order = list(range(1, len(shape) + 1))
        g.rng.shuffle(order)
        return Row(name, (a, shape, tuple(order)))
    if g.chance(0.1):
        return Row(name, (a, shape, Major.RIGHT))
    return Row(name, (a, shape))


def _coalesce(g: Generator, name: str) -> Row:
    if g.chance(0.15):
        return Row(name, (g.shape(),))
    a = g.any_layout()
    return Row(name, (a, g.profile(a.shape))) if g.chance(0.4) else Row(name, (a,))


def _filter(g: Generator, name: str) -> Row:
    a = g.layout()
    return Row(name, (a, g.profile(a.shape))) if g.chance(0.3) else Row(name, (a,))


def _pair(g: Generator, name: str) -> Row:
    if g.chance(0.4):
        extents = g.shape(256, powers=True)
        return Row(name, (algebra.make_layout(extents), algebra.make_layout(extents, Major.RIGHT)))
    return Row(name, (g.any_layout(), g.any_layout()))


def _cast(g: Generator, name: str) -> Row:
    a = g.any_layout() if g.chance(0.9) else g.swizzle()
    return Row(name, (a,), (g.rng.choice([2, 2, 4, 4, 8, 3]),))


def _recast(g: Generator, name: str) -> Row:
    bits = [1, 4, 8, 16, 32, 64, 128]
    return Row(name, (g.any_layout(),), (g.rng.choice(bits), g.rng.choice(bits)))


def _modes(g: Generator, name: str) -> Row:
    a = g.any_layout()
    n = algebra.rank(a)
    if name in ("group", "take"):
        first = g.rng.randint(0, n)
        return Row(name, (a,), (first, g.rng.randint(first, n)))
    if name == "select":
        return Row(name, (g.layout(),), tuple(g.rng.randrange(n) for _ in range(g.rng.randint(1, 3))))
    if name == "append":
        return Row(name, (a, g.layout(8)), (n + g.rng.randint(0, 2),))
    if name == "prepend":
        a = g.layout()
        return Row(name, (a, g.layout(8)), (algebra.rank(a) + g.rng.randint(0, 2),))
    return Row(name, (a,), (g.rng.randrange(n),))


def _call(g: Generator, name: str) -> Row:
    a = g.any_layout() if g.chance(0.9) else g.identity()
    return Row(name, (a, g.coordinate(a.shape, g.rng.choice([0.0, 0.4]))))


def _slice_swizzled(g: Generator, name: str) -> Row:
    a = g.swizzled(1024, 0.1)
    g.dynamic = g.rng.choice([0.0, 0.5, 1.0])
    return Row("call", (a, g.coordinate(a.shape, 0.5)))


def _ordered(g: Generator, name: str) -> Row:
    shape = g.shape()
    if g.chance(0.15):
        return Row(name, (shape, g.rng.choice([Major.LEFT, Major.RIGHT])))
    order = it.transform_leaf(shape, lambda _s: g.integer(g.rng.randrange(6)))
    if isinstance(shape, tuple) and g.chance(0.5):
        order = tuple(g.integer(g.rng.randrange(6)) for _ in shape)
    return Row(name, (shape, order))


def _make(g: Generator, name: str) -> Row:
    pick = g.rng.random()
    if pick < 0.3:
        return Row(name, (g.shape(),))
    if pick < 0.6:
        return Row(name, (g.shape(), g.rng.choice([Major.LEFT, Major.RIGHT])))
    if pick < 0.9:
        return Row(name, tuple(g.layout(8) for _ in range(g.rng.randint(1, 4))))
    return Row(name, (g.swizzle(),))


def _crd(g: Generator, name: str) -> Row:
    shape = g.shape()
    n = known_value(it.product(shape)) or 1
    if name == "idx2crd":
        index = g.integer(g.rng.randrange(n))
        stride = (algebra.make_layout(shape).stride,) if g.chance(0.4) else ()
        return Row(name, (index, shape, *stride))
    if name == "crd2crd":
        return Row(name, (g.coordinate(shape), shape, g.shape()))
    return Row(name, (g.coordinate(shape), shape))


def _tuples(g: Generator, name: str) -> Row:
    a, b = g.shape(), g.shape()
    if g.chance(0.5):
        b = it.transform_leaf(a, lambda s: g.integer(g.divisor(known_value(s) or 1)))
    if g.chance(0.2):
        b = g.integer(g.extent())
    return Row(name, (a, b))


def _domain(g: Generator, name: str) -> Row:
    g.dynamic = 0.0
    return Row(name, (g.shape(), g.extent() * g.extent()))


def _with_shape(g: Generator, name: str) -> Row:
    return Row(name, (g.any_layout(), g.shape(64)))


def _coordinate_first(g: Generator, name: str) -> Row:
    a = g.any_layout()
    underscore = 0.0 if name == "domain_offset" else 0.5
    return Row(name, (g.coordinate(a.shape, underscore), a))


def _dice(g: Generator, name: str) -> Row:
    a = g.layout()
    return Row(name, (g.coordinate(a.shape, 0.5), a))


def _shape_only(g: Generator, name: str) -> Row:
    return Row(name, (g.shape(),))


def _congruent_tuples(g: Generator, name: str) -> Row:
    a = g.shape()
    return Row(name, (a, it.transform_leaf(a, lambda _s: g.integer(g.extent()))))


def _replace(g: Generator, name: str) -> Row:
    a = g.layout()
    return Row(name, (a, g.layout(8)), (g.rng.randrange(algebra.rank(a)),))


def _swizzle_of(g: Generator, name: str) -> Row:
    return Row("call", (g.swizzle(), g.integer(g.rng.randrange(4096))))


RECIPES: dict[str, Callable[[Generator, str], Row]] = {
    "composition": _composition,
    "coalesce": _coalesce,
    "complement": _complement,
    "right_inverse": _one_any,
    "left_inverse": _one_any,
    "logical_divide": _divide,
    "zipped_divide": _divide,
    "tiled_divide": _divide,
    "flat_divide": _divide,
    "ceil_div": _tuples,
    "shape_div": _tuples,
    "round_up": _tuples,
    "congruent": _tuples,
    "weakly_congruent": _tuples,
    "compatible": _tuples,
    "evenly_divides": _tuples,
    "elem_less": _tuples,
    "logical_product": _product,
    "zipped_product": _product,
    "tiled_product": _product,
    "flat_product": _product,
    "blocked_product": _rank_product,
    "raked_product": _rank_product,
    "tile_to_shape": _tile_to_shape,
    "upcast": _cast,
    "downcast": _cast,
    "recast_layout": _recast,
    "max_alignment": _one_any,
    "filter": _filter,
    "filter_zeros": _one,
    "nullspace": _one_any,
    "max_common_vector": _pair,
    "max_common_layout": _pair,
    "domain_distribute": _domain,
    "coshape": _one,
    "cosize": _one_any,
    "coprofile": _one,
    "rank": _one_any,
    "depth": _one_any,
    "flatten": _one_any,
    "group": _modes,
    "take": _modes,
    "select": _modes,
    "append": _modes,
    "prepend": _modes,
    "get": _modes,
    "layout": _modes,
    "size": _modes,
    "call": _call,
    "slice": _slice_swizzled,
    "swizzle": _swizzle_of,
    "make_ordered_layout": _ordered,
    "compact_order": _ordered,
    "make_layout": _make,
    "make_layout_like": _one,
    "make_fragment_like": _one_any,
    "idx2crd": _crd,
    "crd2idx": _crd,
    "crd2crd": _crd,
    "with_shape": _with_shape,
    "domain_offset": _coordinate_first,
    "slice_and_offset": _coordinate_first,
    "dice": _dice,
    "compact_col_major": _shape_only,
    "compact_row_major": _shape_only,
    "make_identity_layout": _shape_only,
    "product_each": _shape_only,
    "elem_scale": _congruent_tuples,
    "inner_product": _congruent_tuples,
    "zip": lambda g, name: Row(name, (g.layout(16), g.layout(16))),
    "replace": _replace,
    "get_swizzle_portion": _one_any,
    "get_nonswizzle_portion": _one_any,
}


@dataclass(frozen=True)
class Mismatch:
    row: Row
    model: str
    cute: str

    def __str__(self) -> str:
        shown = "; ".join(map(show, self.row.args))
        call = f"{self.row.fn}{self.row.targs or ''}  {shown}\n  {self.row.cpp()}"
        return f"{call}\n  model: {self.model}\n  CuTe:  {self.cute}"


def run(headers: Headers, count: int, seed: int, batch: int = 250) -> tuple[list[Mismatch], dict[str, int]]:
    """Compare ``count`` random rows; the mismatches, and how many rows were accepted and refused by both.

    The model follows the version of the headers.
    """
    with using_cute(headers.version):
        return _run(headers, count, seed, batch)


def _run(headers: Headers, count: int, seed: int, batch: int) -> tuple[list[Mismatch], dict[str, int]]:
    generator = Generator(random.Random(seed))
    mismatches: list[Mismatch] = []
    tally = {"accepted": 0, "refused": 0, "refused, not confirmed": 0}
    for start in range(0, count, batch):
        accepted: list[tuple[int, Row]] = []
        refused: list[tuple[int, Row]] = []
        expected: dict[int, str] = {}
        seen: set[str] = set()
        while len(accepted) + len(refused) < min(batch, count - start):
            row = generator.row()
            if row.fn == "coprofile" and cute_version() < (3, 9):
                continue  # not there yet
            text = row.cpp()
            if text in seen:
                continue
            seen.add(text)
            key = len(seen)
            try:
                expected[key] = describe(row.model())
                accepted.append((key, row))
            except CuteError as error:
                expected[key] = f"refused: {error}"
                refused.append((key, row))
            except UndefinedError:
                continue
        rows = dict(accepted)
        outputs, errors = compile_rows(headers, accepted, link=True)
        while errors:
            mismatches += [Mismatch(rows[k], expected[k], f"does not compile: {e}") for k, e in errors.items()]
            accepted = [(k, r) for k, r in accepted if k not in errors]
            outputs, errors = compile_rows(headers, accepted, link=True)
        for key, row in accepted:
            if outputs.get(key) != expected[key]:
                mismatches.append(Mismatch(row, expected[key], outputs.get(key, "no output")))
            else:
                tally["accepted"] += 1
        while refused:
            _, errors = compile_rows(headers, refused, link=False)
            tally["refused"] += len(errors)
            rest = [(k, r) for k, r in refused if k not in errors]
            if not errors:
                outputs, _ = compile_rows(headers, rest, link=True)
                mismatches += [Mismatch(r, expected[k], outputs.get(k, "no output")) for k, r in rest]
                break
            # An error is reported once for each template instance: rows that share it need another round.
            refused = rest
    return mismatches, tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=250)
    options = parser.parse_args()
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(headers.reason, file=sys.stderr)
        return 2
    mismatches, tally = run(headers, options.cases, options.seed, options.batch)
    for m in mismatches:
        print(m)
    print(f"CUTLASS {headers.version}: {tally}, mismatches: {len(mismatches)}")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
