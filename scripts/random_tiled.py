#!/usr/bin/env python3
"""Random tiled copies and MMAs: what cutecheck says of them against what CuTe's own headers print.

    python scripts/random_tiled.py [--count 1000] [--seed 0] [--deep 0.1] [--minutes 60] [--reasons] [--show SEED]

Every configuration builds TiledCopies (``make_tiled_copy``, ``make_cotiled_copy``, ``make_tiled_copy_A`` ...) or a
TiledMMA of random operations and layouts; a share of them (``--deep``) partitions random tensors with each. A host
compiler prints every object, layout, offset and coordinate for several threads; each must be what ``cutecheck facts``
has. A wrong one goes to ``random-tiled-SEED.cu``, and the exit status is 1. What CuTe refuses to compile must end in a
value or a reason. Needs g++ and the headers; a second of the compiler for each, six for a deep one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.source.random_tiled.compare import differences, facts_of, reason_in, said, text
from cutecheck.tests.source.random_tiled.configs import Config
from cutecheck.tests.source.random_tiled.reference import Compiler


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--deep", type=float, default=0.1, help="share of the configurations with partitions")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no batch after so long")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--show", type=int, default=None)
    options = parser.parse_args()
    if options.show is not None:
        print(text(Config(options.show, options.deep)))
        return 0
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(headers.reason)
        return 2
    total: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    done = wrong = refused = agreed = objects = deep = 0
    spent, end = 0.0, time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "k"
        own.mkdir()
        compiler = Compiler(headers, Path(folder))
        for first in range(options.seed, options.seed + options.count, options.batch):
            if time.monotonic() > end:
                break
            seeds = range(first, min(first + options.batch, options.seed + options.count))
            configs = [Config(s, options.deep) for s in seeds]
            done += len(configs)
            results = compiler.run(configs)
            started = time.process_time()
            facts = facts_of(configs, own)
            spent += time.process_time() - started
            for error in facts.errors:
                wrong += "internal" in error.message
                print(f"{error.path}: {error.message}", flush=True)
            known = said(configs, facts)
            for config in configs:
                shown = results.get(config.seed, "nothing shown")
                if isinstance(shown, str):
                    refused += 1
                    refusals[shown] += 1
                    agreed += reason_in(config, known)
                    continue
                objects += config.kernel.count("config(")
                deep += config.deep
                lines, counts = differences(shown, known)
                total += counts
                if lines:
                    wrong += 1
                    Path(f"random-tiled-{config.seed}.cu").write_text(text(config))
                    print(f"{config.seed}: {len(lines)} wrong, the first: {lines[0]}", flush=True)
    unknown = sum(n for reason, n in total.items() if reason.startswith("unknown"))
    print(
        f"{done} kernels, of which CuTe refuses {refused} (cutecheck has a reason in {agreed} of them); in the others "
        f"{objects} tiled copies and MMAs, {deep} kernels with partitions; {wrong} wrong; of {sum(total.values())} "
        f"shown values {total['right']} are right, {total['wrong']} wrong, {unknown} unknown, {total['not met']} "
        f"not met; {spent:.0f} CPU s in cutecheck"
    )
    if options.reasons:
        for reason, count in [*total.most_common(30), *refusals.most_common(30)]:
            print(f"{count:6} {reason[:200]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
