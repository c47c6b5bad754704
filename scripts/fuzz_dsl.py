#!/usr/bin/env python3
"""Mutated DSL sources through ``cutecheck check``: no exception, no hang, valid JSON.

    python scripts/fuzz_dsl.py [--count 500] [--seed 1] [--seconds 60] PATH...

A mutant that raises, reports an internal error or takes longer than ``--seconds`` of CPU time is written to
``fuzz-failure-N.py`` and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from cutecheck.source.discover import discover
from cutecheck.tests.source.dsl.mutants import mutate, problem


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--max-size", type=int, default=60_000)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    files = [f for f in discover(args.paths).files if f.cute and f.path.endswith(".py")]
    texts = [t for f in files if len(t := f.file.read_text(errors="replace")) <= args.max_size]
    failures, total, slowest = 0, 0.0, 0.0
    for number in range(args.count):
        text = mutate(rng.choice(texts), rng.choice(texts), rng)
        began = time.process_time()
        found = problem(text)
        took = time.process_time() - began
        total, slowest = total + took, max(slowest, took)
        if not found and took > args.seconds:
            found = f"{took:.1f} s"
        if found:
            failures += 1
            Path(f"fuzz-failure-{number}.py").write_text(text, errors="surrogatepass")
            print(f"mutant {number}: {found}", file=sys.stderr)
    print(f"{args.count} mutants of {len(texts)} files: {failures} failures, {total:.0f} s, slowest {slowest:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
