"""``python -m cutecheck.tests.model.differential --cases 2000 --seed 1 [--only composition,upcast] [--table]``."""

from __future__ import annotations

import argparse
import sys

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.model.differential.compare import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cutecheck.tests.model.differential")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("--boundary", type=float, default=0.3, help="share of rows with a neighbour")
    parser.add_argument("--only", default="", help="names of functions, separated by commas")
    parser.add_argument("--table", action="store_true", help="print the rows compared of each function")
    options = parser.parse_args()
    headers = find_headers()
    if isinstance(headers, NoHeaders):
        print(headers.reason, file=sys.stderr)
        return 2
    names = tuple(filter(None, options.only.split(",")))
    tally = run(headers, options.cases, options.seed, options.batch, names, options.boundary)
    for m in tally.mismatches:
        print(m)
    if options.table:
        print(tally.table())
    accepted, refused = tally.accepted.total(), tally.refused.total()
    print(f"CUTLASS {headers.version}: {accepted} accepted, {refused} refused, {len(tally.mismatches)} mismatches")
    return 1 if tally.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
