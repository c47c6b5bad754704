"""A configuration's fields as CuTe prints them: what ``facts`` reports and the truth tables compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias, Union

from cutecheck.model.algebra import CuteError, cosize, offsets_hash, rank, size
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.atoms.table import argument_text
from cutecheck.model.dtype import DType
from cutecheck.model.ints import NotModelledError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.notation import show
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.records import record

Field: TypeAlias = Union[str, tuple[str, ...], "Printed"]
Json: TypeAlias = Union[str, list[str], dict[str, "Json"]]

MAX_HASHED = 1 << 18  # elements; a larger layout is shown without the hash of its offsets
_CPP = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short int", "uint16_t": "short unsigned int",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long int", "uint64_t": "long unsigned int",
    "float": "float", "double": "double", "bool": "bool", "char": "char", "void": "void",
}  # fmt: skip


@record(frozen=True, slots=True)
class Printed:
    """Named fields in CuTe's order, each the text ``cute::print`` writes (nested for an atom)."""

    fields: tuple[tuple[str, Field], ...]

    def __getitem__(self, name: str) -> Field:
        return dict(self.fields)[name]

    def json(self) -> dict[str, Json]:
        """The fields as plain JSON values."""
        out: dict[str, Json] = {}
        for name, value in self.fields:
            if isinstance(value, Printed):
                out[name] = value.json()
            else:
                out[name] = list(value) if isinstance(value, tuple) else value
        return out


def printed(value: object) -> Printed:
    """The fields of a layout, atom, tiled copy or tiled MMA; TypeError for anything else.

    ``offsets_fnv1a64`` (the hash of all offsets) is present only when every offset is a known number.
    """
    if isinstance(value, MMAAtom):
        return Printed((("atom", _mma_atom(value)),))
    if isinstance(value, CopyAtom):
        return Printed((("atom", _copy_atom(value)),))
    if isinstance(value, TiledMMA):
        return Printed(tuple(_tiled_mma(value)))
    if isinstance(value, TiledCopy):
        return Printed(tuple(_tiled_copy(value)))
    if isinstance(value, (Layout, ComposedLayout)):
        return Printed(tuple(_layout(value)))
    raise TypeError(f"no printed form for {type(value).__name__}")


def _layout(layout: AnyLayout) -> Iterator[tuple[str, Field]]:
    yield "text", str(layout)
    for name, function in (("size", size), ("cosize", cosize)):
        try:
            yield name, show(function(layout))
        except (CuteError, NotModelledError, UndecidedError):
            continue
    yield "rank", f"_{rank(layout)}"
    if isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle):
        yield "swizzle", str(layout.a)
        yield "base", str(layout.b)
        if isinstance(layout.offset, SmemPtrFlag):
            yield "offset", str(layout.offset)
    try:
        count = known_value(size(layout))
        if count is not None and count <= MAX_HASHED:
            yield "offsets_fnv1a64", offsets_hash(layout)
    except (CuteError, NotModelledError, UndecidedError, ValueError, TypeError):
        return


def cpp_type(text: str) -> str:
    """An element type as g++ names it: ``half_t`` is ``cutlass::half_t``, ``uint16_t`` ``short unsigned int``."""
    text = argument_text(text)
    if m := re.fullmatch(r"([\w:]+)<(.*)>", text):
        space = "cute" if m[1] in ("sparse_elem", "array", "array_aligned") else "cutlass"
        arguments = (a if a.isdigit() or a in ("true", "false") else cpp_type(a) for a in m[2].split(","))
        return f"{space}::{m[1]}<{', '.join(arguments)}>"
    return _CPP.get(text) or f"cutlass::{text}"


def _argument(argument: object) -> str:
    if isinstance(argument, DType):
        return cpp_type(argument.name)
    text = argument_text(argument)
    if text.startswith("GMMA::"):
        return f"cute::SM90::{text}"
    return f"cute::{text}" if "::" in text else text


def operation(atom: MMAAtom | CopyAtom) -> str:
    """The operation as the argument of ``MMA_Atom`` or ``Copy_Atom``, as g++ names the type."""
    text = f"cute::{atom.op}"
    arguments = [_argument(a) for a in atom.args]
    if atom.op == "UniversalCopy" and len(arguments) == 1 and "::" in arguments[0]:
        arguments *= 2  # g++ leaves a default argument out only where it is a builtin type
    if arguments:
        text += f"<{', '.join(arguments)}>"
    if atom.via_traits:
        traits = "MMA_Traits" if isinstance(atom, MMAAtom) else "Copy_Traits"
        text = f"cute::{traits}<{text}{' ' if text.endswith('>') else ''}>"
    return text


def _mma_atom(atom: MMAAtom) -> Printed:
    fields: list[tuple[str, Field]] = [
        ("ThrID", str(atom.thr_id)),
        ("Shape_MNK", show(atom.shape_mnk)),
        ("LayoutA_TV", str(atom.a_tv)),
        ("LayoutB_TV", str(atom.b_tv)),
        ("LayoutC_TV", str(atom.c_tv)),
        ("op", operation(atom)),
    ]
    fields += [(f"ValType{c}", cpp_type(t.name)) for c, t in zip("ABCD", atom.val_types, strict=True)]
    return Printed(tuple(fields))


def _copy_atom(atom: CopyAtom) -> Printed:
    return Printed(
        (
            ("ThrID", str(atom.thr_id)),
            ("ValLayoutSrc", str(atom.val_layout_src)),
            ("ValLayoutDst", str(atom.val_layout_dst)),
            ("ValLayoutRef", str(atom.val_layout_ref)),
            ("ValueType_bits", str(atom.value_type.bits)),
            ("ValueType", cpp_type(atom.value_type.name)),
            ("op", operation(atom)),
        )
    )


def _tiled_mma(mma: TiledMMA) -> Iterator[tuple[str, Field]]:
    yield "ThrLayoutVMNK", str(mma.thr_layout_vmnk)
    yield "PermutationMNK", show(mma.permutation_mnk)
    yield "AtomLayoutMNK", str(mma.atom_layout_mnk)
    yield "atom", _mma_atom(mma.atom)
    yield "size", show(mma.size)
    yield "tile_MNK", tuple(show(mma.tile_size(mode)) for mode in range(3))
    for operand, layout_tv in (("A", mma.get_layoutA_TV), ("B", mma.get_layoutB_TV), ("C", mma.get_layoutC_TV)):
        try:
            yield f"Layout{operand}_TV", str(layout_tv())
        except (CuteError, NotModelledError, UndecidedError):  # a permutation that is none
            continue


def _tiled_copy(copy: TiledCopy) -> Iterator[tuple[str, Field]]:
    yield "Tiler_MN", show(copy.tiler_mn)
    yield "TiledLayout_TV", str(copy.layout_tv)
    yield "atom", _copy_atom(copy.atom)
    yield "size", show(size(copy.layout_tv))
    yield "NumThr", show(copy.num_thr)
