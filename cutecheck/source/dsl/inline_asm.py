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
    """Note assembly that LLVM does not take: its constraints are not one for each operand, or its text has others."""
    if not isinstance(fn, Extern) or fn.what.rpartition(".")[2] != "inline_asm" or m.recorder.open:
        return
    given = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
    operands, text, asked = given.get("operands_"), given.get("asm_string"), given.get("constraints")
    if not isinstance(operands, (list, tuple)) or unsure(operands) is not None or not isinstance(asked, str):
        return
    made = given.get("res", Unknown("")) not in (None, NONE)
    wrong = _wrong(made, len(operands), text if isinstance(text, str) else "", asked)
    if wrong:
        refused = Unknown(f"the DSL rejects inline_asm: {wrong}", span, rejected=True)
        m.recorder.called(m, Call(m, "inline_asm", (), [], span), refused)


def _wrong(made: bool, operands: int, text: str, asked: str) -> str:
    constraints = [c.strip() for c in asked.split(",") if c.strip() and not c.strip().startswith("~")]
    if any(set(c) & set("+*|") for c in constraints):
        return ""  # of operands that are read and written, or in memory
    results = sum(c.startswith("=") for c in constraints)
    taken = len(constraints) - results
    if taken != operands:
        return f"{operands} operands are given, and its constraints `{asked}` take {taken}"
    if results and not made:
        return f"its constraints `{asked}` have {results} results, and it is made without"
    past = [int(n) for n in _PLACE.findall(text) if int(n) >= len(constraints)]
    return f"`${max(past)}` in its text is none of {len(constraints)} operands" if past else ""
