"""Which of the overloads that can take the arguments a call takes (C++ [over.match.best]).

One is better than another that takes no argument better, if it takes some argument better, or is no template, or a
template of more structure. What an argument is (a variable, a constant, a value) is known of what its expression says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from cutecheck.source.eval import (
    constness,
    foreign,
    implicit,
    ir,
    qualified,
    qualifiers,
    references,
    repeatable,
    spelled,
)
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import (
    Address,
    EnumVal,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pointer,
    Scalar,
    ScalarType,
    Str,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.overloads import Candidate

# what an argument's expression is, "" where that is not known, "other" where it is no literal at least; "null" is a
# value, too
Given = Literal["", "other", "variable", "constant", "value", "null"]

_EXACT, _IMPOSSIBLE = implicit.EXACT, -99
_COMPUTES = frozenset(("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!="))
_MAKES = frozenset(("-", "~", "!", "+"))


def arguments(m: Machine, nodes: Sequence[ir.Arg], values: Sequence[Value], env: Env) -> tuple[Given, ...]:
    """What the arguments of a call are."""
    return tuple(given(m, a.value, v, env) or "other" for a, v in zip(nodes, values, strict=True))


def given(m: Machine, node: ir.Expr, value: Value, env: Env) -> Given:
    """What an argument is that may be bound to a reference."""
    if isinstance(node, ir.Scoped) and isinstance(value, EnumVal) and node.ident == value.name:
        return "value"
    if isinstance(node, (ir.Name, ir.Attr, ir.Index)):
        if isinstance(node, ir.Name) and env.find_var(node.ident) is None:
            return ""
        return "variable" if foreign.writable(m, node, env) else "constant"
    if isinstance(node, ir.Call) and repeatable.passes_on(node):
        inner = given(m, node.args[0].value, value, env)
        if getattr(node.fn, "ident", "") == "forward":
            return _forwarded(m, node, env)
        return "value" if getattr(node.fn, "ident", "") == "move" and inner == "variable" else ""
    if isinstance(node, ir.Call):
        made = isinstance(value, Object) and getattr(node.fn, "ident", "") == value.cls.decl.name
        return "value" if made else _returned(m, node.fn, env)
    if isinstance(node, ir.Lit):
        return "constant" if isinstance(value, Str) else "null" if _null(value) else "value"
    if isinstance(node, ir.Cast) and isinstance(value, Scalar):
        return "" if qualifiers.refers(node.type) else "value"
    computed = isinstance(node, ir.Binary) and node.op in _COMPUTES and isinstance(value, (Scalar, int))
    computed = computed or (isinstance(node, ir.Unary) and node.op in _MAKES and isinstance(value, (Scalar, int)))
    address = isinstance(node, ir.Unary) and node.op == "&" and isinstance(value, (Pointer, ObjectPointer, Address))
    if isinstance(node, ir.Construct) and _null(value):
        return "null"  # `int{}`, as GCC has it
    return "value" if computed or address or isinstance(node, (ir.Construct, ir.Lambda)) else ""


def _null(value: Value) -> bool:
    """A literal 0 that converts to a pointer."""
    return isinstance(value, Scalar) and value.value == 0 and value.ctype not in ("bool", "char", "float", "double")


def _forwarded(m: Machine, node: ir.Call, env: Env) -> Given:
    """``std::forward<T>(t)``."""
    targs: Sequence[ir.Expr] = getattr(node.fn, "targs", None) or ()
    t = qualified.parts(spelled.written(m, targs[0], env)) if len(targs) == 1 else None
    if t is None or t.ref is None or t.const is None:
        return ""
    return "value" if t.ref != "ref" else "constant" if t.const else "variable"


def of_object(m: Machine, called: ir.Expr, before: ir.Function | None, obj: Value, env: Env) -> Given:
    """What the object is that a method is called for."""
    if not isinstance(called, ir.Attr):
        known = constness.this_is_constant(env)
        return "" if known is None else "constant" if known else "variable"
    return operand(m, called.base, before, obj, env)


def operand(m: Machine, node: ir.Expr, before: ir.Function | None, obj: Value, env: Env) -> Given:
    """What an object is that an expression names; ``before``: the function that a call in its place calls."""
    if isinstance(node, ir.Call) and before is not None and isinstance(before.ret, ir.TypeMod):
        t = before.ret
        return "constant" if qualifiers.constant(t) else "variable" if qualifiers.refers(t) else ""
    known = constness.of_object(m, node, env)
    what = given(m, node, obj, env)
    if what == "value" or known is None:
        return what
    return "constant" if known else "variable"


def _returned(m: Machine, called: ir.Expr, env: Env) -> Given:
    """What a call returns, where all functions of the name declare the same."""
    fn = m.eval(called, env) if repeatable.quiet(called) else None
    if isinstance(fn, ScalarType) or (isinstance(fn, Intrinsic) and fn.name.startswith("make_")):
        return "value"
    if not isinstance(fn, FuncSet):
        return ""
    types = [e.decl.ret for e in fn.entries]
    if any(t is None or isinstance(t, ir.DeclType) for t in types):
        return ""
    stand = {references.stands(m, t, e.env) for t, e in zip(types, fn.entries, strict=True)}
    constant = {qualifiers.constant(t) for t in types}
    if stand == {False}:
        return "value"
    return "" if len(stand) > 1 or len(constant) > 1 else "constant" if True in constant else "variable"


def best_of(found: Sequence[Candidate], arguments: Sequence[Given] = (), self_: Given = "") -> Candidate:
    """The candidate that none is better than; where what is known does not tell, that of more structure."""
    can = [c for c in found if _possible(c, arguments, self_)] or found
    best = can[0]
    for other in can[1:]:
        order = _compare(other, best, arguments, self_)
        if order > 0 or (order == 0 and other.score > best.score):
            best = other
    return best


def _possible(c: Candidate, arguments: Sequence[Given], self_: Given) -> bool:
    ranks = (*_ranks(c, arguments), _object(c.fn, self_))
    return all(rank != _IMPOSSIBLE for rank, _ in ranks)


def _compare(a: Candidate, b: Candidate, arguments: Sequence[Given], self_: Given) -> int:
    """Above 0 where the first is better, below where the second is, 0 where neither is known to be."""
    better = worse = False
    pairs = [
        *zip(_ranks(a, arguments), _ranks(b, arguments), strict=False),
        (_object(a.fn, self_), _object(b.fn, self_)),
    ]
    for one, other in pairs:
        bound = one[0] == other[0] and None not in (one[1], other[1])
        left = (one[0], one[1] or 0) if bound else (one[0], 0)
        right = (other[0], other[1] or 0) if bound else (other[0], 0)
        better, worse = better or left > right, worse or left < right
    if better or worse:
        return better - worse
    templates = bool(b.fn.tparams) - bool(a.fn.tparams)
    if templates or a.score != b.score:
        return templates or a.score - b.score
    more = (_constants(a) - _constants(b)) or (a.asks > b.asks) - (a.asks < b.asks)
    return more or (_variables(a) - _variables(b) if a.fn.tparams and b.fn.tparams else 0)


def undecided(found: Sequence[Candidate], arguments: Sequence[Given], self_: Given) -> str:
    """Why it is not known which of the candidates is taken; empty where it is."""
    if len(found) == 1:
        return ""
    surely = [c for c in found if c.sure]
    if len(surely) < len(found) and (
        not surely or best_of(found, arguments, self_) is not best_of(surely, arguments, self_)
    ):
        return "what its templates ask of their arguments is not known"
    if not self_ and any(c.fn.flags & {"lvalue", "rvalue"} for c in found):
        return "what kind of expression its object is"
    return ""


def _constants(c: Candidate) -> int:
    """How many parameters are references to constants: of two templates that take a constant, the one with more."""
    return sum(
        (qualifiers.refers(p.type) and qualifiers.constant(p.type)) or constness.to_constant(p.type)
        for p in c.fn.params
    )


def _variables(c: Candidate) -> int:
    """How many parameters are ``T&``, which is more than ``T&&`` where both take the argument."""
    return sum(isinstance(p.type, ir.TypeMod) and p.type.kind == "ref" for p in c.fn.params)


def _ranks(c: Candidate, arguments: Sequence[Given]) -> list[tuple[int, int | None]]:
    """Of each argument how it is converted, and how close a reference binds to it (None: it is copied)."""
    ranks = []
    for i, gain in enumerate(c.fits):
        rank = _EXACT if gain > 0 else gain
        param = c.fn.params[min(i, len(c.fn.params) - 1)] if c.fn.params else None
        made = gain < implicit.OPEN and not implicit.CONVERTED < gain <= implicit.BASE  # a temporary
        what: Given = "value" if made else arguments[i] if i < len(arguments) else ""
        what = "value" if what == "null" else "" if what == "other" else what
        binding = None if param is None or not what else _binding(c.fn, param.type, what)
        ranks.append((_IMPOSSIBLE, None) if binding == 0 else (rank, binding))
    return ranks


def _binding(fn: ir.Function, t: ir.Expr | None, what: Given) -> int | None:
    """2 for a reference that adds no ``const``, 1 for one that does, 0 for one that cannot be bound."""
    t = t.pattern if isinstance(t, ir.Expand) else t
    if not isinstance(t, ir.TypeMod) or t.kind not in ("ref", "rref"):
        return None
    of = t.inner
    while isinstance(of, ir.TypeMod) and of.kind == "array":
        of = of.inner
    bare = isinstance(of, ir.Name) and any(p.name == of.ident for p in fn.tparams or ())
    if bare and not (t.kind == "ref" and what == "value"):
        return 2  # deduced as what the argument is
    if t.kind == "rref":
        return 2 if what == "value" else 0
    if qualifiers.constant(t):
        return 2 if what == "constant" else 1
    return 2 if what == "variable" else 0


def _object(fn: ir.Function, what: Given) -> tuple[int, int | None]:
    """The same of the object that a method is called for."""
    if not what or "static" in fn.flags:
        return _EXACT, None
    if "rvalue" in fn.flags:
        return (_EXACT, 3) if what == "value" else (_IMPOSSIBLE, None)
    if what == "value" and "lvalue" in fn.flags and "const" not in fn.flags:
        return _IMPOSSIBLE, None
    if "const" in fn.flags:
        return _EXACT, 2 if what == "constant" else 1
    return (_IMPOSSIBLE, None) if what == "constant" else (_EXACT, 2)
