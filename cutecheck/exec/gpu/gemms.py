"""A GEMM on the hardware: coordinate-coded integers compared exactly, random inputs against float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cutecheck.exec.gpu.gemm import GemmProbe
from cutecheck.exec.gpu.run import Buffer, Launch, Launched, Number
from cutecheck.exec.gpu.tensor_maps import encoded, is_map
from cutecheck.model.algebra import cosize, offsets
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

FILL = 1
POISON = 0xFFFFFFFF  # NaN in every floating type
# the largest error allowed, relative in the Frobenius norm: inputs are exact, only the sum is rounded
_TOLERANCE = {"half_t": 1e-2, "bfloat16_t": 3e-2, "float": 1e-4, "double": 1e-13}
_INTEGERS = {"half_t": 1 << 11, "bfloat16_t": 1 << 8}  # all of them up to there have a value of their own
_EIGHT_BIT_SUM = 5e-3  # sums of 8-bit products keep fewer bits on some architectures


@dataclass(frozen=True)
class Inputs:
    """A (M, K) and B (N, K) as float64, exactly representable in their element types."""

    a: Array
    b: Array

    @property
    def product(self) -> Array:
        result: Array = self.a @ self.b.T
        return result


def coded(probe: GemmProbe) -> Inputs:
    """Small integers that depend on the coordinates: every sum is exact."""
    import numpy as np

    m, n, k = probe.extents
    rows, depth = np.arange(max(m, n))[:, None], np.arange(k)[None, :]
    mixed = (rows * 2654435761 + depth * 40503 + (rows * depth) * 97) >> 5
    low = 0 if "u" in (probe.a.dtype.name[0], probe.b.dtype.name[0]) else -2
    return Inputs((mixed[:m] % 5 + low).astype(np.float64), ((mixed[:n] // 5) % 5 + low).astype(np.float64))


def random(probe: GemmProbe, seed: int) -> Inputs:
    """Random values of the element types."""
    import numpy as np

    generator = np.random.default_rng(seed)
    m, n, k = probe.extents
    return Inputs(
        _random(generator, probe.a.dtype.name, (m, k)),
        _random(generator, probe.b.dtype.name, (n, k)),
    )


def _random(generator: Any, name: str, shape: tuple[int, int]) -> Array:
    import numpy as np

    if name in ("int8_t", "uint8_t", "int32_t", "int"):
        drawn: Array = generator.integers(0 if name[0] == "u" else -64, 64, shape).astype(np.float64)
        return drawn
    if name in _EIGHT:
        table = eight_bit_values(name)
        usable = table[np.isfinite(table) & (np.abs(table) <= 4)]
        chosen: Array = generator.choice(usable, shape)
        return chosen
    values = generator.standard_normal(shape)
    return decode(name, encode(name, values)).reshape(shape)


_EIGHT = {"float_e4m3_t": (4, 3, 7), "float_e5m2_t": (5, 2, 15)}


def eight_bit_values(name: str) -> Array:
    """The value of each of the 256 codes of an 8-bit floating type, NaN where it has none."""
    import numpy as np

    exponent_bits, mantissa_bits, bias = _EIGHT[name]
    out = np.full(256, np.nan)
    for code in range(256):
        exponent, mantissa = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
        full = exponent == (1 << exponent_bits) - 1
        if full and (exponent_bits == 5 or mantissa == 7):
            continue
        size = mantissa / (1 << mantissa_bits)
        value = size * 2.0 ** (1 - bias) if exponent == 0 else (1 + size) * 2.0 ** (exponent - bias)
        out[code] = -value if code & 128 else value
    return out


def encode(name: str, values: Array) -> Array:
    """The elements' bytes, values truncated to the type."""
    import numpy as np

    flat = np.asarray(values, dtype=np.float64).ravel()
    plain = {"half_t": np.float16, "float": np.float32, "double": np.float64, "int8_t": np.int8, "uint8_t": np.uint8,
             "int32_t": np.int32, "int": np.int32}  # fmt: skip
    if name in plain:
        return flat.astype(plain[name]).view(np.uint8)
    if name in ("bfloat16_t", "tfloat32_t"):
        bits = flat.astype(np.float32).view(np.uint32)
        if name == "tfloat32_t":
            bits = bits & np.uint32(0xFFFFE000)
            whole: Array = bits
            return whole.view(np.uint8)
        short: Array = (bits >> np.uint32(16)).astype(np.uint16)
        return short.view(np.uint8)
    if name in _EIGHT:
        table = eight_bit_values(name)
        finite = np.flatnonzero(np.isfinite(table))
        order = finite[np.argsort(table[finite], kind="stable")]
        at = np.clip(np.searchsorted(table[order], flat), 0, len(order) - 1)
        return order[at].astype(np.uint8)
    raise ValueError(f"no GEMM is run on elements of type {name}")


def decode(name: str, data: Array) -> Array:
    """The values of elements given as bytes."""
    import numpy as np

    plain = {"half_t": np.float16, "float": np.float32, "tfloat32_t": np.float32, "double": np.float64,
             "int8_t": np.int8, "uint8_t": np.uint8, "int32_t": np.int32, "int": np.int32}  # fmt: skip
    if name in plain:
        numbers: Array = data.view(plain[name]).astype(np.float64)
        return numbers
    if name == "bfloat16_t":
        widened: Array = (data.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
        return widened.astype(np.float64)
    if name in _EIGHT:
        values: Array = eight_bit_values(name)[data.view(np.uint8)]
        return values
    raise ValueError(f"no GEMM is run on elements of type {name}")


def launch(
    probe: GemmProbe, inputs: Inputs, kernel: str, cubin: Path, flags: int, reps: int = 1, times: int = 0, grid: int = 1
) -> Launch:
    """One launch on the given inputs; bare with ``flags`` 0."""
    d_size = int(probe.d_dtype.bits or 8) // 8 * (known_value(cosize(probe.gmem_d)) or 0)
    return Launch(
        kernel, cubin, probe.block, probe.shared_bytes,
        (
            Number(flags), Number(reps), Number(probe.shared_bytes // 4), Number(0),
            Number(probe.b_offset), Number(probe.d_offset), Number(probe.bar_offset), Number(POISON),
            Buffer(_placed(probe.a.dtype.name, probe.a.gmem, inputs.a)),
            Buffer(_placed(probe.b.dtype.name, probe.b.gmem, inputs.b)),
            Buffer(b"\xff" * d_size, back=True),
            *(
                encoded(tiled, dtype, of) if tiled is not None and is_map(tiled) else None
                for tiled, dtype, of in (
                    (probe.a.copy, probe.a.dtype, 8), (probe.b.copy, probe.b.dtype, 9), (probe.write, probe.d_dtype, 10)
                )
            ),
            Buffer(bytes(8 * probe.block), back=True) if flags or reps > 1 else None,
        ),
        grid, times,
    )  # fmt: skip


def _placed(name: str, layout: Layout, values: Array) -> bytes:
    """A (rows, k) matrix in the memory order of a (rows, k, tiles) layout."""
    import numpy as np

    shape: Any = layout.shape
    places = np.asarray(offsets(layout))
    whole = np.zeros(int(places.max()) + 1)
    tiled = np.zeros((shape[0], shape[2], shape[1]))
    tiled[:, : values.shape[1] // shape[1]] = values.reshape(shape[0], -1, shape[1])
    whole[places] = tiled.transpose(1, 2, 0).ravel()
    # (rows, k, tiles), the first mode fastest, is tiles outermost and rows innermost in C order
    return encode(name, whole).tobytes()


def placed(probe: GemmProbe, product: Array) -> Array:
    """The product as the copies leave it: those with a tiler of their own take and store rows in another order."""
    import numpy as np

    a, b = probe.rows
    flat = product[np.asarray(a)][:, np.asarray(b)].T.ravel()  # by row + M * column
    out = np.empty_like(flat)
    out[np.asarray(probe.places)] = flat
    result: Array = out.reshape(product.shape[1], product.shape[0]).T
    return result


def compare(probe: GemmProbe, inputs: Inputs, launched: Launched, exact: bool) -> str:
    """Empty where the result is right, else what is wrong."""
    import numpy as np

    got = decode(probe.d_dtype.name, np.frombuffer(launched.buffers[0], dtype=np.uint8))
    m, n, _ = probe.extents
    values = got[np.asarray(offsets(probe.gmem_d))].reshape(n, m).T
    expected = placed(probe, inputs.product)
    if not np.all(np.isfinite(values)):
        return f"{int((~np.isfinite(values)).sum())} of {values.size} elements were never written, or read poison"
    if exact and np.abs(expected).max() <= _INTEGERS.get(probe.d_dtype.name, 1 << 24):
        wrong = np.argwhere(values != expected)
        if len(wrong):
            i, j = map(int, wrong[0])
            return f"{len(wrong)} of {values.size} elements differ: D({i},{j}) is {values[i, j]}, not {expected[i, j]}"
        return ""
    error = float(np.linalg.norm(values - expected) / np.linalg.norm(expected))
    limit = max(_TOLERANCE.get(probe.d_dtype.name, 0.0), _EIGHT_BIT_SUM if probe.a.dtype.name in _EIGHT else 0.0)
    return "" if error <= limit else f"relative error {error:.3g} above {limit:.3g}"
