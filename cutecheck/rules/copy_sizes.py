"""CUT601 copy-size-mismatch."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Int, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.vectors import mode_sizes


class CopySizeMismatch(Rule):
    """Source and destination of a copy do not hold the same number of elements, mode by mode.

    What it checks
        The operands of ``copy`` and ``copy_if`` have as many modes as each other and equal sizes: of the first mode in
        instructions of the atom, of all other modes in elements.

    Why
        ``copy_if`` and run-time shapes are not checked by CuTe: the loop runs over one operand's extent and the
        instruction over the atom's, so a destination that is too small is written past its end. Where CuTe does check,
        it stops with a bare static assertion.

    Example
        copy_if(Copy_Atom<UniversalCopy<uint128_t>, float>{}, pred, src /* (4,3) */, dst /* (2,3) */)

    Use instead
        copy_if(Copy_Atom<UniversalCopy<uint128_t>, float>{}, pred, src /* (4,3) */, dst /* (4,3) */)

    Assumptions
        None.

    Fix
        Partition both operands with the same tiled copy, from tiles of equal shape.

    References
        cute/algorithm/copy.hpp; https://github.com/NVIDIA/cutlass/issues/1672
    """

    code = "CUT601"
    name = "copy-size-mismatch"
    family = "size-mismatch"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Elem = float;
        __global__ void __launch_bounds__(1) masked(Elem const* src, bool const* mask) {
          __shared__ alignas(16) Elem buf[12];
          Tensor s = make_tensor(make_gmem_ptr(src), Shape<_4, _3>{});
          Tensor d = make_tensor(make_smem_ptr(buf), Shape<_4, _3>{});
          Tensor p = make_tensor(make_gmem_ptr(mask), Layout<Shape<_4, _3>, Stride<_0, _1>>{});
          copy_if(Copy_Atom<UniversalCopy<uint128_t>, Elem>{}, p, s, d);
        }
        """,
    )
    invalid = (
        """
        using Elem = float;
        __global__ void __launch_bounds__(1) masked(Elem const* src, bool const* mask) {
          __shared__ alignas(16) Elem buf[12];
          Tensor s = make_tensor(make_gmem_ptr(src), Shape<_4, _3>{});
          Tensor d = make_tensor(make_smem_ptr(buf), Shape<_2, _3>{});
          Tensor p = make_tensor(make_gmem_ptr(mask), Layout<Shape<_4, _3>, Stride<_0, _1>>{});
          copy_if(Copy_Atom<UniversalCopy<uint128_t>, Elem>{}, p, s, d);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        pairs = sizes(event)
        if pairs is None:
            return
        source, destination = event.operands[:2]
        if isinstance(pairs, str):
            yield self._finding(event, source, destination, pairs)
            return
        conditions = tuple(Condition(Rel.EQ, as_expr(a), as_expr(b)) for _, a, b in pairs)
        outcome = context.prove(
            make_obligation(Holds(conditions, "sizes of source and destination"), (event.event_id,),
                            hypotheses=[h.condition for h in event.hypotheses], arch=event.arch, span=event.span)
        )  # fmt: skip
        if outcome.verdict is not Verdict.REFUTED:
            return
        wrong = [(m, known_value(a), known_value(b)) for m, a, b in pairs if known_value(a) != known_value(b)]
        fixed = [f"{m}: {a} against {b}" for m, a, b in wrong if a is not None and b is not None]
        if fixed:
            yield self._finding(event, source, destination, "; ".join(fixed))

    def _finding(self, event: Event, source: TensorFact, destination: TensorFact, what: str) -> Finding:
        return self.finding(
            event.span,
            f"source `{source.name}` and destination `{destination.name}` differ in size: {what}",
            label=what,
            help="partition both operands with the same tiled copy, from tiles of equal shape",
            related=[
                Related(source.span, f"source {source.layout}"),
                Related(destination.span, f"destination {destination.layout}"),
            ],
            enclosing=event.enclosing,
            arch=event.arch,
        )


def sizes(event: Event) -> list[tuple[str, Int, Int]] | str | None:
    """(which mode, source size, destination size) for each mode; a text when the ranks differ; None when unknown."""
    if event.kind != "copy" or len(event.operands) < 2:
        return None
    source, destination = event.operands[:2]
    if isinstance(source.layout, Unknown) or isinstance(destination.layout, Unknown):
        return None
    if "tmem" in (source.space, destination.space):
        return None  # a warp's part of tensor memory against the registers of one thread
    src, dst = mode_sizes(source.layout), mode_sizes(destination.layout)
    atom = atom_of(event.tiled)
    if atom is None:
        if event.tiled is not None:
            return None
        total_src, total_dst = _product(src), _product(dst)
        return [("elements", total_src, total_dst)]
    if len(src) != len(dst):
        return f"{len(src)} modes against {len(dst)}"
    if atom.op.startswith("AutoVectorizingCopy"):
        return [("elements", _product(src), _product(dst))]
    first = ("mode 0", src[0] * atom.num_val_dst, dst[0] * atom.num_val_src)
    return [first, *((f"mode {i}", a, b) for i, (a, b) in enumerate(zip(src, dst, strict=True)) if i)]


def _product(sizes: list[Int]) -> Int:
    total: Int = 1
    for size in sizes:
        total = total * size
    return total
