"""Tests of pytest and unittest: which there are, with which arguments and fixtures they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.source.dsl import attributes, classes, containers, functions, modules, skipping
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.pytest_options import config
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.values import Builtin, Namespace
from cutecheck.source.eval import ir
from cutecheck.source.eval.calls import apply
from cutecheck.source.eval.scope import ClassInst, Env, Scope
from cutecheck.source.eval.statements.loops import iterate
from cutecheck.source.eval.values import Extern, FuncSet, Object, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.facts import Span
    from cutecheck.source.eval.machine import Machine

_PARAM = "pytest.param of"
_LEFT_OUT = "pytest.param of what is not run"
_MARK = "pytest.mark.parametrize of"
_GIVEN = frozenset({  # fixtures of pytest itself: nothing is known of them
    "request", "tmp_path", "tmp_path_factory", "tmpdir", "capsys", "capfd", "caplog", "monkeypatch", "recwarn",
    "pytestconfig", "benchmark", "subtests",
})  # fmt: skip
_SOON = 2  # of the values of a parameter besides the first; others where steps are left
_EIGHTHS = (8, 4, 6, 2, 7, 5, 3, 1)  # of the values, in the order in which their ends are taken
Choices = dict[tuple[str, ...], list[Value]]


@builtin("pytest.param")
def _param(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin(_LEFT_OUT if skipping.leaves_out(kwargs.get("marks")) else _PARAM, tuple(args))


@builtin("pytest.mark")
def _mark(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Extern("pytest.mark(...)", span)


@builtin("pytest.mark.parametrize")
def _parametrize(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A mark that is kept: in a variable, a list of marks, ``pytestmark``."""
    given = dict(zip(("argnames", "argvalues", "indirect"), args, strict=False))
    return Builtin(_MARK, ({**given, **kwargs}, span))


@builtin(_MARK)
def _marked(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``mark(function)``, as a decorator does it for others."""
    if len(args) > 1 and isinstance(args[1], FuncSet):
        modules.state(m).setdefault("marks", {}).setdefault(id(args[1].entries[0].decl), []).append(args[0])
    return args[1] if len(args) > 1 else None


@dataclass(slots=True)
class Tests:
    """The tests of one module; ``conftests`` are scopes around it, the nearest first."""

    m: Machine
    scope: Scope
    conftests: list[Scope] = field(default_factory=list)
    config: Namespace | None = None  # of pytest, once it was asked for

    @staticmethod
    def of(m: Machine, scope: Scope, file: Path) -> Tests:
        """Those of a file that has been run, with the fixtures of the folders around it."""
        made = Tests(m, scope)
        shown: dict[Path, str] = m.dialect.library.shown  # type: ignore[attr-defined]
        for folder in file.resolve().parents:
            conftest = folder / "conftest.py"
            if conftest in shown and conftest != file.resolve():
                made.conftests.append(modules.load(m, modules.module_name(shown[conftest]), conftest))
        return made

    def all(self) -> Iterator[tuple[Span, list[Callable[[], object]]]]:
        """Each test with its calls: with the first of all values, then with others."""
        if self.left_out():
            return
        for value in list(self.scope.env.vars.values()):
            if isinstance(value, FuncSet) and value.entries[0].env.namespace() is self.scope:
                yield from self._calls(value, None)
            elif isinstance(value, ClassInst) and value.env.namespace() is self.scope and _is_tests(value):
                for cls in reversed(classes.mro(value)):
                    for member in list(cls.memo["space"].values()):
                        if isinstance(member, FuncSet) and classes.find(value, member.name) is member:
                            yield from self._calls(member, value)

    def left_out(self) -> bool:
        """Whether the module says of all its tests that they are not run."""
        return skipping.leaves_out(self.scope.env.vars.get("pytestmark"))

    def _calls(self, fn: Any, cls: ClassInst | None) -> Iterator[tuple[Span, list[Callable[[], object]]]]:
        decl: ir.Function = fn.entries[0].decl
        if not decl.name.startswith("test"):
            return
        marks = [(d, fn.entries[0].env) for d in decl.decorators]
        marks += [] if cls is None else [(d, cls.entry.env) for d in cls.decl.decorators]
        of_class = None if cls is None else classes.find(cls, "pytestmark")
        if skipping.leaves_out(of_class) or skipping.is_left_out(self.m, decl, marks):
            _is_looked_at(self.m, decl)
            return
        choices, indirect = self._choices(decl, marks, int(cls is not None))
        if any(not values for values in choices.values()):
            return
        named = {n for names in choices for n in names}
        wanted = [p.name for p in decl.params[cls is not None :] if p.default is None and p.kind == "normal"]
        fixtures = self._needed([n for n in wanted if n not in named], cls)
        if fixtures is None:
            return
        for name, found in fixtures.items():
            own = self._params(found) if name not in indirect else None
            if own is not None:
                choices[f"{name}.param",] = own
        yield decl.span, [self._call(fn, cls, pick, indirect) for pick in _picks(choices)]

    def _listed(self, values: Value, span: Span) -> list[Value]:
        """What a list, range, dictionary or generator of values gives; nothing where that is not known."""
        if isinstance(values, (Unknown, Extern)):
            return []
        found = iterate(self.m, self.m.dialect.listed(values), span)
        return [] if isinstance(found, Unknown) else list(found)

    def _drawn(self, strategy: ir.Expr, env: Env) -> list[Value]:
        """Values that a strategy of hypothesis gives; a number between bounds is open."""
        word = spelled(strategy).rpartition(".")[2]
        given = [self.m.eval(a.value, env) for a in strategy.args] if isinstance(strategy, ir.Call) else []
        if word == "sampled_from" and given:
            return self._listed(given[0], strategy.span) or [Extern("a drawn value", strategy.span)]
        if word == "just" and given:
            return [given[0]]
        if word == "booleans":
            return [False, True]
        return [Scalar(None, "int") if word == "integers" else Extern("a drawn value", strategy.span)]

    def _choices(self, decl: ir.Function, marks: list[tuple[ir.Expr, Env]], skipped: int) -> tuple[Choices, set[str]]:
        choices: Choices = {}
        indirect: set[str] = set()
        own = [p.name for p in decl.params[skipped:] if p.kind == "normal"]
        kept = list(modules.state(self.m).get("marks", {}).get(id(decl), ()))
        kept += self._kept(self.scope.env.vars.get("pytestmark"))
        for d, env in marks:
            if not isinstance(d, ir.Call):
                kept += self._kept(self.m.eval(d, env)) if isinstance(d, (ir.Name, ir.Attr)) else []
                continue
            if spelled(d).endswith("parameterized.expand") and d.args:
                rows = self._listed(self.m.eval(d.args[0].value, env), d.span)
                if rows:
                    count = max(len(r) if isinstance(r, (tuple, list)) else 1 for r in rows)
                    choices[tuple(own[:count])] = [_single(r) if count == 1 else r for r in rows]
                continue
            if spelled(d).rpartition(".")[2] == "given":
                by_name = {a.name: a for a in d.args if a.name}
                by_place = [a for a in d.args if not a.name]
                left = [name for name in own if name not in by_name]
                by_name.update(zip(left[len(left) - len(by_place) :], by_place, strict=True))
                choices.update({(name,): self._drawn(a.value, env) for name, a in by_name.items()})
                continue
            if spelled(d).rpartition("mark.")[2] != "parametrize":
                continue
            kept += self._kept(self.m.eval(d, env))
        for given, span in kept:
            names, values = given.get("argnames"), self._listed(given.get("argvalues"), span)
            names = [n.strip() for n in names.split(",")] if isinstance(names, str) else names
            if isinstance(names, (list, tuple)) and values:
                choices[tuple(names)] = [_plain(v, len(names)) for v in values if not _left_out(v)]
                through = given.get("indirect")
                through = names if through is True else through
                indirect |= set(through) if isinstance(through, (list, tuple)) else set()
        return choices, indirect

    def _kept(self, mark: Value) -> list[Any]:
        """The arguments of a mark of ``parametrize``, or of those in a list."""
        if isinstance(mark, (list, tuple)):
            return [kept for one in mark for kept in self._kept(one)]
        return [mark.self_] if isinstance(mark, Builtin) and mark.name == _MARK else []

    # ---------------------------------------------------------------- fixtures

    def _fixture(self, name: str, cls: ClassInst | None) -> FuncSet | None:
        spaces = [] if cls is None else [c.memo["space"] for c in classes.mro(cls)]
        for space in (*spaces, self.scope.env.vars, *(s.env.vars for s in self.conftests)):
            for word, value in space.items():
                mark = _fixture_mark(value) if isinstance(value, FuncSet) else None
                if mark is not None and _renamed(mark, word) == name:
                    return value  # type: ignore[no-any-return]
        return None

    def _always(self, cls: ClassInst | None) -> list[str]:
        """Fixtures that every test has (``autouse=True``)."""
        spaces = [s.env.vars for s in (*reversed(self.conftests), self.scope)]
        spaces += [] if cls is None else [c.memo["space"] for c in classes.mro(cls)]
        found: list[str] = []
        for word, value in [item for space in spaces for item in space.items()]:
            mark = _fixture_mark(value) if isinstance(value, FuncSet) else None
            if isinstance(mark, ir.Call) and any(
                a.name == "autouse" and isinstance(a.value, ir.Lit) and a.value.value is True for a in mark.args
            ):
                found.append(_renamed(mark, word))
        return found

    def _needed(self, names: list[str], cls: ClassInst | None) -> dict[str, FuncSet] | None:
        """The fixtures that are asked for, those that these ask for among them; None where one is not of the tree."""
        found: dict[str, FuncSet] = {}
        todo = list(names)
        while todo:
            name = todo.pop()
            fixture = self._fixture(name, cls)
            if fixture is None and name not in _GIVEN:
                return None
            if fixture is not None and name not in found:
                found[name] = fixture
                todo += [p.name for p in _own_params(fixture)]
        return found

    def _params(self, fixture: FuncSet) -> list[Value] | None:
        mark = _fixture_mark(fixture)
        given = next((a.value for a in mark.args if a.name == "params"), None) if isinstance(mark, ir.Call) else None
        values = None if given is None else self.m.dialect.listed(self.m.eval(given, fixture.entries[0].env))
        if not isinstance(values, (list, tuple, range)) or not len(values):
            return None
        return [_plain(v, 1) for v in values if not _left_out(v)]

    def _config(self) -> Namespace:
        if self.config is None:
            self.config = config(self.m, (*self.conftests, self.scope))
        return self.config

    def _request(self, param: Value, span: Span) -> Namespace:
        asked = Extern("request", span)
        return Namespace({"param": param, "config": self._config(), "getfixturevalue": asked, "node": asked})

    def _value(
        self, name: str, obj: Object | None, pick: dict[str, Value], known: dict[str, Value], span: Span
    ) -> Value:
        if name in known:
            return known[name]
        fixture = self._fixture(name, None if obj is None else obj.cls)
        if fixture is None and name in ("request", "pytestconfig"):
            return self._request(None, span) if name == "request" else self._config()
        if fixture is None and name == "monkeypatch":
            return _patcher(span)
        if fixture is None:
            return Extern(f"the fixture {name}", span)
        entry = fixture.entries[-1]
        args: list[Value] = [obj] if fixture.cls is not None else []
        for p in _own_params(fixture):
            request = self._request(pick.get(f"{name}.param"), p.span) if p.name == "request" else None
            args.append(request or self._value(p.name, obj, pick, known, p.span))
        value = functions.run(self.m, fixture, entry, args, {}, entry.decl.span)
        if "generator" in entry.decl.flags and isinstance(value, list):
            value = value[0] if value else None
        known[name] = value
        return value

    # ---------------------------------------------------------------- calls

    def _call(
        self, fn: FuncSet, cls: ClassInst | None, pick: dict[str, Value], indirect: set[str]
    ) -> Callable[[], object]:
        decl: ir.Function = fn.entries[0].decl
        m, span = self.m, decl.span
        pick = {f"{k}.param" if k in indirect else k: v for k, v in pick.items()}

        def ask(owner: Value, method: str) -> None:
            found = classes.find(owner.cls if isinstance(owner, Object) else owner, method)
            if isinstance(found, FuncSet):
                given = [Extern("a method", span)] * (len(found.entries[0].decl.params) - 1)
                apply(m, classes.attribute(m, owner, method, span), given, {}, span)

        def run() -> object:
            try:
                return called()
            except skipping.Skipped:
                _is_looked_at(m, decl)
                raise

        def called() -> object:
            obj = None if cls is None else Object(cls)
            for owner, method in ((cls, "setUpClass"), (cls, "setup_class"), (obj, "setUp"), (obj, "setup_method")):
                if owner is not None:
                    ask(owner, method)
            known: dict[str, Value] = {}
            for name in self._always(cls):
                self._value(name, obj, pick, known, span)
            given = {}
            for p in decl.params[cls is not None :]:
                if p.name in pick:
                    given[p.name] = pick[p.name]
                elif p.default is None and p.kind == "normal":
                    given[p.name] = self._value(p.name, obj, pick, known, span)
            bound: Any = fn if cls is None or obj is None else classes.bind(m, fn, obj, cls, span)
            return apply(m, bound, [], given, span)

        return run


def _is_looked_at(m: Machine, decl: ir.Function) -> None:
    """A test that is not run is no function that nothing calls."""
    modules.state(m)["walked"] = {*modules.state(m).get("walked", ()), id(decl)}


def _patcher(span: Span) -> Namespace:
    """The fixture ``monkeypatch``: what it sets is undone with the test, as all is."""
    others = ("delattr", "delitem", "setenv", "delenv", "syspath_prepend", "chdir", "context", "undo")
    known = {word: Builtin(f"monkeypatch.{word}") for word in ("setattr", "setitem")}
    return Namespace({**known, **{word: Extern(f"monkeypatch.{word}", span) for word in others}})


@builtin("monkeypatch.setattr")
def _set_attribute(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``setattr(target, name, value)``, or ``setattr("module.name", value)``."""
    given = [*args, *(kwargs[k] for k in ("target", "name", "value") if k in kwargs)]
    if len(given) == 2 and isinstance(given[0], str):
        home, _, name = given[0].rpartition(".")
        given = [modules.get(m, home, None), name, given[1]]
    if len(given) > 2 and isinstance(given[1], str):
        attributes.store(m, given[0], given[1], given[2], span)
    return None


@builtin("monkeypatch.setitem")
def _set_item(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if len(args) > 2 and isinstance(args[0], dict):
        containers.put(m, args[0], args[1], args[2], span)
    return None


def _is_tests(cls: ClassInst) -> bool:
    foreign = [b for c in classes.mro(cls) for b in c.memo["foreign"]]
    if any(isinstance(b, Extern) and b.what.endswith("TestCase") for b in foreign):
        return True
    return cls.decl.name.startswith("Test") and not isinstance(classes.find(cls, "__init__"), FuncSet)


def _own_params(fixture: FuncSet) -> list[ir.Param]:
    params: tuple[ir.Param, ...] = fixture.entries[-1].decl.params[fixture.cls is not None :]
    return [p for p in params if p.default is None and p.kind == "normal"]


def _fixture_mark(fn: FuncSet) -> ir.Expr | None:
    marks: tuple[ir.Expr, ...] = fn.entries[-1].decl.decorators
    return next((d for d in marks if spelled(d).rpartition(".")[2] == "fixture"), None)


def _renamed(mark: ir.Expr, name: str) -> str:
    given = next((a.value for a in mark.args if a.name == "name"), None) if isinstance(mark, ir.Call) else None
    return given.value if isinstance(given, ir.Lit) and isinstance(given.value, str) else name


def _left_out(value: Value) -> bool:
    return isinstance(value, Builtin) and value.name == _LEFT_OUT


def _plain(value: Value, count: int) -> Value:
    if isinstance(value, Builtin) and value.name == _PARAM:
        return value.self_[0] if count == 1 and len(value.self_) == 1 else value.self_
    return value


def _single(row: Value) -> Value:
    return row[0] if isinstance(row, (tuple, list)) and len(row) == 1 else row


def _picks(choices: Choices) -> list[dict[str, Value]]:
    """The first of all values, then others in turn."""

    def bind(pick: dict[tuple[str, ...], Value]) -> dict[str, Value]:
        out: dict[str, Value] = {}
        for names, value in pick.items():
            if len(names) == 1:
                out[names[0]] = value
            elif isinstance(value, (tuple, list)) and len(value) == len(names):
                out.update(zip(names, value, strict=True))
        return out

    first = {names: values[0] for names, values in choices.items()}
    others = {names: _others(values) for names, values in choices.items()}
    out = [bind(first)]
    for part in (slice(_SOON), slice(_SOON, None)):
        out += [bind({**first, names: v}) for names, values in others.items() for v in values[part]]
    return out


def _others(values: list[Value]) -> list[Value]:
    """Of the values after the first the last and some between: sizes stand in their order, and the ends differ most."""
    rest = values[1:]
    if len(rest) <= _SOON:
        return rest
    ends = [len(rest) * k // 8 - 1 for k in _EIGHTHS if len(rest) * k >= 8]
    return [rest[i] for i in dict.fromkeys(ends)]
