"""Random pieces of kernels against a compiler: every value that is known is the one that CuTe prints."""

from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.precompiled import with_head
from cutecheck.tests.source.random_pieces import piece
from cutecheck.tests.source.random_pieces.reference import Compiler
from cutecheck.tests.source.random_tiled.compare import differences, facts_of, said
from cutecheck.tests.source.random_tiled.reference import FLAGS, HEAD

FOUND = find_headers()
SEEDS = {"code": range(6000, 6006), "views": range(6000, 6004)}  # more: scripts/random_pieces.py


@pytest.mark.skipif(isinstance(FOUND, NoHeaders), reason=FOUND.reason if isinstance(FOUND, NoHeaders) else "")
@pytest.mark.parametrize("kind", [*SEEDS])
def test_what_is_said_of_random_pieces_is_what_cute_prints(kind: str, tmp_path: Path) -> None:
    assert not isinstance(FOUND, NoHeaders)
    (tmp_path / "k").mkdir()
    pieces = [piece(kind, s) for s in SEEDS[kind]]
    facts = facts_of(pieces, tmp_path / "k")
    assert facts.errors == ()
    results, known = Compiler(FOUND, tmp_path, with_head(FOUND, FLAGS, HEAD)).run(pieces), said(pieces, facts)
    right = 0
    for one in pieces:
        shown = results[one.seed]
        if not isinstance(shown, str):
            wrong, counts = differences(shown, known)
            assert wrong == [], one.text()
            assert counts["not met"] == 0
            right += counts["right"]
    assert right > 100
