"""C++ scalars: integer types with their widths, promotions, truncating division and wrap-around."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model import ints
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.constants import Constant, constant_of, is_foreign, truth_constant, type_of_constant
from cutecheck.model.dtype import dtype
from cutecheck.model.integers import (
    INTEGERS,
    address,
    calculated,
    common_type,
    converted,
    dividend,
    promoted,
    whole_domain_of,
    wrapped,
)
from cutecheck.model.ints import Condition, Dyn, Int, Rel, Sym, Typed, Undecided
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.cpp import assembled, barriers, bulk, pipelines, products, ratios
from cutecheck.source.eval import ir
from cutecheck.source.eval.dialect import DEFER, Dialect
from cutecheck.source.eval.threads import of_shared
from cutecheck.source.eval.tuples import Components, Vector
from cutecheck.source.eval.values import (
    Enumerated,
    EnumVal,
    Pointer,
    Scalar,
    ScalarType,
    Str,
    Tag,
    TraitType,
    Value,
    ValueType,
)  # fmt: skip
from cutecheck.source.eval.zeros import settled

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import ClassInst, Env

_NOWHERE = Span("", 1, 1, 1, 1)

_COMPARE: dict[str, Rel] = {"==": Rel.EQ, "!=": Rel.NE, "<": Rel.LT, "<=": Rel.LE}
_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OF_ADDRESSES = frozenset(name for name, (bits, signed) in INTEGERS.items() if bits == 64 and not signed)
_BITS: dict[str, Any] = {"&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr"}


class CppDialect(Dialect):
    """Scalars are :class:`Scalar`; CuTe's static integers are plain ``int`` and ``Sym``."""

    name = "cpp"
    by_value = True
    watched = pipelines.WATCHED

    def __init__(self) -> None:
        self._fresh = 0

    def apply(self, m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        value = pipelines.applied(m, fn, args, kwargs, span)
        if value is DEFER and (bulk.applied(m, fn, args, span) or products.applied(m, fn, args, span)):
            return Scalar(None, "bool")
        return barriers.applied(m, fn, args, kwargs, span) if value is DEFER else value

    def assembled(self, m: Machine, node: ir.Opaque, env: Env) -> bool:
        return assembled.operations(m, node, env)

    def leads(self, m: Machine, values: list[Value], span: Span) -> None:
        assembled.escapes(m, values, span)

    def barriers(self, value: Value) -> str:
        of = value.buffer if isinstance(value, Pointer) else barriers.read_of(value)
        return pipelines.barriers(value) or of

    def takes_references(self, fn: Value) -> bool:
        return bulk.takes_references(fn) or barriers.takes_reference(fn)

    def writes_nothing(self, fn: Value) -> bool:
        return bulk.is_one(fn) or (self.replaying is not None and barriers.is_step(fn))

    def watches(self, m: Machine, cls: ClassInst) -> bool:
        return pipelines.watched(m, cls) is not None

    def constructed(self, m: Machine, value: Value, args: list[Value], span: Span) -> Value:
        return pipelines.constructed(m, value, args, span)

    def advanced(self, m: Machine, value: Value, span: Span) -> None:
        pipelines.advanced(m, value, span)

    def literal(self, node: ir.Lit) -> Value:
        if node.value is None:
            return Scalar(0, "nullptr_t")
        if isinstance(node.value, str):
            return Str(node.value)
        if isinstance(node.value, bool):
            return Scalar(int(node.value), "bool")
        return Scalar(in_type(node.value, node.ctype) if isinstance(node.value, float) else node.value, node.ctype)

    def to_model(self, value: Value) -> Value:
        if isinstance(value, Scalar):
            if value.value is None and value.ctype in INTEGERS:
                self._fresh += 1
                return Dyn.named(f"{value.ctype}{PER_THREAD}?{self._fresh}", whole_domain_of(value.ctype))
            if value.value is None or isinstance(value.value, float) or value.ctype == "nullptr_t":
                return value
            expr = ints.as_expr(address(value.value) if value.ctype in _OF_ADDRESSES else value.value)
            return Typed(expr, value.ctype) if ints.keeps_type(value.ctype, expr) else Dyn(expr)
        if isinstance(value, EnumVal) and value.value is not None:
            return Enumerated(value)
        if isinstance(value, bool):
            return truth_constant(value)
        if isinstance(value, (Components, Vector)):
            return Unknown("a vector of CUDA is no tuple of CuTe")
        if isinstance(value, tuple):
            return tuple(self.to_model(v) for v in value)
        return value

    def from_model(self, value: Value) -> Value:
        if isinstance(value, Dyn):
            if type(value) is Enumerated:
                return value.enumerator
            number = value.value
            if type(value) is Typed:
                return Scalar(Dyn(value.expr) if number is None else number, value.ctype)
            return Scalar(value if number is None else number, "int")
        if isinstance(value, bool):
            return truth_constant(value)
        return value

    def truth(self, value: Value) -> bool | None:
        if isinstance(value, TraitType):
            value = value.value
        if isinstance(value, ValueType):
            value = value.value
        if isinstance(value, Scalar):
            value = value.value
        if isinstance(value, EnumVal):
            value = value.value
        if isinstance(value, (int, float)):
            return bool(value)
        if isinstance(value, (Dyn, Sym)):
            answer = ints.decide(Condition(Rel.NE, value.expr, ints.as_expr(0)))
            if not isinstance(answer, Undecided):
                return answer
            zero = settled(value)
            if zero is not value:
                return self.truth(zero)
            run = self.replaying
            return None if run is None else run.truth(value.expr, pipelines.inside(run.machine))
        if isinstance(value, Pointer) and self.replaying is not None:
            return not self.replaying.is_null(value)
        return None

    def unary(self, op: str, value: Value, span: Span) -> Value:
        if isinstance(value, TraitType):
            value = value.value
        if is_foreign(value):
            value = Scalar(int(value), value.ctype)
        static = isinstance(value, (int, Sym))
        if isinstance(value, EnumVal):
            value = Scalar(value.value, value.ctype)
        ctype = value.ctype if isinstance(value, Scalar) else type_of_constant(value)
        number: Any = value.value if isinstance(value, Scalar) else value
        if op == "!":
            known = self.truth(value)
            if known is not None:
                return truth_constant(not known) if static else Scalar(int(not known), "bool")
            if isinstance(number, (Dyn, Sym)):
                return Scalar(_condition_value(Rel.EQ, number, 0), "bool")
            return of_shared("bool", op, value)
        if isinstance(value, ScaledBasis):
            return ScaledBasis(-value.value, value.path) if op == "-" else value
        if number is None:
            return of_shared(ctype, op, value)
        if not isinstance(number, (int, float, Dyn, Sym)):
            return Unknown(f"operator {op} on {type(value).__name__}", span)
        out = promoted(ctype)
        if op == "+":
            if isinstance(value, Constant):
                return constant_of(value, out)
            return value if static or isinstance(number, float) else Scalar(number, out)
        if op == "-":
            result: Any = -number
        elif op == "~" and not isinstance(number, float):
            result = ~number if isinstance(number, int) else 0 - number - 1
        else:
            return Unknown(f"operator {op}", span)
        if static:
            return constant_of(result, out) if isinstance(value, Constant) else result
        return Scalar(result if isinstance(result, float) else calculated(result, out, False), out)

    def binary(self, op: str, left: Value, right: Value, span: Span) -> Value:
        left, right = _plain(left), _plain(right)
        if type(left) is Fraction or type(right) is Fraction:
            return ratios.combined(op, left, right, span)
        if not (isinstance(left, EnumVal) and isinstance(right, EnumVal) and op in ("==", "!=")):
            left, right = _number(left), _number(right)
        zero = self.replaying.is_zero(left, right) if op in ("==", "!=") and self.replaying is not None else None
        if zero is not None:
            return Scalar(int(zero == (op == "==")), "bool")
        if isinstance(left, Scalar) and left.ctype == "bool" and op in ("&", "|") and left.value is None:
            return of_shared("bool", op, left, right)
        static = isinstance(left, (int, Sym)) and isinstance(right, (int, Sym))
        a: Any = left.value if isinstance(left, Scalar) else left
        b: Any = right.value if isinstance(right, Scalar) else right
        at, bt = (v.ctype if isinstance(v, Scalar) else type_of_constant(v) for v in (left, right))
        if op in ("<=>",):
            return Unknown("operator <=>", span)
        comparison = op in ("==", "!=", "<", "<=", ">", ">=")
        shift = op in ("<<", ">>")
        operands = promoted(at) if shift else common_type(at, bt)
        ctype = "bool" if comparison else operands
        if op == "*" and (a is None) is not (b is None) and operands in INTEGERS:
            a, b = (self.to_model(v) if n is None else n for v, n in ((left, a), (right, b)))  # `row[i] * stride`
        if a is None or b is None:
            return of_shared(ctype, op, left, right)
        if isinstance(a, float) or isinstance(b, float):
            if isinstance(a, (int, float)) and isinstance(b, (int, float)) and op in _FLOATS:
                if op == "/" and b == 0:
                    return of_shared(ctype, op, left, right)
                a, b = (in_type(v, ctype if not comparison else common_type(at, bt)) for v in (a, b))
                if a is None or b is None:
                    return of_shared(ctype, op, left, right)
                result = _FLOATS[op](a, b)
                return Scalar(int(result) if comparison else in_type(float(result), ctype), ctype)
            return of_shared(ctype, op, left, right)
        if not isinstance(a, (int, Dyn, Sym)) or not isinstance(b, (int, Dyn, Sym)):
            if comparison and op in ("==", "!="):
                return self._compare_structures(op, left, right, span)
            return Unknown(f"operator {op} on {type(left).__name__} and {type(right).__name__}", span)
        typed = static and (isinstance(left, Constant) or isinstance(right, Constant))
        if (typed or not static) and operands in INTEGERS:
            a, b = converted(a, at, operands), b if shift else converted(b, bt, operands)
        if comparison:
            return self._compare(op, a, b, static)
        if static:
            pass
        elif (isinstance(left, int) and _absorbs(op, left, None)) or (
            isinstance(right, int) and _absorbs(op, None, right)
        ):
            return 0  # a constant, whatever the other number is
        if op in ("/", "%") and operands in INTEGERS and not static:
            a = dividend(a, operands, b.value if isinstance(b, Dyn) and b.value is not None else b)
        result_int = self._arithmetic(op, a, b, span)
        if isinstance(result_int, Unknown):
            return result_int
        if typed and isinstance(result_int, int):
            return constant_of(result_int, ctype)
        if static or (isinstance(result_int, int) and not isinstance(left, Scalar) and not isinstance(right, Scalar)):
            return result_int
        return Scalar(calculated(result_int, ctype, op != "-"), ctype)

    def _arithmetic(self, op: str, a: Int, b: Int, span: Span) -> Int | Unknown:
        if op == "+":
            return a + b
        if op == "-":
            return a - b
        if op == "*":
            return ints.mul(a, b)
        if op in ("/", "%"):
            if isinstance(b, int) and b == 0:
                return Unknown("division by zero", span)
            return ints.div(a, b) if op == "/" else ints.mod(a, b)
        if op in _BITS:
            if op in ("<<", ">>") and isinstance(b, int) and not 0 <= b < 4096:
                return Unknown(f"shift by {b}", span)
            return ints.apply_op(_BITS[op], a, b)
        return Unknown(f"operator {op}", span)

    def _compare(self, op: str, a: Int, b: Int, static: bool) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            number = int(_FLOATS[op](a, b))
            return truth_constant(number) if static else Scalar(number, "bool")
        if op in (">", ">="):
            a, b, op = b, a, {">": "<", ">=": "<="}[op]
        value = _condition_value(_COMPARE[op], a, b)
        if static and isinstance(value, int):
            return truth_constant(value)
        return Scalar(value, "bool")

    def _compare_structures(self, op: str, left: Value, right: Value, span: Span) -> Value:
        if isinstance(left, EnumVal) and isinstance(right, EnumVal):
            known = left.enum == right.enum and None not in (left.value, right.value)
            same = left.value == right.value if known else left == right
            return Scalar(int(same == (op == "==")), "bool")
        if left == right:
            return Scalar(int(op == "=="), "bool")
        if isinstance(left, Underscore) or isinstance(right, Underscore):
            return Scalar(int(op != "=="), "bool")
        if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
            answers = [self.truth(self.binary("==", x, y, span)) for x, y in zip(left, right, strict=True)]
            if any(x is False for x in answers):
                return Scalar(int(op != "=="), "bool")
            if all(answers):
                return Scalar(int(op == "=="), "bool")
        return Scalar(None, "bool")

    def alike(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Two numbers as numbers of their common type; anything else as it is."""
        if not isinstance(a, Scalar) or not isinstance(b, Scalar) or a.ctype == b.ctype:
            return a, b
        if not {a.ctype, b.ctype} <= {*INTEGERS, "float", "double"}:
            return a, b
        both = common_type(a.ctype, b.ctype)
        if both not in INTEGERS:
            kind = scalar_type(both)
            return (a, b) if kind is None else (self.cast(kind, a, _NOWHERE), self.cast(kind, b, _NOWHERE))
        first, second = (
            v if v.value is None or isinstance(v.value, float) else Scalar(converted(v.value, v.ctype, both), both)
            for v in (a, b)
        )
        return first, second

    def cast(self, type_: Value, value: Value, span: Span) -> Value:
        value = _plain(value)
        if not isinstance(type_, ScalarType) or isinstance(value, Tag):
            return value  # `static_cast<uint3>(blockIdx)`
        name = type_.dtype.name
        number: Any = value.value if isinstance(value, (Scalar, EnumVal)) else value
        if isinstance(number, float) and name in INTEGERS:
            whole = number != 0 if name == "bool" else int(number) if abs(number) < _WHOLE else None
            fits = whole is not None and wrapped(whole, name) == whole
            return Scalar(whole if fits else None, name)  # what others are made is for the compiler to say
        if isinstance(number, int):
            return Scalar(wrapped(number, name) if name in INTEGERS else in_type(number, name), name)
        if isinstance(number, float) and name not in INTEGERS:
            return Scalar(in_type(number, name), name)
        if name == "bool" and isinstance(value, Scalar) and value.ctype == "bool":
            return value
        if isinstance(number, (Dyn, Sym)) and name in INTEGERS and name != "bool":
            return Scalar(converted(number, value.ctype if isinstance(value, Scalar) else "int", name), name)
        if isinstance(value, Scalar) and value.ctype == name and isinstance(number, Dyn):
            return value  # of a vector type
        return of_shared(name, name, value)


_FORMATS = {"double": "d", "float": "f", "half_t": "e", "half": "e", "__half": "e"}
_WHOLE = 2.0**64
_EXACT = 2  # whole numbers up to this every floating-point type holds


def in_type(value: float, name: str) -> float | None:
    """A number as a floating-point type holds it, None where that is not known."""
    if name not in _FORMATS:
        return float(value) if abs(value) <= _EXACT and value == int(value) else None
    try:
        held: float = struct.unpack(_FORMATS[name], struct.pack(_FORMATS[name], value))[0]
    except (OverflowError, struct.error):  # a float that is too large, an integer that is
        return None
    return held


def _absorbs(op: str, left: int | None, right: int | None) -> bool:
    """CuTe's ``_0{} * n``, ``_0{} / n``, ``n % _1{}`` ... which are the constant 0."""
    if op == "%" and right in (1, -1):
        return True
    return (left == 0 and op in ("*", "/", "%", "&")) or (right == 0 and op in ("*", "&"))


def _plain(value: Value) -> Value:
    if isinstance(value, TraitType):
        value = value.value
    if isinstance(value, EnumVal) and value.value is not None:
        return value
    if isinstance(value, bool):
        return truth_constant(value)
    return Scalar(int(value), value.ctype) if is_foreign(value) else value


def _number(value: Value) -> Value:
    return Scalar(value.value, value.ctype) if isinstance(value, EnumVal) else value


def _condition_value(rel: Rel, a: Int, b: Int) -> Int:
    """0 or 1 where decided, else an opaque integer: static when both operands are, run-time otherwise."""
    left, right = ints.as_expr(a), ints.as_expr(b)
    answer = ints.decide(Condition(rel, left, right))
    if isinstance(answer, Undecided):
        return ints.wrap(ex.op("opaque", left, right, label=rel.name.lower()), isinstance(a, Dyn) or isinstance(b, Dyn))
    return int(answer)


def scalar_type(name: str) -> ScalarType | None:
    found = dtype(name)
    return None if found is None else ScalarType(found)
