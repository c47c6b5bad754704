"""Where the elements of a part of a shared-memory buffer lie, as a layout with a swizzle on offsets and a start."""

from __future__ import annotations

import math
from dataclasses import replace

from cutecheck.facts import Event, SmemBuffer, TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Dyn, Int, Sym, as_expr, known_value
from cutecheck.model.inttuple import flatten_to_tuple
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.prove.properties import THREAD, ZERO
from cutecheck.records import record
from cutecheck.rules.derive.accesses import SMEM_BASE, thread_count
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.periods import period
from cutecheck.rules.derive.slices import first_thread


@record(frozen=True, slots=True)
class Placed:
    """A layout, the offset of its first element, and where the buffer starts (``CosizeFits.base``).

    ``assumption``: what of the start is taken for granted; ``least``: elements that it is known to be a multiple of.
    """

    layout: AnyLayout
    offset: Expr
    base: Expr = ZERO
    assumption: str = ""
    least: int = 1

    def starts(self) -> list[int]:
        """Every start that differs for the swizzle, where it is open."""
        return [] if self.base == ZERO else list(range(0, (ex.bounds(self.base)[1] or 0) + self.step, self.least))

    @property
    def step(self) -> int:
        """Elements from one start to the next that is asked for."""
        return ex.divisor(self.base)


def placed(event: Event, tensor: TensorFact, buffer: SmemBuffer, come: tuple[int, int] | None = None) -> Placed | None:
    """Where the elements of the threads of a copy lie; ``come``: the first and the last that come to it, of neighbours.

    None where a variable other than the thread has no bounds, unless it chooses a stage alone, ``i % stages``: then the
    loop is taken to come round; or it is a coordinate of the whole tensor, ``(_, _, stage)``: of a mode all are taken.
    A swizzle of CuTe's mixed bits is that of the number they stand for. A swizzle on addresses is one on offsets from
    a multiple of its period.
    """
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)) or isinstance(tensor.layout, Unknown):
        return None
    offset, layout = as_expr(tensor.offset), tensor.layout
    made = Placed(layout, offset)
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, MixedBits):
        layout = ComposedLayout(layout.a, layout.offset.value, layout.b)
    elif isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag):
        made = _on_offsets(layout, tensor, buffer) or made
        layout = made.layout
    within = layout.offset if isinstance(layout, ComposedLayout) else 0
    start = as_expr(within) if isinstance(within, (int, Dyn)) else ex.const(0)
    variables = (*offset.variables(), *start.variables())
    passes: dict[str, Expr] = {}
    assumed = [made.assumption] if made.assumption else []
    for v in variables:
        lo, hi = v.domain.bounds()
        if v.name == THREAD or (lo is not None and hi is not None):
            continue
        length = period((offset, start), v) if lo is not None and lo >= 0 else None
        stages = _extent(tensor, v, offset, start) if length is None else None
        if (length is None and stages is None) or v.name in _guarding(event):
            return None
        if length is None or lo is None:
            passes[v.name] = ex.var(v.name, Domain(0, (stages or 1) - 1))
            assumed.append(f"`{v.name.partition('#')[0]}` comes to be each of {stages}")
            continue
        passes[v.name] = ex.var(v.name, Domain(lo, lo + length - 1, v.domain.step))
        assumed.append(f"the loop over `{v.name.partition('#')[0]}` makes {length} passes or more")
    if passes:
        made = replace(made, assumption="; ".join(dict.fromkeys(assumed)))
        offset, start = offset.substitute(passes), start.substitute(passes)
        if isinstance(layout, ComposedLayout) and start.variables():
            layout = ComposedLayout(layout.a, Dyn(start), layout.b)
    if come is not None:
        if event.span.is_python or first_thread(tensor) != 0:
            return None  # a slice that is not the thread's own number
        return _in_threads(made, layout, offset, start, *come)
    threads = thread_count(event)
    block = None if event.threads is None else known_value(event.threads)
    first = first_thread(tensor)
    if isinstance(first, str):
        return None
    threads = threads if block is None else block - first if threads is None else min(block - first, threads)
    if threads is None:
        return None if any(v.name == THREAD for v in variables) else replace(made, layout=layout, offset=offset)
    tops = [hi for v in variables if v.name == THREAD and (hi := v.domain.bounds()[1]) is not None]
    return _in_threads(made, layout, offset, start, first, min([first + threads - 1, *tops]))


def steps_apart(tensor: TensorFact) -> TensorFact:
    """The tensor with modes whose steps hang on the thread alone in its offset: of swizzled layouts, sliced at one."""
    layout, offset = tensor.layout, tensor.offset
    if not isinstance(layout, Layout) or isinstance(offset, (Unknown, tuple, ScaledBasis)):
        return tensor
    kept: list[tuple[Int, Int]] = []
    start = as_expr(offset)
    for i, (size, step) in enumerate(zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True)):
        many = known_value(size) if isinstance(size, (int, Dyn, Sym)) else None
        if many is None or not isinstance(step, (int, Dyn, Sym)):
            return tensor
        if {v.name for v in as_expr(step).variables()} == {THREAD}:
            start = ex.add(start, ex.mul(ex.var(f"value[{i}]", Domain(0, many - 1)), as_expr(step)))
        else:
            kept.append((many, step))
    if len(kept) == len(flatten_to_tuple(layout.shape)):
        return tensor
    shape, stride = tuple(s for s, _ in kept) or 1, tuple(d for _, d in kept) or 0
    return replace(tensor, layout=Layout(shape, stride), offset=Dyn(start))


def _in_threads(made: Placed, layout: AnyLayout, offset: Expr, start: Expr, first: int, last: int) -> Placed:
    known = {THREAD: ex.var(THREAD, Domain(first, last))}
    if isinstance(layout, ComposedLayout) and start.variables():
        layout = ComposedLayout(layout.a, Dyn(start.substitute(known)), layout.b)
    return replace(made, layout=layout, offset=offset.substitute(known))


def _extent(tensor: TensorFact, v: Var, offset: Expr, start: Expr) -> int | None:
    """How many coordinates a mode of the whole tensor has of which ``v`` is one, and nothing else."""
    own = tensor.dtype.bits if tensor.dtype is not None else None
    root = tensor.root_layout.b if isinstance(tensor.root_layout, ComposedLayout) else tensor.root_layout
    if not isinstance(root, Layout) or v in start.variables() or tensor.root_bits not in (None, own):
        return None
    if tensor.root_start_bits is None or v in as_expr(tensor.root_start_bits).variables():
        return None  # it says where the whole tensor starts
    used = [(monomial, factor) for monomial, factor in offset.terms if any(v in _variables(a) for a in monomial)]
    if len(used) != 1 or used[0][0] != (v,):
        return None
    modes = zip(flatten_to_tuple(root.shape), flatten_to_tuple(root.stride), strict=True)
    sizes = [known_value(s) for s, d in modes if isinstance(d, (int, Dyn, Sym)) and known_value(d) == used[0][1]]
    sizes = [s for s in sizes if s != 1]
    return sizes[0] if len(sizes) == 1 else None


def _variables(atom: Var | Op) -> set[Var]:
    return {atom} if isinstance(atom, Var) else {v for a in atom.args for v in a.variables()}


def _guarding(event: Event) -> set[str]:
    """The variables that conditions around a copy name."""
    return {v.name for g in inner(event.guards) for c in g.holds for side in (c.lhs, c.rhs) for v in side.variables()}


def _on_offsets(layout: ComposedLayout, tensor: TensorFact, buffer: SmemBuffer) -> Placed | None:
    """``layout`` with its swizzle on addresses as one on offsets of elements.

    Blocks of the highest bit that the swizzle changes are closed under it: that the buffer starts at one is assumed
    where its declaration says less.
    """
    swizzle, flag = layout.a, layout.offset
    bits = None if tensor.dtype is None else known_value(tensor.dtype.bits or 0)
    if not isinstance(swizzle, Swizzle) or not isinstance(flag, SmemPtrFlag) or flag.sparsity is not None:
        return None
    if not isinstance(layout.b, Layout) or not bits or bits % 8 or bits & (bits - 1):
        return None
    granule = swizzle.base - int(math.log2(bits // 8))
    if granule < 0:
        return None
    made = ComposedLayout(Swizzle(swizzle.bits, granule, swizzle.shift), 0, layout.b)
    period = 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))
    block = 1 << (swizzle.bits + swizzle.base + max(0, -swizzle.shift))
    known = int((buffer.alignment_bytes is not None and known_value(buffer.alignment_bytes)) or 1)
    if not swizzle.bits or known % period == 0:
        return Placed(made, ZERO)
    step = math.gcd(known, period) if known % block == 0 else block
    scale = bits // 8
    base = ex.var(f"start of {buffer.name}", Domain(0, (period - step) // scale, step // scale))
    assumption = "" if step <= known else f"`{buffer.name}` starts at a multiple of {block} bytes"
    return Placed(made, ZERO, base, assumption, math.gcd(max(known, SMEM_BASE), step) // scale)
