"""Recorded sites of DSL kernels against what cutecheck extracts: ``python scripts/dsl_kernels_report.py TABLE TREE``.

TABLE is a JSON file of recorded sites (``path``, ``line``, ``call``, ``arch``, ``variants`` with ``args``, ``kwargs``,
``result``), as ``scripts/dsl_recorder/record.py`` prints it; TREE the checkout they were recorded in. The Python files
of TREE under ``--drivers`` are run as scripts, then the bindings of ``--bindings``. Printed: sites resolved with a
recorded value, resolved with other values only, unknown (with the most frequent reasons), missing; and *wrong*: sites
where a call with exactly the recorded arguments gave another result.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import tomllib

from cutecheck.facts import Unknown
from cutecheck.source.dsl import sites
from cutecheck.source.dsl.extract import Runner
from cutecheck.source.eval.intrinsics.dsl_show import show
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.values import Object

_SPAN = re.compile(r" \([^()]*:\d+:\d+\)$")
Key = tuple[str, int, str, str]  # path, line, call, architecture


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--repo", required=True, help="the repository of the table that TREE is a checkout of")
    parser.add_argument("--drivers", nargs="*", default=[""], help="folders of TREE to run, default all")
    parser.add_argument("--bindings", type=Path, help="a TOML file with `[tool.cutecheck] instantiate`")
    parser.add_argument("--steps", type=int, default=Limits().steps_per_root)
    parser.add_argument("--every-arch", action="store_true", help="also drivers without sites of their own")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the sites that do not agree, with values")
    arguments = parser.parse_args()
    sys.setrecursionlimit(20000)
    wanted = [s for s in json.loads(arguments.table.read_text())["sites"] if s["repo"] == arguments.repo]
    files = {p.relative_to(arguments.tree).as_posix(): p for p in sorted(arguments.tree.rglob("*.py"))}
    drivers = [p for p in files if any(p.startswith(d) for d in arguments.drivers)]
    every = {s["arch"] for s in wanted} if arguments.every_arch else set()
    own: dict[str, set[str]] = defaultdict(set)
    for s in wanted:
        own[os.path.normpath(s["path"])].add(s["arch"])
    found: dict[Key, set[str]] = defaultdict(set)
    unknown: dict[Key, str] = {}
    bindings = [] if arguments.bindings is None else _bindings(arguments.bindings)
    limits = Limits(steps_per_root=arguments.steps)
    called: dict[Key, set[tuple[str, str]]] = defaultdict(set)
    _listen(called)

    def collect(run: Any) -> None:
        for _, driver in run:
            for cut in driver.cut:
                print(f"cut: {cut.reason} ({cut.span})", file=sys.stderr)
            for site in driver.recorder.sites.values():
                key = (site.span.path, site.span.line, site.call, site.arch)
                if site.status == "resolved":
                    found[key].add(_text(site.result))
                else:
                    unknown[key] = str(site.reason)

    for path in drivers:
        collect(Runner(files, (arguments.tree,), tuple(sorted(own.get(path, every))), limits).script(path))
    for text in bindings:
        start = time.process_time()
        collect(Runner(files, (arguments.tree,), (), limits).bound([], [text]))
        print(f"{time.process_time() - start:.1f} s {text[:150]}", file=sys.stderr)
    reasons: Counter[str] = Counter()
    counts = {"sites": 0, "resolved": 0, "other values": 0, "unknown": 0, "missing": 0}
    wrong = 0
    for s in wanted:
        counts["sites"] += 1
        key = (os.path.normpath(s["path"]), s["line"], s["call"], s["arch"])
        expected = {_text(v["result"]) for v in s["variants"]}
        status = _status(expected, found.get(key, set()), key in unknown)
        counts[status] += 1
        if status in ("unknown", "missing"):
            reasons[_SPAN.sub("", unknown.get(key, "no value: nothing calls it, or its file was cut"))] += 1
        if arguments.verbose and status != "resolved":
            print(f"{key[0]}:{key[1]}: {key[2]} {key[3]}: {status} {unknown.get(key, '')}")
            if status == "other values":
                for name, values in (("recorded", expected), ("found", found[key])):
                    for value in sorted(values)[:6]:
                        print(f"    {name} {value[:300]}")
        by_args = {_text([v["args"], v["kwargs"]]): _text(v["result"]) for v in s["variants"]}
        differ = [(a, r) for a, r in called.get(key, ()) if a in by_args and by_args[a] != r]
        wrong += bool(differ)
        for a, r in differ:
            print(f"wrong: {key}: {a[:200]}: {r[:400]} instead of {by_args[a][:400]}")
    for reason, n in reasons.most_common(15):
        print(f"{n:5} {reason[:140]}")
    print(", ".join(f"{name} {n}" for name, n in counts.items()) + f", wrong {wrong}")
    return 0 if counts["resolved"] >= 0.9 * counts["sites"] and wrong == 0 else 1


def _listen(called: dict[Key, set[tuple[str, str]]]) -> None:
    """Keep the arguments of every recorded call, in the notation of the table."""
    original = sites.named

    def named(m: Any, call: str, args: Any, kwargs: Any, value: Any, shown: Any, span: Any) -> None:
        if not isinstance(value, (Object, Unknown)) and span.path in m.dialect.library.files:
            given = _text([[show(a) for a in args], {k: show(v) for k, v in kwargs.items()}])
            called[(span.path, span.line, call, m.arch)].add(
                (given, _text(shown if shown is not None else show(value)))
            )
        original(m, call, args, kwargs, value, shown, span)

    sites.named = named


def _bindings(path: Path) -> list[str]:
    return list(tomllib.loads(path.read_text())["tool"]["cutecheck"]["instantiate"])


def _status(expected: set[str], found: set[str], unknown: bool) -> str:
    if expected & found:
        return "resolved"
    if found:
        return "other values"
    return "unknown" if unknown else "missing"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


if __name__ == "__main__":
    sys.exit(main())
