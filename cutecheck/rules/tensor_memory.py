"""CUT707 tensor-memory-too-small."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Call, Unknown
from cutecheck.facts.leftovers import leftovers_of
from cutecheck.facts.resources import allocated, columns, frees
from cutecheck.findings import Finding, Related
from cutecheck.model.arch import architecture
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule

_LEAST, _MOST = 32, 512
_COLUMN = 128 * 32  # bits
_REFUSED = re.compile(r"Requesting more TMEM than is available\.: (\d+)")


class TensorMemoryColumns(Rule):
    """Accumulators or an allocation that tensor memory cannot hold.

    What it checks
        The accumulators of an MMA of tcgen05 take at most the 512 columns that a multiprocessor has, and no more than
        the kernel allocates. ``alloc_tmem`` and ``TmemAllocator.allocate`` of the Python DSL, and
        ``TMEM::Allocator1Sm`` and ``Allocator2Sm`` of C++, are given a power of two from 32 to 512 columns. A
        kernel that is walked to its end and allocates tensor memory frees some; one of C++ whose products go to tensor
        memory names an allocation.

    Why
        Columns past the allocation are another kernel's or fault. CuTe stops compiling above 512 with a number of
        bits. ``tcgen05.alloc`` of another number of columns does not assemble or never returns.

    Example
        tiled_mma.make_fragment_C(cute.append(acc_shape, 4))    # four stages of 256 columns

    Use instead
        tiled_mma.make_fragment_C(cute.append(acc_shape, 2))

    Assumptions
        Accumulators of 32 bits: one element a column and lane. Several accumulators of a kernel may share columns; each
        is judged by itself.

    Fix
        Fewer stages of the accumulator, a narrower tile, or a larger allocation.

    References
        PTX ISA, tensor memory, tcgen05.alloc; cute/arch/tmem_allocator_sm100.hpp
    """

    code = "CUT707"
    name = "tensor-memory-too-small"
    family = "register-pressure"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256,
            UMMA::Major::K, UMMA::Major::K>{}));
        __global__ void __launch_bounds__(128) multiply(int* out) {
          Mma mma;
          Tensor acc = partition_fragment_C(mma, Shape<_128, _512>{});
          out[threadIdx.x] = int(size(acc));
        }
        """,
    )
    invalid = (
        """
        using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256,
            UMMA::Major::K, UMMA::Major::K>{}));
        __global__ void __launch_bounds__(128) multiply(int* out) {
          Mma mma;
          Tensor acc = partition_fragment_C(mma, Shape<_128, _1024>{});
          out[threadIdx.x] = int(size(acc));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if leftovers_of(call) is not None:  # of a kernel that was walked to its end
            yield from self._kept(call, context)
            return
        asked = allocated(call)
        if asked is not None:
            if asked < _LEAST or asked > _MOST or asked & (asked - 1):
                yield self.finding(
                    call.span,
                    f"{asked} columns of tensor memory are asked for: an allocation is a power of two from {_LEAST} to "
                    f"{_MOST}",
                    label=f"{asked} columns",
                    help="round up to the next power of two, or use fewer columns",
                    enclosing=call.enclosing,
                    arch=call.arch,
                )
            return
        refused = _REFUSED.search(call.result.reason) if isinstance(call.result, Unknown) else None
        if refused is not None:
            yield self.finding(
                call.span,
                f"the accumulator takes {int(refused[1]) // _COLUMN} columns of tensor memory, a multiprocessor has "
                f'{_MOST}; CuTe stops with "Requesting more TMEM than is available"',
                label=f"{int(refused[1]) // _COLUMN} columns",
                help="fewer stages of the accumulator or a narrower tile",
                enclosing=call.enclosing,
                arch=call.arch,
            )
            return
        taken = columns(call)
        if taken is None:
            return
        arch = architecture(call.arch)
        limit, where = (arch.tmem_columns if arch is not None else 0) or _MOST, "a multiprocessor has"
        own = [(n, c) for c in context.facts.calls if _same(c, call) and (n := allocated(c)) is not None]
        if own and max(n for n, _ in own) < limit:
            limit, where = max(n for n, _ in own), "the kernel allocates"
        payload = Holds((Condition(Rel.LE, as_expr(taken), as_expr(limit)),), "accumulators fit tensor memory")
        outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
        if outcome.verdict is Verdict.REFUTED:
            yield self.finding(
                call.span,
                f"the accumulator takes {taken} columns of tensor memory, {where} {limit}",
                label=f"{taken} columns",
                help="fewer stages of the accumulator or a narrower tile",
                related=[Related(c.span, f"{n} columns allocated") for n, c in own],
                enclosing=call.enclosing,
                arch=call.arch,
            )

    def _kept(self, call: Call, context: Context) -> Iterable[Finding]:
        left = leftovers_of(call)
        if left is not None and left.homeless is not None:
            way, tensor = left.homeless
            yield self.finding(
                way[-1],
                f"`{tensor.name}` is in tensor memory, and nothing in the kernel allocates any: the product goes to "
                "columns that may be another block's, or faults",
                label="no tensor memory allocated",
                help="let one warp allocate it (TMEM::Allocator1Sm), have all threads wait, and start the accumulators "
                "there (`tCtAcc.data() = tmem_base_ptr`)",
                enclosing=call.kernel,
                arch=call.arch,
            )
        mine = [c for c in context.facts.calls if (c.kernel, c.arch) == (call.kernel, call.arch)]
        taken = [c for c in mine if allocated(c) is not None]
        if not taken or any(frees(c) for c in mine):
            return
        yield self.finding(
            taken[0].span,
            "the kernel allocates tensor memory here and never gives it back: the next block on the multiprocessor "
            "finds none, and waits for ever",
            label="never given back",
            help="let the warp that allocates it free it, when all have read what they need (tmem.free, dealloc_tmem, "
            "Allocator1Sm::free)",
            enclosing=taken[0].enclosing,
            arch=call.arch,
        )


def _same(other: Call, call: Call) -> bool:
    if other.kernel and call.kernel:
        return (other.kernel, other.arch) == (call.kernel, call.arch)
    return (other.enclosing, other.arch, other.bindings) == (call.enclosing, call.arch, call.bindings)
