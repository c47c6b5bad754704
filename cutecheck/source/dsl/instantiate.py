"""Bindings given by hand: ``mod.Class(tile=(128, 128, 64), dtype=Float16)``, in the configuration or in a comment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.records import record
from cutecheck.source.dsl import classes, functions, modules
from cutecheck.source.dsl.unit import lower_expression
from cutecheck.source.dsl.values import Module
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import FuncSet, Object, Value
from cutecheck.source.files import read_bytes

if TYPE_CHECKING:
    from cutecheck.source.dsl.drivers import Driver

_COMMENT = re.compile(r"#\s*cutecheck:\s*instantiate\s+(.+?)\s*$", re.MULTILINE)
_ARCH = re.compile(r"(.*\S)\s*@\s*(sm_\d+[af]?)", re.DOTALL)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@record(frozen=True, slots=True)
class Binding:
    """One call to evaluate: its text without the module's name, the file whose names it uses, its architecture."""

    text: str
    path: str  # of the file, as reported
    file: Path
    span: Span
    arch: str = ""  # empty: what the file asks for


def in_comments(path: str, file: Path, text: str) -> list[Binding]:
    """Every ``# cutecheck: instantiate CALL`` of a file; names are looked up in that file."""
    out = []
    for found in _COMMENT.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        call, arch = _split(found.group(1))
        column = found.start() - text.rfind("\n", 0, found.start())
        out.append(Binding(call, path, file, Span(path, line, column, line, column + len(found.group(0))), arch))
    return out


def asked(text: str, files: dict[str, Path]) -> Binding | None:
    """The binding that ``--instantiate`` or the configuration gives; None when no scanned Python file is meant.

    The leading name is a module (``pkg.mod.Class(...)``), from any folder of the tree, or the bare name of a class or
    function that one file of the tree defines at its top.
    """
    call, arch = _split(text)
    lead = _DOTTED.match(call)
    if lead is None or "<" in call.split("(", 1)[0]:
        return None
    parts = lead.group(0).split(".")
    for n in range(len(parts) - 1, 0, -1):
        tail = "/".join(parts[:n])
        for ending in (f"{tail}.py", f"{tail}/__init__.py"):
            path = next((p for p in sorted(files) if f"/{p}".endswith("/" + ending)), None)
            if path is None:  # the scanned folder may be the package itself
                path = next((p for p in sorted(files) if files[p].resolve().as_posix().endswith("/" + ending)), None)
            if path is not None:
                rest = call[len(".".join(parts[:n])) + 1 :]
                return Binding(rest, path, files[path], Span("<instantiate>", 1, 1, 1, len(text) + 1), arch)
    defined = re.compile(rb"^(?:class|def)\s+" + parts[0].encode() + rb"\b", re.MULTILINE)
    for path in sorted(files):
        try:
            if defined.search(read_bytes(files[path])):
                return Binding(call, path, files[path], Span("<instantiate>", 1, 1, 1, len(text) + 1), arch)
        except OSError:
            continue
    return None


def _split(text: str) -> tuple[str, str]:
    """A call and the architecture behind its last ``@``."""
    found = _ARCH.fullmatch(text.strip())
    return (found.group(1), found.group(2)) if found is not None else (text.strip(), "")


def run(driver: Driver, binding: Binding) -> None:
    """Evaluate the call in its module; an object that comes out is looked at as a kernel class."""
    m = driver.machine
    scopes: list[Env] = []
    name = modules.module_name(binding.path)
    driver.guard(lambda: scopes.append(modules.load(m, name, binding.file).env), binding.span, keep=True)
    if not scopes:
        return
    env = Env(scopes[0], "function")
    env.vars.update({k: v for k, v in _names(driver).items() if k not in scopes[0].vars})
    node = lower_expression(binding.text, binding.span.path)
    made: list[Value] = []
    driver.guard(lambda: made.append(m.eval(node, env)), binding.span, keep=True)
    value = made[0] if made else None
    if isinstance(value, Unknown) and not _came_out(value, binding):
        driver.cut.append(Unknown(f"instantiate `{binding.text}`: {value.reason}", binding.span))
    elif isinstance(value, Object):
        _methods(driver, value)


def _came_out(value: Unknown, binding: Binding) -> bool:
    """Whether it is what a function that was walked returns, not what is asked of it: of that no more need be known."""
    return value.span is not None and value.span.path != binding.span.path and not value.rejected


def _names(driver: Driver) -> dict[str, Value]:
    """What a binding may name besides its module's own names: the DSL's modules and element types."""
    from cutecheck.source.dsl import api

    names: dict[str, Value] = {n: Module(n) for n in ("cutlass", "torch", "math")}
    names["cute"], names["utils"] = Module("cutlass.cute"), Module("cutlass.utils")
    names.update(api._TYPES)
    for word, where in (("LayoutEnum", "cutlass.utils"), ("sym_int", "cutlass.cute"), ("sym_int64", "cutlass.cute"),
                        ("make_fake_tensor", "cutlass.cute.runtime"),
                        ("make_fake_compact_tensor", "cutlass.cute.runtime")):  # fmt: skip
        found = api.library_name(driver.machine, where, word)
        if found is not None:
            names[word] = found
    return names


def _methods(driver: Driver, obj: Object) -> None:
    """``__call__`` and every method that it does not reach, the attributes of the object known, arguments not."""
    done: set[str] = set()
    for cls in classes.mro(obj.cls):
        space: dict[str, Value] = cls.memo["space"]
        order = sorted(space, key=lambda n: n != "__call__")
        for word in order:
            member = space[word]
            if word in done or not isinstance(member, FuncSet) or not isinstance(cls, ClassInst):
                continue
            done.add(word)
            decl: ir.Function = member.entries[0].decl
            if word.startswith("__") and word != "__call__":
                continue
            if word == "__call__" or id(decl) not in modules.state(driver.machine).get("walked", ()):
                driver.walk(member, obj)


__all__ = ["Binding", "asked", "functions", "in_comments", "run"]
