"""A record is what a frozen dataclass of the same fields is, but for the guard against assignments."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from cutecheck.records import record


def body(make: Any) -> tuple[type[Any], ...]:
    @make(frozen=True, slots=True)
    class Empty:
        pass

    @make(frozen=True, slots=True)
    class One:
        """Own words."""

        value: Any

    @make(frozen=True, slots=True)
    class Several:
        first: int
        second: Any = None
        hidden: Any = field(default=0, repr=False, compare=False)
        unhashed: Any = field(default=0, hash=False)
        several: list[int] = field(default_factory=list, hash=False)
        kind: ClassVar[str] = "several"

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError("negative")

    @make(frozen=True, slots=True)
    class Named(One):
        name: str = ""

    @make(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - a record has a hash all the same
        value: Any

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @make(frozen=True, slots=True, eq=False)
    class Same:
        value: int

    return Empty, One, Several, Named, Own, Same


PLAIN, RECORDS = body(dataclass), body(record)
ARGUMENTS = [
    (0, ()), (1, (3,)), (1, ("a",)), (1, ((3,),)), (2, (1,)), (2, (1, "x")), (2, (1, None, 5)), (2, (1, None, 0, 7)),
    (2, (1, None, 0, 0, [1])), (3, (1,)), (3, (1, "n")), (4, (1,)), (4, (2,)), (5, (1,)),
]  # fmt: skip


def values(kinds: tuple[type[Any], ...]) -> list[Any]:
    return [kinds[i](*given) for i, given in ARGUMENTS]


def test_equality_and_hashes_are_those_of_dataclasses() -> None:
    plain, records = values(PLAIN), values(RECORDS)
    again, other = values(PLAIN), values(RECORDS)
    for a, b in zip(plain, records, strict=True):
        assert [a == x for x in again] == [b == x for x in other]
        assert [hash(a) == hash(x) for x in again] == [hash(b) == hash(x) for x in other]
    assert values(RECORDS)[0] != values(PLAIN)[0]


def test_they_are_shown_taken_apart_and_copied_as_dataclasses() -> None:
    for a, b in zip(values(PLAIN), values(RECORDS), strict=True):
        assert repr(a).replace("body.<locals>.", "") == repr(b).replace("body.<locals>.", "")
        assert [(f.name, f.init, f.compare) for f in fields(a)] == [(f.name, f.init, f.compare) for f in fields(b)]
        assert not hasattr(b, "__dict__")
        assert type(a).__match_args__ == type(b).__match_args__
        if type(b) is not RECORDS[5]:
            assert copy.deepcopy(b) == b == replace(b)
    with pytest.raises(ValueError, match="negative"):
        RECORDS[2](-1)
    with pytest.raises(TypeError):
        RECORDS[1]()


@record(frozen=True, slots=True)
class Sent:
    value: int
    inner: tuple[int, ...] = ()


def test_they_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(Sent(3, (1, 2)))) == Sent(3, (1, 2))
    assert repr(Sent(3)) == "Sent(value=3, inner=())"
