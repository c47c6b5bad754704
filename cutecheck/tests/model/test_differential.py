"""A few fresh random rows against CuTe's own headers; ``python -m cutecheck.tests.model.differential`` runs many."""

from __future__ import annotations

import os
import time

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.model.differential import attribute_errors, run

HEADERS = find_headers()


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
def test_fresh_rows_agree_with_the_headers() -> None:
    assert not isinstance(HEADERS, NoHeaders)
    seed = int(os.environ.get("CUTECHECK_DIFFERENTIAL_SEED", str(int(time.time()) // 86400)))  # new rows every day
    tally = run(HEADERS, 60, seed)
    assert not tally.mismatches, f"seed {seed}:\n" + "\n".join(map(str, tally.mismatches))
    assert tally.compared == 60


def test_errors_are_laid_at_the_row_that_caused_them() -> None:
    stderr = """rows.cpp: In instantiation of ‘auto cute::f(T)’:
rows.cpp:50:20:   required from here
layout.hpp:10:3: error: static assertion failed: first
rows.cpp: In function ‘void row_4()’:
rows.cpp:51:9: error: second
"""
    assert attribute_errors(stderr, {50: 3, 51: 4}) == {3: "static assertion failed: first", 4: "second"}
