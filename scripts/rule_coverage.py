"""What each rule has to prove on each tree: ``python scripts/rule_coverage.py NAME=PATH... [--config NAME=FILE]``.

Counted are the different obligations that a rule asks the prover for; nothing is proved, so that what a rule asks only
after a first answer is left out. Rules that ask for nothing on any of the trees have no row; their pages say why.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import tomllib

from cutecheck.facts import Facts
from cutecheck.model.prove.obligation import Obligation, Outcome, Verdict
from cutecheck.rules.base import Context
from cutecheck.rules.registry import RULES
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--config", action="append", default=[], metavar="NAME=FILE")
    arguments = parser.parse_args()
    sys.setrecursionlimit(20000)
    configs = dict(c.split("=", 1) for c in arguments.config)
    rows: dict[str, dict[str, int]] = {r.code: {} for r in RULES}
    names = []
    for item in arguments.trees:
        name, path = item.split("=", 1)
        names.append(name)
        bindings = ()
        if name in configs:
            bindings = tuple(tomllib.loads(Path(configs[name]).read_text())["tool"]["cutecheck"]["instantiate"])
        facts = extract(ExtractRequest((Path(path),), instantiate=bindings))
        for code, count in posed(facts).items():
            rows[code][name] = count
    print("| rule | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for rule in RULES:
        counts = [rows[rule.code].get(n, 0) for n in names]
        if any(counts):
            print(f"| {rule.code} {rule.name} | " + " | ".join(str(c or "") for c in counts) + " |")
    return 0


def posed(facts: Facts) -> Counter[str]:
    """Different obligations by rule."""
    seen: set[tuple[str, Obligation]] = set()
    current = ""

    def prover(obligation: Obligation) -> Outcome:
        return Outcome(obligation, Verdict.UNKNOWN, reason="not asked")

    class Counting(Context):
        def prove(self, obligation: Obligation) -> Outcome:
            seen.add((current, obligation))
            return prover(obligation)

    context = Counting(facts, prover)
    for cls in RULES:
        rule, current = cls(), cls.code
        for hook, items in (
            (rule.on_site, facts.sites),
            (rule.on_event, facts.events),
            (rule.on_buffer, facts.buffers),
            (rule.on_launch, facts.launches),
            (rule.on_call, facts.calls),
            (rule.on_lint, facts.lints),
        ):
            for fact in items:
                for _ in hook(fact, context):  # type: ignore[operator]
                    pass
    return Counter(code for code, _ in seen)


if __name__ == "__main__":
    raise SystemExit(main())
