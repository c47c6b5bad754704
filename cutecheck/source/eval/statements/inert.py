"""Statements that change nothing but variables of their own: they need no rehearsal, and none of them does in one.

Judged by what a statement spells, and by what the names in it mean where it stands: it assigns only to what it declares
and to elements of tensors, and the functions of the tree that it may reach do no more. Functions are judged with all
that their classes, arguments and template arguments could bring. What cannot be told so is not inert.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import classes, foreign, ir, losses, places, references
from cutecheck.source.eval.lookup import lookup
from cutecheck.source.eval.losses import SWAPS
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.statements.spelled import Called, Filled, Given, Leaf, Reached, leaves_of
from cutecheck.source.eval.tuples import Constants, Elements
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Closure,
    Extern,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pack,
    Pointer,
    PtrType,
    TemplateRef,
    TensorVal,
    Value,
)


def inert(m: Machine, node: ir.Loop | ir.ExprStmt, env: Env) -> bool:
    """Whether running it leaves every variable that is not its own as it was; nor does it end the function."""
    spelled = leaves_of(node)
    if spelled is None or m.dialect.name != "cpp":
        return False
    judge = _Judge(m)
    answer = judge.names(spelled, env)
    if answer:  # so nothing that was assumed on the way proved wrong
        m.inert.update({(*key, bool(m.leaked)): (True, *of) for key, of in judge.assumed.items()})
    return answer


class _Judge:
    """One question. ``assumed``: declarations, each in its scope, that are being judged or change nothing if those do.

    Functions that call each other are so judged together.
    """

    def __init__(self, m: Machine) -> None:
        self.m = m
        self.assumed: dict[tuple[int, int], tuple[Any, Any]] = {}

    def names(self, leaves: Iterable[Leaf], env: Env) -> bool:
        """The values of names are harmless."""
        m = self.m
        outside = calls = False
        for leaf in leaves:
            if isinstance(leaf, Given):
                if _writes_unseen(m, leaf.fn, env):
                    return False
                continue
            if isinstance(leaf, Called):  # what is not known may write what has gone where it is not followed
                if m.leaked and _writes_unseen(m, leaf.fn, env):
                    return False
                continue
            if isinstance(leaf, Reached):
                if any(_leads_to_numbers(m, name, env) for name in leaf.names) and not _of_library(m, leaf.fn, env):
                    return False
                continue
            if isinstance(leaf, (ir.Call, Filled)):
                with m.recorder.rehearsing(), m.budget.aside():
                    memory = m.eval(leaf.fn if isinstance(leaf, ir.Call) else leaf.base, env)
                allowed = (TensorVal, Pointer, Extern) if isinstance(leaf, Filled) else (TensorVal, Unknown)
                if not isinstance(memory, allowed):
                    return False
                if losses.reaches_members(m, memory):
                    return False
                continue
            if references.stands(m, leaf, env):
                return False  # what has this type is a name of something else
            if isinstance(leaf, ir.Name):
                value = lookup(m, leaf.ident, env, leaf.span)
            else:
                with m.recorder.rehearsing(), m.budget.aside():
                    value = m.eval(leaf, env)
            if leaf.ident in SWAPS and not isinstance(value, FuncSet):
                return False
            outside = outside or isinstance(value, Extern)
            calls = calls or isinstance(value, FuncSet)
            if (outside and calls) or not self.harmless(value):  # a parameter may tell more of a value than its place
                return False
        return True

    def harmless(self, value: Value) -> bool:
        """Code that operators, members or calls of the value run changes nothing."""
        if isinstance(value, (tuple, Pack)):
            return all(map(self.harmless, value.items if isinstance(value, Pack) else value))
        if isinstance(value, Pointer):
            return self.harmless(value.type)
        if isinstance(value, (PtrType, ArrayType)):
            return self.harmless(value.inner)
        if isinstance(value, FuncSet):
            return all(self._function(e, value.self_) for e in value.entries)
        if isinstance(value, TemplateRef):
            return all(self._template(e) for e in value.entries)
        if isinstance(value, Closure):
            spelled = leaves_of(value.node)
            return spelled is not None and self._known(value.node, value.env, spelled)
        if isinstance(value, Object):
            return self.harmless(value.cls) and all(map(self.harmless, value.fields.values()))
        if isinstance(value, ClassInst):
            spelled = leaves_of(value.decl)
            return (
                spelled is not None
                and self._known(value.decl, value.env, spelled)
                and all(map(self.harmless, classes.bases(self.m, value)))
            )
        return not isinstance(value, (list, dict))

    def _function(self, entry: Entry, this: Object | None) -> bool:
        spelled = leaves_of(entry.decl) if isinstance(entry.decl, ir.Function) else None
        if spelled is None:
            return False
        if this is None:
            return self._known(entry.decl, entry.env, spelled)
        return self.names(spelled, Env(entry.env, "function", self_=this)) if self._new(entry.decl, this) else True

    def _template(self, entry: Entry) -> bool:
        known = isinstance(entry.decl, (ir.Class, ir.Alias))
        spelled = leaves_of(entry.decl) if known else None
        return spelled is not None and self._known(entry.decl, entry.env, spelled)

    def _known(self, node: Any, env: Env, spelled: tuple[Leaf, ...]) -> bool:
        """``spelled``, kept with the machine: names that a declaration uses mean the same each time."""
        key = (id(node), id(env), bool(self.m.leaked))
        known = self.m.inert.get(key)
        if known is not None:
            return known[0]
        if not self._new(node, env):
            return True
        answer = self.names(spelled, env)
        if not answer:
            self.m.inert[key] = (False, node, env)
        return answer

    def _new(self, node: Any, where: Any) -> bool:
        key = (id(node), id(where))
        if key in self.assumed:
            return False
        self.assumed[key] = (node, where)
        return True


def _leads_to_numbers(m: Machine, name: str, env: Env) -> bool:
    """A variable is an array that is followed, or holds a pointer through which a number may be written."""
    at = env.find_var(name)
    todo = [] if at is None or at.kind not in ("block", "function") else [places.held(m, at.vars, name)]
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if isinstance(value, (Address, ObjectPointer)):
            return True
        if isinstance(value, Elements):
            return not isinstance(value, Constants)
        if isinstance(value, Object) and id(value) not in seen:
            seen.add(id(value))
            todo += [v for v in value.fields.values() if not isinstance(v, Elements)]
    return False


def _writes_unseen(m: Machine, fn: ir.Expr, env: Env) -> bool:
    """A function is called that the files do not declare, and of which it is not known that it writes nothing."""
    with m.recorder.rehearsing(), m.budget.aside():
        value = m.eval(fn, env)
    return foreign.undeclared(value) and not foreign.harmless(fn, value)


def _of_library(m: Machine, fn: ir.Expr, env: Env) -> bool:
    """What is called writes nothing that is a number of the program's."""
    with m.recorder.rehearsing(), m.budget.aside():
        value = m.eval(fn, env)
    return isinstance(value, (Intrinsic, TensorVal)) or is_type(value)
