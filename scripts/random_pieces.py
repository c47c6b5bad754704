#!/usr/bin/env python3
"""Random pieces of kernels: what cutecheck says of their tensors and objects against what CuTe's own headers print.

    python scripts/random_pieces.py KIND [--count 500] [--seed 0] [--reasons] [--show SEED]

KIND is views, atoms, ... A host compiler prints every object, layout, offset and number for several threads; each must be
what ``cutecheck facts`` has. A wrong one goes to ``random-KIND-SEED.cu``, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.source.random_pieces import KINDS, piece
from cutecheck.tests.source.random_pieces.reference import Compiler
from cutecheck.tests.source.random_tiled.compare import differences, facts_of, reason_in, said, text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--show", type=int, default=None)
    options = parser.parse_args()
    if options.show is not None:
        print(text(piece(options.kind, options.show)))
        return 0
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(headers.reason)
        return 2
    total: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    wrong = refused = agreed = 0
    spent = 0.0
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "k"
        own.mkdir()
        compiler = Compiler(headers, Path(folder))
        for first in range(options.seed, options.seed + options.count, options.batch):
            pieces = [
                piece(options.kind, s) for s in range(first, min(first + options.batch, options.seed + options.count))
            ]
            results = compiler.run(pieces)
            started = time.process_time()
            facts = facts_of(pieces, own)
            spent += time.process_time() - started
            for error in facts.errors:
                wrong += "internal" in error.message
                print(f"{error.path}: {error.message}", flush=True)
            known = said(pieces, facts)
            for one in pieces:
                shown = results.get(one.seed, "nothing shown")
                if isinstance(shown, str):
                    refused += 1
                    refusals[shown] += 1
                    agreed += reason_in(one, known)
                    if not reason_in(one, known):
                        print(f"{one.seed}: CuTe refuses it, cutecheck has no reason: {shown[:150]}")
                    continue
                lines, counts = differences(shown, known)
                total += counts
                for reason in counts:
                    if options.reasons and reason not in ("right", "wrong"):
                        print(f"{one.seed}: {reason[:200]}")
                if lines:
                    wrong += 1
                    Path(f"random-{options.kind}-{one.seed}.cu").write_text(text(one))
                    print(f"{one.seed}: {len(lines)} wrong, the first: {lines[0]}", flush=True)
    unknown = sum(n for reason, n in total.items() if reason.startswith("unknown"))
    print(
        f"{options.count} pieces, of which CuTe refuses {refused} (cutecheck has a reason in {agreed} of them); {wrong} "
        f"wrong; of {sum(total.values())} shown values {total['right']} are right, {total['wrong']} wrong, {unknown} "
        f"unknown, {total['not met']} not met; {spent:.0f} CPU s in cutecheck"
    )
    if options.reasons:
        for reason, count in [*total.most_common(30), *refusals.most_common(30)]:
            print(f"{count:6} {reason[:200]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
