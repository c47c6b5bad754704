"""CUDA C++ of calls: one kernel each, many in a translation unit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cutecheck.exec.isa.probe import CopyCall, FragmentCall, IsaCall, MmaCall, Side
from cutecheck.exec.spell import element_type, expression, type_of
from cutecheck.model.algebra import rank
from cutecheck.model.ints import known_value

HEADER = Path(__file__).with_name("kernels.hpp")
_PARAMETERS = "unsigned a, unsigned b, void* p, void* q"
_PLACES = "cutecheck_isa::Places const at{a, b, p, q};"


@cache
def header_digest() -> str:
    """A digest of the device header that every unit includes."""
    return hashlib.sha256(HEADER.read_bytes()).hexdigest()


def body(call: IsaCall) -> str:
    """The statements of a call's kernel; UnspellableError where it has no spelling."""
    if isinstance(call, FragmentCall):
        types = f"{type_of(call.mma)}, {'true' if call.operand == 'A' else 'false'}, {element_type(call.dtype.name)}"
        return f"  cutecheck_isa::descriptor<{types}>(at, {expression(call.tile)});"
    return _copy(call) if isinstance(call, CopyCall) else _gemm(call)


def block(call: IsaCall) -> int:
    """Threads a block: those of the tiled object in whole warps."""
    how = call.how if isinstance(call, CopyCall) else call.mma
    count = getattr(how, "num_thr", None) if isinstance(call, CopyCall) else call.mma.size
    number = known_value(count) if count is not None else None
    return min(1024, -(-(number or 128) // 32) * 32)


def unit(bodies: Sequence[tuple[str, str, int]]) -> str:
    """A translation unit of (kernel name, body, threads)."""
    out = [f'#include "{HEADER.name}"', "using namespace cute;"]
    for name, text, threads in bodies:
        kernel = f'extern "C" __global__ void __launch_bounds__({threads}) {name}({_PARAMETERS}) {{'
        out += [f'#line 1 "{name}"', kernel,
                f"  {_PLACES}", text, "}"]  # fmt: skip
    return "\n".join(out) + "\n"


def _copy(call: CopyCall) -> str:
    how = type_of(call.how, device=True) if call.how is not None else "cutecheck_isa::Plain"
    if call.how is None and call.aligned:
        how = "cutecheck_isa::Aligned"
    lines = [f"  using How = {how};", f"  using T = {element_type(call.dtype.name)};"]
    for name, side in (("src", call.src), ("dst", call.dst)):
        lines.append(f"  auto const {name} = {expression(side.layout)};")
    spaces = [_SPACES.get(side.space) for side in (call.src, call.dst)]
    types = "How, T, decltype(src), decltype(dst)"
    if "tmem" in (call.src.space, call.dst.space):
        function = f"tmem_{'load' if call.src.space == 'tmem' else 'store'}<{types}>"
    elif spaces[0] is None:
        function = f"store<{types}, {spaces[1]}>"
    elif spaces[1] is None:
        function = f"load<{types}, {spaces[0]}>"
    else:
        function = f"between<{types}, {spaces[0]}, {spaces[1]}>"
    return "\n".join([*lines, f"  cutecheck_isa::{function}(at, src, dst);"])


_SPACES = {"gmem": 0, "smem": 1}


def _gemm(call: MmaCall) -> str:
    a, b, c = (element_type(t.name) for t in call.mma.atom.val_types[:3])
    lines = [f"  using Mma = {type_of(call.mma)};"]
    layouts = {"SA": call.smem_a, "TA": call.a, "SB": call.smem_b, "TB": call.b, "TC": call.c}
    for name, layout in layouts.items():
        lines.append(f"  using {name} = {'void' if layout is None else f'decltype({expression(layout)})'};")
    if call.mma.atom.kind == "umma":
        work = f"tensor_memory<Mma, {rank(call.a)}, {a}, {b}, {c}, SA, SB, TC>(at)"
    elif call.mma.atom.kind == "wgmma":
        work = f"warpgroup<Mma, {rank(call.b)}, {a}, {b}, {c}, SA, TA, SB, TC>(at)"
    else:
        work = f"multiply<Mma, {a}, {b}, {c}>(at, TA{{}}, TB{{}}, TC{{}})"
    return "\n".join([*lines, f"  cutecheck_isa::{work};"])


__all__ = ["HEADER", "Side", "block", "body", "header_digest", "unit"]
