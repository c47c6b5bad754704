#!/usr/bin/env python3
"""Mutated DSL sources through ``cutecheck check``: no exception, no hang, bounded memory, valid JSON.

    python scripts/fuzz_dsl.py [--count 500] [--start 0] [--seed 1] [--seconds 60] [--memory 3072] [--log FILE] PATH...

A mutant depends on the seed and its number alone, so that slices of a run (``--start``) are the run. One that raises,
reports an internal error, takes longer than ``--seconds`` of CPU time or needs more than ``--memory`` MiB is written to
``fuzz-failure-SEED-N.py``, with where it was when it was stopped, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from cutecheck.source.discover import discover
from cutecheck.source.eval.budget import memory_mib
from cutecheck.tests.source.dsl.mutants import mutate, problem


class TimeIsUp(BaseException):
    """Raised when the time is used up; nothing that a check catches."""


def _alarm(*_: object) -> None:
    raise TimeIsUp


def tried(text: str, seconds: float) -> str:
    """What was wrong with the check of a mutant, or nothing."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return problem(text)
    except (TimeIsUp, MemoryError) as error:
        at = traceback.extract_tb(error.__traceback__)[-6:]
        places = " > ".join(f"{Path(f.filename).name}:{f.lineno}" for f in at)
        return f"{type(error).__name__} after {seconds:.0f} s or in {memory_mib()} MiB ({places})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _peak() -> int:
    """MiB of memory that this process held at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--memory", type=int, default=3072, help="address space in MiB")
    parser.add_argument("--max-size", type=int, default=60_000)
    parser.add_argument("--log", type=Path, help="a line for each mutant: file, seconds, memory in use")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (args.memory << 20, args.memory << 20))
    signal.signal(signal.SIGPROF, _alarm)
    files = [f for f in discover(args.paths).files if f.cute and f.path.endswith(".py")]
    texts = [(f.path, t) for f in files if len(t := f.file.read_text(errors="replace")) <= args.max_size]
    failures, total, slowest = 0, 0.0, 0.0
    log = args.log.open("a", buffering=1) if args.log else None
    for number in range(args.start, args.start + args.count):
        rng = random.Random(f"{args.seed}:{number}")
        path, base = rng.choice(texts)
        text = mutate(base, rng.choice(texts)[1], rng)
        began = time.process_time()
        found = tried(text, args.seconds)
        took = time.process_time() - began
        total, slowest = total + took, max(slowest, took)
        if log is not None:
            print(number, path, f"{took:.2f} s", f"{memory_mib()} MiB, peak {_peak()}", found, file=log)
        if found:
            failures += 1
            Path(f"fuzz-failure-{args.seed}-{number}.py").write_text(text, errors="surrogatepass")
            print(f"mutant {number} of {path}: {found}", file=sys.stderr)
    print(
        f"{args.count} mutants of {len(texts)} files: {failures} failures, {total:.0f} s CPU, slowest {slowest:.1f} s, "
        f"peak {_peak()} MiB"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
