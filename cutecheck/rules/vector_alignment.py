"""CUT402 vector-misaligned."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import known_value
from cutecheck.model.prove import Verdict
from cutecheck.model.prove.contracts import contract_of
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import Access, accesses
from cutecheck.rules.derive.alignment import alignment_outcome, misplaced
from cutecheck.rules.derive.contracts import too_weak
from cutecheck.rules.derive.vectors import plain


class VectorMisaligned(Rule):
    """A vector access starts at an address that is not a multiple of its width.

    What it checks
        Every address at which a copy moves 2, 4, 8 or 16 bytes at once is a multiple of that width: for every thread,
        value and iteration, with the layout's padding, its swizzle, and its run-time strides. Where the code itself
        asks a run-time number to be a multiple, that must be enough.

    Why
        The hardware faults ("misaligned address"). It compiles without a word: ``AutoVectorizingCopy`` and the vector
        atoms assume 16-byte alignment, also of rows that are 129 floats apart.

    Example
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<129>>>;  // float, read 16 bytes at a time

    Use instead
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<132>>>;

    Assumptions
        Where the source does not say how a pointer is aligned, it is taken to be what the allocators give: 256 bytes
        in global memory, 16 in shared memory. The verdict lists it.

    Fix
        Pad by a multiple of the vector width, use a narrower atom, or state the contract of a run-time stride:
        ``// cutecheck: assume lda % 8 == 0``.

    References
        CUDA C++ Programming Guide, device memory accesses; https://github.com/NVIDIA/cutlass/issues/1272
    """

    code = "CUT402"
    name = "vector-misaligned"
    family = "alignment"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Elem = float;
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<132>>>;
        using S2R = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{},
                                             Layout<Shape<_32, _8>>{},
                                             Layout<Shape<_4, _1>>{}));
        __global__ void read_a(Elem* out) {
          __shared__ alignas(16) Elem smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          S2R cp;
          auto t = cp.get_slice(threadIdx.x);
          Tensor src = t.partition_S(sA);
          Tensor reg = make_fragment_like(src);
          copy(cp, src, reg);
          out[threadIdx.x] = reg(0);
        }
        """,
    )
    invalid = (
        """
        using Elem = float;
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<129>>>;
        using S2R = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{},
                                             Layout<Shape<_32, _8>>{},
                                             Layout<Shape<_4, _1>>{}));
        __global__ void read_a(Elem* out) {
          __shared__ alignas(16) Elem smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          S2R cp;
          auto t = cp.get_slice(threadIdx.x);
          Tensor src = t.partition_S(sA);
          Tensor reg = make_fragment_like(src);
          copy(cp, src, reg);
          out[threadIdx.x] = reg(0);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for access in accesses(event):
            outcome = alignment_outcome(access, context)
            if outcome is None:
                continue
            tensor, width = access.tensor, access.width_bytes
            weak = too_weak(event.hypotheses, outcome)
            if outcome.verdict is Verdict.REFUTED and (start := misplaced(access, context)) is not None:
                yield self.finding(
                    event.span,
                    f"{access.side} {tensor.space} `{tensor.name}`: {access.instruction.name} moves {width} bytes at "
                    f"once, but its memory starts {start} bytes into its struct: no address is a multiple of {width}",
                    label=f"{width}-byte accesses",
                    help=f"align the member to {width} bytes (alignas({width}))",
                    witness=outcome.witness,
                    related=[Related(tensor.span, f"layout {tensor.layout}")],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
                continue
            if outcome.verdict is not Verdict.REFUTED and weak is None:
                continue
            why = _why(access) if weak is None else f"the source says `{weak}` only"
            needs = contract_of(outcome) if weak is not None else ""
            yield self.finding(
                event.span,
                f"{access.side} {tensor.space} `{tensor.name}`: {access.instruction.name} moves {width} bytes at once, "
                f"but not every address is a multiple of {width}" + (f": {why}" if why else ""),
                label=f"{width}-byte accesses",
                help=f"{f'state and check `{needs}`' if needs else _way(access, event)}, or use an atom of fewer bits",
                severity="warning" if weak is not None else None,
                witness=outcome.witness,
                related=[Related(tensor.span, f"layout {tensor.layout}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )


def _way(access: Access, event: Event) -> str:
    """What makes the addresses multiples: an alignment that is promised where the memory starts too low, or padding."""
    if not access.base_known or int(access.base) % int(access.width_bytes) == 0:
        return f"pad by a multiple of {access.width_bytes} bytes ({access.count} elements)"
    if not event.span.is_python:
        return f"align its memory to {access.width_bytes} bytes"
    word = "assumed_align" if access.tensor.space == "gmem" else "byte_alignment"
    return f"give {word}={access.width_bytes} where the tensor is made"


def _why(access: Access) -> str:
    """The number that is at fault: the base, the start or a stride; empty where none is alone."""
    tensor, width, bits = access.tensor, int(access.width_bytes), int(access.element_bits)
    if access.base_known and int(access.base) % width:
        return f"its memory starts at a multiple of {access.base} bytes only"
    root = tensor.root_layout if tensor.root_layout is not None else tensor.layout
    parts = None if isinstance(root, Unknown) else plain(root)
    for extent, stride in parts.modes if parts is not None else ():
        step, size = known_value(stride), known_value(extent)
        if step is not None and step not in (0, 1) and size != 1 and step * bits // 8 % width:
            return f"a stride of {step} elements is {step * bits // 8} bytes"
    start = access.offset
    constant = next((c for m, c in start.terms if not m), 0) * bits // 8
    return f"it starts at byte {constant}" if constant % width else ""
