"""From an operation's name and template arguments to its atom."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from cutecheck.model.atoms import older, table
from cutecheck.model.atoms.atom import CopyAtom, MMAAtom
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import Layout
from cutecheck.model.notation import parse
from cutecheck.model.units import Bits
from cutecheck.model.version import Version, cute_version
from cutecheck.records import record

Argument = object  # DType, int, or the text of an enumerator or type
_SPARSE = re.compile(r"sparse_elem<(\d+),(.+)>")
_BIT = DType("uint1b_t", Bits(1))


class UnknownAtomError(LookupError):
    """No MMA or copy operation of that name, or none of its specialisations fits the arguments."""


@record(frozen=True, slots=True)
class AtomRecord:
    """What the traits say, under their own field names; layouts of copies are in bits. ``arch``: lowest target.

    ``history``: the newest versions of CUTLASS in which the operation is absent or other than in the reference.
    """

    name: str
    kind: str
    cutlass_version: str
    arch: str
    targets: tuple[str, ...]
    ptx: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    history: tuple[tuple[str, str], ...] = ()


def atom_names(kind: str | None = None) -> list[str]:
    """Canonical names below ``cute::``; ``kind`` restricts to ``mma`` or ``copy``."""
    return table.names(kind)


def is_mma_op(name: str) -> bool:
    """Whether ``MMA_Traits<name...>`` is in the table."""
    return _kind(name, cute_version()) == "mma"


def is_copy_op(name: str) -> bool:
    """Whether ``Copy_Traits<name...>`` is in the table."""
    return _kind(name, cute_version()) == "copy"


@cache
def _kind(name: str, version: Version) -> str | None:
    found = table.rows(_spelled(name)[0])
    return found[0].kind if found else None


def _split(text: str) -> tuple[str, list[str]]:
    """``Op<8, float>`` into its name and argument texts."""
    if "<" not in text:
        return text, []
    head, inner = text.split("<", 1)
    inner, _, tail = inner.rpartition(">")
    parts, depth, start = [], 0, 0
    for i, c in enumerate(inner):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append(inner[start:i].strip())
            start = i + 1
    last = inner[start:].strip()
    return head.strip() + tail.strip(), [*parts, last] if last else parts


def _spelled(name: str) -> tuple[str, list[str]]:
    """Canonical name and the arguments a name carries: written in it, or those of an alias (``DefaultCopy``).

    ``MMA_Traits<Op<...>, extra>`` and ``Copy_Traits<...>`` are looked through.
    """
    given, written = _split(name)
    if given.removeprefix("cute::") in ("MMA_Traits", "Copy_Traits") and written:
        inner, arguments = _spelled(written[0])
        return inner, [*arguments, *written[1:]]
    canonical, fixed = _split(table.canonical_name(given))
    return canonical, [*fixed, *written]


def full_arguments(name: str, args: tuple[Argument, ...]) -> tuple[str, tuple[Argument, ...]]:
    """The canonical name of an operation, and its arguments with those that nobody wrote.

    An alias gives those it fixes; a template its defaults.
    """
    canonical, given = _spelled(name)[0], [*_fixed(name), *args]
    for i, (_, default) in enumerate(_declared(canonical, cute_version())):
        if isinstance(default, int) and default >= len(given):
            break  # an argument before it is missing
        if i >= len(given) and default != "":
            given.append(given[default] if isinstance(default, int) else int(default) if default.isdigit() else default)
    return canonical, tuple(given)


@cache
def _declared(canonical: str, version: Version) -> tuple[tuple[str, str | int], ...]:
    """The template parameters of an operation with their defaults: a text, or which parameter before it."""
    found = table.rows(canonical)
    parts = [p.partition("=") for p in found[0].declared.split(";")] if found and found[0].declared else []
    names = [p[0] for p in parts]
    return tuple((n, names.index(default) if default in names else default) for n, _, default in parts)


def _fixed(name: str) -> tuple[Argument, ...]:
    texts = [table.argument_text(a) for a in _spelled(name)[1]]
    return tuple(int(t) if t.isdigit() else element_type(t) or t for t in texts)


def _record(name: str, args: tuple[Argument, ...], kind: str | None = None) -> table.Record:
    canonical, written = _spelled(name)
    texts = [table.argument_text(a) for a in (*written, *args)]
    bits: dict[str, int] = {}
    for text, a in zip(texts, (*written, *args), strict=True):
        known = a if isinstance(a, DType) else element_type(text)
        if known is not None and known.bits is not None:
            bits[text] = int(known.bits)
    record = table.resolve(canonical, texts, bits)
    if record is None or (kind is not None and record.kind != kind):
        if not table.rows(canonical):
            raise UnknownAtomError(f"{name} is no MMA or copy operation of CuTe {table.cutlass_version()}")
        shown = f"{canonical}<{', '.join(texts)}>" if texts else f"{canonical} (it takes template arguments)"
        raise UnknownAtomError(f"no specialisation of CuTe {table.cutlass_version()} fits {shown}")
    return record


def atom_record(name: str, args: tuple[Argument, ...] = ()) -> AtomRecord:
    """The traits of an operation as printed by CuTe; UnknownAtomError when there is none.

    ``args`` may also be part of the name, as in ``UniversalCopy<uint128_t>``. The bare name of a template gives its
    formulas: ``(_M,_N,_16)``, ``SM90::GMMA::smem_desc<tnspA>``.
    """
    try:
        record = _record(name, args)
    except UnknownAtomError:
        canonical, written = _spelled(name)
        formulas = None if written or args else table.formulas(canonical)
        if formulas is None:
            raise
        record = formulas
    return AtomRecord(
        record.name,
        _mma_kind(record) if record.kind == "mma" else _copy_kind(record),
        table.cutlass_version(),
        _arch(record),
        record.targets,
        record.ptx,
        tuple(record.fields.items()),
        tuple((f"{v[0]}.{v[1]}", state) for v, state in older.history(record.name)),
    )


def _legal(record: table.Record, args: tuple[Argument, ...]) -> table.Record:
    if record.violated:
        raise CuteError(record.violated[0], record.name, *(table.argument_text(a) for a in args))
    return record


def mma_op(name: str, args: tuple[Argument, ...] = (), *, via_traits: bool = False) -> MMAAtom:
    """``MMA_Atom<name<args...>>``, or ``MMA_Atom<MMA_Traits<name<args...>>>`` with ``via_traits``.

    UnknownAtomError when the operation or this instantiation of it is not known; CuteError where a static assertion of
    the operation or its traits fails.
    """
    return _mma_op(name, args, via_traits, cute_version())


@lru_cache(maxsize=512)
def _mma_op(name: str, args: tuple[Argument, ...], via_traits: bool, version: Version) -> MMAAtom:
    record = _legal(_record(name, args, "mma"), args)
    f = record.fields
    basic = {"ThrID", "Shape_MNK", "ALayout", "BLayout", "CLayout"}
    return MMAAtom(
        op=record.name,
        args=(*_fixed(name), *args),
        via_traits=via_traits,
        thr_id=_layout(f["ThrID"]),
        shape_mnk=parse(f["Shape_MNK"]),  # type: ignore[arg-type]
        a_tv=_layout(f["ALayout"]),
        b_tv=_layout(f["BLayout"]),
        c_tv=_layout(f["CLayout"]),
        val_types=(_type(f["ValTypeA"]), _type(f["ValTypeB"]), _type(f["ValTypeC"]), _type(f["ValTypeD"])),
        arch=_arch(record),
        ptx=record.ptx,
        kind=_mma_kind(record),
        frg_types=(f.get("FrgTypeA", ""), f.get("FrgTypeB", ""), f.get("FrgTypeC", "")),
        targets=record.targets,
        extra=tuple((k, v) for k, v in f.items() if k not in basic and not re.fullmatch(r"(Val|Frg)Type[A-D]", k)),
    )


def copy_op(
    name: str, args: tuple[Argument, ...] = (), value_type: DType | None = None, *, via_traits: bool = False
) -> CopyAtom:
    """``Copy_Atom<name<args...>, value_type>``; without a value type the layouts stay in bits.

    ``via_traits``: the first argument was written ``Copy_Traits<name<args...>>``.
    UnknownAtomError when the operation is not known; CuteError where CuTe asserts (an element wider than a value, a
    cp.async of 2 bytes).
    """
    return _copy_op(name, args, value_type, via_traits, cute_version())


@lru_cache(maxsize=512)
def _copy_op(
    name: str, args: tuple[Argument, ...], value_type: DType | None, via_traits: bool, version: Version
) -> CopyAtom:
    record = _legal(_record(name, args, "copy"), args)
    f = record.fields
    return CopyAtom(
        op=record.name,
        args=full_arguments(name, args)[1] if record.name.startswith("AutoVec") else (*_fixed(name), *args),
        via_traits=via_traits,
        thr_id=_layout(f["ThrID"]),
        src_bits=_layout(f["SrcLayout"]),
        dst_bits=_layout(f["DstLayout"]),
        ref_bits=_layout(f["RefLayout"]),
        value_type=value_type or _BIT,
        arch=_arch(record),
        ptx=record.ptx,
        kind=_copy_kind(record),
        targets=record.targets,
        extra=tuple((k, v) for k, v in f.items() if k == "ValID"),
    )


def _layout(text: str) -> Layout:
    value = parse(text)
    assert isinstance(value, Layout)
    return value


def element_type(text: str) -> DType | None:
    """An element type by name, ``sparse_elem<2,half_t>`` and ``complex<...>`` included; None when it is none.

    A sparse element has the width of its type divided by the sparsity; ``bits`` is None where that is no integer.
    """
    if m := _SPARSE.fullmatch(text):
        inner = element_type(m[2])
        if inner is None or inner.bits is None:
            return None
        return DType(text, inner.bits // int(m[1]) if int(inner.bits) % int(m[1]) == 0 else None)
    if m := re.fullmatch(r"complex<(.+)>", text):
        inner = element_type(m[1])
        return None if inner is None or inner.bits is None else DType(text, inner.bits * 2)
    if m := re.fullmatch(r"detail::float_e(\d)m(\d)_unpacksmem_t", text):
        return DType(text, Bits(1 + int(m[1]) + int(m[2])))
    if re.fullmatch(r"detail::float_e\dm\d_unpack8bits_t", text):
        return DType(text, Bits(8))
    if m := re.fullmatch(r"(?:detail::)?type_erased_dynamic_float(\d+)(?:_unpacksmem)?_t", text):
        return DType(text, Bits(int(m[1])))
    return dtype(text)


def fragment_type(atom: MMAAtom, position: int) -> DType:
    """What a register of operand A, B or C (0, 1, 2) holds: the traits' ``FrgType`` where that is an element type of
    its own (sparse operands of sm_120 are of bytes, whatever is multiplied), else their ``ValType``."""
    own = element_type(atom.frg_types[position]) if atom.frg_types[position] else None
    return own or atom.val_types[position]


def sparse_element(d: DType) -> tuple[int, DType] | None:
    """The sparsity and the stored type of ``sparse_elem<S,T>`` (cute/pointer_sparse.hpp); None of any other type."""
    match = _SPARSE.fullmatch(d.name)
    raw = None if match is None else element_type(match[2])
    return None if match is None or raw is None else (int(match[1]), raw)


def relative_widths(old: DType, new: DType) -> tuple[Bits, Bits] | None:
    """Bits in the ratio of two types' widths, one of which may be less than a bit; None where one is not known."""
    (was, shared), (becomes, by) = (_stored(d) for d in (old, new))
    return None if was is None or becomes is None else (was * by, becomes * shared)


def _stored(d: DType) -> tuple[Bits | None, int]:
    """Bits that are stored, and for how many elements."""
    sparse = sparse_element(d) if d.bits is None else None
    return (d.bits, 1) if sparse is None else (sparse[1].bits, sparse[0])


def _type(text: str) -> DType:
    return element_type(text) or DType(text, None)


def _arch(record: table.Record) -> str:
    return record.targets[0] if record.targets else ""


def _mma_kind(record: table.Record) -> str:
    """fma (one thread), mma (a warp or quad pair), wgmma (a warp group), umma (tcgen05)."""
    first = record.ptx[0] if record.ptx else ""
    for prefix, kind in (("wgmma", "wgmma"), ("tcgen05", "umma"), ("mma", "mma")):
        if first.startswith(prefix):
            return kind
    return "fma" if record.fields["ThrID"].startswith("_1:") else "mma"


def _copy_kind(record: table.Record) -> str:
    """universal, auto, cp_async, ldmatrix, stmatrix, movmatrix, shuffle, bulk, tma, tmem_load, tmem_store, utccp ..."""
    first = record.ptx[0] if record.ptx else ""
    for pattern, kind in (
        (r"cp\.(reduce\.)?async\.bulk.*\.tensor", "tma"),
        (r"cp\.(reduce\.)?async\.bulk", "bulk"),
        (r"cp\.async", "cp_async"),
        (r"(ld|st|mov)matrix", "matrix"),
        (r"tcgen05\.ld", "tmem_load"),
        (r"tcgen05\.st", "tmem_store"),
        (r"tcgen05\.cp", "utccp"),
    ):
        if re.match(pattern, first):
            return first.split(".")[0] if kind == "matrix" else kind
    if record.name.startswith("AutoVectorizing"):
        return "auto"
    for part, kind in (("Shuffle", "shuffle"), ("BULK", "bulk"), ("256bit", "vector")):
        if part in record.name:
            return kind
    return "universal"
