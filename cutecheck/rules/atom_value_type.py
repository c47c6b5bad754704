"""CUT304 atom-wrong-value-type."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of, side_instruction
from cutecheck.rules.rejected import Rejected


class AtomValueType(Rejected):
    """A copy atom, or a swizzled layout of shared memory, for elements of one width meets a tensor of another.

    What it checks
        For copies through an atom of fixed width: the elements of both tensors have as many bits as the value type that
        the ``Copy_Atom`` was declared with. For tensors whose layout swizzles addresses, made of
        ``GMMA::Layout_K_SW128_Atom<half_t>`` and its like: their pointer is one to shared memory, of elements as wide
        as those the layout is for.

    Why
        The atom counts its values in its own type: a 128-bit atom of ``half_t`` takes eight elements. Eight floats are
        256 bits and do not fit; the code does not compile. Where accumulators in float meet a store of halves, a
        conversion is missing. A swizzle of addresses counts bytes, the layout under it elements; CuTe takes neither for
        elements of another width, nor outside of shared memory.

    Example
        Copy_Atom<UniversalCopy<uint128_t>, half_t>   // on a tensor of float

    Use instead
        Copy_Atom<UniversalCopy<uint128_t>, float>

    Assumptions
        None.

    Fix
        Declare the atom with the tensors' element type; convert the fragment before it is stored as another type.

    References
        cute/atom/copy_traits.hpp (copy_unpack), cute/pointer_flagged.hpp
    """

    code = "CUT304"
    name = "atom-wrong-value-type"
    family = "vectorization"
    severity = "error"
    confidence = "proved"
    pattern = re.compile(r"-bit pointer type|Expected smem( tensor)?, not")
    advice = "make the layout for the tensor's elements: `tile_to_shape(GMMA::Layout_K_SW128_Atom<Element>{}, ...)`"
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        __global__ void __launch_bounds__(128) load(float const* A, float* out) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
          Tensor src = Load{}.get_slice(threadIdx.x).partition_S(gA);
          Tensor r = make_fragment_like(src);
          copy(Load{}, src, r);
          out[threadIdx.x] = r(0);
        }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) load(float const* A, float* out) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          Tensor src = Load{}.get_slice(threadIdx.x).partition_S(gA);
          Tensor r = make_fragment_like(src);
          copy(Load{}, src, r);
          out[threadIdx.x] = r(0);
        }
        """,
        """
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
        __global__ void __launch_bounds__(128) load(float const* A) {
          __shared__ float s[4096];
          Tensor sA = make_tensor(make_smem_ptr(s), SmemA{});
          copy(make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>>{}), sA);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        atom = atom_of(event.tiled)
        if event.kind != "copy" or atom is None or len(event.operands) < 2 or _recast(atom):
            return
        bits = atom.value_type.bits
        used = [side_instruction(event, "src"), side_instruction(event, "dst")]
        if bits is None or not any(used) or any(u is not None and u.automatic for u in used):
            return
        widths = [t.dtype.bits if t.dtype is not None else None for t in event.operands[:2]]
        if None in widths:
            return
        conditions = tuple(Condition(Rel.EQ, as_expr(int(w)), as_expr(int(bits))) for w in widths if w is not None)
        outcome = context.prove(
            make_obligation(Holds(conditions, "element widths of the copy"), (event.event_id,), arch=event.arch,
                            span=event.span)
        )  # fmt: skip
        if outcome.verdict is not Verdict.REFUTED:
            return
        side, tensor, width = next(
            (s, t, w) for s, t, w in zip(("src", "dst"), event.operands, widths, strict=False) if w != bits
        )
        assert tensor.dtype is not None
        other = event.operands[1 if side == "src" else 0]
        advice = f"declare the atom with {tensor.dtype.name}"
        if tensor.space == "rmem" and other.dtype is not None and other.dtype.bits == bits:
            advice = f"convert the fragment to {other.dtype.name} first"
        yield self.finding(
            event.span,
            f"{side} {tensor.space} `{tensor.name}` has elements of {width} bits ({tensor.dtype.name}), the copy atom "
            f'{atom.op} was declared for {bits} ({atom.value_type.name}); CuTe stops with "{side} failed to vectorize '
            'into registers"',
            label=f"{width} bits against {bits}",
            help=advice,
            related=[Related(tensor.span, f"layout {tensor.layout}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )


def _recast(atom: CopyAtom) -> bool:
    """The DSL recasts a plain copy's atom to the tensors that it is given."""
    return atom.op == "UniversalCopy" and any(key == "dsl op" for key, _ in atom.extra)
