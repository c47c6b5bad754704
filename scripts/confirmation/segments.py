"""Fresh random patterns for the segment model of cp.async.cg: 16 bytes a lane, their sources in global memory."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutecheck.exec.gpu.codegen import Unit
from cutecheck.exec.gpu.compile import compile_units
from cutecheck.exec.gpu.results import Bench
from cutecheck.exec.gpu.run import Buffer, Launch, Number, launch
from cutecheck.model.access import cg_segments

KERNEL = "cc_cp_async_cg"
UNIT = Unit(
    KERNEL,
    '#include "cp_async_cost.hpp"\n'
    f'extern "C" __global__ void __launch_bounds__(32) {KERNEL}(unsigned patterns, unsigned const* shared, '
    "unsigned const* global, unsigned char const* data, long long* cycles) {\n"
    "  cutecheck_gpu::cp_async_cost<true>(patterns, shared, global, data, cycles);\n}\n",
)
_CONTIGUOUS = tuple(16 * i for i in range(32))


@dataclass(frozen=True)
class Pattern:
    family: str
    shared: tuple[int, ...]
    source: tuple[int, ...]


def patterns(count: int, seed: int) -> list[Pattern]:
    """``count`` patterns: contiguous sources two times of three, permuted or split lines otherwise."""
    g = random.Random(seed)
    made = []
    for i in range(count):
        name, shared = _shared(g)
        if i % 3 < 2:
            made.append(Pattern(f"{name}, contiguous source", shared, _CONTIGUOUS))
        else:
            kind, source = _source(g)
            made.append(Pattern(f"{name}, {kind}", shared, source))
    return made


def _shared(g: random.Random) -> tuple[str, tuple[int, ...]]:
    pick = g.randrange(4)
    if pick == 0:  # any permutation of slots in a window
        window = 32 * g.choice([1, 2, 4, 8, 16])
        return "permutation", tuple(16 * s for s in g.sample(range(window), 32))
    if pick == 1:  # linear over exclusive or, as swizzles are
        while True:
            columns = [g.randrange(1, 512) for _ in range(5)]
            slots = [0]
            for c in columns:
                slots += [s ^ c for s in slots]
            if len(set(slots)) == 32:
                return "xor-linear", tuple(16 * s for s in slots)
    if pick == 2:  # rows of a tile in pages
        lanes, pitch = g.choice([4, 8, 16, 32]), g.choice([64, 80, 128, 144, 256, 272, 512])
        page = g.choice([64, 128, 256, 512])
        place = [(i // lanes, 16 * (i % lanes)) for i in range(32)]
        return "pages", tuple(r * pitch + (c // page) * 4096 + c % page for r, c in place)
    stride = 16 * g.choice([1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24])
    return "strided", tuple(i * stride for i in range(32))


def _source(g: random.Random) -> tuple[str, tuple[int, ...]]:
    pick = g.randrange(3)
    if pick == 0:
        return "permuted source", tuple(g.sample(_CONTIGUOUS, 32))
    lanes = g.choice([2, 4, 8, 16])
    pitch = g.choice([128, 256, 512, 1024])
    if pick == 1:
        return "rows of a source", tuple((i // lanes) * max(pitch, lanes * 16) + 16 * (i % lanes) for i in range(32))
    return "half lines", tuple((i // 4) * 128 + 16 * (i % 4) + 64 * g.randrange(2) for i in range(32))


def measure(made: list[Pattern], bench: Bench) -> list[dict[str, Any]] | str:
    """Segments predicted and cycles measured of every pattern (the smaller of three runs); a text without them."""
    cubin = compile_units([UNIT], bench.arch, bench.compiler, bench.cache)[0]
    if cubin.cubin is None:
        return cubin.failure
    launched = [_launch(made, cubin.cubin)] * 3
    got = launch(launched)
    failure = next((one.failure for one in got if one.failure), "")
    if failure:
        return failure
    runs = [[int.from_bytes(one.buffers[0][8 * i : 8 * i + 8], "little") for i in range(len(made))] for one in got]
    return [
        {"family": p.family, "segments": cg_segments(p.shared, p.source), "cycles": min(run[i] for run in runs),
         "shared": list(p.shared), "source": list(p.source)}
        for i, p in enumerate(made)
    ]  # fmt: skip


def _launch(made: list[Pattern], cubin: Path) -> Launch:
    def packed(rows: list[tuple[int, ...]]) -> bytes:
        return b"".join(v.to_bytes(4, "little") for row in rows for v in row)

    return Launch(
        KERNEL, cubin, 32, 64 << 10,
        (Number(len(made)), Buffer(packed([p.shared for p in made])), Buffer(packed([p.source for p in made])),
         Buffer(bytes(1 << 20)), Buffer(bytes(8 * len(made)), back=True)),
    )  # fmt: skip
