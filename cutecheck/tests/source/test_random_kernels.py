"""Random kernels against a compiler: every value that is resolved is the one that CuTe has."""

from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.source.random_kernels.compare import differences, said
from cutecheck.tests.source.random_kernels.programs import Program
from cutecheck.tests.source.random_kernels.reference import HEAD, Compiler, Shown

FOUND = find_headers()
SEEDS = range(9000, 9010)  # more: scripts/random_kernels.py


@pytest.mark.skipif(isinstance(FOUND, NoHeaders), reason=FOUND.reason if isinstance(FOUND, NoHeaders) else "")
def test_what_is_said_of_random_kernels_is_what_they_show(tmp_path: Path) -> None:
    assert not isinstance(FOUND, NoHeaders)
    (tmp_path / "k").mkdir()
    programs = [Program(seed) for seed in SEEDS]
    (tmp_path / "head.hpp").write_text(HEAD)  # one unit takes less than it takes to precompile this
    results = Compiler(FOUND, tmp_path, tmp_path).run(programs)
    exact = 0
    for program in programs:
        shown = results[program.seed]
        if isinstance(shown, str):
            assert shown.startswith(("overflows", "does not end")), shown
            continue
        wrong, known = differences(program, shown, tmp_path / "k")
        assert wrong == [], program.kernel
        exact += known["value"]
    assert exact > 100


def test_the_comparison_tells_wrong_values(tmp_path: Path) -> None:
    program = Program(9001)
    ident, events = next(iter(said(program, tmp_path).items()))
    assert events
    shown = [Shown(0, (1, 2), ident, 123456789, "_8:_1"), Shown(0, (1, 2), 9999, 0, "_8:_1")]
    wrong, _ = differences(program, shown, tmp_path)
    assert wrong[-1].startswith("seen 9999: no event")
