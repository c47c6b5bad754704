#!/usr/bin/env python3
"""Mutated real files through the C++ front end: no exception, no hang, bounded memory.

    python scripts/fuzz_cpp.py [--check] [--count 20000] [--seed 1] [--seconds 2] PATH...

Every mutant is loaded and lowered whole; with ``--check`` it is judged as `cutecheck check` does, alone in a
folder. A crash, an internal error, or a mutant that takes longer than ``--seconds`` of CPU time for each 100 kB (ten
times that for a check) is written to ``fuzz-failure-SEED-N.cu`` and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cpp_frontend_report import nodes

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.source.cpp import Defines, load
from cutecheck.source.cpp.words import words
from cutecheck.source.discover import discover

_SIGNS = words("< > ( ) { } [ ] , ; :: = && ... - * <<< >>> ' /* */ // 0x 1' Int< decltype( [&]{ asm( R\"(")
_WORDS = words("template typename operator class using requires struct if constexpr new friend case default: enum auto")
_OTHERS = ['"', "\\\n", "#if 1\n", "#endif\n", "#define f(x) f(x) x\n", "#define A A B\n", "\0", "\u00e9"]
PIECES = [*sorted(_SIGNS | _WORDS), *_OTHERS]


def mutate(text: str, other: str, rng: random.Random) -> str:
    """A few edits: deletions, doublings, swaps, foreign lines, stray tokens, truncation."""
    for _ in range(rng.randint(1, 8)):
        if not text:
            return text
        a = rng.randrange(len(text))
        b = min(len(text), a + int(rng.paretovariate(0.7)))
        match rng.randrange(7):
            case 0:
                text = text[:a] + text[b:]
            case 1:
                text = text[:a] + text[a : a + 2000] + text[a:]
            case 2:
                text = text[:a] + rng.choice(PIECES) + text[a:]
            case 3:
                text = text[:a] + rng.choice(PIECES) * rng.randint(2, 400) + text[a:]
            case 4:
                c = rng.randrange(len(other) or 1)
                text = text[:a] + other[c : c + rng.randint(1, 3000)] + text[a:]
            case 5:
                text = text[:a] if rng.random() < 0.3 else text[:a] + text[b:] + text[a:b]
            case _:
                text = text[:a] + chr(rng.choice([*range(32, 127), 0, 9, 10, 233])) + text[a + 1 :]
    return text


def lowered(text: str, arch: str) -> int:
    """Number of IR nodes of the text, everything lowered."""
    return sum(1 for _ in nodes(load("fuzz.cu", text.encode("utf-8", "surrogatepass"), Defines(arch))))


def checked(text: str, folder: Path) -> str:
    """What is wrong with the check of a text."""
    file = folder / "mutant.cu"
    file.write_text(text, errors="replace")
    report = check(inputs([str(file)]), Settings(cache=False, file_timeout=60, jobs=1))
    return next((e.message for e in report.failures), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--max-size", type=int, default=40_000)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    rng = random.Random(args.seed)
    files = [f for f in discover(args.paths).files if f.cute and not f.path.endswith(".py")]
    texts = [t for f in files if len(t := f.file.read_text(errors="replace")) <= args.max_size]
    failures, total, slowest = 0, 0.0, (0.0, 0)
    scratch = tempfile.TemporaryDirectory()
    folder = Path(scratch.name)
    for number in range(args.count):
        text = mutate(rng.choice(texts), rng.choice(texts), rng)
        began = time.process_time()
        problem = ""
        arch = rng.choice(["", "sm_80", "sm_90a", "sm_100a"])
        try:
            if args.check:
                problem = checked(text, folder)
            else:
                lowered(text, arch)
        except Exception:
            problem = traceback.format_exc(limit=-8)
        spent = time.process_time() - began
        total += spent
        slowest = max(slowest, (spent, len(text)))
        allowed = args.seconds * (10 if args.check else 1) * max(1.0, len(text) / 1e5)
        if not problem and spent > allowed:
            problem = f"took {spent:.1f} s"
        if problem:
            failures += 1
            Path(f"fuzz-failure-{args.seed}-{number}.cu").write_text(text, errors="surrogatepass")
            print(f"mutant {number} ({len(text)} characters): {problem}", flush=True)
            if failures >= 20:
                break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{args.count} mutants of {len(texts)} files: {failures} failures, {total:.0f} s CPU, slowest {slowest[0]:.2f} "
        f"s ({slowest[1]} characters), peak {peak:.0f} MiB"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
