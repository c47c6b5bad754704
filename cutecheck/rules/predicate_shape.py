"""CUT603 predicate-shape-mismatch."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.predicates import counts, refused


class PredicateShape(Rule):
    """The predicates of a copy are not one for each of its instructions, mode by mode.

    What it checks
        A predicate tensor of ``copy_if`` through an atom that has the modes of the copy's destination without the first
        (the values of one instruction) has as many predicates along each as there are instructions. In the DSL, where
        predicates have a mode for the instructions within the first, that mode as well.

    Why
        ``copy_if`` counts the instructions of the destination and asks the predicates by that number. CuTe checks the
        number of modes only: predicates for fewer tiles are read past their end, and those whose modes are swapped
        guard other elements than they were computed for.

    Example
        Tensor pred = make_tensor<bool>(make_shape(size<2>(dst), size<1>(dst)));
        copy_if(tiled_copy, pred, src, dst);

    Use instead
        Tensor pred = make_tensor<bool>(make_shape(size<1>(dst), size<2>(dst)));

    Assumptions
        What the predicates were computed from is not looked at. In C++ predicates with as many modes as the destination
        are not judged: code differs in what it means by the first of them.

    Fix
        Partition an identity tensor with the same copy, and make one predicate for each of its instructions.

    References
        cute/algorithm/copy.hpp (copy_if)
    """

    code = "CUT603"
    name = "predicate-shape-mismatch"
    family = "predicate"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Fill = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) fill(half_t const* in) {
          __shared__ alignas(128) half_t tile[64 * 128];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _128>, Stride<_128, _1>>{});
          Tensor s = make_tensor(make_smem_ptr(tile), Layout<Shape<_64, _128>, Stride<_128, _1>>{});
          auto thr = Fill{}.get_slice(threadIdx.x);
          Tensor src = thr.partition_S(g);
          Tensor dst = thr.partition_D(s);
          Tensor pred = make_tensor<bool>(make_shape(size<1>(dst), size<2>(dst)));
          copy_if(Fill{}, pred, src, dst);
        }
        """,
    )
    invalid = (
        """
        using Fill = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) fill(half_t const* in) {
          __shared__ alignas(128) half_t tile[64 * 128];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _128>, Stride<_128, _1>>{});
          Tensor s = make_tensor(make_smem_ptr(tile), Layout<Shape<_64, _128>, Stride<_128, _1>>{});
          auto thr = Fill{}.get_slice(threadIdx.x);
          Tensor src = thr.partition_S(g);
          Tensor dst = thr.partition_D(s);
          Tensor pred = make_tensor<bool>(make_shape(size<2>(dst), size<1>(dst)));
          copy_if(Fill{}, pred, src, dst);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        pairs = counts(event)
        if not pairs or event.predicate is None:
            return
        conditions = tuple(Condition(Rel.EQ, as_expr(a), as_expr(b)) for _, a, b in pairs)
        outcome = context.prove(
            make_obligation(Holds(conditions, "predicates of the copy"), (event.event_id,), arch=event.arch,
                            span=event.span, hypotheses=[h.condition for h in event.hypotheses])
        )  # fmt: skip
        known = [(mode, known_value(a), known_value(b)) for mode, a, b in pairs]
        wrong = [f"{what}: {a} against {b}" for what, a, b in known if a is not None and b is not None and a != b]
        if outcome.verdict is Verdict.REFUTED and wrong:
            destination = event.operands[1]
            yield self.finding(
                event.span,
                f"the predicates are not one for each instruction of the copy to `{destination.name}`: "
                f"{'; '.join(wrong)} of the destination{refused(event, pairs)}",
                label="; ".join(wrong),
                help="make one predicate for each instruction: the destination's modes without "
                + ("the values of one instruction" if event.span.is_python else "the first"),
                witness=outcome.witness,
                related=[
                    Related(event.predicate.span, f"predicates {event.predicate.layout}"),
                    Related(destination.span, f"destination {destination.layout}"),
                ],
                enclosing=event.enclosing,
                arch=event.arch,
            )
