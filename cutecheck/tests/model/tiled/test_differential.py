"""A few fresh tiled copies and MMAs through CuTe itself (skipped where nothing can be compiled).

More: ``python -m cutecheck.tests.model.tiled.differential SEED COUNT``.
"""

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.model.tiled import differential

HEADERS = find_headers()


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
def test_cute_prints_the_same():
    chosen = [
        case
        for maker in (differential.copy_case, differential.mma_copy_case, differential.mma_case)
        for case in differential.cases(20260101, 1, maker)
    ]
    chosen += differential.cases(1, 1, differential.cotiled_case)
    for case, printed in zip(chosen, differential.run(HEADERS, chosen), strict=True):
        assert printed == case.text(), case.cpp
