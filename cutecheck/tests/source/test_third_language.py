"""The evaluator knows no language: a made-up one, lowered by hand, gets its tiled copy."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.notation import show
from cutecheck.model.tiled import TiledCopy
from cutecheck.source.eval import expressions, ir, statements  # noqa: F401  (register the node handlers)
from cutecheck.source.eval.budget import Budget
from cutecheck.source.eval.dialect import DEFER, Dialect
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import CuteOp, Intrinsic, ScalarType, Value, ValueType

HERE = Span("program.toy", 1, 1, 1, 2)


class Toy(Dialect):
    """Numbers end in ``s`` when they are static; everything else is known when the program runs."""

    name = "toy"

    def literal(self, node: ir.Lit) -> Value:
        text = str(node.value)
        return int(text[:-1]) if text.endswith("s") else Dyn(as_expr(int(text)))

    def to_model(self, value: Value) -> Value:
        return value

    def from_model(self, value: Value) -> Value:
        return value

    def truth(self, value: Value) -> bool | None:
        return bool(value) if isinstance(value, int) else None

    def unary(self, op: str, value: Value, span: Span) -> Value:
        return -value if op == "-" else Unknown(op, span)

    def binary(self, op: str, left: Value, right: Value, span: Span) -> Value:
        return {"plus": left + right, "times": left * right}[op]

    def cast(self, type_: Value, value: Value, span: Span) -> Value:
        return value

    def name_value(self, m: Machine, ident: str, env: Env, span: Span) -> Value:
        known = {"MAP": "make_layout", "SPREAD": "make_tiled_copy"}
        return Intrinsic(known[ident]) if ident in known else DEFER


def lower(text: str) -> ir.Expr:
    """``(f a b)`` calls, ``[a b]`` tuples, everything else a name or number."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace("[", " [ ").replace("]", " ] ").split()

    def read(at: int) -> tuple[ir.Expr, int]:
        if tokens[at] not in "([":
            word = tokens[at]
            lit = word[0].isdigit()
            return (ir.Lit(word, "toy", HERE) if lit else ir.Name(word, None, HERE)), at + 1
        close, items, position = {"(": ")", "[": "]"}[tokens[at]], [], at + 1
        while tokens[position] != close:
            item, position = read(position)
            items.append(item)
        if close == "]":
            return ir.Sequence_("tuple", tuple(ir.Arg(i) for i in items), HERE), position + 1
        if isinstance(items[0], ir.Name) and items[0].ident in ("plus", "times"):
            return ir.Binary(items[0].ident, items[1], items[2], HERE), position + 1
        return ir.Call(items[0], tuple(ir.Arg(i) for i in items[1:]), HERE), position + 1

    return read(0)[0]


def machine() -> Machine:
    m = Machine(Program(), Toy(), Recorder("sm_80", lambda path: []), "sm_80", Budget(Limits()))
    from cutecheck.model.dtype import DType
    from cutecheck.source.eval.intrinsics import atoms

    word = ScalarType(DType("uint128_t", 128))
    atom = atoms.copy_atom(m, ValueType(CuteOp("UniversalCopy", (word,))), DType("half_t", 16), HERE)
    m.program.root.env.vars["WIDE"] = atom
    return m


def test_a_tiled_copy_of_a_made_up_language() -> None:
    m = machine()
    value = m.eval(lower("(SPREAD WIDE (MAP [16s 8s] [8s 1s]) (MAP [1s (times 2s 4s)]))"), m.program.root.env)
    assert isinstance(value, TiledCopy)
    assert str(value.layout_tv) == "((_8,_16),_8):((_128,_1),_16)"
    assert show(value.tiler_mn) == "(_16,_64)"


def test_its_run_time_numbers_stay_run_time() -> None:
    m = machine()
    value = m.eval(lower("(MAP [(plus 3 4) 8s])"), m.program.root.env)
    assert str(value) == "(7,_8):(_1,7)"


def test_unknown_names_and_refused_calls_are_reasons() -> None:
    m = machine()
    assert isinstance(m.eval(lower("(NOTHING 1s)"), m.program.root.env), Unknown)
    refused = m.eval(lower("(SPREAD WIDE (MAP 4s) (MAP 4s))"), m.program.root.env)
    assert isinstance(refused, Unknown) and refused.rejected
