"""The macros of a ``setup.py``: ``-DNAME=VALUE`` in its lists of flags, and ``define_macros``. Its text is not run.

A flag holds where every extension of the file is built with it: a condition around it counts unless all extensions are
made under that condition, too; a list that is used under conditions alone, or by some of the extensions, does not hold.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.records import record
from cutecheck.source.builds.said import Given, Said, definition, names

_Conditions = frozenset[tuple[str, str]]
_NONE: _Conditions = frozenset()
_ADDING = ("append", "extend", "insert")
_HOST = ("cxx", "cc", "gcc", "msvc")  # keys of the flags of the host's compiler alone
_CALLS = 3  # of functions in functions, as far as conditions around calls are followed
_PROGRAMS = ("subprocess", "os")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_CHOOSING = (
    ast.Try, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Match,
)  # fmt: skip


@record(frozen=True, slots=True)
class _Use:
    """A place where something stands: under which conditions, in which extension (-1: none), for the host alone."""

    under: _Conditions
    extension: int
    host: bool


@record(frozen=True, slots=True)
class _Flag:
    """A macro of a list; ``name`` is the variable that holds the list."""

    macro: str
    value: str
    line: int
    use: _Use
    name: str


def read(text: str, file: Path) -> Said:
    """What a setup script says; nothing where it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        stored = Counter(n.id for n in ast.walk(module) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        reader = _Reader(stored, None)
        reader.visit(module)
        for _ in range(_CALLS):
            reader = _Reader(stored, {name: _all(u.under for u in uses) for name, uses in reader.loads.items()})
            reader.visit(module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Said()
    if reader.extensions and all(by_cmake for _, by_cmake in reader.extensions):
        return Said()  # its lists are of CMake's options
    return _said(reader, file)


def _said(reader: _Reader, file: Path) -> Said:
    base = _all(under for under, _ in reader.extensions)
    every = frozenset(range(len(reader.extensions)))
    left = set(reader.open)
    found: dict[str, _Flag] = {}
    built: dict[str, frozenset[int]] = {}
    for flag in reader.flags:
        uses = reader.loads.get(flag.name, []) if flag.name else [flag.use]
        if flag.use.host or (uses and all(u.host for u in uses)):
            continue
        owners = frozenset(u.extension for u in (flag.use, *uses) if u.extension >= 0 and not u.host) or every
        built[flag.macro] = built.get(flag.macro, frozenset()) | owners
        holds = flag.use.under <= base and any(u.under <= base and not u.host for u in uses)
        if not holds or found.setdefault(flag.macro, flag).value != flag.value:
            left.add(flag.macro)
    left.update(name for name, owners in built.items() if owners != every)
    given = (Given(f.macro, f.value, file, f.line) for f in found.values() if f.macro not in left)
    return Said(tuple(given), frozenset(left))


def _all(parts: Iterable[_Conditions]) -> _Conditions:
    """The conditions that all have."""
    found = [*parts]
    return found[0].intersection(*found[1:]) if found else _NONE


@dataclass(slots=True)
class _Reader(ast.NodeVisitor):
    """``stored`` counts how often names are given a value; ``called``: under what the functions of the file are."""

    stored: Mapping[str, int]
    called: Mapping[str, _Conditions] | None
    loads: dict[str, list[_Use]] = field(default_factory=dict)
    flags: list[_Flag] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    extensions: list[tuple[_Conditions, bool]] = field(default_factory=list)
    _under: _Conditions = _NONE
    _extension: int = -1
    _host: bool = False
    _name: str = ""
    _in_class: bool = False

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.If, ast.IfExp)):
            self._branches(node)
        elif isinstance(node, _LOOPS):
            self.visit(node.test if isinstance(node, ast.While) else node.iter)
            with self._when(("loop", str(id(node)))):
                self._each((*node.body, *node.orelse))
        elif isinstance(node, _CHOOSING):
            with self._when(("choice", str(id(node)))):
                self.generic_visit(node)
        else:
            # plain calls: `super()` has no class here, since slots make another one of it
            ast.NodeVisitor.visit(self, node)

    def _each(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    @contextmanager
    def _when(self, *conditions: tuple[str, str]) -> Iterator[None]:
        before = self._under
        self._under = before.union(conditions)
        try:
            yield
        finally:
            self._under = before

    @contextmanager
    def _held_by(self, name: str) -> Iterator[None]:
        before = self._name
        self._name = name
        try:
            yield
        finally:
            self._name = before

    def _use(self) -> _Use:
        return _Use(self._under, self._extension, self._host)

    def _branches(self, node: ast.If | ast.IfExp) -> None:
        self.visit(node.test)
        body = node.body if isinstance(node.body, list) else [node.body]
        other = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        told = ast.dump(node.test)
        if "'__main__'" in told and "'__name__'" in told:
            self._each(body)
            return
        asked = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        plain = all(self.stored.get(n, 0) <= 1 for n in asked) and "Call(" not in told
        condition = told if plain else str(id(node))  # the same words mean the same, unless names change
        with self._when(("if", condition)):
            self._each(body)
        with self._when(("else", condition)):
            self._each(other)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self._in_class = self._in_class, True
        self.generic_visit(node)
        self._in_class = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        # a method may be called from anywhere, a function that nobody names is not known to be
        known = self._in_class or self.called is None
        under = _NONE if known else (self.called or {}).get(node.name, frozenset({("never", node.name)}))
        before, self._in_class = self._in_class, False
        with self._when(*under):
            self.generic_visit(node)
        self._in_class = before

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a text that explains
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        with self._held_by(target.id if isinstance(target, ast.Name) else ""):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        with self._held_by(node.target.id if isinstance(node.target, ast.Name) else ""):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        with self._held_by(node.target.id if isinstance(node.target, ast.Name) else ""):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.loads.setdefault(node.id, []).append(self._use())

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.open |= names(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in _ADDING and isinstance(called.value, ast.Name):
            with self._held_by(called.value.id):  # that something is added to a list is no use of it
                self._elements(node.args)
            return
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id in _PROGRAMS:
            with self._when(("program", str(id(node)))):
                self._arguments(node)
            return
        what = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        if not what.endswith("Extension"):
            self._arguments(node)
            return
        before = self._extension
        self._extension = len(self.extensions)
        self.extensions.append((self._under, "cmake" in what.lower()))
        with self._held_by(""):
            self._arguments(node)
        self._extension = before

    def _arguments(self, node: ast.Call) -> None:
        self._each((node.func, *node.args))
        for keyword in node.keywords:
            if keyword.arg == "define_macros" and isinstance(keyword.value, (ast.List, ast.Tuple)):
                self._each([e for e in keyword.value.elts if not self._pair(e)])
            else:
                self.visit(keyword.value)

    def _pair(self, node: ast.expr) -> bool:
        """Take ``("NAME", "VALUE")`` of ``define_macros``."""
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
            return False
        name, value = node.elts
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            return False
        if not isinstance(value, ast.Constant) or not isinstance(value.value, (str, type(None))):
            self.open.add(name.value)
            return True
        self._take(name.value if value.value is None else f"{name.value}={value.value}", node.lineno)
        return True

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            before = self._host
            self._host = before or (isinstance(key, ast.Constant) and key.value in _HOST)
            self.visit(value)
            self._host = before

    def visit_List(self, node: ast.List) -> None:
        self._elements(node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._elements(node.elts)

    def _elements(self, elements: Sequence[ast.expr]) -> None:
        texts = [e.value if isinstance(e, ast.Constant) and isinstance(e.value, str) else None for e in elements]
        if "cmake" in self._name.lower() or any(t and (t == "cmake" or t.startswith("-DCMAKE_")) for t in texts):
            return
        before = ""
        for node, text in zip(elements, texts, strict=True):
            if text is None:
                if before == "-D":
                    known = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
                    self.open |= {name for v in known if isinstance(v, str) for name in names(f"-D{v}")}
                self.visit(node)
            elif before == "-D":
                self._take(text, node.lineno)
            elif before == "-U":
                self.open.add(text)
            elif text.startswith("-D") and before != "-Xcompiler":
                if text != "-D":
                    self._take(text[2:], node.lineno)
            elif before != "-Xcompiler":
                self.open |= names(text)
            before = text or ""

    def _take(self, text: str, line: int) -> None:
        found = definition(text)
        if found is None:
            self.open |= names(f"-D{text}")
        else:
            self.flags.append(_Flag(*found, line, self._use(), self._name))
