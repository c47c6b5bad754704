"""A kernel of which not all was followed is not judged by what the rest of it may do."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import source
from cutecheck.rules.register_counts import RegisterCounts
from cutecheck.rules.tma_bytes import TmaTransactionBytes


def test_registers_that_warps_ask_for_where_nothing_was_walked(tmp_path: Path) -> None:
    """The consumers come first; of the producer, which gives registers back by two branches, some runs see nothing."""
    text = source(RegisterCounts.valid[0])
    producer = text[text.index("  if (threadIdx.x < 128) {") : text.index("  } else {")]
    consumers = text[text.index("  } else {") : text.index("  }\n}")]
    turned = text.replace(f"{producer}{consumers}", "")
    first = consumers.replace("} else {", "if (threadIdx.x >= 128) {")
    half = producer.replace("if (threadIdx.x < 128)", "} else if (threadIdx.x < 64)")
    rest = producer.replace("if (threadIdx.x < 128)", "} else")
    turned = text.replace(f"{producer}{consumers}", f"{first}{half}{rest}")
    (tmp_path / "kernel.cu").write_text(turned)
    cut = set()
    for steps in range(30, 600, 12):
        made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), max_steps=steps))
        asks = [c for c in made.facts.calls if c.function.startswith("warpgroup_reg")]
        cut |= {len(asks)} if made.errors else set()
        assert not made.findings, (steps, made.findings)
    assert {1, 2} <= cut, "no limit is where only some have asked"
    assert turned.count("warpgroup_reg_dealloc") == 2 and len(asks) == 3 and not made.errors


def test_bytes_beside_a_copy_of_which_nothing_is_known(tmp_path: Path) -> None:
    """It may bring the rest: at a barrier that is known, and at one of which nothing is."""
    wrong = source(TmaTransactionBytes.invalid[0])
    load = "copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));"
    other = f"{load} copy(Other<Tma>::load(bar), Other<Tma>::from(), Other<Tma>::to());"
    hidden = ("alignas(8) uint64_t bar;", "alignas(8) uint64_t own; uint64_t& bar = Other<Tma>::barrier(own);")
    for text in (wrong, wrong.replace(*hidden)):
        for now, expected in ((load, ["CUT805"]), (other, [])):
            (tmp_path / "kernel.cu").write_text(text.replace(load, now))
            made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
            assert [f.code for f in made.findings] == expected, text
