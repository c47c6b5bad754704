"""Random tiled copies and MMAs for CuTe itself: C++ that prints them, and the same values from the model.

A case is a C++ statement list that prints lines, and a function that yields the model's lines.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cutecheck.exec.headers import Headers, NoHeaders, find_headers
from cutecheck.model import tiled
from cutecheck.model.algebra import logical_product, make_layout, shape
from cutecheck.model.atoms import CopyAtom, MMAAtom, copy_op, element_type, mma_op
from cutecheck.model.basis import X
from cutecheck.model.ints import CuteError, Dyn, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.notation import show
from cutecheck.tests.precompiled import with_cute

PRELUDE = r"""
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
using namespace cute;
using cutlass::half_t; using cutlass::bfloat16_t; using cutlass::tfloat32_t;
template <class T> void show(T const& x) { print(x); std::printf("\n"); }
template <class T> void start(T const& x) { std::printf("%lld\n", (long long)(*x)); }
// a counting iterator over the codomain: the offset of a partition's first element
template <class L> auto counting(L const& l) { return make_tensor(counting_iterator<int>{0}, l); }
"""


@dataclass(frozen=True)
class Case:
    cpp: str
    lines: tuple[str, ...]

    def text(self) -> list[str]:
        """The lines the program prints, blank ones left out."""
        return [line for value in self.lines for line in value.split("\n")]


def number(offset: object) -> str:
    """An offset's value, static or run-time."""
    value = known_value(offset)
    assert value is not None
    return str(value)


def cpp_int(a: object) -> str:
    return f"Int<{a}>{{}}" if isinstance(a, int) else str(a.value)


def cpp_tuple(t: object, make: str = "make_shape") -> str:
    if isinstance(t, tuple):
        return f"{make}({', '.join(cpp_tuple(x, make) for x in t)})"
    return cpp_int(t)


def cpp_layout(layout: object) -> str:
    if isinstance(layout, ComposedLayout):
        sw = layout.a
        assert isinstance(sw, Swizzle)
        return f"composition(Swizzle<{sw.bits},{sw.base},{sw.shift}>{{}}, {cpp_layout(layout.b)})"
    return f"make_layout({cpp_tuple(layout.shape)}, {cpp_tuple(layout.stride, 'make_stride')})"


def cpp_tile(tile: object) -> str:
    if tile is X:
        return "_"
    if isinstance(tile, tuple):
        return f"make_tile({', '.join(map(cpp_tile, tile))})"
    return cpp_layout(tile) if isinstance(tile, Layout) else cpp_int(tile)


MMAS = (
    "SM70_8x8x4_F32F16F16F32_TN", "SM70_8x8x4_F32F16F16F32_NT", "SM75_16x8x8_F32F16F16F32_TN",
    "SM75_8x8x16_S32S8S8S32_TN", "SM80_16x8x8_F16F16F16F16_TN", "SM80_16x8x16_F32F16F16F32_TN",
    "SM80_16x8x8_F32TF32TF32F32_TN", "SM80_8x8x4_F64F64F64F64_TN", "SM80_16x8x32_S32S8S8S32_TN",
    "SM80_16x8x64_S32S4S4S32_TN", "SM89_16x8x32_F32E4M3E5M2F32_TN", "SM61_DP4A",
    "UniversalFMA<float,float,float,float>",
)  # fmt: skip
COPIES = (
    ("UniversalCopy<uint128_t>", "half_t"), ("UniversalCopy<uint64_t>", "float"), ("UniversalCopy<half_t>", "half_t"),
    ("SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", "half_t"), ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "int8_t"),
    ("AutoVectorizingCopy", "half_t"), ("DefaultCopy", "float"), ("SM75_U32x1_LDSM_N", "half_t"),
    ("SM75_U32x2_LDSM_N", "half_t"), ("SM75_U32x4_LDSM_N", "half_t"), ("SM75_U16x2_LDSM_T", "half_t"),
    ("SM75_U16x4_LDSM_T", "half_t"), ("SM75_U16x8_LDSM_T", "half_t"), ("SM90_U32x4_STSM_N", "half_t"),
    ("SM90_U16x8_STSM_T", "half_t"), ("SM75_U32x4_LDSM_N", "int8_t"), ("SM90_U32x2_STSM_N", "bfloat16_t"),
    ("SM100_U8x8_LDSM_T", "uint8_t"), ("SM50_Shuffle_U32_2x2Trans_XOR1", "half_t"),
)  # fmt: skip


def mma_atom(rng: random.Random) -> tuple[str, MMAAtom]:
    name = rng.choice(MMAS)
    return f"MMA_Atom<{name}>{{}}", mma_op(name)


def copy_atom(rng: random.Random, kinds: Iterable[tuple[str, str]] = COPIES) -> tuple[str, CopyAtom]:
    name, value = rng.choice(tuple(kinds))
    return f"Copy_Atom<{name}, {value}>{{}}", copy_op(name, (), element_type(value))


def tiled_mma(rng: random.Random) -> tuple[str, tiled.TiledMMA]:
    text, atom = mma_atom(rng)
    extents = tuple(rng.choice((1, 1, 2, 2, 4, 3)) for _ in range(rng.choice((2, 3, 3))))
    strides = rng.choice((None, None, tuple(rng.sample((1, 2, 4, 8, 16), len(extents))), "right"))
    layout = make_layout(extents)
    if strides == "right":
        layout = Layout(extents, tuple(reversed(make_layout(tuple(reversed(extents))).stride)))
    elif strides:
        layout = Layout(extents, strides)
    permutation: list[object] = []
    m, n, k = atom.shape_mnk
    thr = (*extents, 1)[:3]
    for mode, (e, t) in enumerate(zip((m, n, k), thr, strict=True)):
        base = e * t
        permutation.append(
            rng.choice(
                (
                    X,
                    X,
                    base,
                    base * 2,
                    Layout((e, t, 2), (1, 2 * e, e)),
                    Layout((base // 2, 2), (1, base // 2)) if base % 2 == 0 else X,
                    Layout((base // 2, 2, 2), (2, 1, base)) if base % 2 == 0 and mode == 1 else X,
                )
            )
        )
    tile = tuple(permutation)
    mma = tiled.make_tiled_mma(atom, layout, tile)
    return f"make_tiled_mma({text}, {cpp_layout(layout)}, {cpp_tile(tile)})", mma


def tile_layout(rng: random.Random, extents: tuple[int, ...]) -> object:
    """A layout of a tile: compact, row major, padded, run-time strides, swizzled, or a coordinate tensor."""
    m, n = extents[:2]
    kind = rng.choice(("left", "right", "padded", "run-time", "swizzled", "tiled", "extra"))
    if kind == "left":
        return make_layout((m, n))
    if kind == "right":
        return Layout((m, n), (n, 1))
    if kind == "padded":
        return Layout((m, n), (n + 8, 1))
    if kind == "run-time":
        return Layout((Dyn.of(m), Dyn.of(n)), (Dyn.of(n), 1))
    if kind == "swizzled":
        return ComposedLayout(Swizzle(rng.choice((1, 2, 3)), 3, 3), 0, Layout((m, n), (n, 1)))
    if kind == "tiled" and m % 2 == 0:
        return logical_product(Layout((m // 2, n), (n, 1)), make_layout(2))
    return Layout((m, n, 3), (n, 1, m * n))


def mma_case(rng: random.Random) -> Case:
    text, mma = tiled_mma(rng)
    cpp = [f"auto mma = {text};", "show(mma);"]
    cpp += [f"show(mma.get_layout{c}_TV());" for c in "ABC"] + ["show(tile_shape(mma));", "show(size(mma));"]
    lines = [str(mma), *(str(mma._layout_tv(c)) for c in "ABC"), show(mma.tile_shape), show(mma.size)]
    for operand in "ABC":
        m, n = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}[operand]
        extents = tuple(mma.tile_size(i) * rng.choice((1, 2, 2, 3)) for i in (m, n))
        layout = tile_layout(rng, extents)
        while len(shape(layout)) != 2 and not isinstance(layout, Layout):
            layout = tile_layout(rng, extents)
        thread = rng.randrange(mma.size)
        index, cpp_index = (thread, f"Int<{thread}>{{}}") if rng.random() < 0.5 else (Dyn.of(thread), str(thread))
        part, start = mma.get_slice(index).partition(operand, layout)
        cpp.append(f"{{ auto t = counting({cpp_layout(layout)});")
        cpp.append(f"  auto p = mma.get_slice({cpp_index}).partition_{operand}(t); show(p.layout()); start(p.data());")
        if isinstance(layout, Layout) and operand != "C":
            fragment = mma.get_slice(index).make_fragment(operand, part)
            cpp.append(
                f"  show(make_fragment_like<float>(p).layout()); show(partition_shape_{operand}(mma, shape(t)));"
            )
            lines += [str(part), number(start)]
            lines += [str(fragment), show(mma.partition_shape(operand, shape(layout)))]
        else:
            lines += [str(part), number(start)]
        cpp.append("}")
    return Case("\n".join(cpp), tuple(lines))


def partition_lines(copy: tiled.TiledCopy, rng: random.Random, extents: tuple[int, ...]) -> tuple[list[str], list[str]]:
    cpp, lines = [], []
    for side in "SD":
        layout = tile_layout(rng, extents)
        thread = rng.randrange(copy.num_thr)
        index, cpp_index = (thread, f"Int<{thread}>{{}}") if rng.random() < 0.5 else (Dyn.of(thread), str(thread))
        part, start = (copy.partition_S if side == "S" else copy.partition_D)(layout, index)
        cpp.append(f"{{ auto p = copy.get_slice({cpp_index}).partition_{side}(counting({cpp_layout(layout)}));")
        cpp.append("  show(p.layout()); start(p.data()); }")
        lines += [str(part), number(start)]
    return cpp, lines


def copy_case(rng: random.Random) -> Case:
    text, atom = copy_atom(rng)
    thr = make_layout((rng.choice((1, 4, 8, 16, 32)), rng.choice((1, 2, 4, 8, 32))))
    if rng.random() < 0.5:
        thr = Layout(thr.shape, (thr.shape[1], 1))
    val = rng.choice(
        (
            make_layout((1, rng.choice((1, 2, 4, 8, 16)))),
            make_layout((rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 8)))),
            Layout((2, 4), (4, 1)),
            Layout(((2, 2), (2, 4)), ((1, 8), (2, 16))),
            make_layout(rng.choice((1, 8))),
        )
    )
    copy = tiled.make_tiled_copy(atom, thr, val)
    cpp = [f"auto copy = make_tiled_copy({text}, {cpp_layout(thr)}, {cpp_layout(val)});", "show(copy);"]
    cpp += ["show(copy.get_layoutS_TV());", "show(copy.get_layoutD_TV());", "show(size(copy));"]
    lines = [str(copy), str(copy.get_layoutS_TV()), str(copy.get_layoutD_TV()), show(copy.num_thr)]
    tile = copy.tiler_shape
    extents = tuple(t * rng.choice((1, 2, 3)) for t in (tile if isinstance(tile, tuple) else (tile, 4)))
    if len(extents) == 1:
        extents = (*extents, 4)
    more_cpp, more = partition_lines(copy, rng, extents)
    return Case("\n".join(cpp + more_cpp), tuple(lines + more))


def mma_copy_case(rng: random.Random) -> Case:
    """Copies made from an MMA, their partitions, and retiling its fragments."""
    text, mma = tiled_mma(rng)
    operand = rng.choice("ABC")
    atom_text, atom = copy_atom(rng)
    maker: Callable[..., tiled.TiledCopy] = getattr(tiled, f"make_tiled_copy_{operand}")
    name = f"make_tiled_copy_{operand}"
    if operand == "C" and rng.random() < 0.4:
        maker, name = tiled.make_tiled_copy_C_atom, "make_tiled_copy_C_atom"
    copy = maker(atom, mma)
    cpp = [f"auto mma = {text};", f"auto copy = {name}({atom_text}, mma);", "show(copy);"]
    cpp += ["show(copy.get_layoutS_TV());", "show(copy.get_layoutD_TV());"]
    lines = [str(copy), str(copy.get_layoutS_TV()), str(copy.get_layoutD_TV())]
    m, n = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}[operand]
    extents = tuple(mma.tile_size(i) * rng.choice((1, 2)) for i in (m, n))
    more_cpp, more = partition_lines(copy, rng, extents)
    fragment = make_layout(mma.partition_shape(operand, extents))
    cpp.append(f"{{ auto f = make_layout(partition_shape_{operand}(mma, {cpp_tuple(extents)})); show(f);")
    cpp.append("  show(copy.get_slice(0).retile_S(counting(f)).layout()); }")
    retiled = copy.get_slice(0).retile_S(fragment)
    other_text, other = copy_atom(rng)
    from_s = tiled.make_tiled_copy_S(other, copy)
    from_d = tiled.make_tiled_copy_D(other, copy)
    cpp += [f"show(make_tiled_copy_S({other_text}, copy));", f"show(make_tiled_copy_D({other_text}, copy));"]
    return Case(
        "\n".join(cpp[:5] + more_cpp + cpp[5:]),
        tuple(lines + more + [str(fragment), str(retiled), str(from_s), str(from_d)]),
    )


def cotiled_case(rng: random.Random) -> Case:
    name, value = rng.choice((("UniversalCopy<uint64_t>", "half_t"), ("UniversalCopy<float>", "float")))
    atom = copy_op(name, (), element_type(value))
    data = rng.choice(
        (make_layout((16, 32)), Layout((16, 32), (32, 1)), Layout((8, 16), (1, 8)), Layout((4, (4, 8)), (8, (1, 32))))
    )
    tv = rng.choice((Layout((32, 4), (4, 1)), Layout((16, 4), (4, 1)), Layout(((8, 2), 4), ((4, 64), 1))))
    copy = tiled.make_cotiled_copy(atom, tv, data)
    arguments = f"Copy_Atom<{name}, {value}>{{}}, {cpp_layout(tv)}, {cpp_layout(data)}"
    return Case(f"auto copy = make_cotiled_copy({arguments});\nshow(copy);", (str(copy),))


def cases(seed: int, count: int, maker: Callable[[random.Random], Case]) -> list[Case]:
    """``count`` cases that the model accepts."""
    rng = random.Random(seed)
    out: list[Case] = []
    while len(out) < count:
        try:
            out.append(maker(rng))
        except CuteError:
            continue
    return out


def run(headers: Headers, chosen: list[Case]) -> list[list[str] | str]:
    """What CuTe prints for each case, or the compiler's first error for the case."""
    dropped: dict[int, str] = {}
    while True:
        first: dict[int, int] = {}
        body = PRELUDE
        for i, case in enumerate(chosen):
            if i in dropped:
                continue
            first[body.count("\n") + 1] = i
            body += f'void case{i}() {{ std::printf("@{i}\\n");\n{case.cpp}\n}}\n'
        body += "int main() {" + "".join(f"case{i}();" for i in range(len(chosen)) if i not in dropped) + "}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.cpp"
            path.write_text(body)
            command = [*with_cute(headers), str(path), "-o", str(path) + ".x"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                printed = subprocess.run([str(path) + ".x"], capture_output=True, text=True, check=True).stdout
                break
        lines = [int(m[1]) for m in re.finditer(r"cases\.cpp:(\d+):", done.stderr)]
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        hit = {max(k for k in first if k <= line) for line in lines if any(k <= line for k in first)}
        if not hit:
            raise AssertionError(done.stderr[:2000])
        dropped |= {first[k]: errors[0] if errors else "?" for k in hit}
    out: list[list[str] | str] = [dropped.get(i, []) for i in range(len(chosen))]
    current: list[str] = []
    for line in printed.splitlines():
        if m := re.fullmatch(r"@(\d+)", line):
            current = out[int(m[1])]  # type: ignore[assignment]
        elif line:
            current.append(line)
    return out


def main(seed: int, count: int, kinds: list[str]) -> int:
    """Compare ``count`` cases of each kind and print the mismatches; the number of them."""
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        raise SystemExit(headers.reason)
    chosen = [c for kind in kinds for c in cases(seed, count, globals()[f"{kind}_case"])]
    bad = 0
    for case, printed in zip(chosen, run(headers, chosen), strict=True):
        if printed != case.text():
            bad += 1
            print(case.cpp)
            pairs = [("", printed)] if isinstance(printed, str) else zip(printed, case.text(), strict=False)
            for cute, model in pairs:
                if cute != model:
                    print("  cute ", cute, "\n  model", model)
    print(f"{len(chosen)} cases, {bad} mismatches")
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or ["copy", "mma_copy", "mma", "cotiled"]) > 0)
