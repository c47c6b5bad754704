"""Iterators, ``itertools`` and ``operator``: what gives one item after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.builtins import FUNCTIONS, Function, builtin, sequence
from cutecheck.source.dsl.equality import equal
from cutecheck.source.dsl.flow import fails
from cutecheck.source.dsl.values import Builtin, Iterated, Partial
from cutecheck.source.eval.containers import changes, unsure
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MAX_ITEMS = 1 << 12


@builtin("iter")
def _iter(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if isinstance(args[0], Iterated):
        return args[0]
    items = sequence(m, args[0], span) if len(args) == 1 else Unknown("an iterator that asks a function", span)
    return items if isinstance(items, Unknown) else Iterated(items)


@builtin("next")
def _next(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = args[0]
    if not isinstance(items, Iterated):
        return items if isinstance(items, Unknown) else Unknown("the next item of this value", span)
    bad = unsure(items)
    if bad is not None:
        return bad
    if not items:
        return args[1] if len(args) > 1 else fails(m, "StopIteration", "an iterator has no more items", span)
    changes(m, items)
    return items.pop(0)


@builtin("slice")
def _slice(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if not all(a is None or isinstance(a, int) for a in args):
        return Unknown("a slice with unknown limits", span)
    return slice(*args)


@builtin("slice.indices")
def _indices(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0].indices(args[1])


# -------------------------------------------------------------------- itertools


def _lists(m: Machine, values: Iterable[Value], span: Span) -> list[list[Value]] | Unknown:
    found: list[list[Value]] = []
    for v in values:
        items = sequence(m, v, span)
        if isinstance(items, Unknown):
            return items
        found.append(list(items))
    return found


def _of_lists(word: str, run: Callable[..., Iterable[Any]], lists: int | None, count: Callable[..., int]) -> None:
    """A function of ``itertools`` whose first ``lists`` arguments (None: all) are iterables, and how much it gives."""

    def made(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        at = len(args) if lists is None else lists
        found = _lists(m, args[:at], span)
        rest = args[at:]
        if isinstance(found, Unknown):
            return found
        if not all(r is None or isinstance(r, int) for r in rest):
            return Unknown(f"`itertools.{word}` of a number that is not known", span)
        if count(*found, *rest) > _MAX_ITEMS:
            return Unknown(f"`itertools.{word}` of very many items", span)
        return Iterated(run(*found, *rest, **kwargs))

    FUNCTIONS[f"itertools.{word}"] = made


def _sum(*lists: list[Value]) -> int:
    return sum(map(len, lists))


_of_lists("permutations", itertools.permutations, 1, lambda x, r=None: math.perm(len(x), r))
_of_lists("combinations", itertools.combinations, 1, lambda x, r: math.comb(len(x), r))
_of_lists("combinations_with_replacement", itertools.combinations_with_replacement, 1,
          lambda x, r: math.comb(len(x) + r, r))  # fmt: skip
_of_lists("zip_longest", itertools.zip_longest, None, _sum)
_of_lists("pairwise", itertools.pairwise, 1, _sum)
_of_lists("islice", itertools.islice, 1, lambda x, *r: len(x))


@builtin("itertools.repeat")
def _repeat(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    times = args[1] if len(args) > 1 else kwargs.get("times")
    if not isinstance(times, int) or times > _MAX_ITEMS:
        return Unknown("as many items as are asked for", span)
    return Iterated([args[0]] * times)


@builtin("itertools.accumulate")
def _accumulate(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[0], span)
    if isinstance(items, Unknown):
        return items
    step = args[1] if len(args) > 1 else kwargs.get("func") or Builtin("operator.add")
    out = [kwargs["initial"]] if "initial" in kwargs else []
    for item in items:
        out.append(apply(m, step, [out[-1], item], {}, span) if out else item)
    return Iterated(out)


@builtin("itertools.chain.from_iterable")
def _chained(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    outer = sequence(m, args[0], span)
    found = outer if isinstance(outer, Unknown) else _lists(m, outer, span)
    return found if isinstance(found, Unknown) else Iterated(x for part in found for x in part)


@builtin("itertools.starmap")
def _star_map(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    outer = sequence(m, args[1], span)
    found = outer if isinstance(outer, Unknown) else _lists(m, outer, span)
    return found if isinstance(found, Unknown) else Iterated([apply(m, args[0], row, {}, span) for row in found])


def _while(word: str) -> Function:
    """``takewhile`` and ``dropwhile``."""

    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        from cutecheck.source.eval.calls import apply

        items = sequence(m, args[1], span)
        if isinstance(items, Unknown):
            return items
        for at, item in enumerate(items):
            holds = m.dialect.truth(apply(m, args[0], [item], {}, span))
            if holds is None:
                return Unknown(f"`itertools.{word}` by a condition that is not known", span)
            if not holds:
                return Iterated(items[:at] if word == "takewhile" else items[at:])
        return Iterated(items if word == "takewhile" else [])

    return run


FUNCTIONS["itertools.takewhile"], FUNCTIONS["itertools.dropwhile"] = _while("takewhile"), _while("dropwhile")


@builtin("itertools.groupby")
def _group_by(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[0], span)
    if isinstance(items, Unknown):
        return items
    key = args[1] if len(args) > 1 else kwargs.get("key")
    out: list[tuple[Value, Iterated]] = []
    for item in items:
        k = item if key is None else apply(m, key, [item], {}, span)
        same = equal(out[-1][0], k) if out else False
        if same is None:
            return Unknown("`itertools.groupby` by keys that are not known", span)
        if same:
            out[-1][1].append(item)
        else:
            out.append((k, Iterated([item])))
    return Iterated(out)


# -------------------------------------------------------------------- operator


def _getter(word: str) -> None:
    """``itemgetter(k)`` and ``attrgetter(name)``: a function of what they are asked of."""

    def make(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        return Partial(Builtin(f"{word} of"), tuple(args), ())

    def get(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        from cutecheck.source.eval.expressions.names import attribute

        *keys, base = args
        found: list[Value] = []
        for key in keys:
            at = base
            for part in key.split(".") if word == "attrgetter" else (key,):
                at = attribute(m, at, part, span) if word == "attrgetter" else m.dialect.index(m, at, [part], span)
            found.append(at)
        return found[0] if len(found) == 1 else tuple(found)

    FUNCTIONS[f"operator.{word}"], FUNCTIONS[f"{word} of"] = make, get


_getter("itemgetter")
_getter("attrgetter")
