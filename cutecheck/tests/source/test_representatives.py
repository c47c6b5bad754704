"""Many files that only instantiate: each value of an argument, and each pair of values, is met in those walked."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.facts import Facts
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.representatives import left_out
from cutecheck.source.request import ExtractRequest

HEADER = """#pragma once
#include <cute/tensor.hpp>
namespace lib {
template <class T, int N, bool Flag> __global__ void kernel(T* p) {
  extern __shared__ T smem[];
  auto s = cute::make_tensor(cute::make_smem_ptr(smem), cute::make_layout(cute::Int<N>{}));
  auto r = cute::make_tensor<T>(cute::Int<(N == 64 && Flag) ? 32 : N>{});
  cute::copy(s, r);
}
template <class T, int N, bool Flag> void run(T* p) { kernel<T, N, Flag><<<1, 32>>>(p); }
}
"""
TYPES, SIZES = ("float", "cutlass::half_t", "int"), ("16", "32", "64")
Values = tuple[str, str, str]
ALL = [*product(TYPES, SIZES, ("false", "true"))]


def unit(values: Values, more: str = "") -> str:
    args = ", ".join(values)
    made = f"template void run<{args}>({values[0]}* p);"
    return f'#include "lib.h"\n{more}namespace lib {{\n#ifndef NOT\n{made}\n#endif\n}}\n'


def name(values: Values) -> str:
    return f"{ALL.index(values):02}.cu"


def met(values: Values) -> set[object]:
    return {*enumerate(values), *combinations(list(enumerate(values))[:2], 2)}


def tree(folder: Path, files: dict[str, str]) -> Tree:
    for path, text in ({"lib.h": HEADER} | files).items():
        (folder / path).write_text(text)
    return Tree({p: folder / p for p in ("lib.h", *files)})


@given(some=st.lists(st.sampled_from(ALL), min_size=1, max_size=18, unique=True), twice=st.booleans())
def test_each_value_and_pair_that_any_file_has_is_met(
    some: list[Values], twice: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = tree(tmp_path_factory.mktemp("units"), {name(v): unit(v) for v in some})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cutecheck.source.representatives.SOME_UNITS", 0)
        apart = left_out({name(v): ("sm_80",) for v in some}, found, Limits(flag_combinations=4 if twice else 2))
    kept = [v for v in some if name(v) not in apart.paths]
    for one in {x for v in some for x in met(v)}:
        having = [v for v in some if one in met(v)]
        assert len([v for v in kept if v in having]) >= min(len(having), 2 if twice else 1)
    assert sum(apart.counts.values()) == len(apart.paths) == len(some) - len(kept)


def test_files_that_say_more_stand_for_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutecheck.source.representatives.SOME_UNITS", 0)
    same = ("float", "16", "true")
    files = {
        "a.cu": unit(same),
        "b.cu": unit(same),
        "defines.cu": "#define NOT_MINE\n" + unit(same),
        "asks.cu": unit(same, "// cutecheck: instantiate lib::run<int, 8, true>\n"),
        "own.cu": unit(same, "inline int answer() { return 42; }\n"),
        "elsewhere.cu": unit(same).replace("namespace lib", "namespace other"),
        "absent.cu": unit(same, "#include <cstdio>\n"),
        "includes.cu": unit(same, '#include "b.cu"\n'),
        "others.cu": unit(same).replace("float* p", "float* p, int n"),
        "class.cu": '#include "lib.h"\ntemplate struct lib::Box<float>;\n',
        "class2.cu": '#include "lib.h"\ntemplate struct lib::Box<float>;\n',
        "hides.cu": unit(same).replace("#ifndef", "#ifdef"),
    }
    found = tree(tmp_path, files)
    assert left_out(dict.fromkeys(files, ("sm_80", "sm_90a")), found, Limits()).paths == {
        "b.cu",
        "absent.cu",
        "class2.cu",
    }


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_one_value_alone_brings_is_found(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutecheck.source.representatives.SOME_UNITS", 12)
    tree(tmp_path, {name(v): unit(v) for v in ALL})

    def facts(limits: Limits) -> Facts:
        return extract(ExtractRequest((tmp_path,), limits=limits, archs=("sm_80",), jobs=jobs))

    few = facts(Limits())
    walked = {e.enclosing for e in few.events}
    assert all(any(f"<{t},{n}," in k for k in walked) for t in TYPES for n in SIZES), walked
    assert any("true>" in k for k in walked) and any("false>" in k for k in walked)
    (dropped,) = (count for key, count in few.dropped if key.endswith(":run"))
    (note,) = (n for n in few.notes if "only instantiate" in n)
    assert f" and {dropped - 1} more of {len(ALL)} files" in note
    assert 0 < dropped < len(ALL) - len(SIZES) * len(TYPES) + 1
    every = facts(Limits(flag_combinations=36))
    assert not any(key.endswith(":run") for key, _ in every.dropped)
    assert not any("only instantiate" in n for n in every.notes)
