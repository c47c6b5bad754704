"""``sizeof_bits`` of classes of the program: what a specialisation for one says, or what it takes in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.units import Bits
from cutecheck.source.eval.program import WIDTHS
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import TemplateRef, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def class_width(m: Machine, t: ClassInst, span: Span) -> Bits | None:
    """None where it is not known."""
    from cutecheck.source.eval import lookup
    from cutecheck.source.eval.memory import size_bytes
    from cutecheck.source.eval.templates import apply_template

    library = m.program.root.children.get("cutlass")
    entries = tuple(library.decls.get(WIDTHS, ())) if library is not None else ()
    if any(getattr(e.decl, "spec_args", None) is None for e in entries):
        told = apply_template(m, TemplateRef("sizeof_bits", entries), (t,), span)
        bits = constant(lookup.member(m, told, "value", None, span)) if isinstance(told, ClassInst) else None
    else:
        size = size_bytes(m, t, span)
        bits = 8 * int(size) if isinstance(size, int) else None
    return None if bits is None else Bits(bits)
