"""The evaluator: expressions of the program representation to values.

One machine runs one program under one architecture. It is an abstract interpreter: what it does not know becomes
``Unknown`` with a reason and a place, and an ``Unknown`` operand makes the result that ``Unknown``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.budget import Budget
from cutecheck.source.eval.dialect import Dialect
from cutecheck.source.eval.journal import Journal
from cutecheck.source.eval.launches import Launches
from cutecheck.source.eval.observations import Observations
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.slots import Slots
from cutecheck.source.eval.values import BudgetExceeded, Cell, FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.callbacks import Made
    from cutecheck.source.eval.contexts import Known
    from cutecheck.source.eval.handed import Indirect
    from cutecheck.source.eval.ranking import Given
    from cutecheck.source.eval.record.ways import Told
    from cutecheck.source.eval.statements.exits import Attempts, Exits
    from cutecheck.source.eval.statements.guesses import Guess
    from cutecheck.source.eval.statements.recurrences import Recurrence

Handler = Callable[["Machine", Any, Env], Value]
EXPRESSIONS: dict[type, Handler] = {}
STATEMENTS: dict[type, Handler] = {}


def handles(*nodes: type) -> Callable[[Handler], Handler]:
    """Register the evaluation of expression nodes."""

    def register(function: Handler) -> Handler:
        for node in nodes:
            EXPRESSIONS[node] = function
        return function

    return register


def runs(*nodes: type) -> Callable[[Handler], Handler]:
    """Register the execution of statement nodes."""

    def register(function: Handler) -> Handler:
        for node in nodes:
            STATEMENTS[node] = function
        return function

    return register


Wanted = Callable[[Iterable[Entry], Iterable[Value], Span], bool]
Chore = Callable[[Entry, ir.Function, Iterable[Value]], bool]


def _all_are(kernel: Iterable[Entry], values: Iterable[Value], span: Span) -> bool:
    return True


class Telling(Enum):
    """What a class says of the instantiations over it: nothing, that they are of a kind of their own, or more.

    ``WORKS``: it configures, copies or multiplies itself.
    """

    NOTHING = 0
    APART = 1
    WORKS = 2


@record(frozen=True, slots=True)
class Leading:
    """The methods of a class that lead to kernel launches: those to start from, and those that launch."""

    first: tuple[ir.Function, ...] = ()
    launching: tuple[ir.Function, ...] = ()


def _no_methods(inst: ClassInst) -> Leading:
    return Leading()


def _none_is(entry: Entry, fn: ir.Function, values: Iterable[Value]) -> bool:
    return False


class History:
    """What a translation unit evaluated, and the kernels that those before it walked.

    ``wanted`` says of a kernel (its declarations, the values it is instantiated and launched with, the place of the
    launch) whether its walk could say anything that is reported; ``chore`` of a function called on the host (with its
    template arguments and arguments) that its walk could say nothing of CuTe; ``entrances`` gives the methods from
    which the kernels of a class can be reached; ``tells`` what a class says of what is made of it.
    """

    def __init__(self, launches: Launches) -> None:
        self.launches = launches
        self.functions: set[int] = set()
        self.classes: set[int] = set()
        self.constrained: dict[int, bool] = {}  # functions whose return type may remove them, by declaration
        self.declared: set[int] = set()  # namespace-scope declarations evaluated
        self.members: set[tuple[int, str]] = set()  # class instances whose members were evaluated
        self.wanted: Wanted = _all_are
        self.chore: Chore = _none_is
        self.tells: Callable[[ClassInst], Telling] = lambda inst: Telling.APART
        self.entrances: Callable[[ClassInst], Leading] = _no_methods
        self.entered: set[int] = set()  # classes whose kernels were walked from their own methods, by ``id``
        self.methods: set[tuple[int, int]] = set()  # walked methods and their classes, by ``id``
        # walked instantiations of function templates: which, of which class, under which arguments
        self.walked: set[tuple[int, int, tuple[str, ...]]] = set()
        self.lambdas: list[Made] = []  # by host code outside functions
        self.handing: frozenset[str] = frozenset()  # functions that other units define, whose calls they ask for
        self.met: set[int] = set()  # calls of these that were noted, by ``id``
        self.left: set[tuple[int, str]] = set()  # branches of ``if constexpr`` that were not taken, by ``id`` and field
        self.unsure: set[str] = set()  # functions of them of which a call was met that is not known
        self.ways: dict[int, set[tuple[object, ...]]] = {}  # threads and classes that kernels were run with, by ``id``
        self.replayed: dict[
            int, tuple[int, int]
        ] = {}  # kernels run pass by pass, by ``id``: how often, and in how many steps
        self.told: set[str] = set()  # kernels of which templates that nothing instantiates say nothing new any more
        self.launched: set[int] = set()  # classes of `cutlass::device_kernel` that were launched, by ``id``
        # functions whose addresses were taken on the host, and in which function
        self.named: dict[Any, tuple[FuncSet, Span, Span | None]] = {}
        self.indirect: list[Indirect] = []  # calls on the host of functions that are not known
        # what was known of the arguments of launches that were walked, by kernel and threads
        self.given: dict[tuple[str, str], list[Known]] = {}
        # threads and shapes of the blocks of kernels that are not known, by the function that launches
        self.open_launches: dict[Span | None, set[tuple[int | None, Any]]] = {}


class Machine:
    """State of one evaluation. Not reentrant across architectures: build one machine an architecture."""

    def __init__(
        self,
        program: Program,
        dialect: Dialect,
        recorder: Recorder,
        arch: str,
        budget: Budget,
        history: History | None = None,
    ) -> None:
        self.program = program
        self.dialect = dialect
        self.recorder = recorder
        self.arch = arch
        self.budget = budget
        self.history = history if history is not None else History(Launches(budget.limits))
        self.journal = Journal()
        self.instances: dict[Any, Any] = {}  # class instances by (declaration, arguments)
        self.repeated: dict[Any, set[Any]] = {}  # long calls by host code (source/eval/repeats.py)
        self.functions: dict[Any, Value] = {}  # results of constant functions by (declaration, arguments)
        self.names: dict[tuple[str, str], Value] = {}  # library names looked up
        self.defining: dict[int, int] = {}  # declarations whose values are being evaluated, in how many instances
        self.deriving = 0  # classes whose bases are being evaluated
        # what the arguments of the call at hand are, and its object
        self.given: tuple[tuple[Given, ...], Given] = ((), "")
        self.spelled: tuple[ir.Expr | None, Value] = (None, None)  # the last type that was evaluated, as it is spelled
        self.owner: tuple[ir.Expr | None, Value] = (None, None)  # and what the last name stood in, before its `::`
        self.kinds: tuple[list[Value], tuple[Given, ...]] = ([], ())  # of the arguments that are about to be bound
        self.chosen: ir.Function | None = None  # that the last call of a function of the tree ran
        self.leads: tuple[Any, tuple[bool | None, ...]] = (None, ())  # arguments, and whether they lead to constants
        self.arrays: tuple[Any, dict[int, Value]] = (None, {})  # arguments, and the types of those that are members
        self.constants: tuple[Any, frozenset[int]] = (None, frozenset())  # arguments, and which of them are constants
        # the values of the last arguments evaluated, and the cells that they name
        self.lvalues: tuple[list[Value], list[tuple[Cell, ...] | None]] = ([], [])
        self.callee: ir.Expr | None = None  # what names the function of the call at hand
        self.returned: tuple[Cell, ...] | None = None  # the cells that the last call returned a reference to
        self.addressed: dict[tuple[int, Any], Cell] = {}  # cells that pointers may hold the address of
        self.breaks: Exits | None = None  # of the switch, or of the loop walked by items, that a `break` leaves
        self.attempts: Attempts | None = None  # of the `try` that an exception of the program leaves
        self.continues: Exits | None = None  # of the iteration that a `continue` ends, in a loop walked by items
        self.slots: dict[int, dict[Any, Slots]] = {}  # elements of arrays that are named, by frame and name
        self.pointed: dict[int, Object] = {}  # objects that pointers, or references to one of several, may stand for
        self.leaked: dict[Any, Cell | Object] = {}  # what addresses lead to that went where they are not followed
        self.callable: dict[Any, Cell | Object] = {}  # what functions lead to that are values not known any more
        self.seen: list[Object] = []  # objects behind pointers that were asked for
        self.temporaries: list[Object] = []  # objects with destructors that the statement at hand made
        self.lingering: list[Object] = []  # and those that earlier ones of the function did
        self.whole: ir.Expr | None = None  # the expression whose value is an array itself, no pointer to its elements
        self.kept = 0  # the serial of the last object of a value that is made once
        self.rewritten: set[str] = set()  # names of variables outside functions that something wrote
        self.unseen = False  # a function that is not walked may have written any of these
        self.loop: Recurrence | None = None  # the loop whose body is walked, in the function that is
        # declarations, by identity, scope and whether anything is leaked, and whether they change variables of others
        self.inert: dict[tuple[int, int, bool], tuple[bool, Any, Any]] = {}
        # of the rehearsals that are walked: the last number and the last serial made before
        self.rehearsals: list[tuple[int, int]] = []
        self.containers: list[list[Value] | dict[Any, Value]] = []  # that were made in them
        self.supposed: set[str] = set()  # variables for what a loop changes, until it is settled
        self.guesses: dict[Span, tuple[Guess, ...]] = {}  # what loops changed when they were settled last
        self.made = 0  # how many names were made apart
        self.told: dict[str, Told] = {}  # numbers that stand for one of a function's results, by name
        self.observed = Observations()  # what host code asked of objects that are not followed
        self.tested: dict[int, Value] = {}  # what conditions of `if` statements were the last time
        self.apart = False  # what is lost may be of each thread its own
        self._lost: set[int] = set()  # the numbers of variables that stand for what was lost, and for nothing else

    def eval(self, node: ir.Expr, env: Env) -> Value:
        """The value (or type value) of an expression; never raises for any program."""
        budget = self.budget
        budget.used += 1
        if budget.used > budget.next_check:
            budget.check()
        budget.depth += 1
        try:
            if budget.depth > budget.max_depth:
                budget.refused += 1
                return Unknown(f"nesting deeper than {budget.max_depth} evaluations", node.span)
            return EXPRESSIONS[type(node)](self, node, env)
        except RecursionError:
            budget.refused += 1
            return Unknown("nesting too deep for the evaluator", node.span)
        finally:
            budget.depth -= 1

    def run(self, node: ir.Stmt, env: Env) -> Value:
        budget = self.budget
        budget.used += 1
        if budget.used > budget.next_check:
            budget.check()
        if self.temporaries:  # of the condition of what is around
            self._end_of_statement(node.span)
        done = STATEMENTS[type(node)](self, node, env)
        if self.temporaries:
            self._end_of_statement(node.span)
        return done

    def _end_of_statement(self, span: Span) -> None:
        from cutecheck.source.eval.temporaries import end_of_statement

        end_of_statement(self, span)

    def fresh(self, name: str, domain: Domain = ex.ANY) -> Dyn:
        """A run-time integer nobody else has, the same in all threads of a warp."""
        return Dyn.named(f"{name}#{self.number()}", domain)

    def number(self) -> int:
        """The next number that keeps names apart; those made before are smaller."""
        self.made += 1
        return self.made

    def lose_since(self, number: int) -> None:
        """The variables made after one of this number stand for what is not known any more: any value of its type."""
        self._lost.update(range(number + 1, self.made + 1))

    def is_lost(self, name: str) -> bool:
        """Whether a variable is one of these."""
        number = max(name.rfind("#"), name.rfind(PER_THREAD)) + 1
        return name[number:].isdecimal() and int(name[number:]) in self._lost

    def library_namespace(self, path: str) -> Value:
        """A namespace of a known library."""
        from cutecheck.source.eval.lookup import Namespace

        return Namespace(None, path)

    def unknown(self, reason: str, span: Span | None) -> Unknown:
        return Unknown(reason, span)


__all__ = ["EXPRESSIONS", "STATEMENTS", "BudgetExceeded", "Machine", "handles", "runs"]
