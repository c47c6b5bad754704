"""Every configuration of the recorded kernels, rebuilt from its printed fields, prints the same fields."""

import json
import re
from pathlib import Path

import pytest

from cutecheck.facts.printed import cpp_type, printed
from cutecheck.model.atoms import copy_op, element_type, mma_op
from cutecheck.model.atoms.table import argument_text
from cutecheck.model.dtype import DType
from cutecheck.model.notation import parse
from cutecheck.model.tiled import make_tiled_copy_impl, make_tiled_mma

ENTRIES = json.loads((Path(__file__).parents[1] / "data" / "cpp_kernels.json").read_text())["entries"]
KINDS = ("layout", "smem_layout", "mma_atom", "copy_atom", "tiled_mma", "tiled_copy")


def operation(text):
    """Name, arguments and whether the traits were named, from ``cute::Copy_Traits<cute::Op<T> >``."""
    traits = re.fullmatch(r"cute::(?:MMA|Copy)_Traits<(.*?) ?>", text)
    text = traits[1] if traits else text
    m = re.fullmatch(r"cute::([\w:]+)(?:<(.*)>)?", text)
    args = []
    for a in (m[2] or "").split(", ") if m[2] else []:
        plain = argument_text(a)
        args.append(int(plain) if plain.isdigit() else element_type(plain) or plain)
    return m[1], tuple(args), bool(traits)


def rebuild(kind, fields):
    if kind in ("layout", "smem_layout"):
        return parse(fields["text"])
    name, args, traits = operation(fields["atom"]["op"])
    if kind in ("mma_atom", "tiled_mma"):
        atom = mma_op(name, args, via_traits=traits)
        if kind == "mma_atom":
            return atom
        return make_tiled_mma(atom, parse(fields["AtomLayoutMNK"]), parse(fields["PermutationMNK"]))
    value_type = element_type(argument_text(fields["atom"]["ValueType"]))
    atom = copy_op(name, args, value_type, via_traits=traits)
    if kind == "copy_atom":
        return atom
    return make_tiled_copy_impl(atom, parse(fields["TiledLayout_TV"]), parse(fields["Tiler_MN"]))


@pytest.mark.parametrize("kind", KINDS)
def test_printed_fields_equal_cute(kind):
    entries = {json.dumps(e["printed"], sort_keys=True): e for e in ENTRIES if e["kind"] == kind}
    assert entries
    for e in entries.values():
        assert printed(rebuild(kind, e["printed"])).json() == e["printed"], f"{e['path']}:{e['line']} {e['symbol']}"


def test_a_changed_field_is_noticed():
    fields = next(e["printed"] for e in ENTRIES if e["kind"] == "tiled_mma")
    got = printed(rebuild("tiled_mma", fields)).json()
    other = make_tiled_mma(mma_op("SM80_16x8x8_F16F16F16F16_TN"), parse(fields["AtomLayoutMNK"]))
    assert printed(other).json() != got


def test_unknown_offsets_are_left_out():
    fields = printed(parse("(8,lda):(1,8)")).json()
    assert fields["text"] == "(8,lda):(1,8)"
    assert "offsets_fnv1a64" not in fields


def test_only_configurations_have_a_printed_form():
    with pytest.raises(TypeError):
        printed(3)


@pytest.mark.parametrize(
    ("name", "cpp"),
    [
        ("half_t", "cutlass::half_t"),
        ("uint16_t", "short unsigned int"),
        ("cutlass::complex<double>", "cutlass::complex<double>"),
        ("sparse_elem<2,half_t>", "cute::sparse_elem<2, cutlass::half_t>"),
        ("unsigned int", "unsigned int"),
    ],
)
def test_element_types_are_named_as_the_compiler_does(name, cpp):
    assert cpp_type(DType(name, 16).name) == cpp
