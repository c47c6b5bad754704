"""Views of one shared-memory buffer: what is written and what is read."""

from dataclasses import replace

import pytest

from cutecheck.facts import Event, Facts, Launch, SmemBuffer, TensorFact, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Dyn
from cutecheck.model.prove import Verdict
from cutecheck.model.units import Bytes
from cutecheck.tests.rules.build import HALF, SPAN, codes, copy_event, outcomes, universal

TILED = universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)")
ROWS = "(_64,_64):(_64,_1)"
SWIZZLED = "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)"
BUFFER = SmemBuffer("sA", "sA", SPAN, "sm_90", "kernel", 8192, 128, 16, ("w", "r"))


def through(written: str, read: str) -> list[Event]:
    fill = copy_event(TILED, HALF, ("gmem", ROWS), ("smem", written), event_id="w")
    return [fill, copy_event(TILED, HALF, ("smem", read), None, event_id="r")]


def found(events: list[Event], buffer: SmemBuffer = BUFFER) -> list[str]:
    return [c for c in codes(Facts(events=tuple(events), buffers=(buffer,))) if c == "CUT208"]


def with_smem(event: Event, **changes: object) -> Event:
    def changed(t: TensorFact) -> TensorFact:
        return replace(t, **changes) if t.space == "smem" else t  # type: ignore[arg-type]

    return replace(event, operands=tuple(map(changed, event.operands)))


@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [
        (SWIZZLED, SWIZZLED, []),
        (SWIZZLED, ROWS, ["CUT208"]),
        (SWIZZLED, "Sw<2,3,3> o _0 o (_64,_64):(_64,_1)", ["CUT208"]),
        (ROWS, "(_64,_64):(_72,_1)", ["CUT208"]),
        (SWIZZLED, "Sw<3,3,3> o _0 o (_64,_64):(_1,_64)", []),  # transposed
        (ROWS, "((_8,_8),_64):((_64,_512),_1)", []),  # the same function, written otherwise
        (SWIZZLED, "(_32,_64):(_64,_1)", []),  # another shape says nothing
        (ROWS, "(_64,_64):(ld,_1)", []),  # a stride of run time says nothing
    ],
)
def test_views(written: str, read: str, expected: list[str]) -> None:
    assert found(through(written, read)) == expected


@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [
        ("(_32,_8):(_1,_32)", "(_32,(_4,_2)):(_4,(_1,_128))", []),  # threads exchange what each has
        ("Sw<1,2,1> o _0 o (_32,_8):(_1,_32)", "Sw<1,2,1> o _0 o (_32,_8):(_8,_1)", []),
        ("Sw<1,2,1> o _0 o (_32,_8):(_1,_32)", "Sw<0,2,1> o _0 o (_32,_8):(_8,_1)", ["CUT208"]),
        ("(_32,_8):(_1,_32)", "(_32,_8):(_8,_1)", []),
        ("(_32,_8):(_1,_32)", "(_32,_8):(_9,_1)", ["CUT208"]),
    ],
)
def test_what_threads_exchange(written: str, read: str, expected: list[str]) -> None:
    tiled = through(written, read)
    by_hand = [replace(event, tiled=None) for event in tiled]
    assert found(by_hand) == expected
    assert found(tiled) == ["CUT208"]  # two orders of one tile, of which one is wrong


def test_one_writer_of_the_same_layout_is_enough() -> None:
    wrong, read = through(ROWS, SWIZZLED)
    right = replace(through(SWIZZLED, SWIZZLED)[0], event_id="w2")
    assert found([wrong, right, read], replace(BUFFER, accesses=("w", "w2", "r"))) == []


def test_an_incomplete_buffer_is_left_alone() -> None:
    assert found(through(SWIZZLED, ROWS), replace(BUFFER, accesses_complete=False)) == []


def test_a_view_that_is_not_known_silences_the_buffer() -> None:
    written, read = through(SWIZZLED, ROWS)
    unknown = replace(with_smem(written, root_layout=None, layout=Unknown("no", SPAN)), event_id="w2")
    assert found([written, unknown, read], replace(BUFFER, accesses=("w", "w2", "r"))) == []


def test_other_places_and_types_are_other_tiles() -> None:
    written, read = through(SWIZZLED, ROWS)
    smem = read.operands[0]
    assert found([written, with_smem(read, offset=smem.offset + 4096)]) == []  # type: ignore[operator]
    assert found([written, with_smem(read, dtype=dtype("bfloat16_t"))]) == []


ASYNC = "(_64,_64):(_256,_1)"


@pytest.mark.parametrize(("tile", "expected"), [(ROWS, []), (SWIZZLED, []), (ASYNC, ["CUT105"])])
def test_segments_of_cp_async(tile: str, expected: list[str]) -> None:
    from cutecheck.model.tiled import make_tiled_copy
    from cutecheck.tests.rules.build import atom, layout

    cg = atom("SM80_CP_ASYNC_CACHEGLOBAL", HALF, dtype("uint128_t"))
    tiled = make_tiled_copy(cg, layout("(_16,_8):(_8,_1)"), layout("(_1,_8):(_8,_1)"))
    event = copy_event(tiled, HALF, ("gmem", ROWS), ("smem", tile))
    assert [c for c in codes(Facts(events=(event,))) if c == "CUT105"] == expected


def test_a_launch_with_shared_memory_that_is_not_known_refutes_nothing() -> None:
    def verdicts(size: object) -> list[Verdict]:
        launch = Launch("kernel", SPAN, "sm_90", 64, size)  # type: ignore[arg-type]
        found = outcomes(Facts(launches=(launch,), archs=("sm_90",)))
        return [o.verdict for o in found if "shared memory of the launch" in str(o.obligation)]

    assert verdicts(Bytes(1 << 18)) == [Verdict.REFUTED]
    assert verdicts(Bytes(1 << 10)) == [Verdict.PROVED]
    assert verdicts(Dyn.named("size")) == [Verdict.UNKNOWN]
