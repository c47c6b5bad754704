"""Kernels of the DSL whose warpgroups begin at stages of their own, wait by a function of the program, or have many
roles: run thread by thread as others are."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Step, Thread
from cutecheck.rules.derive.role_loads import stored_in_parts
from cutecheck.tests.rules.test_dsl_many_roles import CHAIN
from cutecheck.tests.rules.test_dsl_roles import KERNEL, found_codes

MANY = CHAIN.replace("6)", "9)").replace("bars + 5", "bars + 8").replace("192", "288")
OWN_WAIT = CHAIN.replace("cute.compile(", """
def own_wait(bar, phase, *, loc=None, ip=None):
    unknown.try_wait(bar.llvm_ptr, phase)


import cutlass.cute.arch as arch
arch.mbarrier_wait = own_wait
cute.compile(""")  # fmt: skip
STATE = "            free = full.clone()\n"
SKIPPED = "            for _ in cutlass.range({}, unroll=1):\n                full.advance()\n"


@pytest.mark.parametrize("text", [MANY, OWN_WAIT], ids=["eighteen roles", "a wait of the program"])
@pytest.mark.parametrize(("phases", "codes"), [("0,", []), ("0, 1", ["CUT217"])])
def test_chains(tmp_path: Path, text: str, phases: str, codes: list[str]) -> None:
    assert text != CHAIN
    assert found_codes(tmp_path, text.replace("PHASES", phases)) == codes


@pytest.mark.parametrize(
    ("passes", "wrong"),
    [
        ("tid // 128 - 1", False),
        ("0 * (tid // 128)", False),
        ("4 * (tid // 128)", True),  # all of the stages: the next phase
        ("tid // 128", True),
        ("tid // 128 + 1", True),
    ],
)
def test_stages_that_a_thread_leaves_to_others(tmp_path: Path, passes: str, wrong: bool) -> None:
    text = KERNEL.replace(STATE, STATE + SKIPPED.format(passes))
    assert text != KERNEL
    assert bool(found_codes(tmp_path, text)) == wrong


def test_what_tma_stores_from_several_places() -> None:
    at = Span("k.py", 1, 1, 1, 9)

    def drain(buffer: str, offset: int) -> Step:
        return Step("drain", at, "", "tma", None, (Place("", at, "smem", buffer, offset, bits=(0, 4096)),))

    one, two = (drain("a", 0), drain("b", 0), drain("a", 0)), (drain("a", 0), drain("b", 64))
    assert stored_in_parts((Thread(0, one, True),)) == set()
    assert stored_in_parts((Thread(0, one, True), Thread(32, two, True))) == {("b", (0, 4096))}
