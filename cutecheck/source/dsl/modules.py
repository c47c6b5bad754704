"""Modules: running them, imports and attributes."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import sys
import typing
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.finding import is_package
from cutecheck.source.dsl.library import KNOWN, PRELUDES, Library
from cutecheck.source.dsl.values import NONE, Module
from cutecheck.source.eval import ir
from cutecheck.source.eval.journal import Journal
from cutecheck.source.eval.scope import ClassInst, Env, Scope
from cutecheck.source.eval.values import BudgetExceeded, Extern, FuncSet, Value
from cutecheck.source.installed import OF_PACKAGE, absent

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

# packages of the DSL whose sources make no sense to interpret: they build the compiler's program
_BINDINGS = ("cutlass._mlir", "cutlass.base_dsl", "cutlass.cutlass_dsl", "cutlass.pipeline", "cutlass.cute.arch",
             "cutlass.cute.core", "cutlass.cute.tensor", "cutlass.cute.atom", "cutlass.cute.algorithm",
             "cutlass.cute.typing", "cutlass.cute.runtime", "cutlass.cute.tuple", "cutlass.cute.nvgpu.cpasync",
             "cutlass.cute.nvgpu.warp", "cutlass.cute.testing", "cutlass.cute.math", "cutlass.testing",
             "cutlass._mlir_helpers", "cutlass.cute.ffi", "cutlass.jax.primitive", "cutlass.jax.ffi",
             "cutlass.jax.compile", "cutlass.jax.types", "cutlass.compiler",
             "cutlass.experimental")  # fmt: skip


def module_name(path: str) -> str:
    """The dotted name of a file by its place in the tree."""
    parts = path.removesuffix(".py").removesuffix(".ipynb").split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(p for p in parts if p not in ("..", ".", ""))


def state(m: Machine) -> dict[str, Any]:
    """What the machine knows of modules: scopes by name, and files by module name."""
    found = m.functions.get("dsl modules")
    if found is None:
        found = m.functions["dsl modules"] = {"scopes": {}, "files": {}, "missed": set()}
    return found


def unit_of(env: Env) -> ir.Unit:
    scope = env.namespace()
    assert scope is not None
    unit: ir.Unit = scope.memo["unit"]
    return unit


def scope_around(env: Env) -> Scope:
    """The module in which code stands."""
    scope = env.namespace()
    assert scope is not None
    return scope


def load(m: Machine, name: str, file: Path, main: bool = False) -> Scope:
    """Run a module once; its names are the variables of the scope's environment."""
    scopes = state(m)["scopes"]
    key = "__main__ " + name if main else name
    if key in scopes:
        found: Scope = scopes[key]
        return found
    library: Library = m.dialect.library  # type: ignore[attr-defined]
    unit = library.unit(file)
    scope = Scope(name, m.program.root)
    scopes[key] = scope
    scope.memo["unit"] = unit
    scope.memo["file"] = file
    scope.memo["package"] = name if file.name == "__init__.py" else name.rpartition(".")[0]
    scope.env.vars["__name__"] = "__main__" if main else name
    scope.env.vars["__file__"] = unit.path
    before_it: dict[str, Value] = {}
    before, m.recorder.frame = m.recorder.frame, None
    depth, m.budget.depth = m.budget.depth, 0
    journal, m.journal = m.journal, Journal()  # an import stays, also where what is around it is undone
    attempts, m.attempts = m.attempts, None
    try:
        with nullcontext() if main else m.budget.importing():
            for decl in unit.decls:
                if isinstance(decl, ir.TopLevel):
                    before_it = dict(scope.env.vars)
                    m.run(decl.stmt, scope.env)
    except BudgetExceeded as error:
        _left(scope, before_it, error)
        if main:
            raise
    finally:
        m.journal = journal
        m.attempts = attempts
        m.recorder.frame = before
        m.budget.depth = depth
    return scope


def _left(scope: Scope, before: dict[str, Value], error: BudgetExceeded) -> None:
    """A module that is left before its end: what its last statement would leave in its variables is not known."""
    why = Unknown(f"its module `{scope.name}` is left: {error}", Span(scope.memo["unit"].path, 1, 1, 1, 1))
    for name, value in scope.env.vars.items():
        whole = isinstance(value, (FuncSet, ClassInst, Module, Extern, int, float, str)) and before.get(name) is value
        if not (isinstance(name, str) and name.startswith("__")) and not whole:
            scope.env.vars[name] = why


def _importer(env: Env) -> tuple[str, Path | None]:
    scope = env.namespace()
    if scope is None:
        return "", None
    return scope.memo.get("package", ""), scope.memo.get("file")


def absolute(module: str, package: str) -> str:
    """A relative module name from its package."""
    dots = len(module) - len(module.lstrip("."))
    if dots == 0:
        return module
    parts = package.split(".") if package else []
    base = parts[: len(parts) - (dots - 1)]
    return ".".join([*base, module[dots:]] if module[dots:] else base)


def run_import(m: Machine, decl: ir.Import, at: Env) -> bool:
    """Bind what an import brings; False where the module may not be installed."""
    package, file = _importer(at)
    name = absolute(decl.module, package)
    top = name.split(".", maxsplit=1)[0]
    _run_all(m, name, file)
    if not decl.names and not decl.star:
        resolved = get(m, name, file)
        if decl.alias is not None:
            m.journal.set(at.vars, decl.alias, resolved)
        else:
            base = get(m, top, file)
            here = isinstance(resolved, Module) or top in sys.stdlib_module_names
            m.journal.set(at.vars, top, Module(top) if here else base)
        return _at_hand(resolved, top)
    base = get(m, name, file)
    span = decl.span
    if decl.star:
        scope = scope_of(m, name)
        if scope is not None:
            for key, value in list(scope.env.vars.items()):
                if isinstance(key, str) and not key.startswith("_") and " " not in key:
                    own = attribute(m, base, key, span)  # what the evaluator knows comes before its source
                    m.journal.set(at.vars, key, value if own is None else None if own is NONE else own)
        elif isinstance(base, Module) and name in _STARRED:
            for key in _STARRED[name]:
                own = attribute(m, base, key, span)
                m.journal.set(at.vars, key, None if own is NONE else own)
        return isinstance(base, Module)
    for ident, alias in decl.names:
        value = attribute(m, base, ident, span) if isinstance(base, Module) else base
        if isinstance(value, (Unknown, Extern)) or value is None:
            sub = get(m, f"{name}.{ident}", file)
            if isinstance(sub, Module) and (top != "cutlass" or _may_be_module(m, sub.name)):
                value = sub
        m.journal.set(at.vars, alias or ident, None if value is NONE else value)
    return _at_hand(base, top)


def _run_all(m: Machine, name: str, importer: Path | None) -> None:
    """Run a module after the packages that it is in: what they register and patch holds from then on.

    Those without a name of CuTe are run where a name of theirs is used: a package may import hundreds of them.
    """
    library: Library = m.dialect.library  # type: ignore[attr-defined]
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        whole = ".".join(parts[:n])
        if parts[0] == "cutlass" or whole in PRELUDES:
            return
        get(m, whole, importer)
        file = state(m)["files"].get(whole)
        if file is not None and whole not in state(m)["scopes"] and library.has_cute(file):
            load(m, whole, file)


def _at_hand(module: Value, top: str) -> bool:
    return isinstance(module, Module) or top in sys.stdlib_module_names


def get(m: Machine, name: str, importer: Path | None) -> Value:
    """A module by name: known to the evaluator, found as source, or foreign."""
    files, missed = state(m)["files"], state(m)["missed"]
    if files.get(name) is None and (name, importer) not in missed:
        library: Library = m.dialect.library  # type: ignore[attr-defined]
        files[name] = library.locate(name, importer)
        missed.add((name, importer))
    if (
        name.split(".", maxsplit=1)[0] == "cutlass"
        or files[name] is not None
        or name.split(".", maxsplit=1)[0] in KNOWN
    ):
        return Module(name)
    if name.split(".", maxsplit=1)[0] in sys.stdlib_module_names:
        return Extern(name)
    library = m.dialect.library  # type: ignore[attr-defined]
    return Module(name) if library.has_package(name, importer) else Extern(name)


@lru_cache(maxsize=4096)
def _is_binding(name: str) -> bool:
    return any(name == b or name.startswith(b + ".") for b in _BINDINGS)


def scope_of(m: Machine, name: str) -> Scope | None:
    """The scope of a module that has source and may be interpreted."""
    scopes = state(m)["scopes"]
    if name in scopes:
        found: Scope = scopes[name]
        return found
    if _is_binding(name) or name in ("cutlass", "cutlass.cute"):
        return None
    file = state(m)["files"].get(name)
    if file is None:
        library: Library = m.dialect.library  # type: ignore[attr-defined]
        file = library.locate(name, None)
    return load(m, name, file) if file is not None else None


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value | None:
    """``module.name``."""
    if not isinstance(base, Module):
        return None
    from cutecheck.source.dsl import builtins
    from cutecheck.source.dsl.api import library_name

    top = base.name.split(".")[0]
    own_way = state(m).get("patched", {}).get(base.name, {})
    if name in own_way:
        return NONE if own_way[name] is None else own_way[name]
    if top == "cutlass":
        found = library_name(m, base.name, name)
        if found is not None:
            return found
    elif top in KNOWN:
        found = builtins.module_name(m, base.name, name, span)
        if found is not None:
            return found
        if base.name == "torch.ops" or f"{base.name}.{name}" == "torch.ops":
            return Module(f"{base.name}.{name}")
    scope = scope_of(m, base.name)
    if scope is not None and name in scope.env.vars:
        value = scope.env.vars[name]
        return NONE if value is None else value
    if base.name.startswith("torch.ops"):
        known = state(m).get("operators", {}).get(f"{base.name.rpartition('.')[2]}::{name}")
        return known if known is not None else Extern(f"{base.name}.{name}", span)
    importer = scope.memo["file"] if scope is not None else None
    inner = get(m, f"{base.name}.{name}", importer)
    if scope is not None and "__getattr__" in scope.env.vars:
        own = isinstance(inner, Module) and state(m)["files"].get(inner.name) is not None
        return inner if own else _asked(m, base.name, scope, name, span)
    if top in KNOWN and f"{base.name}.{name}" not in _KNOWN_PARTS:
        return Extern(f"{base.name}.{name}", span)
    if isinstance(inner, Module) and (top != "cutlass" or _is_module(m, inner.name)):
        return inner
    if top == "cutlass":
        if _is_binding(base.name):
            return Extern(f"{base.name}.{name}", span)
        return Unknown(f"`{base.name}.{name}`: {OF_PACKAGE}{absent()}", span)
    read = top in KNOWN or top in PRELUDES  # as far as kernels are configured by it
    if read or (top in sys.stdlib_module_names and state(m)["files"].get(base.name) is None):
        return Extern(f"{base.name}.{name}", span)
    return Unknown(f"module `{base.name}` has no `{name}` in the scanned files", span)


def _asked(m: Machine, module: str, scope: Scope, name: str, span: Span) -> Value:
    """What a module's own ``__getattr__`` gives."""
    from cutecheck.source.eval.calls import apply

    asking: set[tuple[str, str]] = state(m).setdefault("asking", set())
    if name.startswith("__") or (module, name) in asking:
        return Extern(f"{module}.{name}", span)
    asking.add((module, name))
    try:
        given = apply(m, scope.env.vars["__getattr__"], [name], {}, span)
    finally:
        asking.discard((module, name))
    return Extern(f"{module}.{name}", span) if given is None or isinstance(given, Unknown) else given


def patched(m: Machine, name: str) -> dict[str, Value]:
    """What a program has set in a module of which no source is run."""
    names: dict[str, Value] = state(m).setdefault("patched", {}).setdefault(name, {})
    return names


_KNOWN_PARTS = frozenset({
    "torch.cuda", "torch.compiler", "torch.jit", "torch.nn", "torch.nn.functional", "torch.library", "torch.autograd",
    "torch.distributed", "torch.multiprocessing", "os.path", "collections.abc", "pytest.mark",
    "triton.testing",
})  # fmt: skip
_STARRED = {  # what `from math import *` brings
    library.__name__: tuple(getattr(library, "__all__", (n for n in dir(library) if not n.startswith("_"))))
    for library in (collections, contextlib, dataclasses, enum, functools, itertools, math, operator, typing)
}
_CUTLASS_MODULES = frozenset({
    "cutlass.cute", "cutlass.utils", "cutlass.torch", "cutlass.pipeline", "cutlass.cute.nvgpu", "cutlass.cute.arch",
    "cutlass.cute.nvgpu.warp", "cutlass.cute.nvgpu.warpgroup", "cutlass.cute.nvgpu.cpasync", "cutlass.cute.math",
    "cutlass.cute.nvgpu.tcgen05", "cutlass.cute.runtime", "cutlass.cute.testing", "cutlass.utils.hopper_helpers",
    "cutlass.cutlass_dsl", "cutlass.base_dsl", "cutlass.cute.core", "cutlass.cute.typing", "cutlass._mlir",
    "cutlass.utils.blackwell_helpers", "cutlass.utils.layout", "cutlass.testing", "cutlass.cute.atom",
    "cutlass.cute.tensor", "cutlass.memory", "cutlass.cute.nvgpu.helpers", "cutlass.cute.nvgpu.common",
})  # fmt: skip


def _may_be_module(m: Machine, name: str) -> bool:
    """Whether a name of the package is a module: any may be where the package is not there to be read."""
    return m.dialect.library.cutlass is None or _is_module(m, name)  # type: ignore[attr-defined]


def _is_module(m: Machine, name: str) -> bool:
    if name in _CUTLASS_MODULES or state(m)["files"].get(name) is not None:
        return True
    library: Library = m.dialect.library  # type: ignore[attr-defined]
    return library.cutlass is not None and is_package(library.cutlass, name.split("."))
