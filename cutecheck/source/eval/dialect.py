"""What a scanned language decides for itself: its scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.replay import Replaying
    from cutecheck.source.eval.scope import ClassInst, Env
    from cutecheck.source.eval.statements.done import Done


MISSING: Value = object()  # the value of a variable that has none yet
DEFER: Value = object()  # a hook's answer that leaves the case to the evaluator (None may be a value)


class Hooks:
    """Where a language may step in before the evaluator's own rule; these defaults never do.

    ``DEFER`` leaves the case to the evaluator; so does None where the answer is declared optional.
    """

    by_value = False  # variables hold objects themselves: to initialise one copies, and references are a kind of type
    block_scope = True  # a name assigned in a block lives in the block; otherwise in the function
    watched: frozenset[str] = frozenset()  # classes of which `constructed` is told

    def name_value(self, m: Machine, ident: str, env: Env, span: Span) -> Value:
        """A name that no scope declares."""
        return DEFER

    def attribute(self, m: Machine, base: Value, name: str, span: Span) -> Value:
        """``base.name``."""
        return DEFER

    def answers_early(self, node: ir.Expr) -> bool:
        """A condition is answered when the kernel is made."""
        return False

    def apply(self, m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        """``fn(args)``."""
        return DEFER

    def assembled(self, m: Machine, node: ir.Opaque, env: Env) -> bool:
        """Assembly does something with barriers; whether all of it is noted."""
        return False

    def leads(self, m: Machine, values: list[Value], span: Span) -> None:
        """Values are named in assembly of which not all is known."""

    def barriers(self, value: Value) -> str:
        """Which barriers a value stands for, empty where that is not known: a pointer to one, a pipeline, a handle."""
        return ""

    def watches(self, m: Machine, cls: ClassInst) -> bool:
        """Whether ``constructed`` is told of objects of a class."""
        return cls.decl.name in self.watched

    def constructed(self, m: Machine, value: Value, args: list[Value], span: Span) -> Value:
        """An object of a watched class was made of these arguments."""
        return value

    def advanced(self, m: Machine, value: Value, span: Span) -> None:
        """``++value`` of a value of a class that is not in the tree."""

    def index(self, m: Machine, base: Value, args: list[Value], span: Span) -> Value:
        """``base[args]``."""
        return DEFER

    def operator(self, m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
        """``left op right`` before structures and scalars decide."""
        return DEFER

    def takes_references(self, fn: Value) -> bool:
        """Whether a function that is not followed is told by its arguments where these are."""
        return False

    def writes_nothing(self, fn: Value) -> bool:
        """Whether a function that is not of the tree is known to change none of what it is given."""
        return False

    def declare(self, m: Machine, decl: ir.Decl, env: Env) -> bool:
        """A declaration inside a function or module; True when it was handled."""
        return False

    def assign(self, m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> bool:
        """``target = value``; True when it was handled."""
        return False

    def items(self, m: Machine, value: Value, span: Span) -> list[Value] | Value | None:
        """The items a loop or comprehension goes through; Unknown when they are not known."""
        return None

    def spread(self, m: Machine, value: Value, span: Span) -> list[Value]:
        """``*value`` where the items of the value are not known."""
        return [Unknown("unpacking of an unknown sequence", span)]

    def alike(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Two values of which an expression is one, converted to what they have in common."""
        return a, b

    def unrolls(self, m: Machine, env: Env, node: ir.Loop) -> bool:
        """Whether a loop here runs as often as its condition says, where that is known."""
        return env.frame is not None and env.frame.constexpr

    def loop_item(self, m: Machine, iterable: Value, node: ir.Loop, env: Env) -> Value | None:
        """The item of a loop that is walked once for all its iterations."""
        return None

    def all_enter(self, iterable: Value) -> bool:
        """Whether all threads, which begin at numbers of their own, come to the first pass of a loop."""
        return False

    def counts_all(self, iterable: Value, item: Value) -> str:
        """The variable that an item of a loop is, if all threads have the same ones; else nothing."""
        return ""

    def passes(self, m: Machine, iterable: Value, node: ir.Loop, env: Env) -> list[Value] | None:
        """The items of a run-time loop that is written out: its body is walked for each, one after the other."""
        return None

    def replayed(self, m: Machine, iterable: Value, node: ir.Loop) -> list[Value] | None:
        """The items of a run-time loop in a kernel that is run pass by pass; None where they are not known."""
        return None

    def repeats(self, m: Machine, node: ir.Loop, env: Env) -> bool:
        """Further passes of a loop over known items do as the first did, but for what they compute of their item."""
        return False

    def configured(self, m: Machine, fn: ir.Function) -> tuple[str, ...]:
        """What tells this run of a kernel from others of it, besides template arguments."""
        return ()

    def owner(self, m: Machine, fn: ir.Function) -> str:
        """The class of a method, where its environment is not one of the class."""
        return ""

    def no_value(self, span: Span) -> Value:
        """What a function without ``return`` gives."""
        return Unknown("the function returns no value", span)

    def joined(self, m: Machine, a: Value, b: Value, what: str, span: Span, cond: Value, varying: bool) -> Value | None:
        """One value for the two that branches of an unknown condition leave; ``varying``: threads part there.

        ``cond``: the condition, None where it is one that the device decides.
        """
        return None

    def taken(self, m: Machine, asked: ir.Expr, cond: Value, ends: Sequence[tuple[Value, Value]]) -> int | None:
        """Which of two branches the walk goes on from, where it need not go on from both: 0, 1 or None.

        ``ends``: what they leave in each variable that one of them writes.
        """
        return None

    def missing(self, value: Value) -> bool:
        """Whether a variable has no value yet."""
        return value is None or value is MISSING

    def asserted(self, m: Machine, node: ir.Assert, env: Env) -> bool:
        """After an assertion: whether the way on ends here."""
        return False

    def listed(self, value: Value) -> Value:
        """What an expression, not a loop, goes through."""
        return value

    def generated(self, items: list[Value]) -> Value:
        """What an expression that generates items is."""
        return tuple(items)

    def within(self, m: Machine, item: Value, body: Callable[[Value], Done], span: Span) -> Done:
        """``with item as name``: ``body`` is run with what the name is bound to."""
        return body(item)

    def default(self, m: Machine, p: ir.Param, env: Env) -> Value:
        """What a parameter is that no argument is given for."""
        assert p.default is not None
        return m.eval(p.default, env)

    def closed(self, m: Machine, params: tuple[ir.Param, ...], env: Env) -> Env:
        """The environment in which a function that is defined here finds its names."""
        return env

    def augmented(self, m: Machine, op: str, old: Value, value: Value, span: Span) -> Value:
        """``old op= value`` where that is not ``old = old op value``."""
        return DEFER

    def forgotten(self, m: Machine, old: Value, name: str, span: Span) -> Value | None:
        """What remains of a variable that a loop assigns."""
        return None

    def binding(self, m: Machine, env: Env, name: str) -> Env | None:
        """Where the variable is that an assignment to a name writes, None where it makes one."""
        return env.find_var(name)

    def settles(self, m: Machine) -> bool:
        """Whether what a loop changes beside the variables that it names is found by walking it first."""
        return True


class Dialect(Hooks):
    """Scalars of one language, and how they enter and leave CuTe's integers."""

    name: str
    replaying: Replaying | None = None  # the run of a kernel pass by pass, which decides conditions on run-time numbers
    supposing: Any = None  # the call that is being supposed, in a language that supposes any

    def literal(self, node: ir.Lit) -> Value:
        raise NotImplementedError

    def to_model(self, value: Value) -> Value:
        """A value as an argument of CuTe: scalars become run-time (or static) integers, deep in tuples too."""
        raise NotImplementedError

    def from_model(self, value: Value) -> Value:
        """A result of CuTe as a value of the language."""
        raise NotImplementedError

    def truth(self, value: Value) -> bool | None:
        """The truth of a condition; None when it depends on what is not known."""
        raise NotImplementedError

    def unary(self, op: str, value: Value, span: Span) -> Value:
        raise NotImplementedError

    def binary(self, op: str, left: Value, right: Value, span: Span) -> Value:
        raise NotImplementedError

    def cast(self, type_: Value, value: Value, span: Span) -> Value:
        raise NotImplementedError
