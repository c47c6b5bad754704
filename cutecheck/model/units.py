"""Bits, bytes and elements as different types, and the only ways from one to another.

A width in bits is not a size in bytes, and neither is a number of elements. Each is an ``int`` with a unit: it adds,
subtracts and compares with its own unit only, is multiplied and divided by plain numbers, and divided by its own unit
gives a plain number. Where a plain number is added, the type checker sees a plain number. ``mypy --strict`` refuses the
rest; what it cannot see (``Any``) raises :class:`UnitError` when two units meet. A value loses its unit by
``int(value)``, as the proof engines do before they compute addresses by the million.

The unit of a swizzle (elements of an offset, bytes of an address) is :class:`cutecheck.model.layout.SwizzleUnit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NewType, TypeAlias, TypeVar, Union, final, overload

from cutecheck.model.ints import Dyn, Int, Sym, known_value

if TYPE_CHECKING:
    from typing_extensions import Self

_Q = TypeVar("_Q", bound="Quantity")


class UnitError(TypeError):
    """Two units met where one is needed; the message names both values."""


class IndivisibleError(ValueError):
    """A conversion that leaves a remainder: 12 bits are no whole number of bytes."""


class Quantity(int):
    """An integer with a unit: :class:`Bits`, :class:`Bytes` or :class:`Elements`."""

    __slots__ = ()

    def __new__(cls: type[_Q], value: int) -> _Q:
        """UnitError when ``value`` has another unit."""
        if isinstance(value, Quantity) and type(value) is not cls:
            raise UnitError(f"{value!r} is not {cls.__name__}")
        return int.__new__(cls, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    def __str__(self) -> str:
        return int.__repr__(self)

    def _made(self, number: int) -> Self:
        return number if number is NotImplemented else int.__new__(type(self), number)

    def _same(self, other: int) -> None:
        if isinstance(other, Quantity) and type(other) is not type(self):
            raise UnitError(f"{self!r} meets {other!r}")

    def __add__(self, other: Self) -> Self:  # type: ignore[override]
        self._same(other)
        return self._made(int.__add__(self, other))

    def __sub__(self, other: Self) -> Self:  # type: ignore[override]
        self._same(other)
        return self._made(int.__sub__(self, other))

    def __mod__(self, other: Self) -> Self:  # type: ignore[override]
        self._same(other)
        return self._made(int.__mod__(self, other))

    @overload
    def __floordiv__(self, other: Self) -> int: ...  # type: ignore[overload-overlap]
    @overload
    def __floordiv__(self, other: int) -> Self: ...
    def __floordiv__(self, other: int) -> int:
        self._same(other)
        number = int.__floordiv__(self, other)
        return number if isinstance(other, Quantity) else self._made(number)

    def __mul__(self, other: int) -> Self:
        return self._times(other)

    def __rmul__(self, other: int) -> Self:
        return self._times(other)

    def _times(self, other: int) -> Self:
        if isinstance(other, Quantity):
            raise UnitError(f"no product of {self!r} and {other!r}")
        return self._made(int.__mul__(self, other))

    if TYPE_CHECKING:  # so that the type checker does not fall back to int's own reflected operators

        def __radd__(self, other: Self) -> Self: ...  # type: ignore[override]
        def __rsub__(self, other: Self) -> Self: ...  # type: ignore[override]
        def __rmod__(self, other: Self) -> Self: ...  # type: ignore[override]
        def __rfloordiv__(self, other: Self) -> int: ...  # type: ignore[override]

    def __lshift__(self, count: int) -> Self:
        return self._made(int.__lshift__(self, count))

    def __lt__(self, other: Self) -> bool:  # type: ignore[override]
        self._same(other)
        return int.__lt__(self, other)

    def __le__(self, other: Self) -> bool:  # type: ignore[override]
        self._same(other)
        return int.__le__(self, other)

    def __gt__(self, other: Self) -> bool:  # type: ignore[override]
        self._same(other)
        return int.__gt__(self, other)

    def __ge__(self, other: Self) -> bool:  # type: ignore[override]
        self._same(other)
        return int.__ge__(self, other)


@final
class Bits(Quantity):
    """A width or a distance in bits."""

    __slots__ = ()


@final
class Bytes(Quantity):
    """A size, a distance or an alignment in bytes."""

    __slots__ = ()


@final
class Elements(Quantity):
    """A number of elements, of whatever width; times a width in bits or bytes it is a size."""

    __slots__ = ()

    @overload
    def __mul__(self, other: Bits) -> Bits: ...  # type: ignore[overload-overlap]
    @overload
    def __mul__(self, other: Bytes) -> Bytes: ...  # type: ignore[overload-overlap]
    @overload
    def __mul__(self, other: int) -> Elements: ...
    def __mul__(self, other: int) -> Any:
        if isinstance(other, (Bits, Bytes)):
            return other * int(self)
        return self._times(other)


# A byte address: of shared memory from the start of the window, of global memory from a multiple of the allocation's
# alignment. Addresses are made by the million, so this one has no class of its own at run time.
ByteAddress = NewType("ByteAddress", int)

# The same where the number may not be known before run time; its unit is then that of the field that holds it.
BitCount: TypeAlias = Union[Bits, Dyn, Sym]
ByteCount: TypeAlias = Union[Bytes, Dyn, Sym]
ElementCount: TypeAlias = Union[Elements, Dyn, Sym]

BYTE = Bits(8)


def bits_to_bytes(bits: Bits) -> Bytes:
    """IndivisibleError when the bits are no whole number of bytes."""
    if int(bits) % 8:
        raise IndivisibleError(f"{bits} bits are no whole number of bytes")
    return Bytes(int(bits) // 8)


def bytes_to_hold(bits: Bits) -> Bytes:
    """The least number of bytes that hold so many bits."""
    return Bytes(-(-int(bits) // 8))


def bytes_to_bits(size: Bytes) -> Bits:
    return Bits(8 * int(size))


def bits_to_elements(bits: Bits, element: Bits) -> Elements:
    """How many elements of a width ``bits`` are; IndivisibleError when that is no whole number."""
    count, rest = divmod(int(bits), int(element))
    if rest:
        raise IndivisibleError(f"{bits} bits are no whole number of {element}-bit elements")
    return Elements(count)


def bytes_to_elements(size: Bytes, element: Bits) -> Elements:
    """How many elements of a width ``size`` bytes hold; IndivisibleError when that is no whole number."""
    return bits_to_elements(bytes_to_bits(size), element)


def elements_to_bits(count: Elements, element: Bits) -> Bits:
    return Bits(int(count) * int(element))


def elements_to_bytes(count: Elements, element: Bits) -> Bytes:
    """IndivisibleError when so many elements are no whole number of bytes."""
    return bits_to_bytes(elements_to_bits(count, element))


def byte_count(count: Int, element: Bits) -> ByteCount:
    """Bytes that ``count`` elements occupy, rounded up; a run-time count stays one."""
    number = known_value(count)
    if number is not None:
        return bytes_to_hold(Elements(number) * element)
    total = (count * int(element) + 7) // 8 if int(element) % 8 else count * (int(element) // 8)
    assert isinstance(total, (Dyn, Sym))
    return total
