"""How values came about: definitions with what they use, and the way from a root to the place they stand in."""

from __future__ import annotations

from cutecheck.facts.core import Bindings
from cutecheck.facts.span import Span
from cutecheck.records import record


@record(frozen=True, slots=True)
class Use:
    """A name inside a definition, and the value it had there."""

    name: str
    span: Span
    value: str


@record(frozen=True, slots=True)
class Definition:
    """A named alias, variable or parameter in one instantiation: ``value`` as it prints, ``uses`` in source order.

    ``symbol`` is the qualified name of the place it stands in; ``arch`` the target it was evaluated for.
    """

    name: str
    symbol: str
    bindings: Bindings
    arch: str
    span: Span
    full_span: Span
    value: str
    uses: tuple[Use, ...] = ()


@record(frozen=True, slots=True)
class Step:
    """One step from a root inwards: at ``span``, within ``outer``, ``inner`` is called or instantiated."""

    outer: str
    inner: str
    bindings: Bindings
    span: Span


@record(frozen=True, slots=True)
class Trace:
    """What one traced run leaves: every definition, and for each place (symbol, architecture) the way to it."""

    definitions: tuple[Definition, ...]
    ways: tuple[tuple[tuple[str, str], tuple[Step, ...]], ...]

    def way(self, symbol: str, arch: str) -> tuple[Step, ...]:
        """The steps from a root to a place; empty for what stands in a namespace."""
        return dict(self.ways).get((symbol, arch), ())
