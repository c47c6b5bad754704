"""From partitions to accesses."""

from __future__ import annotations

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.prove.accesses import NoAccessError, bank_access, split_vector

PARTITION = Layout(((8, 1), 4, 2), ((1, 0), 1024, 32))


def test_vector_and_rest() -> None:
    assert split_vector(PARTITION, 8) == Layout((4, 2), (1024, 32))
    assert split_vector(PARTITION, 4) == Layout((2, 4, 2), (4, 1024, 32))
    assert split_vector(Layout((2, 2, 2), (1, 512, 2)), 4) == Layout((2,), (512,))


@pytest.mark.parametrize(
    ("layout", "count", "reason"),
    [
        (Layout((4, 4), (1, 64)), 8, "only 4 of 8"),
        (Layout((12,), (1,)), 8, "whole vectors"),
        (Layout((8,), (Dyn.of(1),)), 8, "run-time stride"),
    ],
)
def test_refusals(layout: Layout, count: int, reason: str) -> None:
    with pytest.raises(NoAccessError, match=reason):
        split_vector(layout, count)


def test_composed_partition() -> None:
    layout = ComposedLayout(Swizzle(3, 3, 3), Dyn(ex.var("k")), PARTITION)
    access = bank_access(
        "ldmatrix", layout, Dyn(ex.var("start")), element_bits=16, vector_bits=128, threads=128, matrices=4
    )
    assert access.swizzle == Swizzle(3, 3, 3)
    assert access.offset == ex.add(ex.var("k"), ex.var("start"))
    assert access.rest == Layout((4, 2), (1024, 32))
