"""Included files that are read where they are included: lists of macro uses, parts of classes, functions and tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Facts
from cutecheck.source.extract import ExtractRequest, extract

_HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
_KERNELS = """#pragma once
#include <cute/tensor.hpp>
using namespace cute;
template <int M, int K> struct Tile {
  using Smem = decltype(tile_to_shape(Layout<Shape<_8, Int<K>>, Stride<Int<K>, _1>>{}, Shape<Int<M>, Int<K>>{}));
};
template <class T> __global__ void kernel(half_t* p) {
  copy(make_tensor(p, typename T::Smem{}), make_tensor(p, typename T::Smem{}));
}
"""
_LAUNCHES = """#include "kernels.cuh"
enum class Kind {
#define X(name, m, k) name,
#include "kernels.def"
#undef X
};
#define X(name, m, k) using Tile_##name = Tile<m, k>;
#include "kernels.def"
#undef X
void run(Kind kind, half_t* p) {
  switch (kind) {
#define X(name, m, k) case Kind::name: kernel<Tile_##name><<<1, m>>>(p); break;
#include "kernels.def"
#undef X
  }
}
"""


def facts(folder: Path, files: dict[str, str], *archs: str) -> Facts:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return extract(ExtractRequest((folder,), archs))


def layouts(found: Facts) -> list[tuple[str, int, str, str]]:
    return sorted((s.span.path, s.span.line, s.symbol, str(s.value)) for s in found.sites)


def test_a_list_of_macro_uses_is_read_wherever_it_is_included(tmp_path: Path) -> None:
    rows = "// the kernels\nX(small, 64, 32)\nX(large, 128, 64)\n"
    found = facts(tmp_path, {"kernels.cuh": _KERNELS, "launch.cu": _LAUNCHES, "kernels.def": rows})
    assert [s[:3] for s in layouts(found)] == [
        ("kernels.cuh", 5, "Tile<128,64>::Smem"),
        ("kernels.cuh", 5, "Tile<64,32>::Smem"),
    ]
    assert {(s.span.path, s.span.line, str(s.block_threads)) for s in found.launches} == {
        ("kernels.def", 2, "64"),
        ("kernels.def", 3, "128"),
    }
    assert len(found.events) == 2
    assert found.errors == ()


def test_kernels_that_macros_of_a_list_declare_are_at_the_list_s_lines(tmp_path: Path) -> None:
    unit = _HEAD + (
        "#define X(name, n) __global__ void name(half_t* p) { auto l = make_layout(Shape<_8, Int<n>>{}); "
        "copy(make_tensor(p, l), make_tensor(p, l)); }\n"
        '#include "kernels.def"\n#undef X\n'
    )
    found = facts(tmp_path, {"a.cu": unit, "kernels.def": "X(one, 4)\n\nX(two, 16)\n"})
    assert sorted((e.span.path, e.span.line, str(e.operands[0].layout)) for e in found.events) == [
        ("kernels.def", 1, "(_8,_4):(_1,_8)"),
        ("kernels.def", 3, "(_8,_16):(_1,_8)"),
    ]


def test_parts_of_classes_functions_and_tables_have_their_own_places(tmp_path: Path) -> None:
    unit = _HEAD + (
        'struct Traits {\n#include "members.inl"\n  using After = Layout<Shape<_2, _4>>;\n};\n'
        'constexpr int table[] = {\n#include "table.inc"\n};\n'
        '__global__ void k(half_t* p) {\n#include "body.inl"\n  copy(t, make_tensor(p, Traits::After{}));\n}\n'
    )
    parts = {
        "members.inl": "// in a class\n#define ROWS 8\nusing In = Layout<Shape<Int<ROWS>, _4>>;\n",
        "table.inc": "3, 5,\n",
        "body.inl": "auto t = make_tensor(p, Traits::After{});\n"
        "copy(t, make_tensor(p, Layout<Shape<_2, Int<table[1]>>>{}));\n",
    }
    found = facts(tmp_path, {"a.cu": unit, **parts})
    assert layouts(found) == [
        ("a.cu", 5, "Traits::After", "(_2,_4):(_1,_2)"),
        ("members.inl", 3, "Traits::In", "(_8,_4):(_1,_8)"),
    ]  # fmt: skip
    assert sorted((e.span.path, e.span.line, str(e.operands[1].layout)) for e in found.events) == [
        ("a.cu", 12, "(_2,_4):(_1,_2)"),
        ("body.inl", 2, "(_2,_5):(_1,_2)"),
    ]


def test_what_a_unit_defines_before_it_includes_a_header_counts_in_it(tmp_path: Path) -> None:
    header = (
        "#pragma once\n" + _HEAD + "#ifndef ROWS\n#define ROWS 8\n#endif\n#include \"inner.cuh\"\n"
        "using L = Layout<Shape<Int<ROWS>, Int<columns>>>;\n"
    )  # fmt: skip
    inner = "#pragma once\nconstexpr int columns = COLUMNS;\n"
    units = {f"m{n}.cu": f'#define ROWS {n}\n#define COLUMNS {2 * n}\n#include "k.cuh"\n' for n in (16, 32)}
    plain = {"plain.cu": '#include "plain.cuh"\n', "plain.cuh": header.replace("inner", "four")}
    four = {"four.cuh": "#pragma once\nconstexpr int columns = 4;\n"}
    found = facts(tmp_path, {"k.cuh": header, "inner.cuh": inner, **units, **plain, **four})
    assert {(s[0], *s[2:]) for s in layouts(found)} == {
        ("k.cuh", "L", "(_16,_32):(_1,_16)"),
        ("k.cuh", "L (m32.cu)", "(_32,_64):(_1,_32)"),
        ("plain.cuh", "L", "(_8,_4):(_1,_8)"),
    }


def test_a_header_with_a_guard_that_a_unit_configures_is_read_once(tmp_path: Path) -> None:
    kernel = "#pragma once\n" + _HEAD + "__device__ int rows(int) { return ROWS; }\nusing L = Layout<Int<ROWS>>;\n"
    other = '#pragma once\n#include "k.cuh"\nusing M = Layout<Shape<_2, Int<size(L{})>>>;\n'
    unit = '#define ROWS 16\n#include "k.cuh"\n#include "other.cuh"\n#include "k.cuh"\n'
    found = facts(tmp_path, {"k.cuh": kernel, "other.cuh": other, "a.cu": unit})
    assert layouts(found) == [
        ("k.cuh", 5, "L", "_16:_1"),
        ("other.cuh", 3, "M", "(_2,_16):(_1,_2)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line", ['#define IMPL "impl.cuh"', "#define STR(x) #x\n#define NAME(x) STR(x.cuh)\n#define IMPL NAME(impl)"]
)
def test_a_file_may_be_named_by_a_macro(tmp_path: Path, line: str) -> None:
    header = _HEAD + "using L = Layout<Shape<_8, Int<ROWS>>>;\n"
    found = facts(tmp_path, {"impl.cuh": header, "a.cu": f"#define ROWS 4\n{line}\n#include IMPL\n"})
    assert layouts(found) == [("impl.cuh", 3, "L", "(_8,_4):(_1,_8)")]


def test_what_cannot_be_read_in_its_place_is_said(tmp_path: Path) -> None:
    unit = _HEAD + (
        "struct A {\n#include \"absent.inl\"\n#include UNKNOWN\n#include <vector>\n};\n"
        "using L = Layout<Shape<_8, _4>>;\n#include \"round.inl\"\n#include \"nowhere.h\"\n"
    )  # fmt: skip
    found = facts(
        tmp_path,
        {"a.cu": unit, "round.inl": 'struct B {\n#include "round.inl"\n};\nusing M = Layout<Shape<_8, _4>>;\n'},
    )
    told = {(e.path, e.span.line, re.sub("[,:] .*", "", e.message)) for e in found.errors if e.span is not None}
    assert told == {
        ("a.cu", 4, '"absent.inl" is included in the middle of a declaration'),
        ("a.cu", 5, "`#include UNKNOWN`"),
        ("round.inl", 2, "round.inl is included by what it includes"),
    }
    assert layouts(found) == [("a.cu", 8, "L", "(_8,_4):(_1,_8)"), ("round.inl", 4, "M", "(_8,_4):(_1,_8)")]


def test_findings_in_a_fragment_are_shown_and_silenced_where_they_are(tmp_path: Path) -> None:
    unit = _HEAD + '__global__ void k(half_t* p) {\n  __shared__ half_t s[8192];\n#include "body.inl"\n}\n'
    body = """using Ldsm = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;
auto tiled = make_tiled_copy(Ldsm{}, Layout<Shape<_32, _1>>{}, Layout<Shape<_1, _8>>{});
auto thr = tiled.get_slice(threadIdx.x);
auto sA = make_tensor(make_smem_ptr(s), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
auto rA = make_fragment_like(thr.partition_D(sA));
copy(tiled, thr.partition_S(sA), rA);
"""
    for remark, shown in (("", True), ("// cutecheck: ignore[CUT5] measured\n", False)):
        text = body.replace("copy(", remark + "copy(")
        facts(tmp_path, {"a.cu": unit, "body.inl": text})
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
        found = [f for f in report.findings if f.code == "CUT502"]
        assert [(f.span.path, f.span.line) for f in found] == ([("body.inl", 6)] if shown else [])


def test_a_kernel_that_several_units_configure_is_told_apart(tmp_path: Path) -> None:
    kernel = (
        _HEAD
        + "__global__ void k(half_t* p) { copy(make_tensor(p, Layout<Int<N>>{}), make_tensor(p, Layout<Int<N>>{})); }\n"
    )
    units = {
        f"n{n}.cu": f'#define N {n}\n#include "k.cuh"\nvoid run(half_t* p) {{ k<<<1, {n}>>>(p); }}\n' for n in (4, 8)
    }
    found = facts(tmp_path, {"k.cuh": "#pragma once\n" + kernel, **units, "same.cu": units["n4.cu"]})
    assert {(e.enclosing, str(e.operands[0].layout), str(e.threads)) for e in found.events} == {
        ("k", "_4:_1", "4"),
        ("k (n8.cu)", "_8:_1", "8"),
    }
    assert {(launch.kernel, str(launch.block_threads)) for launch in found.launches} == {("k", "4"), ("k (n8.cu)", "8")}
