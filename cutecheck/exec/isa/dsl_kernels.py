"""Run as a script by an interpreter with nvidia-cutlass-dsl: ``dsl_kernels.py TRACE CALLS FIRST FOLDER``.

CALLS is a JSON list. Each is one copy or gemm, compiled by the DSL with its ``--keep-ptx --keep-cubin`` into a folder
of its number, from FIRST on, between two marks. TRACE is the DSL tier's script, whose names the expressions use.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import cutlass
from cutlass import Int32, Int64, cute
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_ptr

BEGIN, END = "\x1e", "\x1d"
NAMES: dict[str, Any] = {}
CALL: dict[str, Any] = {}  # the one that is traced
SPACES = {name: getattr(cute.AddressSpace, name) for name in ("gmem", "smem", "tmem")}


def asm(text: str, constraints: str, result: Any, *values: Any) -> Any:
    return llvm.inline_asm(result, [v.ir_value() for v in values], text, constraints, has_side_effects=True)


def words(fragment: Any) -> Any:
    """The registers of a fragment, 32 bits each where they are that many."""
    count = cute.cosize(fragment.layout)
    flat = cute.make_tensor(fragment.iterator, cute.make_layout(count))
    bits = count * fragment.element_type.width
    kind = next(t for t in (cutlass.Uint32, cutlass.Uint16, cutlass.Uint8) if bits % t.width == 0)
    return cute.recast_tensor(flat, kind)


def unknown(fragment: Any) -> None:
    """Values that the compiler knows nothing of, without a load: each reading of the clock is another."""
    held = words(fragment)
    for n in range(cute.size(held)):
        read = cutlass.Uint32(asm("mov.u32 $0, %clock;", "=r", cutlass.Uint32.mlir_type))
        held[n] = held.element_type(read)


def used(fragment: Any, q: Any) -> None:
    """Keeps what was loaded or computed: one reduction, which is neither load nor store."""
    held = words(fragment)
    total = cutlass.Uint32(0)
    for n in range(cute.size(held)):
        total = total * 31 + cutlass.Uint32(held[n])
    asm("red.global.add.u32 [$0], $1;", "l,r", None, q.toint(), total)


def tensor(side: dict[str, Any], names: dict[str, Any], pointers: dict[str, Any]) -> Any:
    """A side's tensor: registers of its layout, or memory behind a pointer of its element type and swizzle."""
    layout, element = eval(side["layout"], names), eval(side["element"], names)
    if side["space"] == "rmem":
        make = getattr(cute, "make_rmem_tensor", None) or cute.make_fragment
        return make(layout, element)
    pointer = cute.recast_ptr(pointers[side["space"]], dtype=element)
    if side["swizzle"]:
        pointer = cute.recast_ptr(pointer, eval(side["swizzle"], names), dtype=element)
    return cute.make_tensor(pointer, layout)


def copied(names: dict[str, Any], q: Any, src: Any, dst: Any) -> None:
    if CALL["src"]["space"] == "rmem":
        unknown(src)
    if CALL["how"]:
        cute.copy(eval(CALL["how"], names), src, dst)
    else:
        cute.autovec_copy(src, dst)
    if CALL["dst"]["space"] == "rmem":
        used(dst, q)
    else:
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)


def cut(t: Any, rank: int) -> Any:
    """A tensor without its trailing modes (stages, steps of K)."""
    return t[(None,) * rank + (0,) * (cute.rank(t) - rank)]


def operand(mma: Any, letter: str, names: dict[str, Any], pointers: dict[str, Any]) -> Any:
    side = CALL[letter]
    if side["space"] == "rmem":
        made = tensor(side, names, pointers)
        unknown(made)
        return made
    make = mma.make_fragment_A if letter == "a" else mma.make_fragment_B
    return cut(make(tensor(side, names, pointers)), side["rank"])


def multiplied(names: dict[str, Any], q: Any, pointers: dict[str, Any]) -> None:
    mma = eval(CALL["how"], names)
    a, b = (operand(mma, letter, names, pointers) for letter in "ab")
    c = tensor(CALL["c"], names, pointers)
    warpgroup = CALL["kind"] == "wgmma"
    if CALL["c"]["space"] == "rmem":
        unknown(c)
    if warpgroup:
        cute.nvgpu.warpgroup.fence()
    cute.gemm(mma, c, a, b, c)
    if warpgroup:
        cute.nvgpu.warpgroup.commit_group()
        cute.nvgpu.warpgroup.wait_group(0)
    if CALL["c"]["space"] == "rmem":
        used(c, q)


def body(p: Any, q: Any, s: Any, u: Any, t: Any, i: tuple[Any, ...], w: tuple[Any, ...]) -> None:
    names = dict(NAMES, i=i, w=w)
    if CALL["kind"] != "copy":
        multiplied(names, q, {"gmem": p, "smem": s, "tmem": t})
        return
    src = tensor(CALL["src"], names, {"gmem": p, "smem": s, "tmem": t})
    copied(names, q, src, tensor(CALL["dst"], names, {"gmem": q, "smem": u, "tmem": t}))


@cute.kernel  # type: ignore[untyped-decorator]
def called(
    p: cute.Pointer, q: cute.Pointer, s: cute.Pointer, u: cute.Pointer, t: cute.Pointer,
    i0: Int32, i1: Int32, i2: Int32, i3: Int32, i4: Int32, i5: Int32, i6: Int32, i7: Int32, i8: Int32, i9: Int32,
    i10: Int32, i11: Int32, w0: Int64, w1: Int64, w2: Int64, w3: Int64, w4: Int64, w5: Int64, w6: Int64, w7: Int64,
    w8: Int64, w9: Int64, w10: Int64, w11: Int64,
) -> None:  # fmt: skip
    body(p, q, s, u, t, (i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11),
         (w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11))  # fmt: skip


@cute.jit  # type: ignore[untyped-decorator]
def launched(
    p: cute.Pointer, q: cute.Pointer, s: cute.Pointer, u: cute.Pointer, t: cute.Pointer,
    i0: Int32, i1: Int32, i2: Int32, i3: Int32, i4: Int32, i5: Int32, i6: Int32, i7: Int32, i8: Int32, i9: Int32,
    i10: Int32, i11: Int32, w0: Int64, w1: Int64, w2: Int64, w3: Int64, w4: Int64, w5: Int64, w6: Int64, w7: Int64,
    w8: Int64, w9: Int64, w10: Int64, w11: Int64, threads: cutlass.Constexpr,
) -> None:  # fmt: skip
    called(p, q, s, u, t, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9,
           w10, w11).launch(grid=(1, 1, 1), block=(threads, 1, 1))  # fmt: skip


def compiled(folder: Path) -> None:
    """The PTX and cubin of the call, in the folder."""
    folder.mkdir()
    given = [make_ptr(cutlass.Uint8, 1024, space, assumed_align=CALL["align"])
             for space in ("gmem", "gmem", "smem", "smem", "tmem") for space in (SPACES[space],)]  # fmt: skip
    numbers = [Int32(1)] * 12 + [Int64(1)] * 12
    cute.compile(launched, *given, *numbers, CALL["threads"], options=f"--keep-ptx --keep-cubin --dump-dir={folder}")


def main(arguments: list[str]) -> int:
    spec = importlib.util.spec_from_file_location("cutecheck_trace", arguments[0])
    assert spec is not None and spec.loader is not None
    trace = importlib.util.module_from_spec(spec)
    sys.modules["cutecheck_trace"] = trace
    spec.loader.exec_module(trace)
    NAMES.update(trace.NAMES)
    print(f"\n{BEGIN}version {getattr(cutlass, '__version__', '')}", flush=True)
    calls = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    for number, call in list(enumerate(calls))[int(arguments[2]) :]:
        print(f"\n{BEGIN}{number}", flush=True)
        CALL.clear()
        CALL.update(call)
        try:
            compiled(Path(arguments[3]) / str(number))
            said = {}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(f"\n{END}{json.dumps(said)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
