"""CuTe's type names: ``Int<8>``, ``Shape<...>``, ``Layout<S, D>``, ``TiledMMA<...>``, ``Copy_Atom<...>`` ..."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import expr as ex
from cutecheck.model.atoms import element_type, sparse_element
from cutecheck.model.basis import ScaledBasis, X
from cutecheck.model.constants import CUDA, CUTE, STD, constant_of, enumerated, truth_constant
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.units import BYTE, Bits, bytes_to_hold
from cutecheck.source.eval.class_widths import class_width
from cutecheck.source.eval.intrinsics.registry import CONSTANTS, TORCH_TYPES, Unsupported, type_maker
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.tuples import Pair
from cutecheck.source.eval.types import class_name, type_key, type_of
from cutecheck.source.eval.values import (
    TMA_DESCRIPTOR,
    ArrayType,
    CuteOp,
    EnumConstant,
    EnumVal,
    ExternType,
    Pack,
    PtrType,
    Scalar,
    ScalarType,
    Tag,
    Value,
    ValueType,
    VoidType,
    constant,
)
from cutecheck.source.eval.zeros import settled

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

CONSTANTS["_"] = X
CONSTANTS["X"] = ValueType(X)
CONSTANTS["Underscore"] = ValueType(X)
CONSTANTS["nullptr_t"] = ScalarType(DType("nullptr_t", Bits(64)))
for _prefix, _family in (("", ""), ("std::", STD), ("cuda::std::", CUDA)):
    CONSTANTS[f"{_prefix}true_type"] = ValueType(truth_constant(True, _family))
    CONSTANTS[f"{_prefix}false_type"] = ValueType(truth_constant(False, _family))
for _name in ("LayoutLeft", "LayoutRight", "GenColMajor", "GenRowMajor"):
    CONSTANTS[_name] = ValueType(getattr(alg, _name))
for _name in ("TrivialPredTensor", "AutoCopyAsync"):
    CONSTANTS[_name] = ValueType(Tag(_name))
for _name in ("GMMA::Major::K", "GMMA::Major::MN", "GMMA::ScaleOut::One", "GMMA::ScaleOut::Zero", "GMMA::ScaleIn::One",
              "GMMA::ScaleIn::Neg", "UMMA::Major::K", "UMMA::Major::MN", "UMMA::ScaleIn::One", "UMMA::ScaleIn::Neg",
              "UMMA::ScaleOut::One", "UMMA::ScaleOut::Zero", "UMMA::Saturate::False",
              "UMMA::Saturate::True", "GMMA::SparseSel::Zero", "GMMA::SparseSel::One"):  # fmt: skip
    CONSTANTS[_name] = Tag(_name)


def is_integer(d: DType) -> bool:
    return (
        d.name in ("int", "unsigned", "bool", "char", "short", "long")
        or ("int" in d.name and d.name.endswith(("_t", "int")))
        or d.name in ("size_t", "ptrdiff_t")
    )


def static_value(m: Machine, v: Value) -> Any:
    """A template argument as the value it makes: types by their default value, constants as static integers."""
    if isinstance(v, ValueType):
        return v.value
    if isinstance(v, ScalarType):
        return m.fresh(v.dtype.name, ex.NATURAL if v.dtype.name.startswith("u") else ex.ANY)
    if isinstance(v, Scalar):
        v = settled(v)
        if isinstance(v.value, Dyn) or v.value is None or isinstance(v.value, float):
            raise Unsupported("a template argument is not a constant expression")
        return v.value
    if isinstance(v, EnumVal) and v.value is not None:
        return v.value
    if isinstance(v, Pack):
        return tuple(static_value(m, x) for x in v.items)
    return v


def _value(m: Machine, v: Value) -> Any:
    return static_value(m, v)


@type_maker("Int", "Number")
def _int(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    if len(targs) not in (1, 2):
        raise Unsupported("Int takes one number")
    v = static_value(m, targs[-1])
    return ValueType(int(v) if isinstance(v, (bool, int)) else v)


def _constants(name: str, family: str, flag: bool = False) -> None:
    """``C<3u>``, ``integral_constant<unsigned, 3>``, ``bool_constant<true>``: a constant has a type."""

    @type_maker(name)
    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        made = _int(m, targs, span)
        held = targs[-1]
        if isinstance(held, EnumVal) and held.of is not None and held.value is not None:
            return ValueType(EnumConstant.of(held, family))
        if not isinstance(made, ValueType) or not isinstance(made.value, int):
            return made
        if flag:
            return ValueType(truth_constant(made.value, family))
        typed = targs[0] if len(targs) == 2 else type_of(targs[0])
        if isinstance(typed, ScalarType):
            return ValueType(constant_of(made.value, typed.dtype.name, family))
        return ValueType(enumerated(made.value, held.ctype, held)) if isinstance(held, EnumVal) else made


for _name, _family, _flag_only in (
    ("C", "", False), ("constant", "", False), ("integral_constant", CUTE, False), ("bool_constant", "", True),
    ("std::integral_constant", STD, False), ("std::bool_constant", STD, True),
    ("cuda::std::integral_constant", CUDA, False), ("cuda::std::bool_constant", CUDA, True),
):  # fmt: skip
    _constants(_name, _family, _flag_only)


@type_maker("Shape", "Stride", "Step", "Coord", "Tile", "tuple", "IntTuple", "ArithmeticTuple", "make_tuple_type")
def _tuple(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    items = []
    for t in targs:
        # of floating-point elements only the type is ever asked for
        run_time = not isinstance(t, ScalarType) or is_integer(t.dtype)
        items.append(static_value(m, t) if run_time else t)
    return ValueType(tuple(items))


@type_maker("pair")
def _pair(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    made = _tuple(m, targs, span)
    return ValueType(Pair(made.value)) if isinstance(made, ValueType) and len(made.value) == 2 else made


# elements of tensors by PyTorch's enumerators; those that C++ has not are classes of its own
_SCALARS = {
    "Float": "float", "Double": "double", "Int": "int", "Long": "int64_t", "Short": "int16_t", "Char": "int8_t",
    "Byte": "uint8_t", "Bool": "bool",
}  # fmt: skip


@type_maker("ScalarTypeToCPPTypeT", "ScalarTypeToCPPType_t")
def _of_torch(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """``c10::impl::ScalarTypeToCPPTypeT<at::ScalarType::Half>`` is ``at::Half``."""
    name = targs[0].name.rsplit("::", 1)[-1] if len(targs) == 1 and isinstance(targs[0], ExternType) else ""
    name = name[1:] if name.startswith("k") else name
    if name in _SCALARS:
        return ScalarType(dtype(_SCALARS[name]))  # type: ignore[arg-type]
    if name in TORCH_TYPES:
        return ScalarType(dtype(f"c10::{name}"))  # type: ignore[arg-type]
    raise Unsupported("the type of these elements is not known")


@type_maker("Layout")
def _layout(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(alg.make_layout(*(static_value(m, t) for t in targs[:2])))


@type_maker("Tensor")
def _tensor(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """``Tensor<Engine, Layout>`` of a tensor's engine (``typename T::engine_type``), or with elements of its own."""
    engine, layout = targs[0], static_value(m, targs[1])
    if not isinstance(layout, (Layout, ComposedLayout)):
        raise Unsupported("the layout of this tensor type is not known")
    if isinstance(engine, ExternType) and engine.name == "Engine":
        (tensor,) = engine.args
        same = not isinstance(tensor.layout, Unknown) and type_key(tensor.layout) == type_key(layout)
        return ValueType(tensor if same else replace(tensor, layout=layout, tile=None))
    held = element(engine.inner) if isinstance(engine, ArrayType) and engine.name == "ArrayEngine" else None
    if held is None:
        raise Unsupported("the engine of this tensor type is not known")
    return ValueType(m.recorder.registers(m, layout, held, span, "view", None))


@type_maker("testing::Types")
def _types(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """GoogleTest's list of types."""
    return ExternType("testing::Types", targs)


@type_maker("aligned_struct")
def _aligned(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ExternType("aligned_struct", targs)


@type_maker("Swizzle")
def _swizzle(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    numbers = [static_value(m, t) for t in targs]
    if len(numbers) == 2:
        numbers.append(numbers[0])
    if not all(isinstance(n, int) for n in numbers):
        raise Unsupported(f"Swizzle<{', '.join(map(str, numbers))}> with an open parameter")
    return ValueType(Swizzle(*numbers))


@type_maker("smem_ptr_flag_bits")
def _flag(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(SmemPtrFlag(Bits(static_value(m, targs[0]))))


@type_maker("smem_sparse_ptr_flag_bits")
def _sparse_flag(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(SmemPtrFlag(Bits(static_value(m, targs[1])), static_value(m, targs[0])))


@type_maker("smem_sparse_ptr_flag")
def _sparse_bit(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ValueType(SmemPtrFlag(Bits(1), static_value(m, targs[0])))


CONSTANTS["smem_ptr_flag"] = ValueType(SmemPtrFlag(Bits(1)))


@type_maker("ComposedLayout")
def _composed(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    a, offset, b = (static_value(m, t) for t in targs)
    if isinstance(offset, SmemPtrFlag) and isinstance(a, Swizzle):
        a = Swizzle(a.bits, a.base, a.shift, SwizzleUnit.BYTE)
    return ValueType(ComposedLayout(a, offset, b))


@type_maker("E")
def _basis(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    path = tuple(static_value(m, t) for t in targs)
    return ValueType(ScaledBasis(1, path) if path else 1)


@type_maker("ScaledBasis")
def _scaled_basis(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """``ScaledBasis<T, Ns...>``: the type of its value comes first."""
    value, *path = (static_value(m, t) for t in targs)
    if type(value) is not int or not path:
        raise Unsupported("ScaledBasis of a value that is known at run time only")
    return ValueType(ScaledBasis(value, tuple(path)))


def _array(name: str, targs: tuple[Value, ...], align: int | None = None) -> ArrayType:
    """``name<T, N, align>``; ``align`` where the third argument is not given."""
    extent = constant(targs[1])
    if len(targs) > 2:
        align = constant(targs[2])
    return ArrayType(
        targs[0], extent if extent is not None else Unknown("the array's extent is not a known number"), align, name
    )


def _register_array(name: str, align: int | None = None) -> None:
    @type_maker(name)
    def maker(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        return _array(name, targs, align)


for _name in ("array", "Array", "array_subbyte"):
    _register_array(_name)
for _name in ("array_aligned", "AlignedBuffer"):
    _register_array(_name, 16)


@type_maker("ArrayEngine")
def _array_engine(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """An ``array_aligned``, of elements that are no whole bytes an ``array_subbyte``, which is of bytes."""
    stored = sparse_element(targs[0].dtype) if isinstance(targs[0], ScalarType) else None
    bits = element_bits(targs[0]) if stored is None else stored[1].bits
    return _array("ArrayEngine", targs, None if bits is not None and bits % BYTE else 16)


@type_maker("AlignedArray")
def _aligned_array(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """Aligned to its own size in bytes, unless a third argument says otherwise (``cutlass/array.h``)."""
    part, extent = element(targs[0]), constant(targs[1])
    if part is None or part.bits is None or extent is None:
        return _array("AlignedArray", targs, None)
    return _array("AlignedArray", targs, int(bytes_to_hold(part.bits * extent)))


@type_maker("aligned_struct")
def _aligned_struct(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    return ExternType("aligned_struct", targs)


@type_maker("complex")
def _complex(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    part = element(targs[0])
    if part is None or part.bits is None:
        raise Unsupported("complex of a type whose width is not known")
    return ScalarType(DType(f"complex<{part.name}>", part.bits * 2))


_SIZED = ("Array", "AlignedArray", "array", "array_aligned")  # whose `sizeof_bits` is that of their storage


@type_maker("sizeof_bits", "sizeof_bits_v")
def _sizeof_bits(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    bits = bits_of(m, targs[0], span)
    stored = sparse_element(targs[0].dtype) if bits is None and isinstance(targs[0], ScalarType) else None
    if stored is not None and stored[1].bits is not None:
        return ValueType(Fraction(int(stored[1].bits), stored[0]))  # less than a bit
    if bits is None:
        raise Unsupported("sizeof_bits of a type whose width is not known")
    return ValueType(int(bits))


def bits_of(m: Machine, t: Value, span: Span) -> Bits | None:
    """``sizeof_bits``: 0 of ``void``, which stands for an operand that an epilogue does without."""
    if isinstance(t, VoidType):
        return Bits(0)
    array = fixed_array(t)
    if array is not None and array.name in _SIZED:
        from cutecheck.source.eval.memory import size_bytes

        size = size_bytes(m, array, span)
        return Bits(8 * int(size)) if isinstance(size, int) else None
    bits = Bits(64) if isinstance(t, PtrType) else element_bits(t)
    return class_width(m, t, span) if bits is None and isinstance(t, ClassInst) else bits


def element_bits(t: Value) -> Bits | None:
    if isinstance(t, ScalarType):
        return Bits(1) if t.dtype.name == "bool" else t.dtype.bits  # `bin1_t` is `bool`
    if isinstance(t, ValueType) and isinstance(t.value, int):
        return BYTE
    if isinstance(t, ClassInst) and not t.args and t.name.endswith("_t") and (found := _detail(t)) is not None:
        return found.bits
    return None


@type_maker("is_subbyte", "is_subbyte_v")
def _is_subbyte(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    bits = element_bits(targs[0])
    if bits is None:
        raise Unsupported("whether a type is narrower than a byte")
    return ValueType(truth_constant(bits < BYTE))


def _detail(t: ClassInst) -> DType | None:
    """``cutlass::detail::float_e2m1_unpacksmem_t`` and its like; None of any other class."""
    scope = t.env.namespace()
    return element_type(f"detail::{t.name}") if scope is not None and scope.path == "cutlass::detail" else None


def element(t: Value) -> DType | None:
    """The element type that a template argument names; a fixed-size array is one, too (``Array<half_t, 8>``)."""
    if isinstance(t, ScalarType):
        return t.dtype
    if isinstance(t, ClassInst) and not t.args and t.name.endswith("_t"):
        return _detail(t)
    if isinstance(t, ExternType) and t.name == TMA_DESCRIPTOR:
        return DType(t.name, Bits(1024))  # a tensor map that is copied as a whole
    a = fixed_array(t)
    return None if a is None else array_element(a)


def stored(m: Machine, t: Value) -> DType | None:
    """The element of a tensor or vectorised copy: also a structure of the tree, of which only the width counts."""
    found = element(t)
    if found is not None or not isinstance(t, ClassInst) or fixed_array(t) is not None:
        return found
    from cutecheck.source.eval.memory import size_bytes

    size = size_bytes(m, t, t.decl.span)
    return DType(class_name(t), Bits(8 * int(size))) if isinstance(size, int) else None


def fixed_array(t: Value) -> ArrayType | None:
    """A fixed-size array; CUTLASS's own, too, where its headers are read (``cutlass::Array``)."""
    if isinstance(t, ClassInst) and t.name in ("Array", "AlignedArray") and len(t.args) > 1:
        scope = t.env.namespace()
        if scope is None or scope.path != "cutlass":
            return None
        return _array(t.name, t.args[: 3 if t.name == "AlignedArray" else 2])
    return t if isinstance(t, ArrayType) else None


def array_element(a: ArrayType) -> DType | None:
    """A fixed-size array as an element: of copies only its width counts."""
    inner, extent = a.inner, a.extent
    if not isinstance(inner, ScalarType) or inner.dtype.bits is None or not isinstance(extent, int):
        return None
    arguments = f"{inner.dtype.name},{extent}"
    if a.name in ("AlignedArray", "array_aligned"):
        arguments += f",{a.align}"
    elif a.name == "Array":  # its third parameter: elements of 32 bits and more are registers of their own
        arguments += ",true" if int(inner.dtype.bits) >= 32 else ",false"
    return DType(f"{a.name or 'array'}<{arguments}>", inner.dtype.bits * extent)


def operation(v: Value) -> CuteOp | None:
    """The CuTe operation behind a template argument or value (``Op``, ``MMA_Traits<Op>``)."""
    if isinstance(v, ValueType):
        v = v.value
    return v if isinstance(v, CuteOp) else None
