"""Launches by a program of the kernels in its strings (CuPy, cuda.core, PyCUDA), as C++ would write them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from cutecheck.records import record
from cutecheck.source.embedded.constants import Constants

_GETTERS = ("get_function", "get_kernel", "get_global_func")  # of a module, by name
_SIZES = 3
_HEAD = r"(?:\btemplate\s*<([^;{}]{0,2000})>\s*)?(?:extern\s+\"C\"\s+)?__global__\b[^;{}(]{0,400}?\b%s\s*\("
_BOUNDS = re.compile(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)")
_PARAMETER = re.compile(r"(?:typename|class|auto|[\w:]+)\s+(\w+)\s*(?:=.*)?$", re.DOTALL)
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\])*\s*$")


@record(frozen=True, slots=True)
class Launch:
    """``kernel`` as the program names it, with template arguments; an extent of the grid may be unknown (None)."""

    kernel: str
    grid: tuple[int | None, ...]
    block: tuple[int, ...]
    smem_bytes: int
    line: int


def launches(constants: Constants) -> Iterator[Launch]:
    """Those whose kernel and threads of a block are known."""
    for call in constants.calls:
        made = _cupy(call, constants) or _core(call, constants) or _pycuda(call, constants)
        if made is not None:
            yield made


def _cupy(call: ast.Call, constants: Constants) -> Launch | None:
    """``kernel((gx, gy), (threads,), arguments, shared_mem=bytes)``."""
    kernel = _kernel(call.func, constants)
    if kernel is None or len(call.args) < 2:
        return None
    return _launch(kernel, call.args[0], call.args[1], _keyword(call, "shared_mem"), call, constants)


def _core(call: ast.Call, constants: Constants) -> Launch | None:
    """``launch(stream, LaunchConfig(grid=..., block=..., shmem_size=...), kernel, *arguments)``."""
    if _last(call.func) != "launch" or len(call.args) < _SIZES:
        return None
    kernel, config = _kernel(call.args[2], constants), constants.only(call.args[1])
    if kernel is None or not isinstance(config, ast.Call) or _last(config.func) != "LaunchConfig":
        return None
    grid, block = _keyword(config, "grid"), _keyword(config, "block")
    return None if block is None else _launch(kernel, grid, block, _keyword(config, "shmem_size"), call, constants)


def _pycuda(call: ast.Call, constants: Constants) -> Launch | None:
    """``kernel(arguments, block=(...), grid=(...), shared=bytes)``."""
    kernel, block = _kernel(call.func, constants), _keyword(call, "block")
    if kernel is None or block is None:
        return None
    return _launch(kernel, _keyword(call, "grid"), block, _keyword(call, "shared"), call, constants)


def _launch(
    kernel: str, grid: ast.expr | None, block: ast.expr, smem: ast.expr | None, call: ast.Call, constants: Constants
) -> Launch | None:
    threads = _extents(block, constants)
    size = 0 if smem is None else constants.fold(smem)
    if threads is None or not isinstance(size, int):
        return None
    blocks = None if grid is None else _extents(grid, constants)
    known = tuple(t for t in threads if t is not None)
    if len(known) != len(threads):
        return None
    return Launch(kernel, blocks or (None,) * _SIZES, known, size, call.lineno)


def _extents(node: ast.expr, constants: Constants) -> tuple[int | None, ...] | None:
    found = constants.only(node)
    if isinstance(found, ast.Tuple | ast.List):
        values = [constants.fold(e) for e in found.elts]
        return tuple(v if isinstance(v, int) else None for v in values) if 0 < len(values) <= _SIZES else None
    one = None if found is None else constants.fold(found)
    return (one,) if isinstance(one, int) else None


def _kernel(node: ast.expr, constants: Constants) -> str | None:
    """The name of the kernel that an expression is: what a module is asked for, or a ``RawKernel`` is made with."""
    made = constants.only(node)
    if not isinstance(made, ast.Call):
        return None
    at = 0 if _last(made.func) in _GETTERS else 1 if _last(made.func) == "RawKernel" else None
    name = constants.fold(made.args[at]) if at is not None and len(made.args) > at else None
    return name if isinstance(name, str) else None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def written(launch: Launch, text: str, number: int) -> str | None:
    """A launch as a function of C++ behind the kernel in ``text``; None where its parameters are not told."""
    base = re.match(r"&?\s*(?:\w+::)*(\w+)", launch.kernel)
    if base is None:
        return None
    text = _BOUNDS.sub("", text)
    found = re.search(_HEAD % re.escape(base[1]), text)
    parameters = None if found is None else _listed(text, found.end())
    if found is None or parameters is None:
        return None
    instance = launch.kernel.partition("<")[2]
    arguments = _listed(instance, 0, ">") if instance else []
    own = [m[1] for p in _split(found[1] or "") if (m := _PARAMETER.search(p.strip())) is not None]
    if arguments is None or (bool(own) and len(arguments) > len(own)):
        return None
    values = dict(zip(own, arguments, strict=False))
    names: list[str] = []
    for parameter in parameters:
        name = _NAME.search(parameter)
        if name is None or any(re.search(rf"\b{o}\b", parameter) for o in own[len(arguments) :]):
            return None
        names.append(name[1])
    typed = [
        re.sub(r"\b\w+\b", lambda m: values.get(m[0], m[0]), p).replace("__grid_constant__", "") for p in parameters
    ]
    sizes = [f"cutecheck_blocks_{i}" for i, g in enumerate(launch.grid) if g is None]
    grid = ", ".join(f"cutecheck_blocks_{i}" if g is None else str(g) for i, g in enumerate(launch.grid))
    head = ", ".join((*typed, *(f"int {s}" for s in sizes)))
    block = ", ".join(map(str, launch.block))
    kernel, size = launch.kernel.lstrip("& "), launch.smem_bytes
    # whether a program lets a kernel have that much is not read
    attribute = f"cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {size}); " if size else ""
    made = f"{kernel}<<<dim3({grid}), dim3({block}), {size}>>>({', '.join(names)});"
    return f"inline void cutecheck_launch_{number}({head}) {{ {attribute}{made} }}"


def _listed(text: str, at: int, closing: str = ")") -> list[str] | None:
    """What stands between commas up to the bracket that closes the one before ``at``; None where none does."""
    depth = 0
    for end in range(at, min(len(text), at + 8000)):
        if text[end] == closing and depth == 0:
            return _split(text[at:end])
        depth += (text[end] in "(<[{") - (text[end] in ")>]}")
    return None


def _split(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    last = text[begin:].strip()
    return [*parts, last] if last else parts


__all__ = ["Launch", "launches", "written"]
