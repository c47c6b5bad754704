#!/usr/bin/env python3
"""A random sample of the configuration sites that nothing in a tree uses (*unbound*), for a check by hand.

    python scripts/unbound_sites.py [--count 50] [--seed 4] [-I DIR]... NAME=PATH...

One line a site: tree, file:line, what is spelled there, cutecheck's reason, and the line itself. docs/unbound-sites.md
holds the verdicts on a sample of this seed.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts
from cutecheck.facts import Site

RANK = ("resolved", "symbolic", "unknown", "unbound", "dead")


def best(sites: tuple[Site, ...]) -> list[Site]:
    """Every place once, at its best status."""
    found: dict[tuple[str, int, int], Site] = {}
    for site in sites:
        key = (site.span.path, site.span.line, site.span.column)
        if key not in found or RANK.index(site.status) < RANK.index(found[key].status):
            found[key] = site
    return [found[key] for key in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("trees", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("-I", dest="include", action="append", default=[])
    args = parser.parse_args()
    for item in args.trees:
        name, _, path = item.partition("=")
        facts = extract_facts([Path(path)], Settings(include=tuple(args.include), compile_commands="none"))
        unbound = [s for s in best(facts.sites) if s.status == "unbound"]
        chosen = random.Random(args.seed).sample(unbound, min(args.count, len(unbound)))
        print(f"{name}: {len(unbound)} unbound of {len(best(facts.sites))}, {len(chosen)} shown")
        for site in sorted(chosen, key=lambda s: s.span):
            reason = site.reason.reason if site.reason is not None else ""
            print(f"  {site.span.path}:{site.span.line} {site.kind} {site.symbol[-60:]}: {reason}")


if __name__ == "__main__":
    main()
