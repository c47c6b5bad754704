"""CUT213 cp-async-not-waited."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import side_instruction
from cutecheck.rules.derive.groups import Pending, never_committed, pending, unknown_fill
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.uses import Order, Use, exclusive, order, uses_of


class CpAsyncNotWaited(Rule):
    """Shared memory is read or stored to that cp.async or TMA fills, and nothing has waited for the copy.

    What it checks
        In the order a kernel reaches them: between the first ``cp.async`` or TMA load into a buffer and a read of the
        buffer by a copy or an MMA, something waits (``cp_async_wait``, a pipeline's or barrier's wait). Where all waits
        are ``cp_async_wait<N>``: more than N groups can have been committed since that ``cp.async`` when the read is
        first reached, so that the wait waits for something; and a loop that fills and reads commits its copies. Before
        other stores to a buffer (an epilogue's), something waits for the ``cp.async`` into it that every pass makes.

    Why
        An asynchronous copy returns before the data is there, and ``__syncthreads()`` does not wait for it. The kernel
        computes with what was in the tile before; small problems often come out right by luck.

    Example
        copy(g2s, tAgA, tAsA);
        cp_async_fence();
        __syncthreads();
        copy(s2r, tXsA, tXrA);

    Use instead
        copy(g2s, tAgA, tAsA);
        cp_async_fence();
        cp_async_wait<0>();
        __syncthreads();
        copy(s2r, tXsA, tXrA);

    Assumptions
        Any other call with wait in its name waits for the copy. Groups are counted up to the first pass of the loop
        that reads; loops before it must have known lengths, and what later passes wait for is not judged. A commit
        under a condition counts as made.

    Fix
        Wait for the group of the copy before the barrier: a main loop that has N groups under way when it waits, and
        reads the oldest, needs ``cp_async_wait<N - 1>``.

    References
        PTX ISA, cp.async.wait_group; cute/arch/copy_sm80.hpp (cp_async_wait)
    """

    code = "CUT213"
    name = "cp-async-not-waited"
    family = "lint"
    severity = "warning"
    confidence = "heuristic"
    unasked = "None: it compares the order of copies, commits and waits, and counts groups."
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Tile = Layout<Shape<_8, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ alignas(16) float smem[cosize_v<Tile>];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
          auto t = Load{}.get_slice(threadIdx.x);
          copy(Load{}, t.partition_S(g), t.partition_D(s));
          cp_async_fence();
          cp_async_wait<0>();
          __syncthreads();
          copy(AutoVectorizingCopy{}, t.partition_S(s), t.partition_D(o));
        }
        """,
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Tile = Layout<Shape<_8, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ alignas(16) float smem[cosize_v<Tile>];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
          auto t = Load{}.get_slice(threadIdx.x);
          copy(Load{}, t.partition_S(g), t.partition_D(s));
          cp_async_fence();
          __syncthreads();
          copy(AutoVectorizingCopy{}, t.partition_S(s), t.partition_D(o));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for use in uses_of(event):
            if use.written:
                late = None if _fills(use) else _in_flight(use, context)
                if late is not None:
                    yield self._overwritten(late, use)
                    return
                continue
            reached = order(context)
            filled = next((u for u in reached.before(use) if _fills(u) and _overlaps(u, use)), None)
            if filled is None or exclusive(filled.event, event) or _written_since(filled, use, reached):
                continue
            if filled.event.order < reached.waited(use):
                short = None if unknown_fill(use, context) else _short(filled, use, context)
                if short is not None:
                    yield self._left_open(filled, use, short)
                    return
                lost = _lost(use, context)
                if lost is not None:
                    yield self._uncommitted(use, *lost)
                    return
                continue
            atom = atom_of_event(filled.event)
            kind = "TMA" if atom is not None and "TMA_LOAD" in atom.op else "cp.async"
            yield self.finding(
                event.span,
                f"`{use.tensor.name}` reads shared memory that {kind} fills through `{filled.tensor.name}`, and "
                "nothing has waited for it: the data need not be there",
                label=f"filled at line {filled.event.span.line}, no wait since",
                help="wait for the barrier of the load"
                if kind == "TMA"
                else "put cp_async_wait<N>() before the barrier",
                related=[Related(filled.event.span, "filled asynchronously here")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
            return

    def _overwritten(self, late: Use, use: Use) -> Finding:
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` is stored to shared memory that cp.async fills through `{late.tensor.name}`, and "
            "nothing has waited for it: the copy may arrive later and overwrite the stores",
            label=f"filled at line {late.event.span.line}, no wait since",
            help="put cp_async_wait<0>() and a barrier before the stores",
            related=[Related(late.event.span, "filled asynchronously here")],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )

    def _uncommitted(self, use: Use, filled: Use, wait: Call) -> Finding:
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` reads shared memory that cp.async fills through `{filled.tensor.name}` in the same "
            "loop, which commits no group: the wait for groups never waits for that copy",
            label=f"filled at line {filled.event.span.line}, no commit in the loop",
            help="commit the copies of each pass (cp_async_fence, cp_async_commit_group)",
            related=[Related(filled.event.span, "filled asynchronously here"), Related(wait.span, "waits for groups")],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )

    def _left_open(self, filled: Use, use: Use, left: Pending) -> Finding:
        """A wait that lets every group pass that can have been committed."""
        why = (
            f"at most {left.committed} can have been committed since: the wait waits for none of them"
            if left.committed
            else "no group has been committed since: a wait for groups does not see the copy"
        )
        fewer = left.committed - 1
        return self.finding(
            use.event.span,
            f"`{use.tensor.name}` reads shared memory that cp.async fills through `{filled.tensor.name}`, and the wait "
            f"before it leaves {_groups(left.allowed)} open, but {why}",
            label=f"filled at line {filled.event.span.line}, the wait at line {left.wait.span.line} returns at once",
            help=f"wait until at most {_groups(fewer)} {'is' if fewer == 1 else 'are'} open"
            if left.committed
            else "commit the copies before the wait (cp_async_fence, cp_async_commit_group)",
            related=[
                Related(filled.event.span, "filled asynchronously here"),
                Related(left.wait.span, f"leaves {_groups(left.allowed)} open"),
            ],
            enclosing=use.event.enclosing,
            arch=use.event.arch,
        )


def _groups(count: int) -> str:
    return f"{count} group" + "s" * (count != 1)


def _written_since(filled: Use, use: Use, reached: Order) -> bool:
    """Something else is stored there after the asynchronous copy: the read may be of that."""
    later = (u for u in reached.before(use) if u.written and u.event.order > filled.event.order)
    return any(_overlaps(u, use) and not _fills(u) for u in later)


def _lost(use: Use, context: Context) -> tuple[Use, Call] | None:
    """A cp.async of the loop that reads which no group of the loop holds, and the wait that passes it by."""
    if not _complete(use, context):
        return None
    reached = order(context)
    for filled in (*reached.before(use), *reached.after(use)):
        used = side_instruction(filled.event, "dst") if filled.written else None
        if used is not None and used.kind.startswith("cp.async") and _overlaps(filled, use):
            wait = never_committed(filled, use, context)
            if wait is not None and not exclusive(filled.event, use.event):
                return filled, wait
    return None


def _complete(use: Use, context: Context) -> bool:
    """All accesses of the buffer are known."""
    buffers = context.index.buffers.get((use.tensor.buffer or "", use.event.arch), [])
    return all(b.accesses_complete for b in buffers)


def _short(filled: Use, use: Use, context: Context) -> Pending | None:
    """The wait between them that waits for nothing, where all accesses of the buffer are known."""
    used = side_instruction(filled.event, "dst")
    if used is None or not used.kind.startswith("cp.async"):
        return None
    return pending(filled, use, context) if _complete(use, context) else None


def _in_flight(use: Use, context: Context) -> Use | None:
    """A cp.async of all passes of an earlier loop that fills this place after the last wait; all accesses are known."""
    reached = order(context)
    since = [u for u in reached.before(use) if u.event.order > reached.waited(use) and u.written and _overlaps(u, use)]
    mine = {(g.span, g.negated) for g in use.event.guards}
    for fill in since:
        used = side_instruction(fill.event, "dst")
        if not fill.event.loops or fill.event.loops[-1] in use.event.loops:
            continue
        always = not fill.event.predicated and {(g.span, g.negated) for g in fill.event.guards} <= mine
        if used is not None and used.kind.startswith("cp.async") and always and _complete(use, context):
            return fill
    return None


def _fills(use: Use) -> bool:
    """A cp.async or TMA load writes the buffer."""
    if not use.written:
        return False
    atom, used = atom_of_event(use.event), side_instruction(use.event, "dst")
    return (atom is not None and "TMA_LOAD" in atom.op) or (used is not None and used.kind.startswith("cp.async"))


def _overlaps(a: Use, b: Use) -> bool:
    return a.first < b.last and b.first < a.last
