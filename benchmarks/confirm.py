"""Time of the host tier for 100 different configurations on two cores: ``python benchmarks/confirm.py``.

A header with 100 members (swizzled layouts, TiledCopies, TiledMMAs) is extracted and confirmed by every route: included
by its own name, rebuilt and spelled. Prints wall-clock seconds, CPU seconds (of all children too) and the load; fails
above 60 seconds of wall clock or where a configuration is not confirmed. Skipped without a host compiler and headers.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.exec.host import HostOptions, confirm
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

BUDGET_SECONDS = 60.0
JOBS = 2
HEAD = "#include <cute/tensor.hpp>\nnamespace cfg {\nusing namespace cute;\n"
LAYOUT = """using Smem{n} = decltype(tile_to_shape(
    composition(Swizzle<{b}, 3, 3>{{}}, Layout<Shape<_8, Int<{k}>>, Stride<Int<{k}>, _1>>{{}}),
    Shape<Int<{m}>, Int<{k}>>{{}}));
"""
COPY = """using Copy{n} = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{{}},
    Layout<Shape<Int<{m}>, Int<{k}>>, Stride<Int<{k}>, _1>>{{}}, Layout<Shape<_1, _8>>{{}}));
"""
MMA = """using Mma{n} = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<Int<{m}>, Int<{k}>, _1>>,
    Tile<Int<{tm}>, Int<{tn}>, _16>>;
"""


def source() -> str:
    """100 configurations, no two alike."""
    out = [HEAD]
    for n in range(40):
        out.append(LAYOUT.format(n=n, b=n % 4, k=64, m=8 * (n + 1)))
    for n in range(30):
        out.append(COPY.format(n=n, m=4 * (n % 6 + 1), k=2 ** (n // 6)))
    for n in range(30):
        m, k = n % 6 + 1, n // 6 + 1
        out.append(MMA.format(n=n, m=m, k=k, tm=16 * m, tn=16 * k))
    return "".join(out) + "}  // namespace cfg\n"


def main() -> int:
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(f"unavailable: {headers.reason}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "many.hpp"
        file.write_text(source(), encoding="utf-8")
        begin, before, load = time.monotonic(), os.times(), os.getloadavg()[0]
        facts = extract(ExtractRequest(paths=(file,), archs=("sm_80",)))
        made = confirm(facts, headers, lambda _: file, HostOptions(jobs=JOBS))
        wall, after = time.monotonic() - begin, os.times()
    wrong = [c for c in made if c.status != "confirmed"]
    cpu = sum(after[:4]) - sum(before[:4])
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"{len(made)} configurations, {sum(len(c.attempts) for c in made)} answers, {JOBS} at a time")
    print(f"{wall:.1f} s of wall clock, {cpu:.1f} s of CPU, largest child {used} MiB (budget {BUDGET_SECONDS:.0f} s)")
    print(f"{os.cpu_count()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    for c in wrong:
        print(f"not confirmed: {c.site.symbol}: {c.reason}")
    return int(bool(wrong) or len(made) != 100 or wall > BUDGET_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
