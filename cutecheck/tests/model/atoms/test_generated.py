"""The committed table against CuTe: a sample of specialisations is compiled and printed again."""

import random
from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.model.atoms import UnknownAtomError, atom_record, cutlass_version
from cutecheck.model.atoms.table import argument_text

HEADERS = find_headers()
SCRIPTS = Path(__file__).parents[4] / "scripts"


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
@pytest.mark.skipif(not SCRIPTS.is_dir(), reason="the generator is not part of an installed package")
def test_a_fresh_sample_prints_what_the_table_says(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from generate_atoms.emit import print_traits
    from generate_atoms.scan import scan_headers, split_list
    from generate_atoms.table import plain_type, plan

    scan = scan_headers(HEADERS.cutlass)
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
        try:
            fields = dict(atom_record(name, tuple(arguments)).fields)
        except UnknownAtomError:
            assert HEADERS.version != cutlass_version(), f"{name}<{arguments}>"
            continue  # an operation of another CUTLASS version
        assert fields == printed, name
        compared += 1
    assert compared > 100


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
