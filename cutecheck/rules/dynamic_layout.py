"""CUT405 dynamic-not-static."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.findings import Finding
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import static_layout
from cutecheck.rules.rejected import Rejected

_OWNING = ("make_tensor", "make_fragment_like", "make_tensor_like")

_OWNED = "Dynamic owning tensors not supported"  # cute/tensor_impl.hpp


class DynamicLayout(Rejected):
    """A run-time number where CuTe needs a static one.

    What it checks
        Registers (``make_tensor<T>(layout)``, ``make_fragment_like``, ``make_tensor_like``) have static layouts, and so
        have the layouts that thread layouts and tilers of copies are made of.

    Why
        The number of registers and the algebra of a TiledCopy are worked out by the compiler. ``make_shape(16, 8)`` is
        two run-time integers; what the compiler says ("Dynamic owning tensors not supported", "Dynamic-stride
        complement only for rank-1 layouts") names neither the tensor nor the number.

    Example
        Tensor r = make_tensor<float>(make_shape(n / 128));
        make_tiled_copy(atom, make_layout(make_shape(16, 8)), values);

    Use instead
        Tensor r = make_tensor<float>(make_shape(_8{}));
        make_tiled_copy(atom, Layout<Shape<_16, _8>>{}, values);

    Assumptions
        None.

    Fix
        Write the numbers as ``Int<16>{}`` or ``_16{}``, or take them from a template parameter.

    References
        cute/tensor_impl.hpp (make_tensor); cute/layout.hpp (complement)
    """

    code = "CUT405"
    name = "dynamic-not-static"
    family = "dynamic-static"
    unasked = "None: it is about which numbers are static."
    pattern = re.compile(
        r"Dynamic-stride|Dynamic owning|needs? (a )?static|[Rr]equires static|is_static|static extents"
    )
    advice = "write the numbers as static integers: `Int<16>{}`, `_16{}`"
    valid = (
        """
        inline auto copier() {
          return make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_16, _8>>{},
              Layout<Shape<_1, _1>>{});
        }
        """,
    )
    invalid = (
        """
        inline auto copier() {
          return make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, make_layout(make_shape(16, 8)),
              Layout<Shape<_1, _1>>{});
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if call.span.is_python:
            return  # the DSL keeps Python's integers static where they pass through calls that are not followed
        if call.function.startswith("make_tiled"):
            yield from super().on_call(call, context)
        tensor = call.result
        if call.function in _OWNING and isinstance(tensor, Unknown) and tensor.rejected and _OWNED in tensor.reason:
            yield self._registers(call, tensor.reason.partition(f"{_OWNED}: ")[2])
            return
        if call.function not in _OWNING or not isinstance(tensor, TensorFact) or tensor.space != "rmem":
            return
        if tensor.provenance not in ("view", "fragment") or not (tensor.buffer or "").startswith("rmem@"):
            return
        if isinstance(tensor.layout, Unknown):
            return
        if not (tensor.buffer or "").endswith(f"@{call.span.line}:{call.span.column}") or static_layout(tensor.layout):
            return
        yield self._registers(call, str(tensor.layout))

    def _registers(self, call: Call, layout: str) -> Finding:
        return self.finding(
            call.span,
            f'registers of the run-time layout {layout}: CuTe stops with "{_OWNED}"',
            label=f"layout {layout}",
            help=self.advice,
            enclosing=call.enclosing,
            arch=call.arch,
        )
