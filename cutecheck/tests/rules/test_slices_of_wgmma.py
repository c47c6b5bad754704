"""WGMMAs of slices of shared memory: which of A was multiplied with which of B, as one thread sees it."""

from __future__ import annotations

import pytest

from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.accumulators import Accumulators

SPAN = Span("k.cu", 1, 1, 1, 1)
SUMS = Place("acc", SPAN, "rmem", "acc", 0)
IN_ORDER, ONE_OF_B = "00 11 22", "00 10 20"


def wrong(*batches: str) -> list[str]:
    """What is found where the thread waits for a barrier behind each batch of products, and then for all of them."""
    made = Accumulators(stored=False)
    made.set.add("acc")
    found: list[str] = []
    for batch in batches:
        for a, b in batch.split():
            operands = (Place(n, SPAN, "smem", n, 16 * int(at), root=(0, 8)) for n, at in (("a", a), ("b", b)))
            step = Step("gemm", SPAN, "", "wgmma", None, (SUMS, *operands, SUMS), True, adds=True)
            found += [kind for kind, *_ in made.does(step)]
        made.waited()
    waits = Step("call", SPAN, "", "warpgroup_wait", 0)
    return found + [kind for kind, *_ in made.does(waits)]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ((IN_ORDER,), []),
        ((ONE_OF_B,), ["unpaired"]),
        ((IN_ORDER, ONE_OF_B), []),  # slices of the tile that came meanwhile
        ((ONE_OF_B, "01 11 21"), []),  # the parts of a number with all parts of another
        (("00", "10", "20"), []),  # a stage that is filled anew for each product
    ],
)
def test_a_barrier_before_the_wait_for_the_products(batches: tuple[str, ...], expected: list[str]) -> None:
    assert wrong(*batches) == expected
