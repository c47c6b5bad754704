"""Functions of CuTe that make one value of a tuple's elements, or other tuples of them (tuple_algorithms.hpp)."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.constants import CUDA, STD, Constant, truth_constant
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.intrinsics.tuples import NOTHING, applied, unwalked
from cutecheck.source.eval.values import Scalar, TraitType, Value, ValueType, constant


def _items(c: Call, t: Value) -> Value | tuple[Value, ...]:
    """The elements of a tuple; what is no tuple stands for itself."""
    return t if isinstance(t, (tuple, Unknown)) else (t,)


@function("fold", "fold_first", tolerant=True)
def _fold(c: Call) -> Value:
    """``fold(t, v, f)``: ``f(...f(f(v, t0), t1)..., tn)``; of ``fold_first(t, f)`` the start is ``t0``."""
    t, f = c.arg(0), c.args[-1]
    items = _items(c, t)
    if isinstance(items, Unknown):
        return unwalked(c, f, items)
    if c.name == "fold_first":
        if not isinstance(t, tuple):
            return t
        value, items = items[0], items[1:]
    else:
        value = c.arg(1)
    for item in items:
        value = applied(c, f, [value, item])
    return value


@function("iscan", "escan", tolerant=True)
def _scan(c: Call) -> Value:
    """``f(v, t0), f(f(v, t0), t1), ...``, or what each of them is made of: ``v, f(v, t0), ...``."""
    t, f = c.arg(0), c.args[-1]
    if not isinstance(t, tuple):
        return unwalked(c, f, t if isinstance(t, Unknown) else Unknown(f"`{c.name}` of what is no tuple", c.span))
    value, out = c.arg(1), []
    for at, item in enumerate(t):
        out.append(value)
        if c.name == "iscan" or at + 1 < len(t):
            value = c.m.dialect.to_model(applied(c, f, [value, item]))
    return tuple(out) if c.name == "escan" else (*out[1:], value)


def _answer(value: Value) -> Value:
    """``is_constant<1, decltype(a)>{}`` as its constant; of one of the standard library ``||`` makes a ``bool``."""
    return value.type.value if isinstance(value, TraitType) and isinstance(value.type, ValueType) else value


@function("any_of", "all_of", "none_of", "find_if", tolerant=True)
def _asked(c: Call) -> Value:
    """What a predicate answers of all elements; those of the standard library take iterators, and are not followed."""
    f = c.args[-1]
    if len(c.args) != 2:
        return unwalked(c, f, Unknown(f"`{c.name}` of iterators is not followed", c.span))
    items = _items(c, c.arg(0))
    if isinstance(items, Unknown):
        return unwalked(c, f, items)
    answers = [_answer(c.m.dialect.to_model(applied(c, f, [item]))) for item in items]
    constants = all(isinstance(a, int) for a in answers)
    numbers = [constant(a) for a in answers]
    if None in numbers:
        return next(
            (a for a in answers if isinstance(a, Unknown)), Unknown(f"what `{c.name}` is told is not known", c.span)
        )
    if c.name == "find_if":
        if not constants:
            raise Unsupported("find_if by what is not static")
        return next((i for i, a in enumerate(numbers) if a), len(numbers))
    found = {"any_of": any(numbers), "all_of": all(numbers), "none_of": not any(numbers)}[c.name]
    static = constants and not any(isinstance(a, Constant) and a.family in (STD, CUDA) for a in answers)
    return truth_constant(found) if static else Scalar(found, "bool")


@function("filter_tuple", tolerant=True)
def _filter(c: Call) -> Value:
    """The tuples that ``f`` makes of the elements, one behind the other."""
    *operands, f = c.args
    known = [_items(c, t) for t in operands]
    if not known or not all(isinstance(t, tuple) and len(t) == len(known[0]) for t in known):
        why = next((t for t in known if isinstance(t, Unknown)), Unknown("tuples that do not match", c.span))
        return unwalked(c, f, why)
    made = [c.m.dialect.to_model(applied(c, f, list(items))) for items in zip(*known, strict=True)]
    return _joined(made)


@function("tuple_cat", "flatten_to_tuple", "wrap")
def _tuple_cat(c: Call) -> Value:
    if c.name == "wrap":
        return c.arg(0) if isinstance(c.arg(0), tuple) else (c.arg(0),)
    return _flat(c.arg(0)) if c.name == "flatten_to_tuple" else _joined(c.args)


def _joined(parts: list[Value]) -> Value:
    out: list[Value] = []
    for part in parts:
        if isinstance(part, Unknown):
            return part
        if not isinstance(part, tuple):
            raise Unsupported("tuples of something that is no tuple")
        out.extend(part)
    return tuple(out)


def _flat(t: Value) -> tuple[Value, ...]:
    return tuple(x for part in t for x in _flat(part)) if isinstance(t, tuple) else (t,)


@function("for_each_leaf", tolerant=True)
def _for_each_leaf(c: Call) -> Value:
    if isinstance(c.arg(0), Unknown):
        return unwalked(c, c.arg(1), c.arg(0))
    for leaf in _flat(c.arg(0)):
        applied(c, c.arg(1), [leaf])
    return NOTHING


@function("replace_front", "replace_back")
def _replace_end(c: Call) -> Value:
    t, x = c.args
    if not isinstance(t, tuple):
        return x
    return (x, *t[1:]) if c.name == "replace_front" else (*t[:-1], x)


@function("insert", "remove")
def _insert(c: Call) -> Value:
    """``insert<N>(t, x)`` and ``remove<N>(t)``: a tuple with one element more, or less."""
    t = c.arg(0)
    if not c.targs or not isinstance(t, tuple) or len(c.args) != (2 if c.name == "insert" else 1):
        raise Unsupported(f"`{c.name}` of something that is no tuple")
    (n,) = c.ints()
    if not 0 <= n < len(t) + (c.name == "insert"):
        raise Unsupported(f"`{c.name}` at a place that is not there")
    return (*t[:n], c.arg(1), *t[n:]) if c.name == "insert" else (*t[:n], *t[n + 1 :])


@function("tuple_repeat")
def _repeat(c: Call) -> Value:
    (count,) = c.ints()
    return (c.arg(0),) * count


@function("elem_scale")
def _elem_scale(c: Call) -> Value:
    return it.elem_scale(*c.args)


@function("inner_product")
def _inner_product(c: Call) -> Value:
    if len(c.args) != 2:
        raise Unsupported("`inner_product` of iterators is not followed")
    return it.inner_product(*c.args)


@function("sum")
def _sum(c: Call) -> Value:
    """All integers of a tuple; a sum of anything else (a program's tensors, say) is none of CuTe's."""
    if len(c.args) != 1 or not isinstance(c.arg(0), (tuple, int, Dyn, Sym)):
        raise Unsupported("`sum` of something that is no tuple of integers")
    leaves = it.flatten_to_tuple(c.arg(0)) if isinstance(c.arg(0), tuple) else (c.arg(0),)
    value: Int = 0
    for leaf in leaves:
        value = value + it.integer(leaf)
    return value


@function("make_basis_like")
def _make_basis_like(c: Call) -> Value:
    return it.basis_like(c.arg(0))


@function("basis_get")
def _basis_get(c: Call) -> Value:
    """What an element of a basis takes of a tuple; what is none takes all of it."""
    basis, value = c.args
    for i in basis.path if isinstance(basis, ScaledBasis) else ():
        if not isinstance(value, tuple) or i >= len(value):
            raise Unsupported("`basis_get` of an element that is not there")
        value = value[i]
    return value
