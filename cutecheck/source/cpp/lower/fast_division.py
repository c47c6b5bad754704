"""What CUTLASS's ``FastDivmod`` computes: a quotient and what is left, by a multiplication instead of a division.

Its objects hold a multiplier and a shift for a divisor (``cutlass/fast_math.h``), by which ``__umulhi`` gives the
quotient of each dividend that is not negative; those for powers of two shift and mask. Read as they are written, what
they give is a number of which nothing is known, and so are the tiles that CUTLASS's schedulers take by it.
"""

from __future__ import annotations

from cutecheck.facts import Span
from cutecheck.source.eval import ir

_FILE = "cutlass/fast_math.h"
_DIVMOD = "fast_divmod"
_WRITTEN = {_DIVMOD: ">>", "divide": ">>", "modulus": "&"}  # with what; other bodies are divisions as they stand
_MEMBER, _FREE = 3, 6  # parameters: quotient, remainder, dividend; of the function outside of classes the divisor, too


def divided(name: str, params: tuple[ir.Param, ...], body: ir.Lazy, span: Span) -> ir.Lazy:
    """The body of a function of this file as divisions, where it is one of these; else as it is written."""
    written = _WRITTEN.get(name)
    if written is None or not span.path.endswith(_FILE) or body.spelled is None or written not in body.spelled():
        return body

    def named(text: str) -> ir.Name:
        return ir.Name(text, None, span)

    def operation(op: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
        return ir.Binary(op, left, right, span)

    divisor, names = named("divisor"), [named(p.name) for p in params]
    if name != _DIVMOD and len(names) == 1:
        made: tuple[ir.Stmt, ...] = (ir.Return(operation("/" if name == "divide" else "%", names[0], divisor), span),)
    elif name == _DIVMOD and len(names) in (_MEMBER, _FREE):
        quotient, left, dividend = names[:3]
        by = divisor if len(names) == _MEMBER else names[3]
        made = (
            ir.Assign(quotient, "=", operation("/", dividend, by), span),
            ir.Assign(left, "=", operation("%", dividend, by), span),
        )
    else:
        return body
    return ir.Lazy(lambda: ir.Block(made, span), body.spelled)
