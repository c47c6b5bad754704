"""CUDA C++ of a probe: the checked types spelled out, the work done by ``kernels.hpp`` and ``gemm.hpp``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cutecheck.exec.gpu.gemm import GemmProbe
from cutecheck.exec.gpu.plain import PlainCopy
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.tensor_maps import is_map
from cutecheck.exec.spell import element_type, expression, type_of
from cutecheck.model.tiled import TiledCopy

HEADERS = ("kernels.hpp", "tma.hpp", "gemm.hpp")
_COPY_PARAMETERS = (
    "unsigned flags, unsigned reps, unsigned src_room, unsigned dst_room, unsigned dst_bytes, unsigned step, "
    "void const* in, void* out, unsigned* src_counts, unsigned* dst_counts, long long* cycles"
)
_COPY_JOB = (
    "cutecheck_gpu::Job const job{flags, reps, {src_room, dst_room}, dst_bytes, step, in, out, src_counts, dst_counts, "
    "cycles};"
)
_GEMM_PARAMETERS = (
    "unsigned flags, unsigned reps, unsigned words, unsigned a_bytes, unsigned b_bytes, unsigned d_bytes, "
    "unsigned bar_bytes, unsigned poison, void const* a, void const* b, void* d, void const* map_a, "
    "void const* map_b, void const* map_d, long long* cycles"
)
_GEMM_JOB = (
    "cutecheck_gpu::GemmJob const job{flags, reps, words, a_bytes, b_bytes, d_bytes, bar_bytes, poison, a, b, d, "
    "map_a, map_b, map_d, cycles};"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit with one kernel; ``kernel`` is named by its content."""

    kernel: str
    text: str


@cache
def headers_digest() -> str:
    """A digest of the device headers that every unit includes."""
    folder = Path(__file__).parent
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in HEADERS)).hexdigest()


def unit(probe: CopyProbe | GemmProbe) -> Unit:
    """The unit of a probe; UnspellableError or ValueError where it has none."""
    body = _copy(probe) if isinstance(probe, CopyProbe) else _gemm(probe)
    name = "cc_" + hashlib.sha256((headers_digest() + body).encode()).hexdigest()[:16]
    return Unit(name, body.replace("CUTECHECK_KERNEL", name))


def _copy(probe: CopyProbe) -> str:
    element = element_type(probe.dtype.name)
    if is_map(probe.tiled):
        return _map_copy(probe, element)
    copier = probe.tiled.text if isinstance(probe.tiled, PlainCopy) else f"using CheckedCopy = {type_of(probe.tiled)};"
    lines = ['#include "kernels.hpp"', "using namespace cute;", copier]
    bounds = f"__launch_bounds__({probe.block})"
    lines += [f'extern "C" __global__ void {bounds} CUTECHECK_KERNEL({_COPY_PARAMETERS}) {{', f"  {_COPY_JOB}"]
    for name, tile in (("src", probe.src), ("dst", probe.dst)):
        if tile is not None:
            lines.append(f"  auto const {name} = {expression(tile.layout)};")
    fragment = "" if probe.fragment is None else f"decltype({expression(probe.fragment)})"
    if probe.src is not None and probe.dst is not None:
        shared = f"{_bool(probe.src.memory == 'smem')}, {_bool(probe.dst.memory == 'smem')}"
        lines.append(
            f"  cutecheck_gpu::stage<{element}, decltype(src), decltype(dst), CheckedCopy, {shared}>(job, src, dst);"
        )
    elif probe.src is not None:
        shared = _bool(probe.src.memory == "smem")
        lines.append(f"  cutecheck_gpu::load<{element}, decltype(src), CheckedCopy, {fragment}, {shared}>(job, src);")
    else:
        assert probe.dst is not None
        shared = _bool(probe.dst.memory == "smem")
        lines.append(f"  cutecheck_gpu::store<{element}, decltype(dst), CheckedCopy, {fragment}, {shared}>(job, dst);")
    return "\n".join([*lines, "}", ""])


def _map_copy(probe: CopyProbe, element: str) -> str:
    assert probe.src is not None and probe.dst is not None
    load = probe.dst.memory == "smem"
    gmem, smem = (probe.src, probe.dst) if load else (probe.dst, probe.src)
    types = f"{element}, decltype({expression(gmem.layout)}), decltype({expression(smem.layout)}), {_bool(load)}"
    return "\n".join([
        '#include "tma.hpp"', "using namespace cute;",
        f'extern "C" __global__ void __launch_bounds__({probe.block}) CUTECHECK_KERNEL({_COPY_PARAMETERS}, '
        "unsigned bar_bytes, void const* map) {",
        f"  {_COPY_JOB}", f"  cutecheck_gpu::tma_stage<{types}>(job, bar_bytes, map);", "}", "",
    ])  # fmt: skip


def _gemm(probe: GemmProbe) -> str:
    lines = ['#include "gemm.hpp"', "using namespace cute;", "struct Checked {"]
    lines += [f"  using Mma = {type_of(probe.mma)};"]
    for name, dtype in (("A", probe.a.dtype), ("B", probe.b.dtype), ("D", probe.d_dtype)):
        lines.append(f"  using {name} = {element_type(dtype.name)};")
    for name, operand in (("A", probe.a), ("B", probe.b)):
        lines.append(f"  using Gmem{name} = decltype({expression(operand.gmem)});")
        lines.append(f"  using Smem{name} = decltype({expression(operand.smem)});")
        lines.append(f"  using Whole{name} = decltype({expression(operand.matrix)});")
        lines += _either("Copy", "Map", name, operand.copy, "SM90_TMA_LOAD", f"Whole{name}")
        lines.append(f"  using Read{name} = {'void' if operand.read is None else type_of(operand.read)};")
    lines.append(f"  using GmemD = decltype({expression(probe.gmem_d)});")
    lines.append(f"  using SmemD = {'void' if probe.smem_d is None else f'decltype({expression(probe.smem_d)})'};")
    lines.append(f"  using StageD = {'void' if probe.stage is None else type_of(probe.stage)};")
    lines += _either("Write", "Map", "D", probe.write, "SM90_TMA_STORE", "GmemD")
    lines.append(f"  static constexpr bool Warpgroup = {_bool(probe.warpgroup)};")
    bounds = f"__launch_bounds__({probe.block})"
    lines += ["};", f'extern "C" __global__ void {bounds} CUTECHECK_KERNEL({_GEMM_PARAMETERS}) {{', f"  {_GEMM_JOB}"]
    lines += ["  cutecheck_gpu::gemm_kernel<Checked>(job);", "}", ""]
    return "\n".join(lines)


def _either(plain: str, mapped: str, name: str, tiled: TiledCopy | None, op: str, whole: str) -> list[str]:
    """A copy as one of the two aliases, the other void: an ordinary one, or one of a tensor map of ``whole``."""
    if is_map(tiled):
        made = f"cutecheck_gpu::TmaCopy<{op}, {name}, {whole}, Smem{name}>"
        return [f"  using {plain}{name} = void;", f"  using {mapped}{name} = {made};"]
    text = "void" if tiled is None else type_of(tiled)
    return [f"  using {plain}{name} = {text};", f"  using {mapped}{name} = void;"]


def _bool(value: bool) -> str:
    return "true" if value else "false"


__all__ = ["HEADERS", "Unit", "headers_digest", "unit"]
