"""The committed table against CuTe: a sample of specialisations is compiled and printed again."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.model.atoms import UnknownAtomError, atom_names, atom_record, cutlass_version, is_mma_op, mma_op, table
from cutecheck.model.atoms.table import argument_text, guard_targets
from cutecheck.model.version import using_cute
from cutecheck.source.cpp.defines import predefined

HEADERS = find_headers()
SCRIPTS = Path(__file__).parents[4] / "scripts"


@cache
def scanned():
    """What the headers specialise, read once; the scripts are on the path."""
    from generate_atoms.scan import scan_headers

    return scan_headers(HEADERS.cutlass)


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
@pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the generator is not part of an installed package")
def test_a_fresh_sample_prints_what_the_table_says(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from generate_atoms.emit import print_traits
    from generate_atoms.scan import split_list
    from generate_atoms.table import plain_type, plan

    scan = scanned()
    rng = random.Random(7)
    chosen = rng.sample([p for p in plan(scan, 3, seed=11) if "TMATensor" not in p.assignment], 160)
    includes = [HEADERS.cutlass, *HEADERS.cuda]
    records = print_traits([p.instance for p in chosen], HEADERS.compiler, includes)
    compared = 0
    for i, p in enumerate(chosen):
        printed = {k: plain_type(v) if "Type" in k else v for k, v in records[i].items()}
        name, _, rest = printed.pop("op").partition("<")
        arguments = split_list(rest[:-1]) if rest else []
        extra = [p.assignment.get(e.replace("...", ""), e) for e in p.spec.extra]
        arguments += [argument_text(e) for e in extra if e]
        with using_cute(HEADERS.version):
            fields = dict(atom_record(name, tuple(arguments)).fields)
        assert fields == printed, name
        compared += 1
    assert compared > 100


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
@pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the generator is not part of an installed package")
def test_the_operations_of_these_headers_are_the_listed_ones(monkeypatch):
    """Of whatever version the headers are: what is scanned is what ``atom --list`` names."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from generate_atoms.versions import operation

    scan = scanned()
    with using_cute(HEADERS.version):
        listed = set(atom_names())
    operations = {operation(scan, s) for s in scan.specs}
    assert {n for n in operations ^ listed if not n.endswith("PREFETCH")} == set()


def test_older_versions_have_their_own_atoms():
    """As the headers of 4.2 print them."""
    name = "SM80_16x8x32_S32S4U4S32_TN_SATURATE"
    assert dict(atom_record(name).fields)["BLayout"] == "((_4,_8),(_8)):((_64,_1),(_8))"
    with using_cute("4.2"):
        assert dict(atom_record(name).fields)["BLayout"] == "((_4,_8),(_8)):((_32,_1),(_8))"
        assert cutlass_version() == "4.2" and is_mma_op("SM120::BLOCKSCALED::SM120_16x8x64_TN_VS")
        assert not is_mma_op("SM75_16x8x8_F16F16F16F16_TN")
        with pytest.raises(UnknownAtomError, match=r"of CuTe 4\.2"):
            mma_op("SM75_16x8x8_F16F16F16F16_TN")
    with using_cute("3.7"):  # not generated: the oldest there is, and named so
        assert cutlass_version() == "4.0" and mma_op("SM80_16x8x16_F32F16F16F32_TN").arch == "sm_80"
    assert is_mma_op("SM75_16x8x8_F16F16F16F16_TN") and cutlass_version() == "4.7.0"


def test_the_fit_refuses_what_no_formula_explains(monkeypatch):
    if not SCRIPTS.is_dir():
        pytest.skip("the generator is not part of an installed package")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from generate_atoms.fit import fit, fit_number

    assert fit_number([64, 128], [{"M": 64}, {"M": 128}]) == "M"
    assert fit_number([4, 2], [{"M": 64}, {"M": 128}]) == "256/M"
    assert fit_number([5, 6], [{"M": 64}, {"M": 128}]) is None
    assert fit([({"M": "64"}, {"ALayout": "_3"}), ({"M": "128"}, {"ALayout": "_5"})], {}) == [
        ({"M": "64"}, {"ALayout": "_3"}),
        ({"M": "128"}, {"ALayout": "_5"}),
    ]
    with pytest.raises(ValueError, match="no formula"):
        fit([({"M": "64"}, {"ALayout": "_3"}), ({"M": "64"}, {"ALayout": "_5"})], {})


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
@pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the generator is not part of an installed package")
def test_the_switches_of_these_headers_are_the_listed_ones(monkeypatch):
    """Which ``CUTE_ARCH_*_ENABLED`` and ``CUTLASS_ARCH_*_ENABLED`` hold on which target, as the preprocessor says."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from generate_atoms.emit import guard_table

    table = guard_table(HEADERS.compiler, [HEADERS.cutlass, *HEADERS.cuda])
    with using_cute(HEADERS.version):
        assert {name: guard_targets(name) for name in table} == table
        targets = sorted({target for of in table.values() for target in of})
        wrong = [(n, t) for n, of in table.items() for t in targets if (predefined(n, t) is not None) != (t in of)]
    assert wrong == []
    assert len(table) > 60


@pytest.mark.parametrize(
    ("name", "version", "on", "off"),
    [
        ("CUTE_ARCH_TCGEN05_TMEM_STAT_ENABLED", "4.7", ("sm_103a", "sm_103f"), ("sm_100a", "sm_100f", "sm_90a", "")),
        ("CUTE_ARCH_TCGEN05_TMEM_STAT_ENABLED", "4.4", (), ("sm_103a",)),
        ("CUTE_ARCH_TMA_SM90_ENABLED", "4.7", ("sm_90", "sm_90a", "sm_100a", "sm_120f"), ("sm_80", "sm_100", "sm_120")),
        ("CUTE_ARCH_TMA_SM100_ENABLED", "4.7", ("sm_100a", "sm_103a", "sm_101a"), ("sm_100", "sm_90a", "sm_120a")),
        ("CUTE_ARCH_TMA_SM100_ENABLED", "4.1", ("sm_100a",), ("sm_103a",)),
        ("CUTLASS_ARCH_MMA_SM100A_ENABLED", "4.7", ("sm_100a",), ("sm_100f", "sm_103a")),
        ("CUTLASS_ARCH_CLC_ENABLED", "4.7", ("sm_100a", "sm_120a"), ("sm_90a", "sm_100")),
    ],
)  # fmt: skip
def test_switches_are_those_of_the_architecture(
    name: str, version: str, on: tuple[str, ...], off: tuple[str, ...]
) -> None:
    with using_cute(version):
        assert [t for t in on if predefined(name, t) is None] == []
        assert [t for t in off if predefined(name, t) is not None] == []


@pytest.mark.parametrize("version", ["4.7", "4.4", "4.1", "4.0"])
def test_targets_of_switches_are_names_of_architectures(version: str) -> None:
    lines = (Path(table.__file__).parent / "data" / "guards.tsv").read_text().splitlines()
    with using_cute(version):
        named = {target for line in lines for target in guard_targets(line.split("\t")[0]) or ()}
    assert len(named) > 10
    assert [n for n in named if re.fullmatch(r"sm_\d+[af]?", n) is None] == []
