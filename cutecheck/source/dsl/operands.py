"""Python's operators on numbers, run-time numbers and what CuTe has operators for; truth."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model import ints
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import ScaledBasis, Underscore, X
from cutecheck.model.ints import Condition, CuteError, Dyn, Rel, Sym, Undecided
from cutecheck.source.dsl import (
    builtins,
    classes,
    cute_values,
    enumerations,
    protocol,
    reductions,
    replays,
    torch_ops,
    vectors,
)
from cutecheck.source.dsl.arithmetic import of_sets, of_threads, plain
from cutecheck.source.dsl.equality import contains, equal
from cutecheck.source.dsl.merging import Merging
from cutecheck.source.dsl.values import (
    BuiltinType,
    Distinct,
    Enumerator,
    HostTensor,
    TmaAtom,
)
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import unsure
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.undetermined import opposite
from cutecheck.source.eval.values import (
    Extern,
    Object,
    Scalar,
    ScalarType,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

PLAIN = (int, float, str, bool, tuple, list, dict, range, type(None))
_COMPARE: dict[str, Rel] = {"==": Rel.EQ, "!=": Rel.NE, "<": Rel.LT, "<=": Rel.LE}
_BITS = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr"}


Hook = TypeVar("Hook", bound=Callable[..., Any])


def contained(hook: Hook) -> Hook:
    """What the model refuses, or cannot do, is one unknown value, not the end of the function around it."""

    @functools.wraps(hook)
    def run(*args: Any) -> Any:
        try:
            return hook(*args)
        except CuteError as error:
            return Unknown(f"CuTe rejects this: {error}", args[-1])
        except builtins.FAILURES as error:
            return Unknown(f"these operands are not followed ({error})", args[-1])

    return cast("Hook", run)


class Operands(Merging):
    """Literals, truth and operators. Python's numbers are themselves."""

    machine: Machine | None = None  # that which runs a program, which some truths ask

    def literal(self, node: ir.Lit) -> Value:
        return node.value

    def to_model(self, value: Value) -> Value:
        if value is None:
            return X
        if isinstance(value, bool):
            return value
        if isinstance(value, (tuple, list)):
            return tuple(self.to_model(v) for v in value)
        if isinstance(value, Scalar) and isinstance(value.value, (int, Dyn)):
            return value.value
        if isinstance(value, TmaAtom) and isinstance(value.atom, CopyAtom):
            return value.atom
        return enumerations.plain(value)

    def from_model(self, value: Value) -> Value:
        if isinstance(value, Underscore):
            return None
        if isinstance(value, tuple) and any(isinstance(v, (Underscore, tuple)) for v in value):
            return tuple(self.from_model(v) for v in value)
        return value

    def truth(self, value: Value) -> bool | None:
        if isinstance(value, Scalar):
            if value.value is None:
                return None
            value = value.value
        if isinstance(value, (list, dict)) and unsure(value) is not None:
            return None
        if isinstance(value, PLAIN):
            return bool(value)
        if isinstance(value, (Dyn, Sym)):
            answer = ints.decide(Condition(Rel.NE, value.expr, ints.as_expr(0)))
            if isinstance(answer, Undecided):
                return None if self.replaying is None else self.replaying.truth(value.expr)
            return answer
        if isinstance(value, (Unknown, Extern, TensorVal)):
            return None
        if isinstance(value, Object) and protocol.has_truth(value):
            return (
                None if self.machine is None else self.truth(protocol.truth(self.machine, value, value.cls.decl.span))
            )
        if isinstance(value, Enumerator):
            plain_value = enumerations.plain(value)
            return not enumerations.empty(value) if plain_value is value else self.truth(plain_value)
        return True

    @contained
    def unary(self, op: str, value: Value, span: Span) -> Value:
        if op == "!":
            known = self.truth(value)
            return opposite(value) if known is None else not known
        if op == "~" and isinstance(value, Enumerator) and enumerations.is_flag(value):
            return enumerations.inverted(value)
        value = enumerations.plain(value)
        if isinstance(value, Object) and self.machine is not None:
            method = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}.get(op, "")
            said = protocol.asked(self.machine, value, method, [], span)
            return said if said is not None else Unknown(f"operator {op} on an object", span)
        if isinstance(value, (Scalar, HostTensor)):
            return value
        if isinstance(value, (int, float)):
            return -value if op == "-" else value if op == "+" or isinstance(value, float) else ~value
        if isinstance(value, (Dyn, Sym)):
            return 0 - value if op == "-" else value if op == "+" else 0 - value - 1
        if isinstance(value, ScaledBasis) and op == "-":
            return ScaledBasis(-value.value, value.path)
        return Unknown(f"operator {op} on {type(value).__name__}", span)

    def cast(self, type_: Value, value: Value, span: Span) -> Value:
        return cute_values.to_device(type_, value, self.replaying) if isinstance(type_, ScalarType) else value

    @contained
    def binary(self, op: str, left: Value, right: Value, span: Span) -> Value:
        both = enumerations.flags(op, left, right)
        if both is not None:
            return both
        if not op.startswith("is"):
            left, right = enumerations.plain(left), enumerations.plain(right)
        if op in ("==", "!=") and isinstance(left, HostTensor) and isinstance(right, (HostTensor, int, float)):
            assert self.machine is not None
            return torch_ops.binary(self.machine, op, left, right, span)
        if op in ("is", "is not", "==", "!="):
            same = equal(left, right, op.startswith("is"))
            if same is None and self.replaying is not None:
                same = replays.compared(self.replaying, "==", left, right)
            if same is None:
                return of_threads(op, left, right, self.replaying is not None)
            return same == (op in ("is", "=="))
        if op in ("in", "not in"):
            found = contains(left, right)
            return Scalar(None, "bool") if found is None else found == (op == "in")
        bad = unsure(left) or unsure(right)
        if bad is not None:
            return bad
        if isinstance(left, Distinct) and isinstance(right, Distinct):
            return of_sets(op, left, right, span)
        if isinstance(left, PLAIN) and isinstance(right, PLAIN):
            return plain(op, left, right, span)
        if isinstance(left, Scalar) or isinstance(right, Scalar):
            kind = left.ctype if isinstance(left, Scalar) else right.ctype
            if op in ("<", "<=", ">", ">="):
                return Scalar(None, "bool")
            return Scalar(None, "float" if op == "/" else kind)
        if isinstance(left, (int, Dyn, Sym)) and isinstance(right, (int, Dyn, Sym)):
            return self._run_time(op, left, right, span)
        if isinstance(left, float) or isinstance(right, float):
            return Scalar(None, "bool" if op in ("<", "<=", ">", ">=") else "float")
        return Unknown(f"operator {op} on {type(left).__name__} and {type(right).__name__}", span)

    def _run_time(self, op: str, a: Any, b: Any, span: Span) -> Value:
        if op in (">", ">="):
            a, b, op = b, a, {">": "<", ">=": "<="}[op]
        if op in _COMPARE:
            answer = ints.decide(Condition(_COMPARE[op], ints.as_expr(a), ints.as_expr(b)))
            if not isinstance(answer, Undecided):
                return answer
            known = None if self.replaying is None else replays.compared(self.replaying, op, a, b)
            return of_threads(op, a, b, self.replaying is not None) if known is None else known
        if op == "+":
            return a + b
        if op == "-":
            return a - b
        if op == "*":
            return ints.mul(a, b)
        if op in ("//", "%"):
            if isinstance(b, int) and b == 0:
                return Unknown("division by zero", span)
            return ints.div(a, b) if op == "//" else ints.mod(a, b)
        if op == "/":
            return Scalar(None, "float")
        if op in _BITS:
            return ints.apply_op(_BITS[op], a, b)  # type: ignore[arg-type]
        return Unknown(f"operator {op}", span)

    @contained
    def operator(self, m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
        if op in ("is", "is not", "==", "!=", "in", "not in"):
            if isinstance(left, Object) and op in ("==", "!=") and isinstance(right, Object):
                found = classes.operator(m, "==", left, right, span)
                if found is not None:
                    return found if op == "==" else self.unary("!", found, span)
            if isinstance(right, (Object, ClassInst)) and op in ("in", "not in"):
                found = protocol.asked(m, right, "__contains__", [left], span)
                if found is None:
                    found = contains(left, m.dialect.items(m, right, span))
                known = None if found is None else self.truth(found)
                return Scalar(None, "bool") if known is None else known == (op == "in")
            return self.binary(op, left, right, span)
        if isinstance(left, Object) or isinstance(right, Object):
            found = classes.operator(m, op, left, right, span)
            return found if found is not None else Unknown(f"operator {op} on an object", span)
        return reductions.passed(m, self._of_two(m, op, left, right, span), [left, right], span)

    def _of_two(self, m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
        found = vectors.operator(op, left, right, span) or cute_values.operator(m, op, left, right, span)
        if found is not None:
            return found
        if isinstance(left, Extern) or isinstance(right, Extern):
            what = left.what if isinstance(left, Extern) else right.what
            return Extern(f"{what} {op} ...", span)
        if isinstance(left, (ScalarType, BuiltinType, ClassInst)) and op == "|":
            return BuiltinType("Union")
        return self.binary(op, left, right, span)
