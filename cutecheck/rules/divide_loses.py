"""CUT206 divide-loses-elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutecheck.facts import Call, TensorFact
from cutecheck.findings import Finding
from cutecheck.model.algebra import shape, size
from cutecheck.model.expr import const
from cutecheck.model.ints import Condition, CuteError, Dyn, Int, Rel, Sym, as_expr, known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule

_DIVIDES = ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")


class DivideLosesElements(Rule):
    """A divide by a run-time tiler silently drops elements.

    What it checks
        ``logical_divide``, ``zipped_divide``, ``tiled_divide`` and ``flat_divide`` give a layout of at least as many
        elements as they were given, also when the tiler is a run-time number.

    Why
        With static numbers CuTe asserts that each mode divides. With a run-time tiler neither a static nor a run-time
        check runs: ``zipped_divide`` of 384 elements by 128 can come out with 288, and the rest is never touched.

    Example
        zipped_divide(make_layout(make_shape(_12{}, make_shape(_4{}, _8{}))), 128)

    Use instead
        zipped_divide(make_layout(make_shape(_12{}, make_shape(_4{}, _8{}))), 12)

    Assumptions
        None.

    Fix
        Use a tiler that divides mode by mode, or a static one, for which CuTe checks it.

    References
        cute/layout.hpp (composition, logical_divide)
    """

    code = "CUT206"
    name = "divide-loses-elements"
    family = "tile-divisibility"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        inline auto split(int tile) {
          auto l = make_layout(make_shape(_12{}, make_shape(_4{}, _8{})),
              make_stride(_7{}, make_stride(_1{}, C<30>{})));
          return zipped_divide(l, tile);
        }
        static constexpr int kTile = 12;
        inline auto caller() { return split(kTile); }
        """,
    )
    invalid = (
        """
        inline auto split(int tile) {
          auto l = make_layout(make_shape(_12{}, make_shape(_4{}, _8{})),
              make_stride(_7{}, make_stride(_1{}, C<30>{})));
          return zipped_divide(l, tile);
        }
        static constexpr int kTile = 128;
        inline auto caller() { return split(kTile); }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if call.function not in _DIVIDES or not call.arguments:
            return
        before, after = _layout(call.arguments[0]), _layout(call.result)
        if before is None or after is None:
            return
        try:
            had, has = size(before), size(after)
        except CuteError:  # extents that are no integers: the elements of a basis
            return
        payload = Holds((Condition(Rel.LE, as_expr(had), as_expr(has)),), "elements after the divide")
        hypotheses = [h.condition for h in call.hypotheses]
        open_extents = list(dict.fromkeys(as_expr(e) for e in _extents(before) if known_value(e) is None))
        hypotheses += [Condition(Rel.LE, const(1), e) for e in open_extents]
        assumptions = [f"{e} is at least 1" for e in open_extents]
        outcome = context.prove(
            make_obligation(payload, hypotheses=hypotheses, assumptions=assumptions, arch=call.arch, span=call.span)
        )
        if outcome.verdict is Verdict.REFUTED and known_value(had) is not None and known_value(has) is not None:
            yield self.finding(
                call.span,
                f"{call.function} of {known_value(had)} elements keeps {known_value(has)}: the tiler does not divide "
                "mode by mode, and with a run-time tiler CuTe does not check it",
                label=f"{known_value(has)} of {known_value(had)} elements",
                help="use a tiler that divides mode by mode, or a static one",
                witness=outcome.witness,
                enclosing=call.enclosing,
                arch=call.arch,
            )


def _layout(value: object) -> Layout | ComposedLayout | None:
    if isinstance(value, TensorFact):
        value = value.layout
    return value if isinstance(value, (Layout, ComposedLayout)) else None


def _extents(layout: Layout | ComposedLayout) -> Iterator[Int]:
    """The extents of a layout, leaf by leaf; a layout of fewer than one element divides nothing."""
    pending: list[object] = [shape(layout)]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            pending.extend(item)
        elif isinstance(item, (int, Dyn, Sym)):
            yield item
