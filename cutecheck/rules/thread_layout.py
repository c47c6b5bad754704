"""CUT202 thread-layout-not-compact."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call
from cutecheck.findings import Finding
from cutecheck.model.algebra import size
from cutecheck.model.basis import Underscore
from cutecheck.model.inttuple import leaves
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Bijective
from cutecheck.rules.base import Context, Rule


class ThreadLayoutNotCompact(Rule):
    """A thread or value layout given to ``make_tiled_copy`` is not one-to-one onto 0 .. size-1.

    What it checks
        The thread layout and the value layout of ``make_tiled_copy`` map their coordinates one-to-one onto the
        numbers from 0 to their size.

    Why
        ``make_tiled_copy`` inverts them. A mode of stride 0 (meant as a broadcast) or a gap has no inverse; CuTe takes
        what there is and fills up with a compact mode. It compiles, and threads get other elements than written.

    Example
        make_tiled_copy(atom, Layout<Shape<_4, _8>, Stride<_1, _0>>{}, Layout<Shape<_1, _1>>{})

    Use instead
        TiledCopy<Atom, Layout<Shape<Shape<_4, _8>, _1>, Stride<Stride<_1, _0>, _0>>, Shape<_4, _1>>

    Assumptions
        None.

    Fix
        Number the threads without gaps; write a thread-value layout by hand where threads share elements.

    References
        cute/atom/copy_atom.hpp (make_tiled_copy: right_inverse of the raked product)
    """

    code = "CUT202"
    name = "thread-layout-not-compact"
    family = "coverage"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Elem = float;
        using Bcast = TiledCopy<Copy_Atom<UniversalCopy<Elem>, Elem>,
                                Layout<Shape<Shape<_4, _8>, _1>, Stride<Stride<_1, _0>, _0>>,
                                Shape<_4, _1>>;
        static constexpr int kThreads = 32;
        __global__ void __launch_bounds__(kThreads) row_bcast(Elem const* A, Elem* out) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_4, _8>{});
          Bcast cp;
          auto t = cp.get_slice(threadIdx.x);
          Tensor s = t.partition_S(gA);
          Tensor r = make_fragment_like(s);
          copy(cp, s, r);
          out[threadIdx.x] = r(0);
        }
        void run(Elem const* A, Elem* out) { row_bcast<<<1, kThreads>>>(A, out); }
        """,
    )
    invalid = (
        """
        using Elem = float;
        using Bcast = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<Elem>, Elem>{},
                                               Layout<Shape<_4, _8>, Stride<_1, _0>>{}, Layout<Shape<_1, _1>>{}));
        static constexpr int kThreads = 32;
        __global__ void __launch_bounds__(kThreads) row_bcast(Elem const* A, Elem* out) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_4, _8>{});
          Bcast cp;
          auto t = cp.get_slice(threadIdx.x);
          Tensor s = t.partition_S(gA);
          Tensor r = make_fragment_like(s);
          copy(cp, s, r);
          out[threadIdx.x] = r(0);
        }
        void run(Elem const* A, Elem* out) { row_bcast<<<1, kThreads>>>(A, out); }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        # in the DSL, ``make_tiled_copy`` takes a thread-value layout, and ``make_tiled_copy_tv`` these two
        python = call.span.is_python
        if call.function != ("make_tiled_copy_tv" if python else "make_tiled_copy"):
            return
        for what, value in zip(("thread", "value"), call.arguments[1:3], strict=False):
            if not isinstance(value, Layout) or any(isinstance(n, Underscore) for n in leaves(value.shape)):
                continue  # a layout of None has no size
            payload = Bijective(value, size(value), what=f"{what} layout")
            outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
            if outcome.verdict is Verdict.REFUTED:
                yield self.finding(
                    call.span,
                    f"the {what} layout {value} is not one-to-one onto 0 .. {size(value)}-1: make_tiled_copy inverts "
                    f"it and silently gives the {what}s other elements",
                    label=f"{what} layout {value}",
                    help="number them without gaps, or write the thread-value layout of a TiledCopy",
                    witness=outcome.witness,
                    enclosing=call.enclosing,
                    arch=call.arch,
                )
