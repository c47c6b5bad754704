"""Members that are defined outside of their class: ``template <class T> void X<T>::run(int n) { ... }``.

A definition belongs to the class that its owner names from where it stands, and to the declaration of the same name
that takes parameters of the same types. Its own names for the class's template parameters hold in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Entry, Env, Scope
from cutecheck.source.eval.types import same_type
from cutecheck.source.eval.values import Pack, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_UNDECIDED = "whether a member is specialised for these template arguments is not known"


@record(frozen=True, slots=True, eq=False)
class Outside:
    """A definition, the namespace it stands in, and the names that lead from there to its class."""

    fn: ir.Function
    scope: Scope
    unit: ir.Unit
    owner: tuple[str, ...]

    @property
    def special(self) -> bool:
        """``template <> void X<int>::f() { ... }``: of one instance of the class, or of a class that is none."""
        return not self.fn.owner_tparams


@dataclass(slots=True)
class Definitions:
    """Those of a program, by the last name of their owners, and what was made of them and declarations."""

    _found: dict[str, list[Outside]] = field(default_factory=dict)
    _merged: dict[tuple[int, int], ir.Function] = field(default_factory=dict)

    def add(self, fn: ir.Function, scope: Scope, unit: ir.Unit) -> None:
        names = owner_names(fn.owner)
        self._found.setdefault(names[-1], []).append(Outside(fn, scope, unit, names))

    def __iter__(self) -> Iterator[Outside]:
        return (o for found in self._found.values() for o in found)

    def of(self, inst: ClassInst) -> list[Outside]:
        """The definitions whose owners name the template or class of an instance."""
        found = self._found.get(inst.decl.name)
        if not found:
            return []
        path = _path(inst)
        return [o for o in found if o.fn.body is not None and _names(o, path) and _of_template(o, inst)]

    def merged(self, declared: ir.Function, o: Outside) -> ir.Function:
        """A definition with what only its declaration says: defaults, ``static``, the type it returns."""
        key = (id(declared), id(o.fn))
        if key not in self._merged:
            params = tuple(
                replace(p, default=d.default) if d.default is not None else p
                for p, d in zip(o.fn.params, declared.params, strict=True)
            )
            tparams = o.fn.tparams
            if tparams is not None and len(tparams) == len(declared.tparams or ()):
                tparams = tuple(
                    replace(p, default=d.default) for p, d in zip(tparams, declared.tparams or (), strict=True)
                )
            self._merged[key] = replace(
                o.fn, tparams=tparams, params=params, ret=declared.ret, flags=o.fn.flags | declared.flags, owner=None,
                owner_tparams=(),
            )  # fmt: skip
        return self._merged[key]

    def specialised(self, template: ir.Function, o: Outside) -> ir.Function:
        """A specialisation of a member template with what only the template's declaration says."""
        key = (id(template), id(o.fn))
        if key not in self._merged:
            flags = o.fn.flags | (template.flags & {"static"})
            self._merged[key] = replace(o.fn, flags=flags, owner=None, owner_tparams=())
        return self._merged[key]


def owner_names(node: ir.Expr | None) -> tuple[str, ...]:
    """``a::X<T>`` as ``a``, ``X``."""
    if isinstance(node, ir.Name):
        return (node.ident,)
    return (*owner_names(node.base), node.ident) if isinstance(node, ir.Scoped) else ()


def complete(m: Machine, inst: ClassInst) -> None:
    """Give a class that is being instantiated the bodies of its members that are defined elsewhere."""
    found = m.program.outside.of(inst)
    for o in sorted(found, key=lambda o: o.special):  # a specialisation replaces what the template says
        if o.fn.tparams == ():
            _specialise(m, o, inst)
            continue
        at = _declared(o, inst)
        if at is None:
            continue
        declared: ir.Function = inst.index[o.fn.name][at]
        fits = _specialised(m, o, inst) if o.special and _parameters(inst) else True
        if fits is None:
            inst.index[o.fn.name][at] = replace(declared, body=None)
        elif fits:
            fn = m.program.outside.merged(declared, o)
            inst.index[o.fn.name][at] = fn
            inst.defined[id(fn)] = Entry(fn, _scope(o, inst), o.unit)


def _specialise(m: Machine, o: Outside, inst: ClassInst) -> None:
    """``template <> int X::f<3>() { ... }``: it stands beside the template that it specialises."""
    beside = inst.index.get(o.fn.name, [])
    template = next((d for d in beside if isinstance(d, ir.Function) and d.tparams), None)
    fits = _specialised(m, o, inst) if _parameters(inst) else True
    if template is None or fits is False:
        return
    if fits is None:
        inst.index[o.fn.name] = [replace(d, body=None) if isinstance(d, ir.Function) else d for d in beside]
        return
    fn = m.program.outside.specialised(template, o)
    beside.append(fn)
    inst.defined[id(fn)] = Entry(fn, _scope(o, inst), o.unit)


def _path(inst: ClassInst) -> tuple[str, ...]:
    """The names that lead to a class from outside all namespaces."""
    above: tuple[str, ...] = ()
    if inst.outer is not None:
        above = _path(inst.outer)
    else:
        scope = inst.entry.env.namespace()
        above = tuple(scope.path.split("::")) if scope is not None and scope.path else ()
    return (*above, inst.decl.name)


def _names(o: Outside, path: tuple[str, ...]) -> bool:
    """Whether the owner of a definition names what a path leads to, from where it stands or what it uses."""
    here = tuple(o.scope.path.split("::")) if o.scope.path else ()
    if (*here, *o.owner) == path:
        return True
    if o.owner[0] in o.scope.decls or o.owner[0] in o.scope.children:
        return False
    used = [owner_names(target) for kind, target, _ in o.scope.usings if kind == "namespace"]
    return any(path in ((*here, *names, *o.owner), (*names, *o.owner)) for names in used)


def _of_template(o: Outside, inst: ClassInst) -> bool:
    """Whether the owner is the template, or the specialisation, that an instance is made from."""
    assert isinstance(o.fn.owner, (ir.Name, ir.Scoped))
    targs = o.fn.owner.targs
    if targs is None:
        return not inst.decl.tparams and inst.decl.spec_args is None
    if inst.decl.spec_args is not None:
        own = _renamed(inst.decl.tparams or ())
        return _shapes(targs, _renamed(o.fn.owner_tparams)) == _shapes(inst.decl.spec_args, own)
    if o.special:
        return bool(inst.decl.tparams)
    return all(
        isinstance(t := a.pattern if isinstance(a, ir.Expand) else a, ir.Name) and t.targs is None for a in targs
    )


def _declared(o: Outside, inst: ClassInst) -> int | None:
    """Which of the members of its name a definition is of."""
    fn = o.fn
    own, theirs = _renamed(_parameters(inst)), _renamed(o.fn.owner_tparams)
    alike = [
        i
        for i, d in enumerate(inst.index.get(fn.name, []))
        if isinstance(d, ir.Function) and (d.body is None or o.special) and len(d.params) == len(fn.params)
        if (d.tparams is None) == (fn.tparams is None) and ("const" in d.flags) == ("const" in fn.flags)
    ]
    if len(alike) > 1:
        theirs |= _renamed(fn.tparams or (), "member")
        wanted = [_shape(_plain(p.type), theirs) for p in fn.params]
        alike = [
            i
            for i in alike
            for d in (inst.index[fn.name][i],)
            if [_shape(_plain(p.type), own | _renamed(d.tparams or (), "member")) for p in d.params] == wanted
        ]
    return alike[0] if len(alike) == 1 else None


def _parameters(inst: ClassInst) -> tuple[ir.TParam, ...]:
    """The template parameters of a class, those of the classes around it first."""
    above = _parameters(inst.outer) if inst.outer is not None else ()
    return (*above, *(inst.decl.tparams or ()))


def _scope(o: Outside, inst: ClassInst) -> Env:
    """Where the names of a definition are looked up: in the class, whose parameters it may call otherwise."""
    own, theirs = _parameters(inst), o.fn.owner_tparams
    if o.special or len(own) != len(theirs) or all(a.name == b.name for a, b in zip(own, theirs, strict=True)):
        return inst.env
    env = Env(inst.env, "template")
    env.cls = inst
    for a, b in zip(own, theirs, strict=True):
        at = inst.env.find_var(a.name)
        if b.name and at is not None:
            env.vars[b.name] = at.vars[a.name]
    return env


def _specialised(m: Machine, o: Outside, inst: ClassInst) -> bool | None:
    """Whether a specialisation is of this instance; None where that is not known."""
    from cutecheck.source.eval.templates import arguments

    assert isinstance(o.fn.owner, (ir.Name, ir.Scoped))
    if inst.decl.spec_args is not None:
        return True
    given = arguments(m, o.fn.owner.targs or (), o.scope.env)
    own = [v for a in inst.args for v in (a.items if isinstance(a, Pack) else (a,))]
    if any(isinstance(v, Unknown) for v in (*given, *own)):
        return None
    return len(given) <= len(own) and all(_same(a, b) for a, b in zip(given, own, strict=False))


def _same(a: Value, b: Value) -> bool:
    return bool(a is b or same_type(a, b))


def _renamed(tparams: Sequence[ir.TParam], kind: str = "class") -> dict[str, str]:
    return {p.name: f"{kind} {i}" for i, p in enumerate(tparams) if p.name}


def _plain(node: ir.Expr | None) -> ir.Expr | None:
    """A parameter's type without the ``const`` that only its body sees."""
    return node.inner if isinstance(node, ir.TypeMod) and node.kind == "const" else node


def _shapes(nodes: Iterable[ir.Expr], names: Mapping[str, str]) -> list[Any]:
    return [_shape(n, names) for n in nodes]


def _shape(node: Any, names: Mapping[str, str]) -> Any:
    """What a type says, whatever its parameters are called, where it stands, and how far its names are qualified."""
    if isinstance(node, (ir.Name, ir.Scoped)):
        targs = None if node.targs is None else tuple(_shape(t, names) for t in node.targs)
        return names.get(node.ident, node.ident), targs
    if isinstance(node, (tuple, list)):
        return tuple(_shape(n, names) for n in node)
    if is_dataclass(node) and not isinstance(node, (type, Span)):
        parts = [getattr(node, f.name) for f in fields(node)]
        return type(node).__name__, *(_shape(p, names) for p in parts if not isinstance(p, Span))
    return node
