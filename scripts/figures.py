"""Figures of cutecheck on source trees: sites by status, events, obligations by property and verdict.

    python scripts/figures.py [--markdown FILE] [-I DIR]... [--bindings FILE] [--unresolved] NAME=PATH[,PATH...]...

Each tree is checked by ``cutecheck check --output-format json`` in a process of its own; CPU seconds are of that one.
``--bindings`` is a TOML file with ``[tool.cutecheck] instantiate``. ``--unresolved`` ranks why sites and events stay
unknown or unbound, from ``cutecheck facts``.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import tomllib

from cutecheck.model.prove.properties import PROPERTY_NAMES

_PLACE = re.compile(r" \([^()]*:\d+:\d+\)|#\d+")
_NAMED = re.compile(r"`[^`]*`")
STATUSES = ("resolved", "symbolic", "unknown", "unbound", "dead")
VERDICTS = ("proved", "refuted", "unknown", "assumed", "vacuous", "disagree")


def check(paths: list[str], extra: list[str], what: str = "check") -> tuple[dict[str, Any], float]:
    """The JSON report of one tree and the CPU seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "cutecheck", what, *paths, "--output-format", "json", *extra]
    command += ["--exit-zero"] if what == "check" else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout:
        raise SystemExit(f"{paths}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    for error in report.get("errors", ()):  # what is missing from the figures, such as a process that died
        print(f"{error['path']}: {error['message']}", file=sys.stderr)
    return report, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def by_property(counted: dict[str, Counter[tuple[str, str]]]) -> list[list[str]]:
    """Obligations by verdict for every tree and property; what a tree has none of is said in one row."""
    kinds = sorted(set(PROPERTY_NAMES.values()) | {kind for counts in counted.values() for kind, _ in counts})
    rows = []
    for name, counts in counted.items():
        found = {kind for kind, _ in counts}
        rows += [[name, kind, *(str(counts[kind, v]) for v in VERDICTS)] for kind in kinds if kind in found]
        none = ", ".join(kind for kind in kinds if kind not in found)
        rows.append([name, f"none generated: {none}", *[""] * len(VERDICTS)])
    return rows


def unresolved(name: str, facts: dict[str, Any]) -> list[list[str]]:
    """Why sites and events are not known, the most frequent reasons first; names and places are left out."""
    open_ = [s["reason"] for s in facts["sites"] if s["status"] in ("unknown", "unbound")]
    rows = []
    for kind, given in (("sites", open_), ("events", [e["reason"] for e in facts["events"]])):
        texts = [r["message"] if isinstance(r, dict) else str(r) for r in given if r]
        reasons = Counter(_NAMED.sub("`...`", _PLACE.sub("", t)).split(";")[0][:110] for t in texts)
        rows += [[name, kind, str(n), why.replace("|", "\\|")] for why, n in reasons.most_common(8)]
    return rows


def main() -> None:
    """Check the named trees and print (or write) the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("-I", dest="include", action="append", default=[])
    parser.add_argument("--instantiate", action="append", default=[])
    parser.add_argument("--bindings", type=Path)
    parser.add_argument("--unresolved", action="store_true")
    arguments = parser.parse_args()
    if arguments.bindings is not None:
        arguments.instantiate += tomllib.loads(arguments.bindings.read_text())["tool"]["cutecheck"]["instantiate"]
    sites, reasons, open_ = [], [], []
    counted: dict[str, Counter[tuple[str, str]]] = {}
    for item in arguments.trees:
        name, _, path = item.partition("=")
        extra = [f"--instantiate={t}" for t in arguments.instantiate] + [f"-I{d}" for d in arguments.include]
        report, seconds = check(path.split(","), extra)
        summary = report["summary"]
        found = summary["sites"]
        events = summary["events"]
        bound = sum(found.get(s, 0) for s in ("resolved", "symbolic", "unknown"))
        share = f"{100 * found.get('resolved', 0) / bound:.1f}%" if bound else "-"
        verdicts = summary["obligations"]
        sites.append(
            [name, str(found["found"]), *(str(found.get(s, 0)) for s in STATUSES), share]
            + [f"{events['found'] - events['unknown']} of {events['found']}", str(sum(verdicts.values()))]
            + [str(verdicts.get(v, 0)) for v in VERDICTS]
            + [str(sum(summary["findings"].values())), f"{seconds:.0f}"]
        )
        counts = Counter((o["property"], o["verdict"]) for o in report["obligations"])
        counted[name] = counts
        unknown = Counter(
            (o.get("reason") or "").split(";")[0][:110] for o in report["obligations"] if o["verdict"] == "unknown"
        )
        if arguments.unresolved:
            open_ += unresolved(name, check(path.split(","), extra, "facts")[0])
        reasons += [[name, str(n), why.replace("|", "\\|")] for why, n in unknown.most_common(5)]
    header = ["tree", "sites", *STATUSES, "resolved of bound", "events with operands", "obligations", *VERDICTS]
    text = "\n\n".join(
        [
            table([*header, "findings", "CPU s"], sites),
            table(["tree", "property", *VERDICTS], by_property(counted)),
            table(["tree", "unknown", "most frequent reasons"], reasons),
            *([table(["tree", "of", "not resolved", "most frequent reasons"], open_)] if open_ else []),
        ]
    )
    if arguments.markdown:
        arguments.markdown.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
