"""Runs of what nothing in the tree calls, with arguments that are supposed.

Each function of the host that leads to a launch, and each kernel class, that no program, test or driver came to is
called as a driver would. Where the program refuses what is supposed (an assertion, an exception, a refusal of the DSL),
something else is supposed that meets what it asked; what was recorded on the way is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutecheck.facts import Span, SupposedCall, Unknown
from cutecheck.model.inttuple import flatten_to_tuple
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.dsl import classes, modules
from cutecheck.source.dsl.drivers import Driver
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.supposed.guesses import UNTOLD, Given, Guess, Wanted, value
from cutecheck.source.dsl.supposed.leading import Leading
from cutecheck.source.dsl.supposed.moves import Move, RefusedError
from cutecheck.source.dsl.supposed.parameters import wanted
from cutecheck.source.dsl.supposed.settings import setting
from cutecheck.source.dsl.supposed.supposition import Supposition
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Env, Scope
from cutecheck.source.eval.trace import Tracing, TracingMachine
from cutecheck.source.eval.values import FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.dsl.library import Library
    from cutecheck.source.eval.limits import Limits

TRIES = 14  # of one entry
_ELEMENTS = ("half_t", "float", "bfloat16_t")
_OTHERS = (("float", 128), ("half_t", 32768))  # element types and extents of further calls of one entry
_BYTES = Guess(
    (), "float_e4m3_t", 256
)  # and of one more, unless it is refused: elements of a byte may be what is meant
_OTHERS_LAUNCH = "what it launches is launched by others"
_DEAR = 40_000  # steps of the calls of one entry, after which the last is left out
_RANKS = (3, 1, 4)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is called: a function, or a class whose objects are; ``told``: the parameters of each call."""

    name: str
    value: FuncSet | ClassInst
    calls: tuple[tuple[ir.Function, tuple[tuple[ir.Param, Wanted], ...]], ...]


class Supposer(Driver):
    """Supposes calls of what one file has."""

    def __init__(
        self,
        library: Library,
        arch: str,
        limits: Limits,
        called: frozenset[Span],
        leading: Leading,
        tracing: Tracing | None = None,
    ) -> None:
        super().__init__(library, arch, replace(limits, steps_per_root=max(1, limits.steps_per_root // 2)), tracing)
        self._called, self._leading = called, leading
        self.hopeless = False  # nothing says what some parameter takes
        self._walked: set[Span] = set()
        self._kernels: set[Span] = set()

    def runs(self, file: Path, path: str) -> Iterator[Supposer]:
        """Itself, with what a supposed call came to in its recorder, once for each."""
        found: list[Scope] = []
        span = Span(path, 1, 1, 1, 1)
        self.guard(lambda: found.append(modules.load(self.machine, modules.module_name(path), file)), span, keep=True)
        if not found:
            return
        scope = found[0]
        for entry in self._entries(scope, path):
            if self._is_over():
                break
            if not self._walked.isdisjoint(decl.full_span for decl, _ in entry.calls[-1:]):
                continue
            yield from self._suppose(entry, f"{modules.module_name(path)}.{entry.name}")
        if self.given_up:
            self._begin()
            self.supposed = ()
            yield self

    # ------------------------------------------------------------------------------------------------ entries

    def _entries(self, scope: Scope, path: str) -> list[Entry]:
        """Functions of the host that no other uses come first, then the public ones, the private ones, and classes."""
        used = self._leading.used.get(path, frozenset())
        found: list[tuple[tuple[bool, ...], Entry]] = []
        for name, value_ in list(scope.env.vars.items()):
            plain = scope.env.vars.get(f"undecorated {name}", value_)
            entry = None
            if name in self._leading.names:
                if isinstance(plain, FuncSet) and plain.entries[0].env.namespace() is scope:
                    entry = self._function(name, plain)
                elif isinstance(value_, ClassInst) and value_.env.namespace() is scope:
                    entry = self._class(name, value_)
            if entry is not None:
                made = entry.value
                device = isinstance(made, ClassInst) or "jit" in made.entries[0].decl.flags
                found.append(((device, name in used, name.startswith("_")), entry))
        return [entry for _, entry in sorted(found, key=lambda f: f[0])]

    def _function(self, name: str, fn: FuncSet) -> Entry | None:
        decl: ir.Function = fn.entries[0].decl
        if decl.full_span in self._called or decl.flags & {"kernel", "generator", "deleted"}:
            return None
        if any(spelled(d).rpartition(".")[2] in _STAND_INS for d in decl.decorators):
            return None
        return Entry(name, fn, ((decl, tuple(wanted(decl, self._text(decl)))),))

    def _class(self, name: str, cls: ClassInst) -> Entry | None:
        init = classes.find(cls, "__init__")
        own = (f for word in _CALLS if isinstance(f := classes.find(cls, word), FuncSet))
        call = next((f for f in own if self.library.scanned(f.entries[0].decl.span.path)), None)
        if call is None:
            return None
        decl: ir.Function = call.entries[0].decl
        if decl.full_span in self._called or decl.flags & {"static", "classmethod", "kernel", "generator"}:
            return None
        calls = [(decl, tuple(wanted(decl, self._text(decl), 1)))]
        if isinstance(init, FuncSet):
            made: ir.Function = init.entries[0].decl
            calls.insert(0, (made, tuple(wanted(made, self._text(made), 1))))
        return Entry(name, cls, tuple(calls))

    def _text(self, decl: ir.Function) -> str:
        at = decl.full_span
        return "\n".join(self._lines(at.path)[at.line - 1 : at.end_line])

    # ------------------------------------------------------------------------------------------------ one entry

    def _suppose(self, entry: Entry, name: str) -> Iterator[Supposer]:
        """Calls that are not refused: the usual one, one with all that may be left out, and some of other numbers."""
        flags = any(p.sort == "bool" for _, params in entry.calls for _, p in params)
        optional = any(p.optional for _, params in entry.calls for _, p in params)
        guesses = [
            Guess(),
            *([Guess(full=True)] if optional else []),
            *([Guess(flipped=True)] if flags else []),
            *(Guess((), e, n) for e, n in _OTHERS),
        ]
        ran: set[str] = set()
        began, before = self.spent, set(self._kernels)
        for number, guess in enumerate(guesses, 1):
            if number == len(guesses) and self.spent - began > _DEAR:
                break
            if not self._found_out(entry, name if number == 1 else f"{name} {number}", guess):
                if number == 1:
                    return
                continue
            known = number == 1 and self._kernels == before  # others came to all of them
            if known and isinstance(entry.value, ClassInst):
                return
            if self.supposed[0].text not in ran:
                ran.add(self.supposed[0].text)
                yield self
            if known:
                return
        if self._found_out(entry, f"{name} bytes", _BYTES):
            yield self

    def _found_out(self, entry: Entry, name: str, guess: Guess) -> bool:
        """Try guesses until one leads to a kernel; whether one does."""
        todo, seen, why = [guess], {guess}, ""
        blind: set[Guess] = set()  # those that were supposed for want of anything better
        for _ in range(TRIES):
            if not todo or self._is_over():
                break
            at = todo.pop(0)
            told = self._try(entry, name, at)
            if told is None:
                return True
            why, moves = told
            if guess is _BYTES:
                moves = [move for move in moves if all(key[1] != "dtype" for key, _ in move)]
                self.hopeless |= not moves
            if moves:
                more = [g for move in moves for g in _moved(at, move) if g not in seen]
                todo = more + todo
            else:
                more = [] if at in blind or self.hopeless else [g for g in self._others(entry, at) if g not in seen]
                blind.update(more)
                todo += more
            seen.update(more)
        others = why == _OTHERS_LAUNCH or entry.name in self._leading.used.get(entry.calls[-1][0].span.path, ())
        if guess == Guess() and not others:  # of what others use, these say why
            self.given_up[name] = why
        return False

    def _others(self, entry: Entry, guess: Guess) -> list[Guess]:
        """Where nothing says what is wrong: other element types, and other numbers of modes; of
        arguments that may be left out, one left out."""
        if guess.full:
            given = (p.name for _, params in entry.calls for _, p in params if p.optional)
            return [guess.but(((name, "is"), False)) for name in given if guess.get((name, "is"), True)]
        out = [replace(guess, element=e) for e in _ELEMENTS if e != guess.element]
        loose = [p.name for _, params in entry.calls for _, p in params if p.sort in ("tensor", "cute")]
        if loose and not any(k[1] == "rank" for k, _ in guess.told):
            out += [replace(guess.but(*(((n, "rank"), rank) for n in loose)), blind=True) for rank in _RANKS]
        return out

    def _try(self, entry: Entry, name: str, guess: Guess) -> tuple[str, list[Move]] | None:
        """Run a call; what is wrong with it and what may be supposed instead, None where it leads to a kernel."""
        m = self.machine
        self._begin()
        if isinstance(m, TracingMachine):
            m.forget(f"<supposed {name}>")
        for word in ("launched", "configurations", "configured", "refused", "features", "steps of kernels"):
            modules.state(m).pop(word, None)
        modules.state(m)["walked"] = set()
        self.cut.clear()
        self.hopeless = False
        given = Given(guess)
        refused: list[RefusedError] = []
        span = entry.calls[-1][0].span
        supposition = Supposition(f"supposed {name}", given, self._called)

        def run() -> None:
            try:
                self._call(entry, supposition)
            except RefusedError as error:
                refused.append(error)

        try:
            self.dialect.supposing = supposition
            self.guard(run, span)
        finally:
            self.dialect.supposing = None
        if refused:
            return refused[0].why, refused[0].moves
        if supposition.refused:
            return supposition.refused[0], []
        if any(_is_empty(site.value) for site in self.recorder.sites.values()):
            return "a layout is empty", []  # no stage fits, say
        if any(text == repr(UNTOLD) for text in supposition.words):
            return "nothing says what a text may be", []
        if not supposition.kernels and supposition.known:
            self.hopeless = True
            return _OTHERS_LAUNCH, []
        if not supposition.kernels:
            return (self.cut[0].reason if self.cut else "no kernel is reached"), []
        self.supposed = (
            SupposedCall(supposition.tag, supposition.text, _is_told(entry, guess), _is_public(entry, guess)),
        )
        self._walked |= self.recorder.walked
        self._kernels |= supposition.kernels
        return None

    def _begin(self) -> None:
        """Forget what was found before."""
        self.recorder = self.machine.recorder = type(self.recorder)(self.machine.arch, self._lines)
        for table in (self.library.launches, self.library.calls):
            table.clear()

    def _call(self, entry: Entry, supposition: Supposition) -> None:
        from cutecheck.source.eval.calls import apply

        m, given = self.machine, supposition.given
        target: Value = entry.value
        text = entry.name
        for decl, params in entry.calls:
            env = _env(entry, decl)
            args: list[Value] = []
            kwargs: dict[str, Value] = {}
            given.shown.clear()
            for p, told in params:
                flag = given.guess.get((p.name, "value"), None)
                if told.default is not None and not given.guess.flipped and flag is None:
                    continue  # its default is as good
                try:
                    own = setting(m, given, told, p, env)
                    made = value(m, given, told, p.span) if own is None else own
                except LookupError as error:
                    self.hopeless = True
                    raise RefusedError(str(error), []) from None
                if p.kind in ("normal", "positional") and len(args) == decl.params.index(p) - (
                    isinstance(entry.value, ClassInst)
                ):
                    args.append(made)
                else:
                    kwargs[p.name] = made
            supposition.words += [given.shown[p.name] for _, p in params if p.sort == "str" and p.name in given.shown]
            text += f"({', '.join(f'{k}={v}' for k, v in given.shown.items())})"
            supposition.text = text
            if decl.name == "forward" and isinstance(target, Object):
                target = classes.attribute(m, target, decl.name, decl.span)
            target = apply(m, target, args, kwargs, decl.span)
            if isinstance(target, Unknown) and len(entry.calls) > 1:
                break


def _env(entry: Entry, decl: ir.Function) -> Env:
    """Where the names in the types of a function's parameters are looked up."""
    cls = entry.value
    made = [cls] if isinstance(cls, FuncSet) else [classes.find(cls, word) for word in ("__init__", *_CALLS)]
    return next(f.entries[0].env for f in made if isinstance(f, FuncSet) and f.entries[0].decl is decl)


def _is_empty(value: object) -> bool:
    """Whether a layout has a mode without elements."""
    layout = value.b if isinstance(value, ComposedLayout) else value
    return isinstance(layout, Layout) and any(isinstance(n, int) and n <= 0 for n in flatten_to_tuple(layout.shape))


_NARROW = ("half_t", "bfloat16_t")


def _moved(guess: Guess, move: Move) -> Iterator[Guess]:
    """The guess after a move. What wants one element type of two bytes wants it of all that have the same."""
    if len(move) == 1 and move[0][0][1] == "dtype" and move[0][1] in _NARROW and move[0][1] != guess.element:
        yield replace(guess, element=move[0][1])
    yield guess.but(*move)


def _is_public(entry: Entry, guess: Guess) -> bool:
    """Whether anybody may make such a call: who calls what is private asks more of its arguments."""
    return not guess.blind and not entry.name.startswith("_")


def _is_told(entry: Entry, guess: Guess) -> bool:
    """Whether the program itself says how many modes the tensors that it is given have."""
    every = [p for _, params in entry.calls for _, p in params]
    if not _is_public(entry, guess) or any(p.sort == "cute" for p in every):
        return False
    given = [p for p in every if p.sort == "tensor" and (not p.optional or guess.get((p.name, "is"), guess.full))]
    return all(p.rank or guess.get((p.name, "rank"), 0) for p in given)


_STAND_INS = ("register_fake", "impl_abstract", "fixture")  # functions that say what others come to
_CALLS = ("__call__", "forward")  # of an object, the first that it has
__all__ = ["Supposer"]
