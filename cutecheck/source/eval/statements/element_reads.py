"""Elements of registers that a kernel computes with: ``acc(i) += x``, ``y(i) = float(x(i))``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import ASKS, names_of_contents, nodes_in
from cutecheck.source.eval.qualifiers import is_auto, refers
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Reference, ScalarType, TensorVal

_MAY = (ir.If, ir.Switch, ir.Try, ir.Lambda, ir.Jump, ir.Return, ir.Opaque)  # may leave others out, or set
_CHOOSES = ("&&", "||", "and", "or")
_VALUES = frozenset(["+", "-", "*", "/", "%", "//", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", ">", "<=", ">="])
_OF_ONE = frozenset(["+", "-", "!", "~", "not"])
_PURE = {
    "get", "make_coord", "make_tuple", "ceil_div", "idx2crd", "crd2idx", "elem_less",
    "abs", "fabs", "fabsf", "exp", "expf", "exp2", "exp2f", "__expf", "log", "logf", "log2f", "__logf", "sqrt", "sqrtf",
    "rsqrtf", "tanhf", "fma", "fmaf", "__fmaf_rn", "fmaxf", "fminf", "max", "min", "__fdividef", "__half2float",
    "__bfloat162float", "__float2half", "__float2bfloat16", "__ldg", "__ldcg", "__ldcs", "__ldca",
}  # fmt: skip


def computed_with(m: Machine, node: ir.Loop | ir.Assign, env: Env) -> None:
    """A statement, or a loop that is not run pass by pass, computes with elements of tensors.

    Nothing else is done with them there, by their names or by what it calls, so nothing in it can have set them.
    """
    read, called = _read_by(node)
    if not read or not m.recorder.in_kernel():
        return
    for name, spans in read.items():
        at = env.find_var(name)
        value = at.vars.get(name) if at is not None else None
        if isinstance(value, Reference) and len(value.cells) == 1:
            value = value.cells[0][0].get(value.cells[0][1])
        if isinstance(value, TensorVal) and value.space == "rmem" and all(_takes_values(m, f, env) for f in called):
            m.recorder.computes_with(replace(value, name=name), spans)


def _takes_values(m: Machine, fn: ir.Expr, env: Env) -> bool:
    """What is called writes none of its arguments: an element of a tensor, a conversion, a function of numbers."""
    if not isinstance(fn, ir.Name):
        return isinstance(fn, ir.Scoped) and fn.ident in _PURE
    at = env.find_var(fn.ident)
    if at is not None:
        return isinstance(at.vars.get(fn.ident), (TensorVal, Reference, ScalarType))
    if fn.ident in _PURE:
        return True
    with m.recorder.rehearsing(), m.budget.aside():
        return isinstance(m.eval(fn, env), ScalarType)


@once
def _read_by(node: ir.Loop | ir.Assign) -> tuple[dict[str, tuple[Span, ...]], tuple[ir.Expr, ...]]:
    """Names of which a statement takes elements and does nothing else, each with the places, and what it calls."""
    if any(isinstance(x, _MAY) for x in nodes_in(node)):
        return {}, ()
    uses = _Uses()
    uses.statement(node)
    return {name: tuple(at) for name, at in uses.read.items() if name not in uses.others}, tuple(uses.called)


class _Uses:
    """What is done with names: elements that are read, and anything else; and what is called."""

    def __init__(self) -> None:
        self.read: dict[str, list[Span]] = {}
        self.called: list[ir.Expr] = []
        self.others: set[str] = set()

    def statement(self, node: Any) -> None:
        if isinstance(node, ir.Block):
            for inner in node.body:
                self.statement(inner)
        elif isinstance(node, ir.Loop):
            for part in (node.init, node.step, node.target, node.body):
                self.statement(part)
            for asked in (node.cond, node.iterable):
                self.value(asked)
        elif isinstance(node, ir.Assign):
            self._assignment(node)
        elif isinstance(node, ir.Local) and isinstance(node.decl, ir.Variable) and not refers(node.decl.type):
            self.others.add(node.decl.name)
            self._named(node.decl.init, node.decl.type is None or is_auto(node.decl.type))
            self._anything((node.decl.init_args, node.decl.type))
        else:
            self._anything(node)

    def _assignment(self, node: ir.Assign) -> None:
        """One of an element reads it where it is computed from what it was."""
        name, indices = _element(node.target)
        self._named(node.value, not name)
        if not name:
            self._anything(node.target)
            return
        self.value(indices)
        if node.op == "=" and (_chosen(node.value) or not any(_same(x, node.target) for x in nodes_in(node.value))):
            self.others.add(name)
        else:
            self.read.setdefault(name, [])[:0] = (node.span, node.target.span)

    def _named(self, node: Any, any_type: bool) -> None:
        """What a variable gets, which may be a part of a tensor itself."""
        if any_type and _element(node)[0]:
            self._anything(node)
        else:
            self.value(node)

    def value(self, node: Any) -> None:
        """An expression of which the value counts."""
        if isinstance(node, tuple):
            for inner in node:
                self.value(inner.value if isinstance(inner, ir.Arg) else inner)
        elif isinstance(node, ir.Binary) and node.op in _VALUES:
            self.value((node.left, node.right))
        elif isinstance(node, ir.Select):  # one of the two is not evaluated
            self.value(node.cond)
            self._anything((node.then, node.other))
        elif isinstance(node, ir.Binary) and node.op in _CHOOSES:
            self.value(node.left)
            self._anything(node.right)
        elif (isinstance(node, ir.Unary) and node.op in _OF_ONE) or (
            isinstance(node, ir.Cast) and not refers(node.type)
        ):
            self.value(node.operand)
        elif isinstance(node, ir.Call) and isinstance(node.fn, (ir.Name, ir.Scoped)) and node.fn.ident in ASKS:
            return
        elif (isinstance(node, ir.Call) and isinstance(node.fn, (ir.Name, ir.Scoped))) or _element(node)[0]:
            assert isinstance(node, (ir.Call, ir.Index))
            fn = node.fn if isinstance(node, ir.Call) else node.base
            if _slices(node.args):
                self._anything(node)
                return
            if isinstance(fn, ir.Name):
                self.read.setdefault(fn.ident, []).append(node.span)
            self.called += [fn] if isinstance(node, ir.Call) else []
            self.value(node.args)
        else:
            self._anything(node)

    def _anything(self, node: Any) -> None:
        self.others.update(names_of_contents(node))
        calls = (x.fn for x in nodes_in(node) if isinstance(x, ir.Call))
        self.called += (f for f in calls if getattr(f, "ident", "") not in ASKS)


def _chosen(value: Any) -> bool:
    """A part of an expression may not be evaluated."""
    return any(isinstance(x, ir.Select) or (isinstance(x, ir.Binary) and x.op in _CHOOSES) for x in nodes_in(value))


def _element(node: ir.Expr) -> tuple[str, Any]:
    """The tensor and the coordinate of ``t(i)`` and ``t[i]``."""
    of = node.fn if isinstance(node, ir.Call) else node.base if isinstance(node, ir.Index) else None
    if not isinstance(of, ir.Name) or not isinstance(node, (ir.Call, ir.Index)):
        return "", ()
    return of.ident, node.args


def _slices(coordinate: Any) -> bool:
    """A coordinate says that all of a mode is taken: ``_``, ``None``, ``:``."""
    return any(
        (isinstance(x, ir.Name) and x.ident == "_")
        or (isinstance(x, ir.Lit) and x.value is None)
        or isinstance(x, ir.SliceExpr)
        for x in nodes_in(coordinate)
    )


def _same(first: Any, second: Any) -> bool:
    """Two expressions are written alike."""
    if type(first) is not type(second):
        return False
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(_same(a, b) for a, b in zip(first, second, strict=True))
    fields = getattr(first, "__dataclass_fields__", None)
    if fields is None:
        return bool(first == second)
    return isinstance(first, Span) or all(_same(getattr(first, f), getattr(second, f)) for f in fields)
