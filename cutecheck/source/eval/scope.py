"""Scopes, environments and class instances: where names live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import Value


@record(frozen=True, slots=True, eq=False)
class Entry:
    """A declaration, the environment it stands in, and the file it came from."""

    decl: Any  # an ir.Decl, or an enumerator as (ir.Enum, index)
    env: Env
    unit: ir.Unit


class Scope:
    """A namespace (or Python module): names to declarations, with the namespaces it uses."""

    __slots__ = (
        "_asked", "absent", "children", "decls", "env", "importing", "memo", "name", "parent", "used", "usings"
    )  # fmt: skip

    def __init__(self, name: str, parent: Scope | None) -> None:
        self.name = name
        self.parent = parent
        self.decls: dict[str, list[Entry]] = {}
        self.children: dict[str, Scope] = {}
        self.usings: list[tuple[str, ir.Expr, str]] = []  # (kind, target, alias)
        self.memo: dict[Any, Value] = {}
        self.absent: set[str] = set()  # names looked up and not found, once the program is complete
        self.importing: set[str] = set()  # names being looked up through using declarations
        self.used: dict[int, Any] = {}  # resolved using directives
        self._asked: dict[str, tuple[int, list[tuple[str, ir.Expr]]]] = {}
        self.env: Env = Env(parent.env if parent is not None else None, "namespace", scope=self)

    @property
    def path(self) -> str:
        if self.parent is None:
            return ""
        up = self.parent.path
        own = self.name
        return f"{up}::{own}" if up and own else up or own

    def is_in(self, other: Scope) -> bool:
        """Whether it is the other namespace, or one in it."""
        at: Scope | None = self
        while at is not None and at is not other:
            at = at.parent
        return at is not None

    def usings_for(self, name: str) -> list[tuple[str, ir.Expr]]:
        """Of the using directives, declarations and aliases those that may say something of a name: kind and target."""
        count, found = self._asked.get(name, (-1, []))
        if count != len(self.usings):
            found = [
                (kind, target)
                for kind, target, alias in self.usings
                if kind in ("namespace", "enum")
                or (alias == name if kind == "alias" else kind == "name" and getattr(target, "ident", None) == name)
            ]
            self._asked[name] = len(self.usings), found
        return found

    def child(self, name: str) -> Scope:
        if name not in self.children:
            self.children[name] = Scope(name, self)
        return self.children[name]

    def add(self, name: str, entry: Entry) -> None:
        self.decls.setdefault(name, []).append(entry)


class ClassInst:
    """A class of the tree under concrete template arguments; also its type value.

    ``args`` holds every template argument, ``shown`` those that were written (for display).
    """

    __slots__ = (
        "absent",
        "args",
        "bases",
        "context",
        "decl",
        "defined",
        "entry",
        "env",
        "fields",
        "friends",
        "ident",
        "index",
        "known_bases",
        "memo",
        "outer",
        "shown",
    )

    def __init__(
        self,
        entry: Entry,
        decl: ir.Class,
        env: Env,
        args: tuple[Value, ...],
        shown: tuple[Value, ...] | None,
        outer: ClassInst | None,
    ) -> None:
        self.entry = entry
        self.decl = decl
        self.env = env
        self.args = args
        self.shown = shown
        self.outer = outer
        self.bases: list[ClassInst] | None = None
        self.known_bases: tuple[Value, ...] = ()
        self.fields: list[tuple[ClassInst, ir.Variable]] | None = None  # once the bases are known
        self.memo: dict[Any, Value] = {}
        self.index: dict[str, list[Any]] = {}
        self.friends: dict[str, list[ir.Function]] = {}  # no members: only calls with an object of the class find them
        self.ident = 0
        self.absent: set[str] = set()  # names that neither the class nor its bases have
        self.defined: dict[int, Entry] = {}  # members that are defined outside of the class, by ``id``
        for member in decl.members:
            for name, item in declared_names(member):
                if isinstance(item, ir.Function) and "friend" in item.flags:
                    self.friends.setdefault(name, []).append(item)
                else:
                    self.index.setdefault(name, []).append(item)

    @property
    def name(self) -> str:
        return self.decl.name

    def entry_of(self, fn: ir.Function) -> Entry:
        """A member function, where its names are looked up, and the file it is defined in."""
        return self.defined.get(id(fn)) or Entry(fn, self.env, self.entry.unit)

    def methods(self) -> list[ir.Function]:
        """The functions of the class and its friends, as far as they are defined with their definitions."""
        members = [d for found in self.index.values() for d in found if isinstance(d, ir.Function)]
        return members + [d for found in self.friends.values() for d in found]


def declared_names(decl: ir.Decl) -> Iterator[tuple[str, Any]]:
    """The names a declaration introduces in its scope, with what to look up for each."""
    if isinstance(decl, ir.Enum):
        if decl.name:
            yield decl.name, decl
        if not decl.scoped:
            for position, (name, _, _) in enumerate(decl.enumerators):
                yield name, (decl, position)
    elif isinstance(decl, (ir.Alias, ir.Variable, ir.Function, ir.Class)):
        yield decl.name, decl


class Env:
    """A chain of frames. ``vars`` of one frame; ``cls`` and ``scope`` mark class and namespace frames."""

    __slots__ = (
        "as_base",
        "cls",
        "fixed",
        "frame",
        "kind",
        "own",
        "parent",
        "refs",
        "scope",
        "self_",
        "types",
        "usings",
        "vars",
    )

    def __init__(
        self,
        parent: Env | None,
        kind: Literal["block", "function", "template", "class", "namespace"],
        *,
        scope: Scope | None = None,
        cls: ClassInst | None = None,
        self_: Any = None,
    ) -> None:
        self.parent = parent
        self.kind = kind
        self.vars: dict[str, Value] = {}
        self.fixed: set[str] | None = None  # of these variables those that are constants
        self.own: set[str] | None = None  # and those that are objects, which end with them
        self.refs: set[str] | None = None  # types that are references, and objects that stand for others
        self.as_base: dict[str, ClassInst] | None = None  # objects that are named as one of a base class
        self.usings: list[Scope] | None = None  # namespaces that using directives of this block name
        self.types: dict[str, Any] | None = None  # what variables are declared as (source/eval/qualified.py)
        self.scope = scope
        self.cls = cls
        self.self_ = self_
        self.frame: Frame | None = parent.frame if parent is not None else None

    def fix(self, name: str) -> None:
        """A variable of this frame is a constant, or a reference to one."""
        if self.fixed is None:
            self.fixed = set()
        self.fixed.add(name)

    def hold(self, name: str) -> None:
        """A variable of this frame is an object of its own, no reference to one."""
        if self.own is None:
            self.own = set()
        self.own.add(name)

    def refer(self, name: str) -> None:
        """A type of this frame is a reference, or an object stands for another."""
        if self.refs is None:
            self.refs = set()
        self.refs.add(name)

    def declare_as(self, name: str, what: Any) -> None:
        """A variable of this frame is declared with a type, and made of an expression."""
        if self.types is None:
            self.types = {}
        self.types[name] = what

    def name_as(self, name: str, base: ClassInst) -> None:
        """A variable of this frame is a reference or pointer to a base class of its object's."""
        if self.as_base is None:
            self.as_base = {}
        self.as_base[name] = base

    def namespace(self) -> Scope | None:
        env: Env | None = self
        while env is not None:
            if env.scope is not None:
                return env.scope
            env = env.parent
        return None

    def seen_in(self, used: list[Scope]) -> list[Scope]:
        """The namespaces of using directives inside whose names are seen as if they stood in this frame's namespace.

        That is the innermost one that is around the nominated one, too.
        """
        return [s for s in used if s.is_in(self.scope)] if used and self.scope is not None else []

    def find_var(self, name: str) -> Env | None:
        """The innermost frame of this function (or its templates and closures) that binds a variable."""
        env: Env | None = self
        while env is not None:
            if name in env.vars:
                return env
            env = env.parent
        return None


def self_of(env: Env) -> Any:
    """The object that ``this`` points to, None outside member functions."""
    at: Env | None = env
    while at is not None:
        if at.self_ is not None:
            return at.self_
        at = at.parent
    return None


@dataclass(eq=False, slots=True)
class Frame:
    """One activation of a function: what the recorder needs to name what happens in it."""

    symbol: str
    function: ir.Function | None
    unit: ir.Unit | None
    caller: Frame | None
    bindings: tuple[tuple[str, str], ...] = ()
    depth: int = 0
    constexpr: bool = False
    kernel: str = ""
    returns: list[Value] | None = None
    refers: bool = False  # the function returns a reference
    deduces: bool = False  # that follows from what it returns, by `decltype(auto)`
    cells: list[Any] = field(default_factory=list)  # where what it returned is kept, None where that is not followed
    exits: Any = None  # states at its returns inside of branches, where those are followed
    empty: bool = False  # it came to a `return` of nothing
    apart: bool = False  # threads of a warp may return at different places
    given: tuple[Any, ...] = ()  # the object of a method, then the arguments
    lambdas: list[Any] = field(default_factory=list)  # that host code made here (source/eval/callbacks.py)
    ways: Any = None  # what it returns where, and what holds there (source/eval/record/ways.py)
    called: Any = None  # where
    closure: Any = None  # of a lambda: the activation that made it, and what it is
