"""Which function of another file a declaration is of: its name with all that tells it from others of that name.

These are the namespaces and the class that it is in, every template argument, and the types of its parameters. A
function of an anonymous namespace, or that some declaration makes ``static``, is of its own file alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.records import record
from cutecheck.source.eval import ir, templates
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.specialised import arguments
from cutecheck.source.eval.spelled import written
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import ExternType, Pack, PtrType, Qualified, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.program import Program

_OPEN = "?"  # before a type of which only the name is known


@record(frozen=True, slots=True)
class Linked:
    """A function as other files know it."""

    name: str
    scope: str
    marks: tuple[str, ...]
    targs: tuple[str, ...]
    types: tuple[str, ...]

    def means(self, other: Linked) -> bool | None:
        """Whether both are one function; None where that is not known."""
        own, theirs = ((f.name, f.marks, len(f.targs), len(f.types)) for f in (self, other))
        if own != theirs:
            return False
        every = ((f.scope, *f.targs, *f.types) for f in (self, other))
        pairs = [*zip(*every, strict=True)]
        if any(a != b and _OPEN not in a + b for a, b in pairs):
            return False
        return None if any(a != b or a == _OPEN for a, b in pairs) else True


def linked(m: Machine, entry: Entry, fn: ir.Function, env: Env) -> Linked | None:
    """A function under the template arguments of an environment; None for one that other files cannot mean."""
    if is_internal(m, entry, fn):
        return None
    targs = tuple(_shown(v) for v in arguments(m, fn, env))
    types: list[str] = []
    for p in fn.params:
        pattern = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
        if pattern is None:
            types.append(_OPEN)
            continue
        bare = pattern.inner if isinstance(pattern, ir.TypeMod) and pattern.kind == "const" else pattern
        found = templates.expand(m, bare, env, written) if p.pack else [written(m, bare, env)]
        types += [_shown(v) for v in found]
    marks = tuple(sorted(fn.flags & {"const", "lvalue", "rvalue"}))
    return Linked(fn.name, _scope(entry), marks, targs, tuple(types))


def is_internal(m: Machine, entry: Entry, fn: ir.Function) -> bool:
    """Whether a function, or the class that it is a member of, is of its translation unit alone."""
    internal = m.program.internal
    cls = entry.env.cls
    if cls is not None:
        while cls is not None:
            if id(cls.decl) in internal or _is_local(cls):
                return True
            cls = cls.outer
        return False
    scope = entry.env.namespace()
    alike = scope.decls.get(fn.name, ()) if scope is not None else ()
    same = [e.decl for e in alike if isinstance(e.decl, ir.Function) and len(e.decl.params) == len(fn.params)]
    return any(id(d) in internal or "static" in d.flags for d in (fn, *same))


def of_its_own(program: Program, name: str) -> bool:
    """Whether all that a program's files declare of a name are functions that no other translation unit means."""
    known = [e.decl for e in program.entries() if getattr(e.decl, "name", "") == name]
    if any(o.fn.name == name for o in program.outside) or any(
        isinstance(e.decl, ir.Class) and _has(e.decl, name) for e in program.entries()
    ):
        return False
    return bool(known) and all(
        isinstance(d, ir.Function) and d.body is not None and (id(d) in program.internal or "static" in d.flags)
        for d in known
    )


def _has(cls: ir.Class, name: str) -> bool:
    return any(getattr(d, "name", "") == name or (isinstance(d, ir.Class) and _has(d, name)) for d in cls.members)


def _is_local(cls: ClassInst) -> bool:
    env: Env | None = cls.entry.env
    while env is not None and env.kind not in ("function", "block"):
        env = env.parent
    return env is not None


def _scope(entry: Entry) -> str:
    if entry.env.cls is not None:
        return _class(entry.env.cls)
    scope = entry.env.namespace()
    return scope.path if scope is not None else ""


def _class(inst: ClassInst) -> str:
    """The name of a class with every template argument, also those that are defaults."""
    if inst.outer is not None:
        above = _class(inst.outer)
    else:
        scope = inst.env.namespace()
        above = scope.path if scope is not None else ""
    args = f"<{','.join(map(_shown, inst.args))}>" if inst.decl.tparams is not None or inst.args else ""
    return "::".join(filter(None, (above, inst.decl.name))) + args


def _shown(v: Value) -> str:
    if isinstance(v, ClassInst):
        return _class(v)
    if isinstance(v, PtrType):
        return f"{_shown(v.inner)}*"
    if isinstance(v, Pack):
        return ",".join(map(_shown, v.items))
    if isinstance(v, Qualified):
        marks = " const" * bool(v.const) + " volatile" * v.volatile
        return _shown(v.inner) + marks + {"ref": "&", "rref": "&&"}.get(v.ref or "", "")
    if isinstance(v, ExternType):
        return _OPEN + spell(v)
    return _OPEN if v is None or isinstance(v, Unknown) else spell(v)


__all__ = ["Linked", "is_internal", "linked", "of_its_own"]
