"""Random C++ expressions over atoms, tiled copies and MMAs, and tensors: by CuTe itself and by the evaluator.

``python -m cutecheck.tests.model.tiled.expressions --cases 600 --seed 1 [--only local_tile,thrfrg] [--table]``. What both
accept must print alike; what cutecheck says CuTe refuses must not compile; what cutecheck does not know is counted.
"""

# ruff: noqa: E501 - C++ expressions stay on one line

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from cutecheck.exec.headers import Headers, NoHeaders, find_headers
from cutecheck.facts import Unknown
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.notation import show
from cutecheck.model.version import using_cute
from cutecheck.source.evaluate import evaluate
from cutecheck.tests.model.differential.compiling import CRASHED, PROLOGUE, compile_rows
from cutecheck.tests.model.differential.spelling import describe

HEAD = """
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
using cutlass::half_t; using cutlass::bfloat16_t; using cutlass::tfloat32_t;
using cutlass::float_e4m3_t; using cutlass::float_e5m2_t;
"""


@dataclass(frozen=True)
class Expression:
    fn: str
    text: str

    def cpp(self) -> str:
        return self.text


@dataclass
class Tally:
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    mismatches: list[str] = field(default_factory=list)

    def table(self) -> str:
        names = sorted(self.accepted.keys() | self.refused.keys() | self.unknown.keys())
        rows = [f"| `{n}` | {self.accepted[n]} | {self.refused[n]} | {self.unknown[n]} |" for n in names]
        head = ["| function | accepted by both | refused by both | not known |", "| --- | --- | --- | --- |"]
        return "\n".join([*head, *rows])


class Maker:
    """Pieces of expressions as text."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def number(self, *items: int, static: float = 0.7) -> str:
        n = self.rng.choice(items)
        return f"Int<{n}>{{}}" if self.rng.random() < static else str(n)

    def shape(self, *modes: tuple[int, ...], static: float = 0.7) -> str:
        return f"make_shape({', '.join(self.number(*m, static=static) for m in modes)})"

    def layout(self, static: float = 0.7) -> str:
        m, n = self.rng.choice((16, 32, 64, 128, 24, 96)), self.rng.choice((8, 16, 32, 64, 48))
        kind = self.rng.randrange(6)
        dims = f"make_shape({self.number(m, static=static)}, {self.number(n, static=static)})"
        if kind == 0:
            return f"make_layout({dims})"
        if kind == 1:
            return f"make_layout({dims}, LayoutRight{{}})"
        if kind == 2:
            return f"make_layout({dims}, make_stride({self.number(n + 8, static=static)}, Int<1>{{}}))"
        if kind == 3:
            return f"make_layout({dims}, make_stride(Int<1>{{}}, {self.number(2 * m, m + 4)}))"
        if kind == 4:
            return f"composition(Swizzle<{self.pick('1', '2', '3')},3,3>{{}}, Layout<Shape<_{64},_{64}>,Stride<_64,_1>>{{}})"
        return f"make_layout(make_shape(Int<{m}>{{}}, make_shape(Int<2>{{}}, Int<{n // 2}>{{}})), LayoutRight{{}})"

    def tensor(self) -> str:
        kind = self.rng.random()
        if kind < 0.15:
            return f"make_identity_tensor({self.shape((32, 64), (16, 32))})"
        pointer = self.pick("make_gmem_ptr((float*)nullptr)", "make_smem_ptr((half_t*)nullptr)")
        return f"make_tensor({pointer}, {self.layout()})"

    def mma_op(self) -> str:
        return self.pick(
            "SM70_8x8x4_F32F16F16F32_TN", "SM75_16x8x8_F32F16F16F32_TN", "SM80_16x8x16_F32F16F16F32_TN",
            "SM80_16x8x8_F32TF32TF32F32_TN", "SM80_16x8x32_S32S8S8S32_TN", "SM89_16x8x32_F32E4M3E4M3F32_TN",
            "SM80_8x8x4_F64F64F64F64_TN", "UniversalFMA<float,float,float>",
        )  # fmt: skip

    def gmma(self) -> str:
        n = self.pick("64", "128", "256")
        a, b = self.pick("K", "MN"), self.pick("K", "MN")
        return f"SM90_64x{n}x16_F32F16F16_SS<GMMA::Major::{a}, GMMA::Major::{b}>"

    def mma(self) -> str:
        op = self.mma_op() if self.rng.random() < 0.8 else self.gmma()
        atoms = self.pick("Layout<Shape<_1,_1>>", "Layout<Shape<_2,_2>>", "Layout<Shape<_2,_1,_1>>",
                          "Layout<Shape<_4,_1,_1>>", "Layout<Shape<_2,_2,_1>,Stride<_2,_1,_0>>", "Layout<_2>")  # fmt: skip
        tile = self.pick("", "", ", Tile<_32,_32,_16>{}", ", Tile<Underscore,_32,Underscore>{}", ", Tile<Underscore,Layout<Shape<_8,_2>>,Underscore>{}",
                         ", Tile<_32,_32>{}")  # fmt: skip
        return f"make_tiled_mma({op}{{}}, {atoms}{{}}{tile})"

    def copy_atom(self) -> str:
        return self.pick(
            "Copy_Atom<UniversalCopy<uint128_t>, half_t>", "Copy_Atom<UniversalCopy<float>, float>",
            "Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>", "Copy_Atom<SM75_U32x4_LDSM_N, half_t>",
            "Copy_Atom<SM75_U16x8_LDSM_T, half_t>", "Copy_Atom<SM90_U32x4_STSM_N, half_t>",
            "Copy_Atom<AutoVectorizingCopy, half_t>", "Copy_Atom<DefaultCopy, float>",
            "Copy_Atom<SM75_U32x2_LDSM_N, half_t>", "Copy_Atom<UniversalCopy<uint64_t>, half_t>",
        )  # fmt: skip

    def tiled_copy(self) -> str:
        if self.rng.random() < 0.35:
            return f"make_tiled_copy_{self.pick('A', 'B', 'C')}({self.copy_atom()}{{}}, {self.mma()})"
        thr = self.pick(
            "Layout<Shape<_16,_8>,Stride<_8,_1>>", "Layout<Shape<_32,_4>>", "Layout<_32>", "Layout<Shape<_8,_16>>"
        )
        val = self.pick("Layout<Shape<_1,_8>>", "Layout<Shape<_4,_1>>", "Layout<Shape<_2,_4>>", "Layout<Shape<_1,_1>>")
        return f"make_tiled_copy({self.copy_atom()}{{}}, {thr}{{}}, {val}{{}})"

    def tile(self) -> str:
        """A tensor that a tiled copy or MMA may partition."""
        m, n = self.pick("64", "128", "32", "48"), self.pick("64", "32", "16")
        order = self.pick("", ", LayoutRight{}")
        p = self.pick("make_gmem_ptr((half_t*)nullptr)", "make_smem_ptr((half_t*)nullptr)")
        return f"make_tensor({p}, make_layout(make_shape(Int<{m}>{{}}, Int<{n}>{{}}){order}))"

    def element(self) -> str:
        return self.pick("half_t", "float", "bfloat16_t", "int8_t", "float_e4m3_t", "tfloat32_t", "double")

    def major(self) -> str:
        return self.pick("K", "MN")


Recipe = Callable[[Maker], str]


def _local_tile(m: Maker) -> str:
    tiler = m.pick(
        m.shape((8, 16), (8, 4)), "make_shape(Int<8>{}, Int<16>{}, Int<4>{})", "make_tile(Int<8>{}, Layout<_4,_2>{})"
    )
    coord = m.pick("make_coord(0,_)", "make_coord(_,_)", "make_coord(1,0)", "make_coord(0,_,_)", "0")
    if "Int<4>" in tiler and m.rng.random() < 0.7:
        step = m.pick("Step<_1,X,_1>{}", "Step<X,_1,_1>{}", "Step<_1,_1,X>{}")
        return f"local_tile({m.tensor()}, {tiler}, {m.pick('make_coord(0,0,_)', 'make_coord(_,_,0)', 'make_coord(1,_,_)')}, {step}).layout()"
    return f"local_tile({m.tensor()}, {tiler}, {coord}).layout()"


def _local_partition(m: Maker) -> str:
    thr = m.pick(
        "Layout<Shape<_8,_4>>{}", "Layout<Shape<_8,_4>,Stride<_4,_1>>{}", "Layout<_32>{}", "Layout<Shape<_4,_2,_2>>{}"
    )
    if "_2,_2" in thr:
        return f"local_partition({m.tensor()}, {thr}, {m.number(0, 3)}, {m.pick('Step<_1,X,_1>{}', 'Step<X,_1,_1>{}')}).layout()"
    return f"local_partition({m.tensor()}, {thr}, {m.number(0, 1, 5)}).layout()"


def _divide(m: Maker) -> str:
    name = m.pick("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
    tiler = m.pick(
        m.shape((8, 4), (8, 2)), "make_tile(Int<8>{}, _)", "make_tile(Layout<_4,_2>{}, Int<4>{})", "Int<8>{}"
    )
    return f"{name}({m.tensor()}, {tiler}).layout()"


def _slices(m: Maker) -> str:
    return f"{m.tensor()}{m.pick('(_,0)', '(3,_)', '(_,_)', '(make_coord(_,1))', '(2)')}" + m.pick(".layout()", "")


def _smem_atom(m: Maker) -> str:
    space, span = m.pick("GMMA", "UMMA"), m.pick("INTER", "SW32", "SW64", "SW128")
    if m.rng.random() < 0.2:
        return f"GMMA::Layout_{m.major()}_{span}_SpAtom<{m.element()}, 2>{{}}"
    return f"{space}::Layout_{m.major()}_{span}_Atom<{m.element()}>{{}}"


def _op_selector(m: Maker) -> str:
    a = m.pick("half_t", "bfloat16_t", "tfloat32_t", "int8_t", "float_e4m3_t")
    c = {"int8_t": "int32_t"}.get(a, m.pick("float", "float", "half_t"))
    sizes = f"Shape<Int<{m.pick('64', '128', '96')}>,Int<{m.pick('128', '64', '256', '24', '192')}>,Int<{m.pick('64', '32', '24')}>>"
    ma, mb = m.major(), m.major()
    name = m.pick("ss_op_selector", "rs_op_selector")
    return f"make_tiled_mma(SM90::GMMA::{name}<{a}, {a}, {c}, {sizes}, GMMA::Major::{ma}, GMMA::Major::{mb}>())"


def _tile_to_mma_shape(m: Maker) -> str:
    atom = (
        f"UMMA::Layout_{m.major()}_{m.pick('SW128', 'SW64', 'INTER')}_Atom<{m.pick('half_t', 'float', 'int8_t')}>{{}}"
    )
    mm, mn = m.pick("128", "64"), m.pick("16", "32", "64")
    rest = f"Int<{m.pick('1', '2')}>{{}}, Int<{m.pick('1', '4', '2')}>{{}}" + m.pick("", ", Int<3>{}")
    order = m.pick("", ", Step<_2,_1>{}", ", Step<_2,_1,_3>{}")
    return f"UMMA::tile_to_mma_shape({atom}, make_shape(make_shape(Int<{mm}>{{}}, Int<{mn}>{{}}), {rest}){order})"


def _tmem_copy(m: Maker) -> str:
    verb, rows = m.pick("LOAD", "STORE"), m.pick("32dp32b", "16dp256b", "16dp128b", "16dp64b")
    times, dtype = m.pick("1x", "2x", "4x", "8x", "16x"), m.pick("float", "float", "half_t")
    dp = 65536 if dtype == "float" else 131072
    columns = m.pick("16", "32", "64", "128")
    lanes = m.pick(f"Shape<_128,_{columns}>,Stride<Int<{dp}>,_1>", f"Shape<_64,_{columns}>,Stride<Int<{dp}>,_1>")
    return (
        f"make_tmem_copy(Copy_Atom<SM100_TMEM_{verb}_{rows}{times}, {dtype}>{{}}, "
        f"make_tensor(make_tmem_ptr<{dtype}>(0), Layout<{lanes}>{{}}))"
    )


def _tma(m: Maker) -> str:
    dtype = m.pick("half_t", "float", "int8_t")
    multicast = m.rng.random() < 0.3
    op = "SM90_TMA_LOAD_MULTICAST" if multicast else m.pick("SM90_TMA_LOAD", "SM90_TMA_STORE")
    rows, columns = m.pick("256", "512", "1000"), m.pick("512", "1024", "64")
    stride = m.pick(f"make_stride({columns}, Int<1>{{}})", f"make_stride(Int<1>{{}}, {rows})")
    gmem = f"make_tensor(make_gmem_ptr((({dtype}*)nullptr)), make_layout(make_shape({rows}, {columns}), {stride}))"
    major = "K" if stride.endswith("Int<1>{})") else m.pick("MN", "MN", "K")
    tile = f"Shape<_{m.pick('64', '128')},_{m.pick('64', '32', '128')}>{{}}"
    smem = m.pick(
        f"tile_to_shape(GMMA::Layout_{major}_{m.pick('SW128', 'SW64', 'SW32', 'INTER')}_Atom<{dtype}>{{}}, {tile})",
        f"make_layout({tile}, LayoutRight{{}})", f"make_layout({tile})",
    )  # fmt: skip
    if m.rng.random() < 0.3:
        cluster = f", Int<{m.pick('2', '4')}>{{}}" if multicast else ""
        return f"make_tma_atom({op}{{}}, {gmem}, {smem}, {tile}{cluster})"
    cluster = f", {tile}, Int<{m.pick('2', '4')}>{{}}" if multicast else ""
    return f"make_tma_copy({op}{{}}, {gmem}, {smem}{cluster})"


def _member(kind: str, *members: str) -> Recipe:
    return lambda m: f"{m.mma() if kind == 'mma' else m.tiled_copy()}.{m.pick(*members)}"


RECIPES: dict[str, Recipe] = {
    "MMA_Atom": lambda m: f"MMA_Atom<{m.pick(m.mma_op(), m.gmma())}>{{}}",
    "Copy_Atom": lambda m: f"{m.copy_atom()}{{}}",
    "make_tiled_mma": lambda m: m.mma(),
    "get_layout_TV of an MMA": _member("mma", "get_layoutA_TV()", "get_layoutB_TV()", "get_layoutC_TV()"),
    "thrfrg": lambda m: f"{m.mma()}.thrfrg_{m.pick('A', 'B', 'C')}({m.layout()})",
    "tile_size": lambda m: f"tile_size<{m.pick('0', '1', '2')}>({m.mma()})",
    "tile_shape": lambda m: f"tile_shape({m.mma()})",
    "size of an MMA": lambda m: f"size({m.mma()})",
    "partition_A/B/C": lambda m: f"{m.mma()}.get_slice({m.number(0, 5, 31)}).partition_{m.pick('A', 'B', 'C')}({m.tile()}).layout()",
    "partition_fragment": lambda m: f"{m.mma()}.get_slice({m.number(0, 7)}).partition_fragment_{m.pick('A', 'B', 'C')}({m.tile()}).layout()",
    "partition_fragment_C": lambda m: f"partition_fragment_C({m.mma()}, {m.shape((64, 128, 48), (64, 32), static=0.9)}).layout()",
    "partition_shape": lambda m: f"partition_shape_{m.pick('A', 'B', 'C')}({m.mma()}, {m.shape((64, 128, 48), (64, 32), static=0.8)})",
    "make_fragment_like": lambda m: f"make_fragment_like<float>({m.tensor()}).layout()",
    "make_tiled_copy": lambda m: m.tiled_copy(),
    "make_tiled_copy_impl": lambda m: (
        f"make_tiled_copy_impl({m.copy_atom()}{{}}, Layout<Shape<_32,_{m.pick('4', '8', '2')}>,Stride<_{m.pick('4', '8')},_1>>{{}}, "
        f"{m.pick('Shape<_8,_16>', 'Shape<_16,_16>', 'Shape<_32,_8>')}{{}})"
    ),
    "make_tiled_copy_C_atom": lambda m: f"make_tiled_copy_C_atom({m.copy_atom()}{{}}, {m.mma()})",
    "make_tiled_copy_S/D": lambda m: f"make_tiled_copy_{m.pick('S', 'D')}({m.copy_atom()}{{}}, {m.tiled_copy()})",
    "make_cotiled_copy": lambda m: (
        f"make_cotiled_copy({m.copy_atom()}{{}}, Layout<Shape<_32,_{m.pick('4', '8', '16')}>,Stride<_{m.pick('4', '8', '16')},_1>>{{}}, "
        f"{m.pick('Layout<Shape<_16,_32>,Stride<_32,_1>>', 'Layout<Shape<_16,_32>>', 'Layout<Shape<_8,_16>>')}{{}})"
    ),
    "get_layout_TV of a copy": _member("copy", "get_layoutS_TV()", "get_layoutD_TV()"),
    "tidfrg": lambda m: f"{m.tiled_copy()}.tidfrg_{m.pick('S', 'D')}({m.layout()})",
    "partition_S/D": lambda m: f"{m.tiled_copy()}.get_slice({m.number(0, 5, 31)}).partition_{m.pick('S', 'D')}({m.tile()}).layout()",
    "retile_S/D": lambda m: (
        f"make_tiled_copy_C({m.copy_atom()}{{}}, {(mma := m.mma())}).get_slice(0).retile_{m.pick('S', 'D')}"
        f"(partition_fragment_C({mma}, Shape<_64,_64>{{}})).layout()"
    ),
    "local_tile": _local_tile,
    "local_partition": _local_partition,
    "divides of tensors": _divide,
    "slices of tensors": lambda m: _slices(m).removesuffix(".layout()") + ".layout()",
    "smem layout atoms": _smem_atom,
    "op selectors": _op_selector,
    "tile_to_mma_shape": _tile_to_mma_shape,
    "make_tmem_copy": _tmem_copy,
    "make_tma_copy/atom": _tma,
}  # fmt: skip


def run(headers: Headers, count: int, seed: int, names: tuple[str, ...] = (), batch: int = 150) -> Tally:
    """Compare ``count`` expressions of each named recipe (of all, without names)."""
    maker, tally = Maker(random.Random(seed)), Tally()
    with using_cute(headers.version):
        chosen = dict.fromkeys(
            Expression(n, RECIPES[n](maker)) for n in (names or tuple(RECIPES)) for _ in range(count)
        )  # fmt: skip
        rows = list(chosen)
        for start in range(0, len(rows), batch):
            _compare(headers, rows[start : start + batch], tally)
    return tally


def _expected(row: Expression) -> tuple[str, str]:
    value = evaluate(row.text)
    if isinstance(value, Unknown):
        return ("refused" if value.rejected else "unknown"), value.reason
    if isinstance(value, (Layout, ComposedLayout)):
        return "accepted", describe(value)
    return "accepted", show(value).strip()


def _compare(headers: Headers, rows: list[Expression], tally: Tally) -> None:
    expected = {k: _expected(row) for k, row in enumerate(rows)}
    prologue = PROLOGUE + HEAD
    pending = list(enumerate(rows))
    outputs: dict[int, str] = {}
    failed: dict[int, str] = {}
    while pending:  # one program of everything that compiles
        outputs, errors = compile_rows(headers, [(k, r) for k, r in pending if k not in failed], True, prologue)
        if not errors:
            break
        failed |= errors
        pending = [(k, r) for k, r in pending if k not in failed]
    for k, row in enumerate(rows):
        kind, text = expected[k]
        refused = k in failed or outputs.get(k) == CRASHED
        printed = outputs.get(k, "no output").strip()
        if kind == "accepted" and outputs.get(k) == CRASHED and row.fn == "make_tma_copy/atom":
            tally.refused[row.fn] += 1  # an assertion on the host, which the tensor map's violations tell
        elif kind == "unknown":
            tally.unknown[row.fn] += 1
        elif (kind == "refused") == refused and (refused or printed == text):
            (tally.refused if refused else tally.accepted)[row.fn] += 1
        else:
            cute = f"does not compile: {failed[k]}" if k in failed else printed
            tally.mismatches.append(f"{row.fn}: {row.text}\n  model: {kind} {text}\n  CuTe:  {cute}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cutecheck.tests.model.tiled.expressions")
    parser.add_argument("--cases", type=int, default=20, help="of each function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of recipes, separated by commas")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(headers.reason, file=sys.stderr)
        return 2
    tally = run(headers, options.cases, options.seed, tuple(filter(None, options.only.split(","))))
    for m in tally.mismatches:
        print(m)
    if options.table:
        print(tally.table())
    totals = [tally.accepted.total(), tally.refused.total(), tally.unknown.total()]
    print(f"CUTLASS {headers.version}: {totals[0]} accepted, {totals[1]} refused, {totals[2]} not known, "
          f"{len(tally.mismatches)} mismatches")  # fmt: skip
    return 1 if tally.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
