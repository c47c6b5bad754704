"""Assembly of the program's own in a kernel of the DSL: ``llvm.inline_asm(type, operands, text, constraints)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.values import NONE
from cutecheck.source.eval.containers import unsure
from cutecheck.source.eval.intrinsics.registry import Call
from cutecheck.source.eval.values import Extern, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NAMES = ("res", "operands_", "asm_string", "constraints")
_PLACE = re.compile(r"(?<!\$)(?:\$\$)*\$(?:\{)?(\d+)")  # of an operand in the text; ``$$`` is a dollar


def applied(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    """Note assembly that LLVM does not take: it has fewer operands than its constraints or its text, and what is given
    to it that it passes over."""
    if not isinstance(fn, Extern) or fn.what.rpartition(".")[2] != "inline_asm":
        return
    given = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
    operands, text, asked = given.get("operands_"), given.get("asm_string"), given.get("constraints")
    if not isinstance(operands, (list, tuple)) or unsure(operands) is not None or not isinstance(asked, str):
        return
    constraints = [c.strip() for c in asked.split(",") if c.strip() and not c.strip().startswith("~")]
    if any(set(c) & set("+*|") for c in constraints):
        return  # of operands that are read and written, or in memory
    results = sum(c.startswith("=") for c in constraints)
    left = len(operands) - (len(constraints) - results)
    wrong = _wrong(left, len(constraints), asked, text if isinstance(text, str) else "")
    if results and given.get("res") in (None, NONE):
        wrong = f"its constraints `{asked}` have {results} results, and it is made without"
    if wrong:
        refused = Unknown(f"the DSL rejects inline_asm: {wrong}", span, rejected=True)
        m.recorder.called(m, Call(m, "inline_asm", (), [], span), refused)
    elif left > 0:
        m.recorder.called(m, Call(m, "inline_asm", (), [asked, left], span), None)


def _wrong(left: int, places: int, asked: str, text: str) -> str:
    if left < 0:
        return f"its constraints `{asked}` take {-left} more operands than are given"
    past = [int(n) for n in _PLACE.findall(text) if int(n) >= places]
    return f"`${max(past)}` in its text is none of {places} operands" if past else ""
