"""All obligations of FlashAttention-2: ``python benchmarks/flash_traits.py .../csrc/flash_attn [kernels.json]``.

Extracts the sources once, then states and proves every obligation twice in CPU seconds: of the kernel traits alone
(the sites of ``kernel_traits.h`` under every instantiation that the launch templates make), and of the whole project.
``proving`` is time inside the prover, with two engines for each distinct question; the rest of ``rules`` states them.
With a table of what CuTe prints (entries with ``path``, ``line``, ``template_args``) it says how many of the table's
instantiations of the traits were among them.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.check import check_facts
from cutecheck.engine.run import extract_facts
from cutecheck.facts import Facts
from cutecheck.model.prove import Obligation, Options, Outcome, prove
from cutecheck.rules import selected

TRAITS = "kernel_traits.h"
BUDGET_S = 2.0


def measured(name: str, facts: Facts) -> float:
    """One line of figures; the CPU seconds spent proving."""
    options = Options(cache={})
    proving = 0.0

    def prover(obligation: Obligation) -> Outcome:
        nonlocal proving
        started = time.process_time()
        outcome = prove(obligation, options)
        proving += time.process_time() - started
        return outcome

    started = time.process_time()
    report = check_facts(facts, selected(), prover, lambda _: None)
    total = time.process_time() - started
    verdicts = dict(Counter(o.verdict.value for o in report.outcomes))
    distinct = len(options.cache or {})
    count = len(report.outcomes)
    print(f"{name:16} {count:6} obligations, {distinct} questions: rules {total:.2f} s, of it proving {proving:.2f} s")
    print(f"{'':16} {verdicts}")
    return proving


def arguments_of(text: str) -> str:
    """Template arguments as both sides spell them."""
    return "".join(text.split(" (", maxsplit=1)[0].replace("cutlass::", "").replace("cute::", "").split())


def compare(facts: Facts, table: Path) -> None:
    """How many instantiations of the traits in the table were extracted."""
    entries = json.loads(table.read_text(encoding="utf-8"))["entries"]
    wanted = {arguments_of(e["template_args"]) for e in entries if e["path"].endswith(TRAITS)}
    texts = {site.site_id for site in facts.sites if site.span.path.endswith(TRAITS)}
    spelled = "\n".join(arguments_of(t.replace(" (", "(")) for t in texts)
    met = sum(w in spelled for w in wanted)
    print(f"instantiations of the table among them: {met} of {len(wanted)}")


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    started = time.process_time()
    facts = extract_facts([Path(sys.argv[1])], Settings())
    print(f"extraction {time.process_time() - started:.1f} s")
    sites = tuple(s for s in facts.sites if s.span.path.endswith(TRAITS))
    if not sites:
        print(f"no {TRAITS} in {sys.argv[1]}")
        return 2
    if len(sys.argv) > 2:
        compare(facts, Path(sys.argv[2]))
    proving = measured("kernel traits", replace(facts, sites=sites, events=(), buffers=(), launches=(), calls=()))
    measured("whole project", facts)
    return 1 if proving > BUDGET_S else 0


if __name__ == "__main__":
    sys.exit(main())
