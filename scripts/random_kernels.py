#!/usr/bin/env python3
"""Random kernels: what cutecheck resolves against what a host compiler with CuTe's own headers prints.

    python scripts/random_kernels.py [--count 500] [--seed 0] [--size 9] [--features assign,object,...]

Every program is compiled, run for five threads and four pairs of arguments, and each call of `seen` (the place and
layout of a tensor) is held against the events that cutecheck has at that place. A value that no event covers is
wrong: the program goes to `random-kernel-SEED.cu`, and the exit status is 1. Needs g++ and the headers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.source.random_kernels.compare import differences, text
from cutecheck.tests.source.random_kernels.programs import Program
from cutecheck.tests.source.random_kernels.reference import Compiler

BATCH = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--features", default="")
    options = parser.parse_args()
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(headers.reason)
        return 2
    features = frozenset(options.features.split(",")) if options.features else None
    known: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    wrong = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "k"
        own.mkdir()
        compiler = Compiler(headers, Path(folder))
        end = options.seed + options.count
        for first in range(options.seed, end, BATCH):
            programs = [Program(s, features, options.size) for s in range(first, min(first + BATCH, end))]
            results = compiler.run(programs)
            for program in programs:
                shown = results[program.seed]
                if isinstance(shown, str):
                    kind = shown.split(":", 1)[0] if shown.startswith(("overflows", "does not")) else "does not compile"
                    skipped[kind] += 1
                    continue
                started = time.process_time()
                lines, counts = differences(program, shown, own)
                slowest = max(slowest, time.process_time() - started)
                known += counts
                if lines:
                    wrong += 1
                    Path(f"random-kernel-{program.seed}.cu").write_text(text(program))
                    print(f"{program.seed}: {len(lines)} wrong, the first: {lines[0]}", flush=True)
    print(
        f"{options.count} programs, {sum(skipped.values())} left out {dict(skipped)}; {wrong} wrong; shown values: "
        f"{dict(known)}; slowest {slowest:.1f} CPU s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
