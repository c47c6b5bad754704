"""Model values as C++ expressions of real CuTe types, for a translation unit with ``using namespace cute``."""

from __future__ import annotations

from cutecheck.exec.names import NotATypeError, checked
from cutecheck.facts.printed import cpp_type, operation
from cutecheck.model.atoms import CopyAtom, MMAAtom, is_copy_op, is_mma_op
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout, Major, SmemPtrFlag, Swizzle, text
from cutecheck.model.tiled import TiledCopy, TiledMMA

_INT32 = 1 << 31
_INT64 = 1 << 63
# what g++ cannot build: their values hold descriptors or tensor-memory addresses (a device compiler takes these)
_ON_DEVICE = frozenset({"tmem_load", "tmem_store"})
_DESCRIPTORS = {
    "tma": "a TMA copy carries a tensor map, which a host compiler neither builds nor checks",
    "bulk": "a bulk copy is asm that a host compiler does not check",
    "tmem_load": "tensor memory exists only on the device",
    "tmem_store": "tensor memory exists only on the device",
    "utccp": "tensor memory exists only on the device",
}


class UnspellableError(ValueError):
    """The value has no C++ spelling on the host; the message says why."""


def expression(value: object) -> str:
    """A C++ expression of the value; UnspellableError when there is none."""
    if isinstance(value, bool):
        return f"cute::bool_constant<{'true' if value else 'false'}>{{}}"
    if isinstance(value, int):
        return f"Int<{_static(value)}>{{}}"
    if isinstance(value, Dyn):
        return _dynamic(value)
    if isinstance(value, Sym):
        raise UnspellableError(f"the static value {text(value)} is open")
    if isinstance(value, ScaledBasis):
        path = ",".join(str(int(i)) for i in value.path)
        return f"({expression(value.value)} * E<{path}>{{}})"
    if isinstance(value, Underscore):
        return "Underscore{}"
    if isinstance(value, tuple):
        return f"cute::make_tuple({', '.join(map(expression, value))})"
    if isinstance(value, Layout):
        return f"make_layout({expression(value.shape)}, {expression(value.stride)})"
    if isinstance(value, Swizzle):
        return f"Swizzle<{value.bits},{value.base},{value.shift}>{{}}"
    if isinstance(value, SmemPtrFlag):
        if value.sparsity is not None:
            return f"smem_sparse_ptr_flag_bits<{value.sparsity},{value.bits}>{{}}"
        return f"smem_ptr_flag_bits<{value.bits}>{{}}"
    if isinstance(value, ComposedLayout):
        return f"make_composed_layout({expression(value.a)}, {expression(value.offset)}, {expression(value.b)})"
    if isinstance(value, Major):
        return f"{value.value}{{}}"
    return f"{type_of(value)}{{}}"


def type_of(value: object, device: bool = False) -> str:
    """The C++ type of an atom or tiled object, or of the expression of another value; ``device``: for device code."""
    if isinstance(value, MMAAtom):
        return f"MMA_Atom<{op_type(value)}>"
    if isinstance(value, CopyAtom):
        return f"Copy_Atom<{op_type(value, device)}, {element_type(value.value_type.name)}>"
    if isinstance(value, TiledMMA):
        layout, permutation = expression(value.atom_layout_mnk), expression(value.permutation_mnk)
        return f"TiledMMA<{type_of(value.atom)}, decltype({layout}), decltype({permutation})>"
    if isinstance(value, TiledCopy):
        layout, tiler = expression(value.layout_tv), expression(value.tiler_mn)
        return f"TiledCopy<{type_of(value.atom, device)}, decltype({layout}), decltype({tiler})>"
    if isinstance(value, (Layout, ComposedLayout, tuple, int, Dyn)):
        return f"decltype({expression(value)})"
    raise UnspellableError(f"no C++ spelling for a {type(value).__name__}")


def op_type(atom: MMAAtom | CopyAtom, device: bool = False) -> str:
    """The operation of an atom as a type, with its arguments; UnspellableError for what no host compiler can build.

    ``device``: for a device compiler, which takes tensor memory.
    """
    known = is_mma_op(atom.op) if isinstance(atom, MMAAtom) else is_copy_op(atom.op)
    if not known:
        raise UnspellableError(f"{atom.op} is not one of CuTe's own operations")
    if isinstance(atom, CopyAtom) and (
        atom.tensor_map is not None or (atom.kind in _DESCRIPTORS and not (device and atom.kind in _ON_DEVICE))
    ):
        raise UnspellableError(_DESCRIPTORS.get(atom.kind, _DESCRIPTORS["tma"]))
    named = _named(operation(atom))
    # floating warpgroup MMAs are templates even where every argument has a default
    return f"{named}<>" if "::GMMA::MMA_" in named and "_S32" not in named and "<" not in named else named


def element_type(name: str) -> str:
    """An element type as C++ names it."""
    return _named(cpp_type(name))


def _named(name: str) -> str:
    try:
        return checked(name)
    except NotATypeError as error:
        raise UnspellableError(str(error)) from error


def _static(value: int) -> str:
    if not -_INT64 < value < _INT64:
        raise UnspellableError(f"{value} does not fit 64 bits")
    return str(int(value)) if -_INT32 < value < _INT32 else f"{int(value)}LL"


def _dynamic(value: Dyn) -> str:
    number = value.value
    if number is None:
        raise UnspellableError(f"the run-time value {text(value)} is not known")
    if not -_INT64 < number < _INT64:
        raise UnspellableError(f"{number} does not fit 64 bits")
    return f"int({number})" if -_INT32 < number < _INT32 else f"int64_t({number}LL)"


__all__ = ["UnspellableError", "element_type", "expression", "op_type", "type_of"]
