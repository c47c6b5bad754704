"""Operators, conditional and fold expressions."""

from __future__ import annotations

from functools import partial

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.constants import is_foreign, truth_constant
from cutecheck.model.integers import INTEGERS
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.source.eval import (
    conversions,
    foreign,
    intrinsics,
    ir,
    leaks,
    own_elements,
    own_operators,
    places,
    ranking,
    repeatable,
    templates,
    writes,
)
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.element_addresses import element_address
from cutecheck.source.eval.factors import short
from cutecheck.source.eval.intrinsics import pipeline
from cutecheck.source.eval.intrinsics.tuples import COORDINATES
from cutecheck.source.eval.lookup import member, missing
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.assignments import assign, assign_by, noted, told
from cutecheck.source.eval.statements.branches import alternatives, perhaps
from cutecheck.source.eval.statements.joins import join
from cutecheck.source.eval.threads import of_shared, of_thread
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Enumeral,
    EnumVal,
    Extern,
    ExternType,
    FuncSet,
    Object,
    Pointer,
    Scalar,
    Str,
    TensorVal,
    Value,
)


@handles(ir.Unary)
def _unary(m: Machine, node: ir.Unary, env: Env) -> Value:
    if node.op in ("++", "--", "p++", "p--"):
        cells: places.Cells | None = None
        if m.dialect.by_value:
            old, cells = places.locate(m, node.operand, env)
        else:
            old = m.eval(node.operand, env)
        if isinstance(old, Extern) and isinstance(old.type, ExternType) and old.type.name == COORDINATES:
            return old  # any coordinate before, any after
        if isinstance(old, Extern) and pipeline.is_state(old):
            m.dialect.advanced(m, old, node.span)
            return old  # which stage it stands at is asked anew each time
        if isinstance(old, (Object, EnumVal)) and m.dialect.by_value:
            post = node.op.startswith("p")
            own = own_operators.changing(m, node.op[-2:], [old], cells, node.span, post)
            if own is not None:
                if cells is None and isinstance(old, EnumVal):
                    assign(m, node.operand, own, env, node.span)
                return own
        step = _stepped(m, node, old)
        if cells is not None:
            writes.write(m, cells, step, node.span)
        else:
            assign(m, node.operand, step, env, node.span)
        if node.op.startswith("p"):
            return old
        return step if cells is None else places.read(m, cells, node.span)
    if node.op == "&" and m.dialect.by_value:
        element = element_address(m, node.operand, env)
        if element is not None:
            return element
        value, cells = places.locate(m, node.operand, env)
        if isinstance(value, Object) and value.pointer is None:
            return places.pointer_to(m, value)
        if cells is not None and not isinstance(value, (Object, Pointer, FuncSet, Unknown)):
            return places.address(m, cells)
        if cells is not None and isinstance(value, Pointer) and not isinstance(value.type, ArrayType):
            leaks.leak_place(
                m, value, cells
            )  # a pointer variable: what is written to it by its address is not followed
        if cells is None and isinstance(node.operand, (ir.Name, ir.Scoped)):
            m.rewritten.add(node.operand.ident)  # a variable outside of functions
        if cells is None and isinstance(node.operand, (ir.Index, ir.Call)) and not isinstance(value, (Object, Pointer)):
            leaks.leak_root(m, node.operand, env)  # through the pointer an element may be written
            return Unknown("the address of an element is not followed", node.span)
        if cells is None and isinstance(node.operand, ir.Attr) and isinstance(value, Scalar):
            leaks.leak_root(m, node.operand, env)  # `&p.first`
            return Unknown("the address of an element is not followed", node.span)
    else:
        value = m.eval(node.operand, env)
    if node.op == "&":
        if isinstance(value, Object) and value.pointer is not None:
            return value.pointer
        if isinstance(value, (Pointer, FuncSet, Unknown, TensorVal)):
            return value
        return value
    if node.op == "*":
        if places.dereferences(m, value, node.span):
            m.given = ((), ranking.operand(m, node.operand, m.chosen, value, env))
            return places.overloaded(m, value, "operator*", node.span)
        return intrinsics.dereference(m, value, node.span)
    if isinstance(value, (Unknown, Extern)):
        if isinstance(value, Unknown):
            return value
        alike = not m.dialect.by_value and node.op in ("-", "+", "~")  # a vector of the DSL stays one
        return Extern(value.what, node.span, value.type if alike else None)
    if isinstance(value, Object) and m.dialect.by_value:
        kind = ranking.operand(m, node.operand, m.chosen, value, env)
        own = own_operators.unary(m, "!" if node.op == "not" else node.op, value, node.span, kind)
        if own is not None:
            return own
        known = conversions.condition(m, value, node.span) if node.op in ("!", "not") else value
        value = conversions.number(m, known, node.span)
        if isinstance(value, Unknown):
            return value
    if isinstance(value, (EnumVal, Enumeral)):
        own = own_operators.of_enumerations(m, "!" if node.op == "not" else node.op, [value], node.span)
        if own is not None:
            return own
    if isinstance(value, Object) and m.dialect.by_value:
        return Unknown(f"operator {node.op} on `{value.cls.name}`", node.span)
    op = "!" if node.op == "not" else node.op
    return intrinsics.guarded(m, f"operator {op}", node.span, lambda: m.dialect.unary(op, value, node.span))


def _stepped(m: Machine, node: ir.Unary, old: Value) -> Value:
    """A value after ``++`` or ``--``."""
    if isinstance(old, (Unknown, Pointer, Address, Str)):
        return intrinsics.advance(m, old, 1 if "+" in node.op else -1, node.span)
    return m.dialect.binary("+" if "+" in node.op else "-", old, Scalar(1, "int"), node.span)


@handles(ir.Binary)
def _binary(m: Machine, node: ir.Binary, env: Env) -> Value:
    if node.op in ("&&", "||", "and", "or"):
        return _logical(m, node, env)
    if node.op == "=" and not m.dialect.block_scope:
        value = m.eval(node.right, env)
        assign(m, node.left, value, env, node.span)
        return value
    if m.dialect.by_value and repeatable.is_assignment(node):
        return _assigned(m, ir.Assign(node.left, node.op, node.right, node.span), env)
    m.chosen = None
    left = m.eval(node.left, env)
    before, m.chosen = m.chosen, None
    right = m.eval(node.right, env)
    last = m.chosen
    if node.op == "," and not _own_comma(m, left, right):
        return right
    if node.op == ">>" and m.dialect.by_value and foreign.undeclared(left):
        foreign.read_into(m, node.right, env)
    args: list[Value] = [left, right]
    kinds: tuple[ranking.Given, ranking.Given] = ("", "")
    if isinstance(left, Object) or isinstance(right, Object):
        if m.dialect.by_value:
            kinds = ranking.operand(m, node.left, before, left, env), ranking.operand(m, node.right, last, right, env)
        m.lvalues = (args, [places.again(m, node.left, env), places.again(m, node.right, env)])
    return binary(m, node.op, left, right, node.span, args, kinds)


def _assigned(m: Machine, node: ir.Assign, env: Env) -> Value:
    """An assignment in an expression, and what it gives: what is assigned to."""
    value = m.eval(node.value, env)
    noted(m, node, env)
    cells = assign_by(m, node.target, node.op, value, env, node.span)
    given: Value = Unknown("what an assignment to a place that is not followed gives", node.span)
    if repeatable.quiet(node.target):
        given = m.eval(node.target, env)
    elif cells is not None:
        given = places.read(m, cells, node.span)
    told(m, node, value, env)
    return given


def _own_comma(m: Machine, left: Value, right: Value) -> bool:
    """Whether a class says what a comma after or before its objects does."""
    return any(
        isinstance(v, Object)
        and ("operator," in v.cls.friends or not missing(member(m, v.cls, "operator,", v, v.cls.decl.span)))
        for v in (left, right)
    )


def binary(
    m: Machine,
    op: str,
    left: Value,
    right: Value,
    span: Span,
    args: list[Value] | None = None,
    kinds: tuple[ranking.Given, ranking.Given] = ("", ""),
) -> Value:
    """``left op right``; ``args`` are the two where it is known which variables they name, ``kinds`` what they are."""
    for v in (left, right):
        if isinstance(v, Unknown):
            return v
    own = m.dialect.operator(m, op, left, right, span)
    if own is not DEFER:
        return own
    if isinstance(left, (EnumVal, Enumeral)) or isinstance(right, (EnumVal, Enumeral)):
        special = own_operators.of_enumerations(m, op, [left, right], span)
        if special is not None:
            return special
    special = intrinsics.binary(m, op, left, right, span)
    if special is not None:
        return special
    for v in (left, right):
        if isinstance(v, Extern):
            return Extern(f"{v.what} {op} ...", span)
    if isinstance(left, Object) or isinstance(right, Object):
        own = own_operators.binary(m, op, left, right, span, args, kinds)
        plain = None
        if own_operators.none_takes(own):
            plain = conversions.number(m, left, span), conversions.number(m, right, span)
        if plain is None or any(isinstance(v, Object) for v in plain):
            return own
        return binary(m, op, *plain, span)
    value = intrinsics.guarded(m, f"operator {op}", span, lambda: m.dialect.binary(op, left, right, span))
    if isinstance(value, Scalar) and isinstance(value.value, (Dyn, Sym)):
        number = short(m, value.value, "value")
        return value if number is value.value else Scalar(number, value.ctype)
    return value


def _of_constants(m: Machine, left: Value, right: Value, answer: bool) -> Value:
    """``C<t>{} && C<u>{}`` is a constant, and so is that of one that decides and a number."""
    both = [isinstance(v, int) and not is_foreign(v) for v in (left, right)]
    decides = any(c and m.dialect.truth(v) is answer for c, v in zip(both, (left, right), strict=True))
    other = right if both[0] else left
    number = isinstance(other, Scalar) and other.ctype in INTEGERS
    static = all(both) or (any(both) and decides and number)
    return truth_constant(answer) if static else Scalar(int(answer), "bool")


def _logical(m: Machine, node: ir.Binary, env: Env) -> Value:
    is_and = node.op in ("&&", "and")
    left = conversions.tested(m, node.left, env)
    whole = own_elements.joined(m, node, left, env) if node.op in ("&&", "||") else None
    if whole is not None:
        return whole
    known = m.dialect.truth(left)
    if known is not None and known != is_and:
        if node.op in ("and", "or"):
            return left
        constant = isinstance(left, int) and not is_foreign(left)  # whose operators have both operands
        return _of_constants(m, left, conversions.tested(m, node.right, env) if constant else None, known)
    if known is None:
        right = perhaps(m, node, left, env, lambda: conversions.tested(m, node.right, env), node.left)
    else:
        right = conversions.tested(m, node.right, env)
    if node.op in ("and", "or") and known is not None:
        return right
    if node.op in ("and", "or") and not isinstance(right, (bool, Scalar)):
        # the value of the expression is one of its operands
        return left if isinstance(left, Unknown) else join(m, left, right, "an `or`", node.span, left)
    other = m.dialect.truth(right)
    if known is not None and other is not None:
        return _of_constants(m, left, right, other)
    if other is not None and other != is_and:
        return _of_constants(m, left, right, other)
    if known is None and other is None and (half := _half_known(m, is_and, left, right)) is not None:
        return half
    for v in (left, right):
        if isinstance(v, Unknown):
            return v
    if known is not None and isinstance(right, Scalar) and right.ctype == "bool":
        return right
    if other is not None and m.dialect.by_value and isinstance(left, Scalar) and left.ctype == "bool":
        return left
    if known is None and other is None:
        return both_or_either(m, is_and, left, right)
    return of_shared("bool", node.op, left, right)


def _half_known(m: Machine, both: bool, left: Value, right: Value) -> Scalar | None:
    """``is_aligned(p) && lda % 8 == 0`` of the host: what is said of ``lda`` is kept, whatever the other side is."""
    if not m.dialect.by_value or not m.recorder.on_host():
        return None
    sides = [v.value if isinstance(v, Scalar) else v for v in (left, right)]
    open_sides = [i for i, n in enumerate(sides) if n is None]  # a number that is not followed, nothing that fails
    if len(open_sides) != 1 or not isinstance(sides[1 - open_sides[0]], Dyn):
        return None
    sides[open_sides[0]] = m.fresh("condition")
    return both_or_either(m, both, *sides)


def both_or_either(m: Machine, both: bool, left: Value, right: Value) -> Scalar:
    """What two run-time conditions joined by ``&&`` or ``||`` are, as comparisons are."""
    numbers = [n for v in (left, right) if isinstance(n := v.value if isinstance(v, Scalar) else v, (Dyn, Sym))]
    known = m.dialect.by_value or all(of_thread(n) is not None for n in numbers)
    if not known or len(numbers) < 2 or not any(isinstance(n, Dyn) for n in numbers):
        return of_shared("bool", "both" if both else "either", left, right)
    joined = ex.op("opaque", *map(as_expr, numbers), label="both" if both else "either")
    whole = Dyn(joined)
    return Scalar(whole if short(m, whole, "value") is whole else None, "bool")


@handles(ir.Select)
def _select(m: Machine, node: ir.Select, env: Env) -> Value:
    cond, known = own_elements.decided(m, node, env)
    if known is not None:
        value = m.eval(node.then if known else node.other, env)
        return places.with_other(m, value, node.other if known else node.then, env)
    if (number := own_elements.number(m, node, cond)) is not None:
        return number
    return alternatives(m, node, cond, env, lambda: m.eval(node.then, env), lambda: m.eval(node.other, env))


@handles(ir.Fold)
def _fold(m: Machine, node: ir.Fold, env: Env) -> Value:
    if node.op in ("&&", "||") and m.dialect.by_value:
        return _logical_fold(m, node, env)
    values = templates.expand(m, node.pattern, env)
    if node.init is not None:
        first = m.eval(node.init, env)
        values = [first, *values] if node.left else [*values, first]
    if not values:
        empty = {"&&": Scalar(1, "bool"), "||": Scalar(0, "bool")}.get(node.op)
        return empty if empty is not None else Unknown("a fold over an empty pack", node.span)
    if node.op == ",":
        return values[-1]  # whichever way it is folded
    order = values if node.left else values[::-1]
    result = order[0]
    for v in order[1:]:
        result = binary(m, node.op, *((result, v) if node.left else (v, result)), node.span)
    return result


def _logical_fold(m: Machine, node: ir.Fold, env: Env) -> Value:
    """``(... && f(xs))``: what follows the operand that decides is not evaluated."""
    operands: list[tuple[ir.Expr, Env]] = [(node.pattern, inner) for inner in templates.each(node.pattern, env)]
    if node.init is not None:
        operands.insert(0 if node.left else len(operands), (node.init, env))
    stop = node.op == "||"
    answer: Value = Scalar(int(not stop), "bool")
    for operand, inner in operands:
        known = m.dialect.truth(answer)
        if known is stop:
            break
        if known is None:
            step = ir.Binary(node.op, operand, operand, node.span)
            value = perhaps(m, step, answer, inner, partial(conversions.tested, m, operand, inner))
            answer = Scalar(int(stop), "bool") if m.dialect.truth(value) is stop else answer
        else:
            answer = conversions.tested(m, operand, inner)
    known = m.dialect.truth(answer)
    return answer if known is None else Scalar(int(known), "bool")
