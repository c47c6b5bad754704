"""What cutecheck says of a program against what running it shows: every value that it resolves must be that one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import z3

from cutecheck.facts import Unknown
from cutecheck.model.expr import Expr
from cutecheck.model.expr.terms import Op
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.model.notation import parse
from cutecheck.records import record
from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.random_kernels.programs import Program
from cutecheck.tests.source.random_kernels.reference import Shown

_HEAD = """#include <cute/tensor.hpp>
#define START
using namespace cute;
template <class Id, class Tensor> __device__ void seen(Id, Tensor const& t) { copy(t, t); }
"""
_IDENT = re.compile(r"seen<(?:_|C<)(\d+)")
NOT_WALKED = "so it is not walked"
MINOR = frozenset({"n", "m"})


@record(frozen=True, slots=True)
class Said:
    """One event: the offset and the leaves of the layout, None for what is not known."""

    offset: Expr | None
    layout: Layout | None


def text(program: Program) -> str:
    return f"{_HEAD}{program.text()}void host(int n, int m) {{ p{program.seed}::k<<<1, 32>>>(n, m); }}\n"


def said(program: Program, folder: Path) -> dict[int, list[Said]]:
    """By number, what the events of ``seen`` are."""
    (folder / "k.cu").write_text(text(program))
    found: dict[int, list[Said]] = {}
    facts = extract(ExtractRequest((folder,), ("sm_80",)))
    assert all(NOT_WALKED in e.message or "nothing is said of" in e.message for e in facts.errors), facts.errors
    if any("nothing is said of" in e.message for e in facts.errors):
        return found  # a statement that the grammar does not read, which a line tells of
    for event in facts.events:
        hit = _IDENT.search(event.enclosing)
        assert hit is not None, event.enclosing
        tensor = event.operands[0]
        offset = None if isinstance(tensor.offset, Unknown) else as_expr(tensor.offset)  # type: ignore[arg-type]
        layout = tensor.layout if isinstance(tensor.layout, Layout) else None
        found.setdefault(int(hit[1]), []).append(Said(offset, layout))
    return found


def differences(program: Program, shown: Iterable[Shown], folder: Path) -> tuple[list[str], Counter[str]]:
    """Lines for what is wrong; and how often values are known exactly, up to variables, or not."""
    if "goto past" in program.kernel:
        assert not any(s.offset is not None for events in said(program, folder).values() for s in events)
        return [], Counter({"not walked": 1})
    events = said(program, folder)
    if not events:
        return [], Counter({"not read": 1})
    wrong: list[str] = []
    known: Counter[str] = Counter()
    seen: set[tuple[object, ...]] = set()
    for one in shown:
        key = (one.thread, one.sizes, one.ident, one.offset, one.layout)
        if key in seen:
            continue
        seen.add(key)
        if one.ident not in events:
            wrong.append(f"seen {one.ident}: no event, but {one}")
            continue
        answers = [_covers(s, one) for s in events[one.ident]]
        if not any(answers):
            texts = "; ".join(f"{s.offset} {s.layout}" for s in events[one.ident])
            wrong.append(f"seen {one.ident}: {one}, said {texts}")
        known[max((a for a in answers if a), default="wrong")] += 1
    return wrong, known


def _covers(said: Said, one: Shown) -> str:
    """Empty: the event is another; else how much it says: ``unknown``, ``range`` or ``value`` (in no order)."""
    layout = parse(one.layout)
    assert isinstance(layout, Layout)
    pairs: list[tuple[Expr, int]] = []
    if said.layout is not None and not _match(
        (said.layout.shape, said.layout.stride), (layout.shape, layout.stride), pairs
    ):
        return ""
    if said.offset is not None:
        pairs.append((said.offset, one.offset))
    if said.layout is None or said.offset is None:
        return "unknown" if _possible(pairs, one) else ""
    given = {"threadIdx.x": one.thread, "n": one.sizes[0], "m": one.sizes[1]}
    if all(_decided(e, given) for e, _ in pairs):
        return "value" if all(e.evaluate(given) == v for e, v in pairs) else ""
    return "range" if _possible(pairs, one) else ""


def _decided(e: Expr, given: dict[str, int]) -> bool:
    """The expression is a number under these values."""
    return all(
        atom.kind != "opaque" and all(_decided(a, given) for a in atom.args)
        if isinstance(atom, Op)
        else atom.name in given
        for monomial, _ in e.terms
        for atom in monomial
    )


def _match(have: object, real: object, pairs: list[tuple[Expr, int]]) -> bool:
    """Whether static parts are equal; pairs gets the run-time ones."""
    if isinstance(have, tuple) or isinstance(real, tuple):
        return (
            isinstance(have, tuple)
            and isinstance(real, tuple)
            and len(have) == len(real)
            and all(_match(a, b, pairs) for a, b in zip(have, real, strict=True))
        )
    if isinstance(real, Dyn):
        if not isinstance(have, Dyn) or real.value is None:
            return False
        pairs.append((have.expr, real.value))
        return True
    return isinstance(have, int) and have == real


def _possible(pairs: Sequence[tuple[Expr, int]], one: Shown) -> bool:
    """Whether some values of the variables give these numbers."""
    solver = z3.Solver()
    solver.set("timeout", 3000)
    given = {"threadIdx.x": one.thread, "n": one.sizes[0], "m": one.sizes[1]}

    def lower(e: Expr) -> z3.ArithRef:
        total: z3.ArithRef = z3.IntVal(0)
        for monomial, factor in e.terms:
            product: z3.ArithRef = z3.IntVal(factor)
            for atom in monomial:
                product = product * (_operation(atom) if isinstance(atom, Op) else variable(atom.name, atom.domain))
            total = total + product
        return total

    def variable(name: str, domain: object) -> z3.ArithRef:
        if name in given:
            return z3.IntVal(given[name])
        v = z3.Int(name)
        low, high = domain.bounds()  # type: ignore[attr-defined]
        if low is not None:
            solver.add(v >= low)
        if high is not None:
            solver.add(v <= high)
        if domain.values is not None:  # type: ignore[attr-defined]
            solver.add(z3.Or([v == x for x in domain.values]))  # type: ignore[attr-defined]
        elif domain.step > 1:  # type: ignore[attr-defined]
            solver.add(v % domain.step == 0)  # type: ignore[attr-defined]
        return v

    def _operation(atom: Op) -> z3.ArithRef:
        args = [lower(a) for a in atom.args]
        if atom.kind in ("div", "mod") and len(args) == 2:
            a, b = args
            quotient = z3.Int(f"quotient {atom}")
            if atom.kind == "div":
                solver.add(b != 0, z3.Implies(a >= 0, quotient == a / b), z3.Implies(a < 0, quotient == -((-a) / b)))
                return quotient
            solver.add(b != 0, z3.Implies(a >= 0, quotient == a % b), z3.Implies(a < 0, quotient == -((-a) % b)))
            return quotient
        known = {n: given[n] for n in (v.name for a in atom.args for v in a.variables()) if n in given}
        if all(_decided(a, known) for a in atom.args):
            from cutecheck.model.expr.arithmetic import atom_expr

            if atom.kind != "opaque":
                return z3.IntVal(atom_expr(atom).evaluate(known))
        return z3.Int(f"some {atom}")

    for e, value in pairs:
        solver.add(lower(e) == value)
    return bool(solver.check() != z3.unsat)
