"""Bits, bytes and elements: what mypy refuses, what raises at run time, and conversions against plain arithmetic."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.model import units
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import Dyn
from cutecheck.model.units import BYTE, Bits, Bytes, Elements, IndivisibleError, UnitError

_HEADER = """
from cutecheck.model.access import wavefronts
from cutecheck.model.algebra import recast_layout
from cutecheck.model.dtype import DType
from cutecheck.model.expr import const
from cutecheck.model.layout import Layout, SmemPtrFlag
from cutecheck.model.prove.accesses import split_vector
from cutecheck.model.prove.properties import Alignment, BankAccess, TmaLimits
from cutecheck.model.tiled.tmem import dp_stride
from cutecheck.model.units import BYTE, ByteAddress, Bits, Bytes, Elements, bits_to_bytes, bytes_to_bits

bits, size, count, number = Bits(16), Bytes(2), Elements(8), 3
zero, layout = const(0), Layout(8, 1)
"""
# Each is one mistake; the comment of the error is mypy's own, so only that there is one counts.
_REFUSED = [
    "bits + size",
    "bits - size",
    "size + count",
    "bits = bits + 1",
    "size = size - 16",
    "bits % size",
    "bits < size",
    "bits == size",
    "count == size",
    "size = bits",
    "size = bits // 8",
    "size = number",
    "bits = count * size",
    "DType('half_t', 16)",
    "DType('half_t', size)",
    "SmemPtrFlag(16)",
    "SmemPtrFlag(size)",
    "bits_to_bytes(size)",
    "bytes_to_bits(bits)",
    "bits_to_bytes(128)",
    "recast_layout(layout, 16, 8)",
    "recast_layout(layout, bits, size)",
    "wavefronts('ld', [ByteAddress(0)], 16)",
    "wavefronts('ld', [ByteAddress(0)], Bits(128))",
    "wavefronts('ld', [0, 16], size)",
    "split_vector(layout, 8)",
    "split_vector(layout, bits)",
    "BankAccess('ld', bits, size, zero, 32)",
    "BankAccess('ld', 16, bits, zero, 32)",
    "BankAccess('ld', bits, bits, zero, 32, base_alignment=Bits(128))",
    "Alignment(bits, bits, zero, size)",
    "Alignment(bits, size, zero, bits)",
    "TmaLimits((count,), size)",
    "TmaLimits((bits,), bits)",
    "TmaLimits((count,), bits, (bits,))",
    "TmaLimits((count,), bits, swizzle_bytes=Bits(128))",
    "dp_stride(size)",
]
_ACCEPTED = [
    "bits + bits",
    "bits * 2 + 3 * bits",
    "bits % BYTE == Bits(0)",
    "number = bits // bits",
    "bits = count * bits",
    "size = count * size",
    "size = bits_to_bytes(count * bits)",
    "recast_layout(layout, bits, BYTE)",
    "wavefronts('ld', [ByteAddress(0), None], size)",
    "BankAccess('ld', bits, count * bits, zero, 32, base_alignment=size)",
    "TmaLimits((count,), bits, (size,), swizzle_bytes=Bytes(128))",
]


def test_mypy_refuses_one_unit_for_another(tmp_path: Path) -> None:
    """Every line of _REFUSED is an error under --strict, none of _ACCEPTED is."""
    mypy = Path(sys.executable).with_name("mypy")
    command = str(mypy) if mypy.exists() else shutil.which("mypy")
    if command is None:
        pytest.skip("mypy is not installed")
    root = Path(units.__file__).parents[2]
    if not (root / "pyproject.toml").exists():
        pytest.skip("cutecheck is installed without its sources")
    lines = _HEADER.splitlines()
    snippet = tmp_path / "snippet.py"
    snippet.write_text("\n".join([*lines, *_REFUSED, *_ACCEPTED]) + "\n", encoding="utf-8")
    run = subprocess.run(
        [command, "--strict", "--no-error-summary", "--no-color-output", "--follow-imports=silent",
         "--disable-error-code=unused-ignore", "--cache-dir", str(tmp_path / "cache"), str(snippet)],
        capture_output=True, text=True, check=False, cwd=root,
    )  # fmt: skip
    wrong = {int(x.split(":")[1]) for x in run.stdout.splitlines() if x.startswith(str(snippet)) and ": error:" in x}
    expected = set(range(len(lines) + 1, len(lines) + 1 + len(_REFUSED)))
    everything = [*lines, *_REFUSED, *_ACCEPTED]
    assert not [everything[n - 1] for n in sorted(expected - wrong)], "mypy accepts these"
    assert not [everything[n - 1] for n in sorted(wrong - expected)], run.stdout


@pytest.mark.parametrize("operation", ["+", "-", "%", "//", "*", "<", "<=", ">", ">="])
def test_units_do_not_meet_at_run_time(operation: str) -> None:
    for left, right in ((Bits(16), Bytes(2)), (Bytes(2), Elements(8)), (Elements(8), Bits(16))):
        if operation == "*" and isinstance(left, Elements):
            continue
        with pytest.raises(UnitError, match=r"(Bits|Bytes)\(\d+\)"):
            eval(f"left {operation} right", {"left": left, "right": right})


def test_no_unit_turns_into_another_by_construction() -> None:
    with pytest.raises(UnitError):
        Bytes(Bits(16))
    assert Bits(Bits(16)) == Bits(16)


def test_units_show_as_numbers_and_survive_pickling() -> None:
    assert (str(Bits(16)), f"{Bytes(2)}", repr(Elements(8))) == ("16", "2", "Elements(8)")
    assert type(pickle.loads(pickle.dumps(Bytes(3)))) is Bytes
    assert Bits(16) * Dyn.named("n") == 16 * Dyn.named("n")


_SIZES = st.integers(0, 1 << 20)
_WIDTHS = st.sampled_from([1, 2, 4, 6, 8, 16, 32, 64, 128])


@given(_SIZES, _SIZES, st.integers(1, 64))
def test_arithmetic_keeps_the_unit_and_the_number(a: int, b: int, n: int) -> None:
    for kind in (Bits, Bytes, Elements):
        x, y = kind(a), kind(b)
        for made, number in ((x + y, a + b), (x - y, a - b), (x * n, a * n), (n * x, n * a), (x // n, a // n),
                             (x % kind(n), a % n), (x << 3, a << 3)):  # fmt: skip
            assert type(made) is kind and int(made) == number
        assert x // kind(n) == a // n and type(x // kind(n)) is int
        assert (x < y, x <= y, x > y, x >= y) == (a < b, a <= b, a > b, a >= b)


@given(_SIZES)
def test_bits_and_bytes(n: int) -> None:
    assert units.bytes_to_bits(Bytes(n)) == Bits(8 * n)
    assert units.bits_to_bytes(units.bytes_to_bits(Bytes(n))) == Bytes(n)
    assert 8 * int(units.bytes_to_hold(Bits(n))) - n in range(8)
    if n % 8:
        with pytest.raises(IndivisibleError, match=f"{n} bits"):
            units.bits_to_bytes(Bits(n))
    else:
        assert units.bits_to_bytes(Bits(n)) == units.bytes_to_hold(Bits(n))


@given(_SIZES, _WIDTHS)
def test_elements(n: int, width: int) -> None:
    element = Bits(width)
    assert units.bits_to_elements(units.elements_to_bits(Elements(n), element), element) == Elements(n)
    if n % width:
        with pytest.raises(IndivisibleError, match=f"{n} bits are no whole number of {width}-bit elements"):
            units.bits_to_elements(Bits(n), element)
    if n * width % 8:
        with pytest.raises(IndivisibleError):
            units.elements_to_bytes(Elements(n), element)
    else:
        assert units.elements_to_bytes(Elements(n), element) == Bytes(n * width // 8)
        if 8 % width == 0 or width % 8 == 0:
            assert units.bytes_to_elements(Bytes(n * width // 8), element) == Elements(n)
    assert units.byte_count(n, element) == Bytes(-(-n * width // 8))


@given(st.integers(0, 4096), _WIDTHS)
def test_a_run_time_count_stays_one(n: int, width: int) -> None:
    count = units.byte_count(Dyn.named("n"), Bits(width))
    assert isinstance(count, Dyn)
    assert count.expr.evaluate({"n": n}) == int(units.byte_count(n, Bits(width)))


def test_widths_of_element_types_are_bits() -> None:
    half = dtype("cutlass::half_t")
    assert half is not None and type(half.bits) is Bits and half.bits == 2 * BYTE
    assert DType("half_t", Bits(16)) == half
