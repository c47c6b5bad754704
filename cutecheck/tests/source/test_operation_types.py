"""Which operations are one type: aliases and default template arguments, against the compiler."""

from __future__ import annotations

from pathlib import Path

from cutecheck.model.atoms import copy_op
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import printed, run

PAIRS = [
    ("AutoVectorizingCopyWithAssumedAlignment<>", "AutoVectorizingCopyWithAssumedAlignment<128>"),
    ("decltype(AutoVectorizingCopyWithAssumedAlignment{})", "AutoVectorizingCopy"),
    ("DefaultCopy", "AutoVectorizingCopyWithAssumedAlignment<8>"),
    ("DefaultCopy", "AutoVectorizingCopy"),
    ("UniversalCopy<uint128_t>", "UniversalCopy<uint128_t, uint128_t>"),
    ("UniversalCopy<uint128_t>", "UniversalCopy<uint64_t>"),
    ("SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t, uint128_t>"),
    ("UniversalFMA<float>", "UniversalFMA<float, float, float, float>"),
    ("UniversalFMA<float, half_t>", "UniversalFMA<float, half_t, half_t, float>"),
    ("UniversalFMA<float, half_t, tfloat32_t>", "UniversalFMA<float, half_t, tfloat32_t, float>"),
    ("UniversalFMA<float, half_t>", "UniversalFMA<float, half_t, half_t, half_t>"),
    ("SM75_U32x4_LDSM_N", "SM75_U32x2_LDSM_N"),
]
NAMES = [f"Pair{i}" for i in range(len(PAIRS))]
CODE = "".join(
    f"using {name} = Layout<Shape<Int<is_same_v<{a}, {b}> ? 1 : 2>, _8>>;\n"
    for name, (a, b) in zip(NAMES, PAIRS, strict=True)
)


def test_types_of_operations_are_the_compilers(tmp_path: Path) -> None:
    (folder := tmp_path / "ours").mkdir()
    program = f"#include <cute/tensor.hpp>\nusing namespace cute;\n{CODE}int main() {{\n"
    program += "".join(f'  print({name}{{}}); print("\\n");\n' for name in NAMES)
    real = lines_of(tmp_path, program + "}\n")
    assert {line[2] for line in real} == {"1", "2"}
    facts = run(folder, CODE)
    assert [printed(facts, name) for name in NAMES] == real


def test_copies_of_automatic_width_assume_128_bits_where_nothing_is_written() -> None:
    assert copy_op("AutoVectorizingCopyWithAssumedAlignment").args == copy_op("AutoVectorizingCopy").args == (128,)
    assert copy_op("DefaultCopy").args == copy_op("AutoVectorizingCopyWithAssumedAlignment", (8,)).args == (8,)
