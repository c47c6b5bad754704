"""CUT303 operation-not-legal."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Site, Span
from cutecheck.findings import Finding
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.rules.base import Context
from cutecheck.rules.derive.targets import earliest, lacking
from cutecheck.rules.rejected import Rejected

_OPERATION = "not an operation of the hardware", ""
_OTHERS = {
    "make_layout": ("not a layout", "give each mode an extent of at least 1, and a stride of its own"),
    "inline_asm": ("LLVM does not take this", "name one constraint for each operand, and operands from $0 on"),
}
_MAKERS = ("make_copy_atom", "make_mma_atom", "make_tiled_mma", "make_trivial_tiled_mma")


class OperationNotLegal(Rejected):
    """An operation of the Python DSL that does not exist, or not on this architecture.

    What it checks
        The shape, element types, accumulator and architecture of ``cute.nvgpu`` operations against what the hardware
        has, the architecture of every atom that a Python source makes, and that a layout of the DSL has extents of at
        least 1 and a stride for each. ``llvm.inline_asm`` is given the operands that its constraints take, and its
        text has no others.

    Why
        Some combinations the DSL refuses when it traces the kernel. Others it takes silently and the compiler fails
        later, or the launch does: an FP8 MMA or ``stmatrix`` on sm_80.

    Example
        cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)  # on sm_80

    Use instead
        cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16)

    Assumptions
        Atoms are judged by the architectures that ``--arch`` or the configuration names: where there are several, one
        that has the operation is enough. What the DSL itself refuses is judged for those of the file's own names, too.

    Fix
        Choose an operation of the architecture, or the architecture of the operation.

    References
        cutlass/cute/nvgpu of nvidia-cutlass-dsl 4.8.1; PTX ISA
    """

    code = "CUT303"
    name = "operation-not-legal"
    family = "atom-count"
    unasked = "None: it looks up what the hardware and the DSL accept."
    pattern = re.compile(r"the DSL rejects |expects |cp\.async of \d+ bits")
    advice = "choose another shape, element type or operation"
    arch = ("sm_80",)
    valid = (
        """
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.nvgpu import warp

        @cute.jit
        def host():
            op = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))
            mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)))
            load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.BFloat16)

        host()
        """,
    )
    invalid = (
        """
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.nvgpu import warp

        @cute.jit
        def host():
            op = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float16, (16, 8, 16))
            mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)))

        host()
        """,
        """
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.nvgpu import warp

        @cute.jit
        def host():
            store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)

        host()
        """,
    )

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        if not site.call:
            return
        yield from super().on_site(site, context)
        atom = getattr(site.value, "atom", site.value)
        if not isinstance(atom, (CopyAtom, MMAAtom)) or site.kind not in ("copy_atom", "mma_atom", "tiled_mma"):
            return
        if lacking(atom, site.arch, context) and site.call.rpartition(".")[2] in _MAKERS:
            yield self.finding(
                site.span,
                f"{atom.op} needs {earliest(atom.targets)}, and this is {site.arch}: {_taken(atom)}",
                label=f"an operation of {atom.arch}",
                help="choose an operation of the architecture, or pass --arch",
                arch=site.arch,
            )

    def _rejected(self, span: Span, text: str, enclosing: str = "", arch: str = "") -> Finding:
        gist = re.sub(r"^CuTe rejects (\w+): ", r"\1: ", text).removeprefix("the DSL rejects ")
        label, advice = next((said for start, said in _OTHERS.items() if gist.startswith(start)), _OPERATION)
        return self.finding(span, gist, label=label, help=advice or self.advice, enclosing=enclosing, arch=arch)


def _taken(atom: CopyAtom | MMAAtom) -> str:
    """What the DSL makes of it: it looks at the architecture of wgmma and tcgen05 operations."""
    return "the DSL refuses it" if "GMMA" in atom.op or "SM100" in atom.op else "the DSL takes it silently"
