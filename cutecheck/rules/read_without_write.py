"""CUT221 read-without-write."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call
from cutecheck.facts.leftovers import leftovers_of
from cutecheck.facts.replayed import Place, Step
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.replays import faults_of
from cutecheck.rules.replayed import Replayed

_EXAMPLE = """
        using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
        __global__ void __launch_bounds__(128) product(float const* A, float const* B, float* C) {
          auto thr = Mma{}.get_slice(threadIdx.x);
          Tensor gA = thr.partition_A(make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _8>>{}));
          Tensor gB = thr.partition_B(make_tensor(make_gmem_ptr(B), Layout<Shape<_8, _8>>{}));
          Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _8>>{}));
          Tensor rA = make_fragment_like(gA), rB = make_fragment_like(gB), acc = make_fragment_like(gC);
          clear(acc);
          copy(gA, rA);
          %s
          gemm(Mma{}, rA, rB, acc);
          copy(acc, gC);
        }
        void run(float const* A, float const* B, float* C) { product<<<1, 128>>>(A, B, C); }
        """


class ReadWithoutWrite(Replayed):
    """A fragment or shared memory is read that nothing has written.

    What it checks
        Of kernels that can be run pass by pass to their end, whatever orders their threads: before a copy or product
        reads a fragment in registers, a copy its predicates, or an expression an element of one (``acc(i) += x``),
        something copied to it, cleared it, stored to an element, or took a pointer to it; where copies and products
        write parts of one, to some of what is read; and what copies and products read of shared memory, something in
        the kernel writes: a copy, a TMA load, a store of an element, assembly. Shared memory of which the kernel does
        more than make tensors over it (``make_smem_ptr``), or of whose tensors it takes a pointer for more than another
        tensor (``make_tensor(sA.data() + size(sA), ...)``), is not judged. Of products that take a fragment
        whole: copies fill all of its slices along K, if nothing else writes to it. Of kernels with products, all of
        whose copies to global memory store shared memory: not only operands of the products are copied there. Of all
        kernels that are walked to their end: a fragment that a copy or product reads is written somewhere in the
        kernel, and in Python shared memory, too, where the kernel copies to any. Of kernels that are run by role: what
        copies and products read of shared memory some role writes; and of runs of the Python DSL, that what a thread
        reads of a fragment as a value, and the slices that its products take, were written before.

    Why
        Registers and shared memory have no initial values, and the compiler says nothing of either: a copy that was
        forgotten, or goes to another tensor, leaves what an earlier kernel left, often the right values of an
        earlier run.

    Example
        Tensor rB = make_fragment_like(gB);
        gemm(mma, rA, rB, acc);

    Use instead
        Tensor rB = make_fragment_like(gB);
        copy(gB, rB);
        gemm(mma, rA, rB, acc);

    Assumptions
        What is passed to code that is not followed is written there.

    Fix
        Copy to the tensor that is read.

    References
        cute/tensor_impl.hpp (make_fragment_like)
    """

    kinds = ("unwritten", "unfilled", "passed on")
    code = "CUT221"
    name = "read-without-write"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it runs the kernel's steps in their order."
    arch = ("sm_80",)
    valid = (_EXAMPLE % "copy(gB, rB);",)
    invalid = (_EXAMPLE % "",)

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        found = leftovers_of(call)
        told = _told(call, context) if found is not None and found.unset else set()
        for way, tensor in found.unset if found is not None else ():
            if tensor.buffer in told:
                continue
            place = Place(tensor.name, tensor.span, tensor.space, tensor.buffer or "", 0)
            yield self._of_run(
                Fault(
                    "unfilled" if tensor.space == "smem" else "unwritten",
                    Step("unwritten", way[-1], call.kernel, "", None, (place,), caller=way[-2] if way[1:] else None),
                    place,
                ),
                call,
            )
        for way, tensor, at, many in found.holes if found is not None else ():
            yield self.finding(
                way[-1],
                f"this product takes all {many} slices along K of `{tensor.name}`, and no copy fills slice {at}: it is "
                "multiplied with what the registers hold",
                label=f"slice {at} of 0 .. {many - 1} is never filled",
                help="copy all slices of the fragment: tXrA(_, _, k) for each k, or all of it",
                related=[Related(tensor.span, "the fragment")],
                enclosing=call.enclosing,
                arch=call.arch,
            )


def _told(call: Call, context: Context) -> set[str]:
    """Registers of which the kernel's runs say that they are read too early."""
    runs = (c for c in context.facts.calls if c.function == "replay" and (c.kernel, c.arch) == (call.kernel, call.arch))
    return {f.place.buffer for run in runs for f in faults_of(run, context) if f.kind in ("unwritten", "unset")}
