"""Kernels and their launches."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Launch, Span
from cutecheck.model import ints
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.model.inttuple import product
from cutecheck.source.eval import ir
from cutecheck.source.eval.chosen import OneOf
from cutecheck.source.eval.record.reading import ReadingRecorder
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.tuples import Components
from cutecheck.source.eval.values import FuncSet, Intrinsic, Scalar, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def _sizes(m: Machine, operand: Value) -> Any:
    """A block or grid operand as integers, a ``dim3`` also one from outside."""
    return m.dialect.to_model(tuple(operand) if isinstance(operand, Components) else operand)


def _threads(m: Machine, block: Value) -> Any:
    """The number of threads of a launch's block operand (or of CTAs of its cluster)."""
    if isinstance(block, Scalar):
        return block.value if isinstance(block.value, int) else None
    model = _sizes(m, block)
    if isinstance(model, (int, Dyn, Sym)):
        return ints.known_value(model) if not isinstance(model, Sym) else model
    if isinstance(model, tuple) and all(isinstance(x, (int, Dyn, Sym)) for x in model):
        return ints.known_value(product(model))
    return None


def _extents(m: Machine, block: Value) -> tuple[int | None, ...] | None:
    """The block's threads along each axis, None for what is no number; None where it may be of any shape."""
    model = block.value if isinstance(block, Scalar) else _sizes(m, block)
    parts = model if isinstance(model, tuple) else (model,)
    numbers = (int, Dyn, Sym)
    if not isinstance(model, (tuple, *numbers)) and not isinstance(block, Scalar):
        return None
    known = [ints.known_value(x) if isinstance(x, numbers) else None for x in parts]
    while len(known) > 1 and known[-1] == 1:
        known.pop()
    return tuple(known)


def _grid(m: Machine, grid: Value) -> tuple[Any, ...]:
    """The blocks of a launch along each axis; empty where one of them is no number and no expression."""
    model = grid.value if isinstance(grid, Scalar) else _sizes(m, grid)
    parts = model if isinstance(model, tuple) else (model,)
    return parts if all(isinstance(x, (int, Dyn)) for x in parts) else ()


def _changes(before: tuple[Int, ...], now: tuple[Int, ...]) -> bool:
    """Whether a launch has other constants than one before it: of its kernel's tensors, too, there are others then."""
    return not any(isinstance(n, Dyn) for n in before) and before != now


class LaunchRecorder(ReadingRecorder):
    """Launches, and the block size that each kernel runs with."""

    def allowed(self, kernel: str, span: Span, smem: Any) -> None:
        """``cudaFuncSetAttribute`` allows a kernel dynamic shared memory."""
        launch = Launch(kernel, span, self.arch, None, smem, origin="attribute", guards=tuple(self._guards))
        self.launches[("attribute", kernel, span, str(smem))] = launch

    def block_threads(self) -> int | None:
        return self._threads.get(self.frame.kernel) if self.frame is not None else None

    def block_extent(self, axis: int) -> int | None:
        """Threads of the block along x, y or z; the launch bounds' for x where the launch is not known."""
        dims = self.block_shape()
        if not dims:
            return self.block_threads() if axis == 0 else None
        return dims[axis] if axis < len(dims) else 1

    def grid_extent(self, axis: int) -> int | None:
        """Blocks of the grid along x, y or z, where each run of the kernel is of one launch."""
        extents = self._grids.get(self.frame.kernel, ()) if self.frame is not None else ()
        return extents[axis] if axis < len(extents) else None

    def kernel(self, m: Machine, fn: ir.Function, env: Env) -> None:
        """A kernel is entered: its launch bounds say how many threads at most."""
        if not fn.launch_bounds or self.frame is None:
            return
        limit = constant(m.eval(fn.launch_bounds[0], env))
        if limit is not None:
            self._threads.setdefault(self.frame.symbol, limit)
            launch = Launch(self.frame.symbol, fn.span, self.arch, limit, origin="launch_bounds")
            self.launches[(self.frame.symbol, fn.span)] = launch

    def in_clusters(self, m: Machine, fn: ir.Function, env: Env) -> int | None:
        """Blocks of a cluster as the kernel's own ``__cluster_dims__`` says, for the launch at hand."""
        known = [constant(m.eval(extent, env)) for extent in fn.cluster_dims]
        if self.pending:
            self.pending[-1] = (*self.pending[-1][:5], tuple(known))
        numbers = [n for n in known if n is not None]
        return prod(numbers) if len(numbers) == len(known) else None

    def launch(
        self,
        m: Machine,
        fn: Value,
        config: list[Value],
        args: list[Value] | None,
        span: Span,
        cluster: Value = None,
    ) -> Value:
        """``kernel<<<grid, block, smem>>>(args)``: the block size holds inside the kernel.

        ``args`` None: the arguments are passed in a way that hides them.
        """
        from cutecheck.source.eval import kernels

        block = _threads(m, config[1]) if len(config) > 1 else None
        smem = m.dialect.to_model(config[2]) if len(config) > 2 else 0
        extents = _extents(m, config[1]) if len(config) > 1 else None
        shape = _extents(m, cluster) if cluster is not None else None
        self.pending.append((block, smem, span, extents, _grid(m, config[0]) if config else (), shape or ()))
        try:
            if not self.rehearsal and not isinstance(fn, (FuncSet, Intrinsic, OneOf)):
                found = m.history.open_launches.setdefault(self.function(), set())
                found.add((block if isinstance(block, int) else None, extents))
            return kernels.launch(
                m, fn, args, block, smem if isinstance(smem, (int, Dyn, Sym)) else None, span, _threads(m, cluster)
            )
        finally:
            self.pending.pop()

    def function(self) -> Span | None:
        """Where the function is that is walked."""
        function = self.frame.function if self.frame is not None else None
        return function.span if function is not None else None

    def launch_by_address(self, m: Machine, fn: Value, span: Span, function: Span | None) -> Value:
        """A kernel whose address ``function`` takes: where that launches what it does not know, by blocks of one size,
        it is taken to launch this."""
        from cutecheck.source.eval import kernels

        found = m.history.open_launches.get(function, set()) if function is not None else set()
        block, extents = next(iter(found)) if len(found) == 1 else (None, None)
        self.pending.append((block, None, span, extents, (), ()))
        try:
            return kernels.launch(m, fn, None, block, None, span)
        finally:
            self.pending.pop()

    def block(self, threads: Any) -> tuple[int | None, ...]:
        """The extents of the block of the launch at hand, or its threads; empty where they are not known."""
        dims = self.pending[-1][3] if self.pending else None
        return dims if dims is not None else (threads,) if isinstance(threads, int) else ()

    def launched(
        self, symbol: str, span: Span, block: Any, smem: Any, cluster: Any = None, tried: bool = False,
        blocks: tuple[Int, ...] = (), shape: tuple[int | None, ...] = (), numbers: tuple[tuple[str, int], ...] = (),
    ) -> None:  # fmt: skip
        """``blocks``: of the grid, ``shape``: of a cluster, where no launch with ``<<<...>>>`` says so."""
        dims = self.pending[-1][3] if self.pending else None
        if isinstance(block, int):
            self._threads[symbol] = block
        if dims is not None:
            self._dims[symbol] = dims
        elif not isinstance(block, int):
            self._dims.pop(symbol, None)
        key = (symbol, span, f"{block} {smem}")
        before = self.launches.get(key)  # what its kernel does is kept of the first launch, with its variables
        grid = self.pending[-1][4] if self.pending else blocks
        if before is not None:
            grid = before.grid if self.pending or not _changes(before.grid, grid) else ()
        unbound = self.open and span.is_python and (before is None or before.unbound)
        tried = tried and (before is None or before.tried)
        self.launches[key] = Launch(
            symbol, span, self.arch, block, smem, cluster, guards=tuple(self._guards), grid=grid, unbound=unbound,
            tried=tried, cluster_shape=self.pending[-1][5] if self.pending else shape,
            numbers=before.numbers if before is not None else numbers,
        )  # fmt: skip
