"""Barriers that a ring of the program's own hands out: by references that methods return, in loops over arrays."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_roles import CLUSTERED, PREAMBLE

LOOP = """    for (int i = 0; i < 3; ++i) {
      smem.full[i].init(1);
      smem.empty[i].init(2);
    }
"""
OVER = "    for (auto& b : smem.full) b.init(1);\n    for (auto& b : smem.empty) b.init(2);\n"
STEPS = """        smem.empty[i % 3].wait((i / 3 & 1) ^ 1);
        smem.full[i % 3].arrive_and_expect_tx(16384);
        copy(tma.with(reinterpret_cast<uint64_t&>(smem.full[i % 3])), cta.partition_S(gA(_, _, i)),
             cta.partition_D(sA(_, _, i % 3)));
"""
ASKED = """        uint64_t& bar = smem.acquire(at, 16384);
        copy(tma.with(bar), cta.partition_S(gA(_, _, i)), cta.partition_D(sA(_, _, at.slot)));
        at.step();
"""
METHODS = """Empty empty[3];
  uint64_t& acquire(Cursor const& c, int bytes) {
    empty[c.slot].wait(c.parity);
    full[c.slot].arrive_and_expect_tx(bytes);
    return reinterpret_cast<uint64_t&>(full[c.slot]);
  }
"""
CURSOR = """struct Cursor {
  int slot = 0, parity = 1;
  Cursor() = default;
  explicit Cursor(int p) : parity(p) {}
  void step() { if (++slot == 3) { slot = 0; parity ^= 1; } }
};
struct Storage"""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", set()),
        ("smem.empty) b.init(2)", "smem.empty) b.init(3)", {"CUT217"}),
        ("int slot = 0, parity = 1", "int slot = 0, parity = 0", {"CUT217"}),
        ("if (++slot == 3)", "if (++slot == 2)", {"CUT217"}),
    ],
)
def test_a_ring_that_hands_out_barriers(tmp_path: Path, old: str, new: str, codes: set[str]) -> None:
    text = CLUSTERED.replace(LOOP, OVER).replace(STEPS, ASKED).replace("Empty empty[3];", METHODS)
    text = text.replace("struct Storage", CURSOR, 1).replace("arrive(uint32_t(threadIdx.x % 128))", "arrive()")
    text = text.replace("for (int i", "Cursor at;\n      for (int i", 1).replace("i < tiles", "i < 4")
    assert text.count("acquire") == 2 and OVER in text
    (tmp_path / "k.cu").write_text(PREAMBLE + text.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",)))
    assert {f.code for f in report.findings} == codes
