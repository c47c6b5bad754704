"""Recorded sites of DSL kernels against what cutecheck extracts: ``python scripts/dsl_kernels_report.py TABLE TREE``.

TABLE is a JSON file of recorded sites (``path``, ``line``, ``call``, ``variants`` with ``result``); TREE the checkout
they were recorded in. Every Python file of TREE's named folders is run as a script. Printed: sites found, resolved with
a recorded value, resolved with other values only, unknown, missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from cutecheck.source.dsl.extract import runs
from cutecheck.source.eval.budget import Limits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--repo", required=True, help="the repository of the table that TREE is a checkout of")
    parser.add_argument("--drivers", nargs="*", default=[""], help="folders of TREE to run, default all")
    parser.add_argument("--steps", type=int, default=Limits().steps_per_root)
    parser.add_argument("-v", "--verbose", action="store_true", help="list the sites that do not agree")
    arguments = parser.parse_args()
    sys.setrecursionlimit(20000)
    wanted = [s for s in json.loads(arguments.table.read_text())["sites"] if s["repo"] == arguments.repo]
    files = {p.relative_to(arguments.tree).as_posix(): p for p in sorted(arguments.tree.rglob("*.py"))}
    drivers = [p for p in files if any(p.startswith(d) for d in arguments.drivers)]
    archs = sorted({s["arch"] for s in wanted})
    own: dict[str, set[str]] = defaultdict(set)
    for s in wanted:
        own[os.path.normpath(s["path"])].add(s["arch"])
    found: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    unknown: dict[tuple[str, int, str], str] = {}
    for path in drivers:
        for _, driver in runs(files, [path], (arguments.tree,), tuple(sorted(own.get(path, archs[:1]))),
                              Limits(steps_per_root=arguments.steps)):  # fmt: skip
            for site in driver.recorder.sites.values():
                key = (site.span.path, site.span.line, site.call)
                if site.status == "resolved":
                    found[key].add(_text(site.result))
                else:
                    unknown.setdefault(key, str(site.reason))
    counts = {"sites": 0, "resolved": 0, "other values": 0, "unknown": 0, "missing": 0}
    for s in wanted:
        counts["sites"] += 1
        key = (os.path.normpath(s["path"]), s["line"], s["call"])
        expected = {_text(v["result"]) for v in s["variants"]}
        status = _status(expected, found.get(key, set()), key in unknown)
        counts[status] += 1
        if arguments.verbose and status != "resolved":
            print(f"{key[0]}:{key[1]}: {key[2]}: {status} {unknown.get(key, '')}")
    print(", ".join(f"{name} {n}" for name, n in counts.items()))
    return 0 if counts["resolved"] >= 0.9 * counts["sites"] else 1


def _status(expected: set[str], found: set[str], unknown: bool) -> str:
    if expected & found:
        return "resolved"
    if found:
        return "other values"
    return "unknown" if unknown else "missing"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
