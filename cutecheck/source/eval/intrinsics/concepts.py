"""Concepts of the standard library, by the traits that they ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.constants import STD, truth_constant
from cutecheck.source.eval import qualified
from cutecheck.source.eval.intrinsics.registry import CONCEPTS, TYPES, Unsupported, type_maker
from cutecheck.source.eval.qualified import plain
from cutecheck.source.eval.values import (
    Closure,
    Pack,
    Scalar,
    TraitType,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def _concept(name: str, *asks: tuple[str, bool], turned: bool = False) -> None:
    """A concept that asks traits for these answers; ``turned``: of its arguments in the other order."""

    def run(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
        given = targs[::-1] if turned else targs
        unknown: Value = None
        for trait, wanted in asks:
            value = TYPES[trait](m, given, span)
            known = m.dialect.truth(value.value) if isinstance(value, TraitType) else None
            if known is not None and known is not wanted:
                return Scalar(0, "bool")
            unknown = unknown if known is not None else value
        if unknown is None:
            return Scalar(1, "bool")
        return unknown if isinstance(unknown, Unknown) else Unknown(f"whether `{name}` holds is not known", span)

    CONCEPTS.add(name)
    type_maker(name, qualified=True)(run)


_concept("same_as", ("is_same", True))
_concept("integral", ("std::is_integral", True))
_concept("signed_integral", ("std::is_integral", True), ("is_signed", True))
_concept("unsigned_integral", ("std::is_integral", True), ("is_signed", False))
_concept("floating_point", ("is_floating_point", True))
_concept("convertible_to", ("is_convertible", True))
_concept("derived_from", ("is_base_of", True), turned=True)
_concept("invocable", ("is_invocable", True))
_concept("regular_invocable", ("is_invocable", True))


@type_maker("is_invocable", "is_invocable_v", qualified=True)
def _invocable(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """Of a lambda: as many arguments as it takes, each of any type or of one that it is converted to."""
    fn = plain(targs[0])
    fn = fn.value if isinstance(fn, ValueType) else fn
    if not isinstance(fn, Closure):
        raise Unsupported("whether this may be called")
    given = [v for t in targs[1:] for v in (t.items if isinstance(t, Pack) else (t,))]
    if fn.takes(len(given)) is False:
        return TraitType(ValueType(truth_constant(False, STD)), Scalar(0, "bool"))
    for p, t in zip(fn.node.params, given, strict=False):
        if fn.node.tparams or p.pack:
            raise Unsupported("whether a lambda takes these types")
        if p.type is None:
            continue
        answer = TYPES["is_convertible"](m, (t, qualified.parts(m.eval(p.type, fn.env)).inner), span)
        if not isinstance(answer, TraitType) or m.dialect.truth(answer.value) is not True:
            raise Unsupported("whether a lambda takes these types")
    return TraitType(ValueType(truth_constant(True, STD)), Scalar(1, "bool"))
