"""A layout of which one number is not known is not known: no rule ever asks such a number for its value."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cutecheck.facts import Span, Unknown
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.source.eval.intrinsics.refusals import guarded

HERE = Span("a.cu", 3, 1, 3, 9)
LOST = Unknown("`n` may have been written", HERE)
ROWS: Any = Layout((4, (LOST, 2)), (1, (4, 8)))
PITCH: Any = Layout((4, 2), (1, LOST))


@pytest.mark.parametrize("layout", [ROWS, PITCH, ComposedLayout(Swizzle(3, 3, 3), 0, PITCH)], ids=str)
def test_one_unknown_number_makes_a_layout_unknown(layout: Any) -> None:
    machine: Any = SimpleNamespace(recorder=SimpleNamespace(hypotheses=()))
    assert guarded(machine, "make_layout", HERE, lambda: layout) is LOST
    assert guarded(machine, "make_layout", HERE, lambda: Layout(4, 1)) == Layout(4, 1)
