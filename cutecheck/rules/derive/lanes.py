"""Which threads pass a guard: by its value, where the thread's index alone decides it, or by what the source says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from cutecheck.facts import Event, Guard
from cutecheck.model.access import WARP
from cutecheck.model.expr import Domain, Expr, Op, const, op, var
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove.domains import condition_value, opaque_names
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.derive.blocks import numbered, several

_LANE = re.compile(r"thread|tid|lane|elect|warp", re.IGNORECASE)
_SINGLE = ("==", "elect", "%", "thread0", "thread(")  # thread0() and thread(t, b) of cute/util/debug.hpp
_FEW = re.compile(
    r"![\w:.]*(?:thread|tid|lane)|(?:thread|tid|lane)[\w.]*\s*<=?\s*(?:\d|[12]\d|3[01])\b(?!>)", re.IGNORECASE
)
_ELECTS = re.compile(r"[\w:.]*\belect_one(?:_sync)?\(\)")
_FLAG = re.compile(r"!?\s*[A-Za-z_][\w.]*")
_SIDE = r"threadIdx\.x(?:\s*[%/]\s*\d+)?|\d+"
_COMPARE = re.compile(rf"\s*({_SIDE})\s*(<=|>=|==|!=|<|>)\s*({_SIDE})\s*")
_NOT = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_RELATION = {"<": Rel.LT, "<=": Rel.LE, "==": Rel.EQ, "!=": Rel.NE}
_VALUES = {"eq": (Rel.EQ, Rel.NE), "ne": (Rel.NE, Rel.EQ), "lt": (Rel.LT, Rel.LE), "le": (Rel.LE, Rel.LT)}
_WARPGROUP = 128
_THREADS = 1024  # of a block, at most


def of_thread(guard: Guard) -> bool:
    """The guard speaks of threads, lanes or warps."""
    return _LANE.search(guard.text) is not None


def lone_thread(event: Event) -> bool:
    """A guard that may leave single lanes of every warp: a refutation for full warps says nothing then."""
    return any(_leaves_few(guard) for guard in event.guards)


def _leaves_few(guard: Guard) -> bool:
    passed = _passed(guard)
    if passed is not None:
        return not any(all(passed[at : at + WARP]) for at in range(0, _THREADS, WARP))
    return _own_flag(guard) or (of_thread(guard) and _picks(guard))


def _own_flag(guard: Guard) -> bool:
    """A flag of which no more is known than that threads may differ in it: ``if (leader)``."""
    return guard.parts and _FLAG.fullmatch(guard.text) is not None


def _picks(guard: Guard) -> bool:
    """A comparison that single threads may pass: ``tid == 0``, ``!tid``, ``tid < 4``; ``tid != 0`` on its way out."""
    text = guard.text
    return any(sign in text for sign in _SINGLE) or bool(_FEW.search(text)) or (guard.negated and "!=" in text)


def passing(guards: Iterable[Guard], threads: int) -> int | None:
    """How many threads of a block pass all guards; None where one is not on the index of the thread alone."""
    found = _passers(guards, threads)
    return None if found is None else len(found)


def _passers(guards: Iterable[Guard], threads: int) -> list[int] | None:
    answers = [_passed(guard) for guard in guards]
    if None in answers or threads > _THREADS:
        return None
    return [t for t in range(threads) if all(answer[t] for answer in answers if answer is not None)]


def neighbours(guards: Iterable[Guard], threads: int) -> tuple[int, int] | None:
    """The first and the last thread that pass all guards, where all between them do."""
    found = _passers(guards, threads)
    return (found[0], found[-1]) if found and found[-1] - found[0] + 1 == len(found) else None


def coming(guards: Iterable[Guard], threads: int) -> int | None:
    """As `passing`, where ``elect_one()`` lets one thread of each warp through, too."""
    every = list(guards)
    others = _but_elections(every)
    found = _passers(others, threads)
    if found is None or len(others) == len(every):
        return None if found is None else len(found)
    return len({t // WARP for t in found})


def who(guards: Iterable[Guard], threads: int) -> frozenset[int] | None:
    """The threads that pass all guards; of a warp of which ``elect_one()`` lets one through, its first."""
    every = list(guards)
    others = _but_elections(every)
    found = _passers(others, threads)
    if found is None or len(others) == len(every):
        return None if found is None else frozenset(found)
    return frozenset(t // WARP * WARP for t in found)


def in_warps(guards: Iterable[Guard], threads: int) -> int | None:
    """Threads of the warps of which any passes all guards: as the barriers of the hardware count them."""
    found = _passers(_but_elections(guards), threads)
    return None if found is None else min(threads, WARP * len({t // WARP for t in found}))


def at_most(guards: Iterable[Guard], threads: int) -> frozenset[int]:
    """The warps that may come, whatever the conditions say that are not on the index of the thread alone."""
    known = [g for g in _but_elections(guards) if _passed(g) is not None]
    return frozenset(t // WARP for t in _passers(known, threads) or ())


def might(guards: Iterable[Guard], threads: int) -> frozenset[int]:
    """The threads that may pass, whatever the conditions say that are not on the index of the thread alone."""
    every = list(guards)
    known = [g for g in _but_elections(every) if _passed(g) is not None]
    found = _passers(known, threads) or ()
    return frozenset(found if len(_but_elections(every)) == len(every) else (t // WARP * WARP for t in found))


def open_to_some(guards: Iterable[Guard]) -> set[str]:
    """The conditions that threads may answer differently, by what is not known."""
    return {g.text for g in _but_elections(guards) if not g.alike and _passed(g) is None}


def in_turns(count: int, come: int) -> bool:
    """Warpgroups that run the same code may do so one after the other (pingpong): some of them are all that come."""
    return count % _WARPGROUP == 0 and come % count == 0


def _but_elections(guards: Iterable[Guard]) -> list[Guard]:
    return [g for g in guards if g.negated or not _ELECTS.fullmatch(g.text)]


def active(event: Event) -> tuple[Condition, ...]:
    """Conditions on the thread index under which the event happens, of the guards that are understood."""
    found: list[Condition] = []
    for guard in event.guards:
        if guard.asks is not None and _passed(guard) is not None:
            if not _by_warps(guard):
                found += _conjunction(guard.asks, not guard.negated) or ()  # of the thread's number already
        elif of_thread(guard):
            found += [numbered(c, event.block) for c in conditions(guard) or ()]
    return tuple(dict.fromkeys(found))


def coming_warps(event: Event, threads: int) -> tuple[int, int]:
    """The first thread of the warps that guards let come, and how many threads these have, where they lie together."""
    known = [g for g in event.guards if _by_warps(g)]
    found = neighbours(known, threads) if known and threads % WARP == 0 and not several(event.block) else None
    return (0, threads) if found is None else (found[0], found[1] - found[0] + 1)


def undecided(event: Event) -> bool:
    """Some guard speaks of threads and is not understood."""
    return any(not _understood(guard) for guard in event.guards)


def _understood(guard: Guard) -> bool:
    if guard.asks is not None and _passed(guard) is not None:
        return _by_warps(guard) or _conjunction(guard.asks, not guard.negated) is not None
    return not (of_thread(guard) or _own_flag(guard)) or conditions(guard) is not None


def _by_warps(guard: Guard) -> bool:
    """Whether all threads of a warp answer the guard alike."""
    passed = _passed(guard)
    return passed is not None and all(len({*passed[at : at + WARP]}) == 1 for at in range(0, _THREADS, WARP))


def _passed(guard: Guard) -> tuple[bool, ...] | None:
    """For every thread of a block whether it passes the guard; None where that is not known."""
    return None if guard.asks is None else _of_all(guard.asks, not guard.negated)


@lru_cache(maxsize=1 << 10)
def _of_all(value: Expr, holds: bool) -> tuple[bool, ...] | None:
    found = [answer(value, thread) for thread in range(_THREADS)]
    return None if None in found else tuple(bool(answer) is holds for answer in found)


def answer(value: Expr, thread: int) -> bool | None:
    """What a condition with this value is in a thread; None where it depends on more than its index."""
    comparison = _comparison(value)
    try:
        if comparison is None:
            return value.evaluate({THREAD: thread}) != 0
        if comparison.label in _JOINS:
            answers = [answer(side, thread) for side in comparison.args]
            return None if None in answers else _JOINS[comparison.label](answers)
        left, right = (_number(side, thread) for side in comparison.args)
    except (KeyError, ValueError, ZeroDivisionError, NotImplementedError):
        return None
    return None if left is None or right is None else condition_value(_VALUES[comparison.label][0], left, right)


def _number(value: Expr, thread: int) -> int | None:
    """One side of a comparison, which may be a condition itself: ``!leader`` asks whether one is 0."""
    return value.evaluate({THREAD: thread}) if _comparison(value) is None else answer(value, thread)


_JOINS = {"both": all, "either": any}


def _comparison(value: Expr) -> Op | None:
    """The comparison, or the two conditions joined, that a value is."""
    if len(value.terms) != 1 or value.terms[0][1] != 1 or len(value.terms[0][0]) != 1:
        return None
    atom = value.terms[0][0][0]
    known = isinstance(atom, Op) and atom.kind == "opaque" and len(atom.args) == 2
    return atom if known and isinstance(atom, Op) and (atom.label in _VALUES or atom.label in _JOINS) else None


def _conjunction(value: Expr, holds: bool) -> tuple[Condition, ...] | None:
    """A condition on the index of the thread as comparisons that all hold; None where it is none."""
    comparison = _comparison(value)
    if comparison is None:
        return (Condition(Rel.NE if holds else Rel.EQ, value, const(0)),) if _plain(value) else None
    left, right = comparison.args
    if comparison.label in _JOINS:
        both = [_conjunction(side, holds) for side in (left, right)]
        joined = holds is (comparison.label == "both")
        return None if None in both or not joined else tuple(c for side in both for c in side or ())
    plain, opposite = _VALUES[comparison.label]
    if not _plain(left) or not _plain(right):
        return None
    if holds:
        return (Condition(plain, left, right),)
    turned = comparison.label in ("lt", "le")
    return (Condition(opposite, right, left) if turned else Condition(opposite, left, right),)


def _plain(value: Expr) -> bool:
    """A number that the index of the thread alone decides."""
    return {v.name for v in value.variables()} <= {THREAD} and not any(opaque_names(value))


def conditions(guard: Guard) -> tuple[Condition, ...] | None:
    """The guard as conditions that all hold; None where it is more than comparisons of the thread with numbers."""
    joined, other = ("||", "&&") if guard.negated else ("&&", "||")
    if other in guard.text or "?" in guard.text:
        return None
    found = [_compared(part, guard.negated) for part in guard.text.split(joined)]
    return None if None in found else tuple(c for c in found if c is not None)


def _compared(text: str, negated: bool) -> Condition | None:
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    match = _COMPARE.fullmatch(text)
    if match is None:
        return None
    left, sign, right = _side(match[1]), match[2], _side(match[3])
    sign = _NOT[sign] if negated else sign
    if sign in (">", ">="):
        left, right, sign = right, left, {">": "<", ">=": "<="}[sign]
    return Condition(_RELATION[sign], left, right)


def _side(text: str) -> Expr:
    """``threadIdx.x``, a quotient or remainder of it, or a number."""
    if text.isdigit():
        return const(int(text))
    thread = var(THREAD, Domain(0))
    scaled = re.search(r"([%/])\s*(\d+)$", text)
    if scaled is None or int(scaled[2]) == 0:
        return thread
    return op("mod" if scaled[1] == "%" else "div", thread, const(int(scaled[2])))
