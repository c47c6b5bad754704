"""Shared-memory layout atoms and selectors against what CuTe 4.7 returns (``cpp_selectors.json``)."""

import json
import re
from pathlib import Path

import pytest

from cutecheck.facts.printed import printed
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import CuteError
from cutecheck.model.tiled import smem_atoms
from cutecheck.model.tiled.selectors import gmma_op_selector

ROWS = json.loads((Path(__file__).parents[2] / "data" / "cpp_selectors.json").read_text())
HALF, FLOAT = DType("half_t", 16), DType("float", 32)


def ints(text):
    return [int(n) for n in re.findall(r"Int<(\d+)>", text)]


def evaluate(cpp):
    """The model's value of a recorded expression."""
    if m := re.search(r"tile_to_mma_shape\(UMMA::Layout_(K|MN)_(\w+)_Atom<(\w+)>\{\}, (.*)", cpp):
        n = ints(m[4])
        atom = smem_atoms.smem_layout_atom(m[1], m[2], dtype(m[3]))
        return str(smem_atoms.tile_to_mma_shape(atom, ((n[0], n[1]), *n[2:])))
    if m := re.search(r"Layout_(K|MN)_(\w+)_SpAtom<(\w+),2>", cpp):
        return str(smem_atoms.smem_sparse_layout_atom(m[1], m[2], dtype(m[3]), 2))
    if m := re.search(r"Layout_(K|MN)_(\w+)_Atom<(\w+)>", cpp):
        return str(smem_atoms.smem_layout_atom(m[1], m[2], dtype(m[3])))
    if m := re.search(r"detail::(\w+)<[GU]MMA::Major::(K|MN),(\w+),Int<(\d+)>,Int<(\d+)>(?:,(\w+)(?:<2>)?)?>", cpp):
        extra = {"Int": (2,), "true": (True,), "false": (False,), None: ()}[m[6]]
        return str(getattr(smem_atoms, m[1])(m[2], dtype(m[3]), int(m[4]), int(m[5]), *extra))
    m = re.search(
        r"(ss|rs)_op_selector(_sparse)?<(\w+),(\w+),(\w+),Shape<(.*?)>,(GMMA::Major::\w+),(GMMA::\w+::\w+)>", cpp
    )
    elements = (dtype(m[3]), dtype(m[4]), dtype(m[5]))
    atom = gmma_op_selector(m[1].upper(), elements, tuple(ints(m[6])), (m[7], m[8]), sparse=bool(m[2]))
    return printed(atom)["atom"]["op"]


def without_defaults(text):
    defaults = r"(?:, )?cute::SM90::GMMA::(?:ScaleIn::One|SparseSel::Zero)"
    return re.sub(defaults, "", text).replace("<>", "")


def test_every_recorded_selection():
    assert len(ROWS) > 200
    for row in ROWS:
        assert without_defaults(evaluate(row["cpp"])) == without_defaults(row["printed"]), row["cpp"]


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        ((("SS"), (HALF, HALF, FLOAT), (96, 64, 64)), "Tile_M must be a multiple of 64"),
        ((("SS"), (HALF, HALF, FLOAT), (64, 12, 64)), "Tile_N must be a multiple of 8"),
        ((("SS"), (HALF, HALF, FLOAT), (64, 64, 24)), "Tile_K must be a multiple of 16"),
        ((("SS"), (HALF, FLOAT, FLOAT), (64, 64, 64)), "No eligible GMMA operator"),
        ((("RS"), (HALF, HALF, FLOAT), (64, 64, 64), ("GMMA::Major::MN", "GMMA::Major::K")), "K-major A layout"),
    ],
)
def test_the_selector_refuses_as_its_assertions_do(arguments, gist):
    with pytest.raises(CuteError, match=gist):
        gmma_op_selector(*arguments)


def test_extended_shapes_are_chosen_only_when_enabled():
    base = gmma_op_selector("SS", (HALF, HALF, FLOAT), (64, 80, 64))
    extended = gmma_op_selector("SS", (HALF, HALF, FLOAT), (64, 80, 64), extended=True)
    assert (base.shape_mnk, extended.shape_mnk) == ((64, 16, 16), (64, 80, 16))


def test_smem_selectors_name_the_extent_at_fault():
    with pytest.raises(CuteError, match="BLK_K0 must be a multiple of 8"):
        smem_atoms.ss_smem_selector("K", HALF, 64, 12)
    with pytest.raises(CuteError, match="BLK_K0 must be a multiple of size<1>"):
        smem_atoms.sm100_smem_selector("K", DType("float_e2m1_t", 4), 64, 8)
