"""Rules over configuration sites and rejections."""

from dataclasses import replace

import pytest

from cutecheck.facts import Call, Facts, SmemBuffer, Unknown
from cutecheck.findings import Finding
from cutecheck.model.algebra import get, size
from cutecheck.model.atoms import mma_op
from cutecheck.model.basis import X
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Sym
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_mma
from cutecheck.tests.rules.build import FLOAT, SPAN, atom, codes, findings, hmma, layout, site


def copy_of(tv: str, tile: str) -> TiledCopy:
    return TiledCopy(atom("UniversalCopy", FLOAT, FLOAT), layout(tv), layout(tile))


@pytest.mark.parametrize(
    ("tv", "expected"),
    [
        ("(_8,_4):(_1,_8)", []),
        ("(_8,_4):(_1,_4)", ["CUT201"]),
        ("(_8,_4):(_2,_8)", ["CUT201"]),
        ("((_4,_2),_8):((_1,_0),_4)", []),  # threads that share elements
    ],
)
def test_coverage_of_hand_written_layouts(tv: str, expected: list[str]) -> None:
    assert codes(Facts(sites=(site("tiled_copy", copy_of(tv, "(_8,_4)")),))) == expected


@pytest.mark.parametrize(
    ("permutation", "expected"),
    [
        ((32, 32, 16), []),
        ((32, layout("(_2,_4,_2):(_1,_4,_2)"), 16), []),
        ((32, layout("(_2,_4,_2):(_1,_2,_4)"), 16), ["CUT203"]),
        ((32, layout("(_2,_8):(_1,_2)"), 16), ["CUT204"]),
        ((32, layout("(_8,_2):(_1,_16)"), 16), ["CUT203"]),
        (layout("(_1,_2,_1):(_0,_1,_0)"), ["CUT203"]),
    ],
)
def test_permutations(permutation: object, expected: list[str]) -> None:
    mma = hmma("(_2,_1,_1):(_1,_0,_0)", permutation)
    assert codes(Facts(sites=(site("tiled_mma", mma),))) == expected


def test_atoms_that_cute_refuses_to_count_are_not_judged() -> None:
    """``Layout<Shape<_16, _16, _1>, Stride<_1, _16>>`` compiles, in a TiledMMA too, until its size is asked."""
    simt = mma_op("UniversalFMA", (FLOAT,) * 4)
    mma = TiledMMA(simt, Layout((16, 16, 1), (1, 16)), (X, X, X))
    assert codes(Facts(sites=(site("tiled_mma", mma),))) == []


def test_permutations_are_judged_where_the_threads_strides_are_open() -> None:
    """The strides of the warps hang on a number that nothing binds, as in CUTLASS's sm100_simt_builder.inl."""
    n = Sym.named("WarpShape_M", Domain(1))
    warps = Layout(((2, 4, n), (2, 2, 2), 1), ((1, 8, (n - 1) * 32), (2, 4, n * 32), 1))
    simt = make_tiled_mma(mma_op("UniversalFMA", (FLOAT,) * 4), warps, (Layout((2, n * 8, 2), (1, 4, 2)), 32, X))
    assert codes(Facts(sites=(site("tiled_mma", simt),))) == []
    for permutation, expected in ((layout("(_8,_4):(_4,_1)"), []), (layout("(_8,_4):(_4,_2)"), ["CUT203"])):
        one = make_tiled_mma(simt.atom, warps, (simt.permutation_mnk[0], permutation, X))
        assert codes(Facts(sites=(site("tiled_mma", one),))) == expected


@pytest.mark.parametrize(
    "atoms", ["(_2,_2,_1):(_1,_2,_0)", "(_3,_2,_1):(_1,_6,_0)", "(_2,(_2,_3),_2):(_6,(_1,_24),_12)"]
)
@pytest.mark.parametrize("op", ["SM80_16x8x16_F32F16F16F32_TN", "UniversalFMA"])
def test_what_the_atoms_of_a_mode_cover_does_not_hang_on_their_strides(op: str, atoms: str) -> None:
    mma = make_tiled_mma(mma_op(op, (FLOAT,) * 4 if op == "UniversalFMA" else ()), layout(atoms))
    for mode in range(3):
        assert mma.atoms_extent(mode) == size(get(mma.atom.shape_mnk, mode)) * size(get(mma.atom_layout_mnk, mode))
        assert mma.atoms_extent(mode) == size(get(mma.atom.shape_mnk, mode)) * size(mma.thr_layout_vmnk, mode + 1)


def rejected(text: str) -> list[Finding]:
    reason = Unknown(text, SPAN, rejected=True)
    call = Call("make_tiled_copy", SPAN, (), reason, "", "sm_90")
    unknown = site("layout", None, status="unknown", reason=reason)
    by_call, by_site = findings(Facts(calls=(call,))), findings(Facts(sites=(unknown,)))
    both = findings(Facts(sites=(unknown,), calls=(call,)))
    assert [f.code for f in by_call] == [f.code for f in by_site] == [f.code for f in both]
    return by_call


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("TiledCopy uses too few vals for selected CopyAtom: 4, 8", "CUT301"),
        ("TiledCopy uses too few thrs for selected CopyAtom: 16, 32", "CUT302"),
        ("tile_to_shape: block shape does not divide the target shape: (8,64), (128,96)", "CUT205"),
        ("shape_div: Divisibility Condition: 136, 64", "CUT205"),
        ("composition: Stride Divisibility Condition: 3, 2", "CUT205"),
        ("Not a canonical GMMA_K Layout: Expected stride failure.", "CUT503"),
        ("Unsupported layout swizzle: Sw<3,4,4>", "CUT503"),
        ("Bulk Copy requires copy vector size align to 16B.: 320", "CUT801"),
    ],
)
def test_rejections_quote_the_assertion(text: str, code: str) -> None:
    found = rejected(text)
    assert [f.code for f in found] == [code]
    assert text.rstrip(".") in found[0].message and found[0].severity == "error"


def test_what_the_evaluator_merely_does_not_know_is_no_finding() -> None:
    assert rejected("slice: Mismatched Ranks") == []
    open_site = site("layout", None, status="unknown", reason=Unknown("too few vals seen", SPAN))
    assert codes(Facts(sites=(open_site,))) == []


def test_shared_memory_of_a_kernel_together() -> None:
    def buffer(name: str, size: int, arch: str = "sm_80") -> SmemBuffer:
        at = replace(SPAN, line=len(name) + ord(name[0]))
        return SmemBuffer(f"raw.{name}", name, at, arch, "kernel", size, 16, 16)

    def members(*parts: SmemBuffer) -> Facts:  # of a struct in dynamic shared memory
        whole = SmemBuffer("raw", "raw", SPAN, parts[0].arch, "kernel", None, 16, 8)
        return Facts(buffers=(whole, *parts), archs=(parts[0].arch,))

    assert codes(members(buffer("a", 100 * 1024), buffer("b", 64 * 1024))) == ["CUT702"]
    assert codes(members(buffer("a", 100 * 1024), buffer("b", 63 * 1024))) == []
    assert codes(members(buffer("a", 200 * 1024, "sm_90a"))) == []
    twice = members(buffer("a", 100 * 1024), replace(buffer("a", 100 * 1024), buffer_id="raw.other"))
    assert codes(twice) == []  # one member of a struct that two kernels have
    assert codes(members(buffer("a", 200 * 1024, "sm_89"))) == ["CUT702"]


def test_a_guessed_architecture_has_the_most_shared_memory_of_those_it_runs_on() -> None:
    def guessed(kib: int, arch: str) -> list[str]:
        return codes(Facts(buffers=(SmemBuffer("raw", "raw", SPAN, arch, "", kib * 1024, 16, 16),)))

    assert guessed(227, "sm_80") == [] and guessed(228, "sm_80") == ["CUT702"]
    assert guessed(227, "sm_120a") == [] and guessed(228, "sm_120a") == ["CUT702"]


def test_static_arrays_have_48_kib() -> None:
    array = SmemBuffer("a", "a", SPAN, "sm_90a", "kernel", 48 * 1024, 16, 16)
    assert codes(Facts(buffers=(array,))) == []
    assert codes(Facts(buffers=(array, replace(array, buffer_id="b", size_bytes=8, span=replace(SPAN, line=4))))) == [
        "CUT702"
    ]


@pytest.mark.parametrize(
    ("arch", "kib", "severity"),
    [
        ("sm_90", 64, "error"), ("sm_90a", 64, "note"), ("sm_90a", 228, "error"),
        ("sm_120a", 99, "note"), ("sm_120a", 100, "error"),
    ],
)  # fmt: skip
def test_targets_of_one_architecture_have_larger_static_arrays(arch: str, kib: int, severity: str) -> None:
    """ptxas of CUDA 13.0; that of 12.9 refuses all of them. An H100 launches 64 KB so without an attribute."""
    array = SmemBuffer("a", "a", SPAN, arch, "kernel", kib * 1024, 16, 16)
    assert [f.severity for f in findings(Facts(buffers=(array,), archs=(arch,)))] == [severity]


def test_copies_of_the_tensor_unit_are_not_judged() -> None:
    wrong = copy_of("(_8,_4):(_1,_4)", "(_8,_4)")
    tma = replace(wrong, atom=replace(wrong.atom, op="SM90_TMA_LOAD_MULTICAST"))
    assert codes(Facts(sites=(site("tiled_copy", tma),))) == []
