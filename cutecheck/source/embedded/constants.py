"""What a program's own names stand for where it puts them into the text of a kernel: constants that are set once."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

from cutecheck.records import record

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
FILLERS = ("format", "substitute", "safe_substitute", "render")
_MOST = 1 << 63
_DEEPEST = 40
_MACRO = re.compile(r"-D\s*([A-Za-z_]\w*)(?:=([^\n]*))?")


@record(frozen=True, slots=True)
class Filled:
    """A place of a text that a program fills: the text it replaces (a field's name, or as written), and with what."""

    named: str
    value: str


class Constants:
    """Of one Python text. A name that is set twice, in a loop or by a caller has no value."""

    def __init__(self, text: str) -> None:
        self._set: dict[str, list[ast.expr | None]] = {}
        self.calls: list[ast.Call] = []
        self._known: dict[str, int | str | None] = {}
        self._strings: list[ast.expr] = []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        parts: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts.update(map(id, node.values))  # are met later
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
                self._strings.append(node)
            for name, value in _bindings(node):
                self._set.setdefault(name, []).append(value)
            if isinstance(node, ast.Call):
                self.calls.append(node)

    def value(self, text: str) -> str | None:
        """What an expression is as text, where it is a number or a string; None where that is not known."""
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return self._text(node)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All strings of the text that are known."""
        found = (self.fold(node) for node in self._strings)
        return tuple(text for text in found if isinstance(text, str))

    @cached_property
    def fields(self) -> tuple[Filled, ...]:
        """What calls of ``format``, ``substitute`` and ``render`` fill, where it is known."""
        out: list[Filled] = []
        for call in self.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in FILLERS:
                given = [(str(i), a) for i, a in enumerate(call.args)]
                given += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
                out += (Filled(name, value) for name, node in given if (value := self._text(node)) is not None)
        return tuple(out)

    @cached_property
    def replaced(self) -> tuple[Filled, ...]:
        """What calls of ``replace`` replace by what is known."""
        out: list[Filled] = []
        for call in self.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "replace" and len(call.args) == 2:
                old, value = self.fold(call.args[0]), self._text(call.args[1])
                if isinstance(old, str) and value is not None:
                    out.append(Filled(old, value))
        return tuple(out)

    @cached_property
    def macros(self) -> tuple[Filled, ...]:
        """What flags of the compiler define (``-DROWS=64``, also with constants in them), where it is known."""
        out: list[Filled] = []
        for node in self._strings:
            found = _MACRO.fullmatch(str(self.fold(node))) if _flag(node) else None
            if found is not None:
                out.append(Filled(found[1], found[2] if found[2] is not None else "1"))
        return tuple(out)

    def only(self, node: ast.expr) -> ast.expr | None:
        """What a name is set to where that is one thing; other expressions are themselves."""
        if not isinstance(node, ast.Name):
            return node
        values = self._set.get(node.id, ())
        return values[0] if len(values) == 1 else None

    def _text(self, node: ast.expr) -> str | None:
        found = self.fold(node)
        return None if found is None else str(found)

    def fold(self, node: ast.expr, depth: int = 0) -> int | str | None:
        """A number or a string that an expression is; None where that is not known."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, int | str) and not isinstance(node.value, bool) else None
        if isinstance(node, ast.JoinedStr):
            parts = [self.fold(v.value if isinstance(v, ast.FormattedValue) else v, depth + 1) for v in node.values]
            plain = all(v.format_spec is None for v in node.values if isinstance(v, ast.FormattedValue))
            return "".join(map(str, parts)) if plain and None not in parts else None
        if isinstance(node, ast.Name):
            if node.id not in self._known:
                only = self.only(node)
                self._known[node.id] = None  # of itself
                self._known[node.id] = None if only is None else self.fold(only, depth + 1)
            return self._known[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "int"):
            inner = self.fold(node.args[0], depth + 1) if len(node.args) == 1 and not node.keywords else None
            if inner is None or node.func.id == "str":
                return None if inner is None else str(inner)
            return inner if isinstance(inner, int) else None
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self.fold(node.left, depth + 1), self.fold(node.right, depth + 1)
            if isinstance(left, int) and isinstance(right, int):
                try:
                    made = _OPERATIONS[type(node.op)](left, right)
                except ZeroDivisionError:
                    return None
                return made if abs(made) < _MOST else None
        return None


def _flag(node: ast.expr) -> bool:
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("-D")


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that a node sets, with what they are set to where that is one expression."""
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
        yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
        return
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        if node.value is not None:
            yield node.target.id, node.value
        return
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
        names, values = node.targets[0].elts, node.value
        if isinstance(values, ast.Tuple) and len(values.elts) == len(names):
            yield from ((n.id, v) for n, v in zip(names, values.elts, strict=True) if isinstance(n, ast.Name))
            return
    if isinstance(node, ast.arg):
        yield node.arg, None
        return
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = [*node.targets]
    elif isinstance(node, ast.AugAssign | ast.NamedExpr | ast.For | ast.AsyncFor | ast.comprehension):
        targets = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets = [node.optional_vars]
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from ((n, None) for n in node.names)
    for target in targets:
        yield from ((n.id, None) for n in ast.walk(target) if isinstance(n, ast.Name))


__all__ = ["FILLERS", "Constants", "Filled"]
