"""What is loaded and stored beside other tensors, in runs that are made by hand: tiles and elements of common modes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cutecheck.facts import Span
from cutecheck.facts.replayed import Along, Place, Step, Thread
from cutecheck.rules.derive.beside import in_neighbour, of_both
from cutecheck.rules.derive.companions import apart, mislaid, odd
from cutecheck.rules.derive.untold import untold

AT = Span("a.cu", 1, 1, 1, 2)
Mode = tuple[int, int, str]  # start, span, extent


def _along(mode: Mode, read: tuple[str, ...] = (), beside: int | None = None) -> Along:
    start, span, extent = mode
    return Along(start, span, 768 if span > 1 else 8, extent, read, beside)


def _smem(name: str) -> Place:
    return Place(name, AT, "smem", name, 0)


def _load(to: str, *modes: Mode, read: tuple[str, ...] = ()) -> Step:
    walk = tuple(_along(m, read) for m in modes)
    return Step("load", AT, "", "full", 0, (Place(to.upper(), AT, "coord", "", 0, walk=walk), _smem(to)))


def _gemm(a: str, b: str) -> Step:
    first = _smem(a) if a else Place("p", AT, "rmem", "p", 0)
    return Step("gemm", AT, "", "wgmma", None, (first, _smem(b), Place("acc", AT, "rmem", "acc", 0)), True)


def _drain(*modes: Mode, beside: tuple[int | None, ...] = ()) -> Step:
    others = beside or (None,) * len(modes)
    walk = tuple(_along(m, (), b) for m, b in zip(modes, others, strict=True))
    return Step("drain", AT, "", "tma", None, (_smem("d"), Place("D", AT, "coord", "", 0, walk=walk)))


def _thread(steps: Iterable[Step], complete: bool = True) -> tuple[Thread, ...]:
    return (Thread(0, tuple(steps), complete, 1),)


@pytest.mark.parametrize(
    ("scale", "found"),
    [
        ((128, 128, "m"), None),
        ((160, 32, "m"), None),  # a part of the tile
        ((0, 512, "m"), None),  # those of several tiles, this one's among them
        ((512, 128, "m"), 512),  # the tile of B's rows
        ((512, 128, "other"), None),
    ],
)
def test_scales_of_other_tiles(scale: Mode, found: int | None) -> None:
    steps = [
        _load("a", (128, 128, "m"), (0, 64, "k")), _load("b", (512, 128, "n"), (0, 64, "k")), _load("s", scale),
        _gemm("a", "b"),
    ]  # fmt: skip
    fault = mislaid(_thread(steps))
    assert (None if fault is None else (fault.place.past or (0, 0))[0]) == found
    assert mislaid(_thread(steps, complete=False)) is None
    assert mislaid(_thread([*steps, _gemm("", "b")])) is None  # an operand that TMA need not have brought


def test_tiles_that_another_table_says_are_not_compared() -> None:
    page = _load("s", (512, 128, "m"), read=("*pages",))
    operands = [_load("a", (128, 128, "m")), _load("b", (0, 128, "n")), _gemm("a", "b")]
    assert mislaid(_thread([*operands, page])) is None
    operands[0] = _load("a", (128, 128, "m"), read=("*pages",))
    assert mislaid(_thread([*operands, page])) is not None


def _attention(
    k: list[int], v: list[int], heads: int = 0, q: int = 1, read: tuple[str, ...] = ()
) -> tuple[Thread, ...]:
    """Q, and tiles of K and V; ``heads``: by how much V's head is another one than K's from the second row on."""
    steps = [_load("q", (0, 64, "s"), (h, 1, "h")) for h in range(2) for _ in range(q)]
    steps += [_load("k", (128 * t, 128, "s"), (h, 1, "h")) for h in range(2) for t in k]
    steps += [
        _load("v", (0, 64, "d"), (128 * t, 128, "s"), (h + heads * h, 1, "h"), read=read) for h in range(2) for t in v
    ]
    return _thread([*steps, _gemm("q", "k"), _gemm("", "v")])


@pytest.mark.parametrize(
    ("threads", "found"),
    [
        (_attention([4, 3, 2, 1, 0], [4, 3, 2, 1, 0]), False),
        (_attention([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]), False),  # in another order
        (_attention([0, 1, 2, 3, 4], [1, 2, 3, 4, 5]), True),
        (_attention([0, 1, 2, 3, 4], [0, 0, 0, 0, 0]), True),
        (_attention([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], heads=1), True),
        (_attention([0, 1, 2, 3, 4], [5, 6, 7, 8, 9]), False),  # another part of a matrix that has both
        (_attention([0, 1, 2, 3, 4], [0, 1, 2, 3]), False),  # not as many
        (_attention([0, 1, 2], [1, 2, 3]), False),  # too few to go along the mode
        (_attention([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], read=("*table",)), False),  # a page table of its own
        (_attention([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], q=5), False),  # Q's rows are K's, by their name
    ],
)
def test_tiles_of_two_operands_that_belong_together(threads: tuple[Thread, ...], found: bool) -> None:
    fault = apart(threads)
    assert (fault is not None) == found
    if fault is not None:
        assert fault.step.places[1].buffer in "kv" and fault.other is not None


def test_the_operands_of_one_product_are_not_compared() -> None:
    """A matrix times its transpose has both operands in one tensor."""
    rows = [_load("a", (0, 1, "h"), (128 * t, 128, "n")) for t in range(5)]
    columns = [_load("b", (0, 1, "h"), (128 * t + 128, 128, "n")) for t in range(5)]
    assert apart(_thread([*rows, *columns, _gemm("a", "b")])) is None


@pytest.mark.parametrize(
    ("a", "b", "d", "found"),
    [
        ([0, 1, 2], [0, 1, 2], [0, 1, 2], None),
        ([0, 1, 2], [0, 0, 0], [0, 1, 2], "b"),
        ([0, 1, 2], [0, 1, 2], [0, 0, 0], "d"),
        ([0, 1, 2], [0, 2, 4], [0, 1, 2], "b"),
        ([0, 1, 2], [0], [0, 1, 2], None),  # loaded once, on purpose
        ([0, 1, 2], [0, 1, 1], [0, 1, 2], None),  # not loaded again for all
        ([0, 1, 2], [5, 6, 7], [0, 1, 2], None),  # another part of a mode that has both
        ([0, 0, 0], [1, 1, 1], [0, 0, 0], None),
    ],
)
def test_an_element_of_a_mode_that_only_one_tensor_is_taken_at(
    a: list[int], b: list[int], d: list[int], found: str | None
) -> None:
    steps = [_load("a", (0, 64, "m"), (g, 1, "l")) for g in a] + [_load("b", (0, 64, "n"), (g, 1, "l")) for g in b]
    fault = odd(_thread([*steps, *(_drain((0, 64, "m"), (0, 64, "n"), (g, 1, "l")) for g in d), _gemm("a", "b")]))
    assert (None if fault is None else fault.step.places[1 if fault.step.kind == "load" else 0].buffer) == found


@pytest.mark.parametrize(
    ("beside", "found"), [((0, 128), False), ((0, 0), True), ((None, 0), False), ((128, 0), False)]
)
def test_tiles_that_both_blocks_of_a_cluster_store(beside: tuple[int | None, ...], found: bool) -> None:
    drains = [_drain((0, 128, "m"), (0, 128, "n"), beside=beside)]
    assert (of_both(_thread(drains)) is not None) == found
    assert of_both(_thread([*drains, _drain((128, 128, "m"), (0, 128, "n"), beside=(256, 0))])) is None


@pytest.mark.parametrize(("rows", "stored", "found"), [(128, 128, False), (0, 128, True), (None, 128, False)])
def test_the_second_block_of_a_cluster(rows: int | None, stored: int, found: bool) -> None:
    a = Place("A", AT, "coord", "", 0, walk=(_along((0, 128, "m"), (), rows),))
    b = Place("B", AT, "coord", "", 0, walk=(_along((0, 128, "n"), (), 0),))
    steps = [Step("load", AT, "", "full", 0, (x, _smem(x.name.lower()))) for x in (a, b)]
    fault = in_neighbour(_thread([*steps, _gemm("a", "b"), _drain((0, 128, "m"), (0, 128, "n"), beside=(stored, 0))]))
    assert (fault is not None) == found


def _barrier(index: int) -> Step:
    return Step("barrier", AT, "", "expect", 64, (Place("", AT, "smem", "full", index),), arrives=1)


def _told(index: int, stage: int, line: int = 9) -> Step:
    to = Place("b", AT, "smem", "b", 0, (0, 4096), (1024 * stage, 1024 * stage + 1024))
    return Step("load", Span("a.cu", line, 1, line, 2), "", "full", index, (Place("B", AT, "coord", "", 0), to))


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([s for i in range(3) for s in (_barrier(i), _told(i, i))], False),
        ([s for i in range(3) for s in (_barrier(i), _told(0, i))], True),
        ([_barrier(0), *(_told(0, i) for i in range(3))], False),  # parts of what one barrier is told of
        ([_barrier(0), _barrier(1), _told(0, 0), _told(0, 1)], False),
        ([_barrier(0), _told(0, 0), _barrier(1), _told(0, 1, line=10)], False),  # another load
    ],
)
def test_loads_that_always_tell_one_barrier(steps: list[Step], found: bool) -> None:
    assert (untold(_thread(steps)) is not None) == found
