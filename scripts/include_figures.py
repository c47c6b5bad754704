"""Sites and events of trees with CUTLASS's headers on ``-I`` and without: what these add, and whether values agree.

    python scripts/include_figures.py [--verbose] --cutlass CUTLASS NAME=PATH[,PATH...]...

Each tree is read twice by ``cutecheck facts``: with CUTLASS's ``include``, ``tools/util/include`` and
``examples/common`` on ``-I``, and as somebody has it whose repository has no CUTLASS beside it. A place counts at its
best status. Values are compared of every instantiation of a place that both runs resolve, an event's by its operands'
layouts.
``--verbose`` lists what differs, and why what is known with the headers alone is not without.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from figures import table

_INCLUDE = ("include", "tools/util/include", "examples/common")
_ORDER = ("resolved", "symbolic", "unknown", "unbound", "dead")
_RUN_TIME = re.compile(r"\{[^{}]*\}|(?<![\w@.])[A-Za-z_][\w.#~]*(?![\w\[])")
Facts = dict[str, Any]
Place = tuple[str, int, str]


def facts(paths: list[str], include: list[str]) -> Facts:
    command = [sys.executable, "-m", "cutecheck", "facts", "--isolated", "--no-cache", "--compile-commands", "none",
               "--output-format", "json", *(f"-I{d}" for d in include), *paths]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"{paths}: {done.stderr.strip()[-1000:]}")
    found: Facts = json.loads(done.stdout)
    return found


def sites(found: Facts) -> dict[Place, str]:
    """The best status of each place."""
    best: dict[Place, str] = {}
    for s in found["sites"]:
        place = (s["path"], s["line"], s["kind"])
        best[place] = min(best.get(place, "dead"), s["status"], key=_ORDER.index)
    return best


def values(found: Facts) -> dict[Place, set[str]]:
    """What is said of each resolved place, of the names of run-time numbers without."""
    said: dict[Place, set[str]] = defaultdict(set)
    for s in found["sites"]:
        if s["status"] == "resolved":
            said[s["path"], s["line"], s["kind"]].add(_RUN_TIME.sub("?", json.dumps(s["printed"], sort_keys=True)))
    return said


def events(found: Facts) -> dict[Place, set[str]]:
    """The operands of the calls at each place; an empty set where none is known."""
    said: dict[Place, set[str]] = defaultdict(set)
    for e in found["events"]:
        texts = said[e["path"], e["line"], e["kind"]]
        if not e["reason"]:
            texts.add(_RUN_TIME.sub("?", str([(o["space"], (o["layout"] or {}).get("text")) for o in e["operands"]])))
    return said


def reasons(found: Facts, places: set[Place]) -> Counter[str]:
    said: Counter[str] = Counter()
    for s in (*found["sites"], *found["events"]):
        place = (s["path"], s["line"], s["kind"])
        if place in places and s["reason"]:
            places.discard(place)
            said[re.sub(r"`[^`]*`", "`...`", s["reason"]["message"])[:110]] += 1
    said["found with the headers alone"] += len(places)
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("trees", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--cutlass", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rows = []
    for item in options.trees:
        name, _, path = item.partition("=")
        with_, without = (facts(path.split(","), i) for i in ([str(options.cutlass / d) for d in _INCLUDE], []))
        ours, theirs = sites(with_), sites(without)
        known = {p for p, s in ours.items() if s == "resolved"}
        alone = {p for p, s in theirs.items() if s == "resolved"}
        a, b = values(with_), values(without)
        differ = [p for p in known & alone if a[p].isdisjoint(b[p])]
        e, f = events(with_), events(without)
        full, less = ({p for p, said in x.items() if said} for x in (e, f))
        apart = [p for p in full & less if e[p].isdisjoint(f[p])]
        rows.append([
            name, *map(str, (len(known), len(alone), len(known - alone), len(alone - known), len(differ))),
            f"{len(full)} of {len(e)}", f"{len(less)} of {len(f)}", str(len(apart)),
        ])  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
        if options.verbose:
            for place in sorted({*differ, *apart}):
                mine, other = (a, b) if place in differ else (e, f)
                print(
                    "    differs:",
                    *place,
                    "\n        ",
                    sorted(mine[place])[:2],
                    "\n        ",
                    sorted(other[place])[:2],
                )
            for label, found, places in (
                ("without", without, (known - alone) | (full - less)), ("with", with_, (alone - known) | (less - full))
            ):  # fmt: skip
                for reason, times in reasons(found, places).most_common(8):
                    if times:
                        print(f"    {label}: {times} times: {reason}")
    print(table(
        ["tree", "sites resolved with", "without", "with alone", "without alone", "values that differ",
         "events with operands, with", "without", "operands that differ"], rows,
    ))  # fmt: skip


if __name__ == "__main__":
    main()
