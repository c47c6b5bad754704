"""What the compiler says that ``cute::copy`` and ``cute::gemm`` are called with, against cutecheck's events.

    python scripts/event_truth.py --cutlass DIR [-I DIR]... [--arch 80] [--stub FILE=TEXT]... [--collectives] FILE.cu...

A copy of CuTe's headers gets, as the first statement of every overload of ``copy``, ``copy_if`` and ``gemm``, a call of
a deprecated function template over the types of its arguments. ``g++ -fsyntax-only`` with the kernel (its launches
turned into calls) then warns once an instantiation, with those types and with the chain of places that led there. The
innermost place outside the headers is the call; an overload that another one calls stands in the headers and is left
out. Types are compared with the events of the same line: space, element and layout of every operand, run-time integers
as ``?``. With ``--collectives`` CUTLASS's own headers are outside, too, and CuTe's alone are not: what the collectives
that the kernels use call is compared.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts
from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.notation import show

Operand = tuple[str, str, str]  # space, element type, layout
Called = tuple[str, tuple[Operand, ...]]  # copy or gemm, operands
Place = tuple[str, int]

PRELUDE = """#include <cmath>
#include <cstdio>
#include <cstdlib>
using std::isnan; using std::isinf; using std::isfinite; using std::signbit;
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __shared__
#define __shared__
#undef __grid_constant__
#define __grid_constant__
static uint3 threadIdx, blockIdx; static dim3 blockDim, gridDim;
#pragma GCC diagnostic ignored "-Wreturn-type"
template <class... T> void __syncthreads(T...) {} template <class... T> void __syncwarp(T...) {}
template <class T> T __shfl_xor_sync(unsigned, T x, int, int = 32) { return x; }
template <class T> T __shfl_sync(unsigned, T x, int, int = 32) { return x; }
template <class T> T __shfl_down_sync(unsigned, T x, int, int = 32) { return x; }
template <class T> T __shfl_up_sync(unsigned, T x, int, int = 32) { return x; }
template <class... T> int __syncthreads_or(T...) { return 0; }
template <class... T> int __syncthreads_and(T...) { return 0; }
template <class T> T __ldg(T const* p) { return *p; }
template <class T> T atomicAdd(T* p, T) { return *p; }
template <class A, class B> auto __umulhi(A a, B) { return a; }
inline float __fdividef(float x, float) { return x; }
inline void __brkpt() {} inline int __popc(unsigned) { return 0; } inline int __popcll(unsigned long long) { return 0; }
inline int __half2int_rn(__half) { return 0; } inline float rsqrtf(float x) { return x; }
inline unsigned __float_as_uint(float) { return 0; } inline float __uint_as_float(unsigned) { return 0; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long) { return a; }
inline int __float_as_int(float) { return 0; } inline float __int_as_float(int) { return 0; }
template <class T> T atomicMax(T* p, T) { return *p; } template <class T> T atomicMin(T* p, T) { return *p; }
template <class T> T atomicExch(T* p, T) { return *p; } template <class T> T atomicCAS(T* p, T, T) { return *p; }
inline __half hrsqrt(__half x) { return x; } inline __half hexp(__half x) { return x; }
inline __half2 h2exp(__half2 x) { return x; }
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
inline __half2 __hfma2(__half2 a, __half2, __half2) { return a; }
#define __NV_ATOMIC_RELAXED 0
#define __NV_THREAD_SCOPE_DEVICE 0
namespace cutlass { namespace arch { inline int LaneId() { return 0; } inline int SmId() { return 0; } } }
inline float __int2float_rn(int) { return 0; } inline float __logf(float x) { return x; }
inline float __expf(float x) { return x; } inline float __frcp_rn(float x) { return x; }
inline int __float2int_rn(float) { return 0; } inline int __float2int_rz(float) { return 0; }
inline long long clock64() { return 0; }
inline unsigned __byte_perm(unsigned a, unsigned, unsigned) { return a; }
template <class T> cudaError_t cudaFuncSetAttribute(T*, cudaFuncAttribute, int) { return cudaSuccess; }
template <class K, class... B> cudaError_t cudaLaunchKernelEx(cudaLaunchConfig_t const*, K* k, B&&... b) {
  k(b...); return cudaSuccess; }
template <class... T> void __threadfence(T...) {}
template <class T> T min(T a, T b) { return a < b ? a : b; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
inline void __trap() {} inline unsigned __activemask() { return 0; }
inline unsigned __cvta_generic_to_shared(void const*) { return 0; }
"""
SHIM = """
namespace cutecheck_shim { template <class... Ts> [[deprecated("shim")]] constexpr void named(); }
"""
_FUNCTION = re.compile(r"^(copy|copy_if|gemm)\(([^;{}]*?)\)\s*\{", re.M | re.S)
_LAUNCH = re.compile(r"<<<[^;]*?>>>", re.S)
_WARNED = re.compile(r"cutecheck_shim::named\(\) \[with Ts = \{(.*)\}\]’ is deprecated")
_RUN_TIME = re.compile(r"\{[^{}]*\}|(?<![\w@.])[A-Za-z][\w.#]*|(?<![\w_@])\d+(?!\w)")
_FROM = re.compile(r"^(.*?):(\d+):\d+:\s+required from ")


def shimmed(cutlass: Path, into: Path) -> None:
    """A copy of the headers whose copies and gemms name their operands."""
    shutil.copytree(cutlass / "include", into)
    for name in (
        "cutlass/detail/helper_macros.hpp",
        "cute/config.hpp",
    ):  # unroll pragmas only CUDA's preprocessor takes
        file = into / name
        file.write_text(re.sub(r"(_UNROLL\s+)#\s*pragma unroll.*", r"\1", file.read_text()))
    for name in ("copy", "gemm"):
        file = into / "cute" / "algorithm" / f"{name}.hpp"
        text = _FUNCTION.sub(_with_shim, file.read_text())
        file.write_text(text.replace("#pragma once", "#pragma once" + SHIM, 1))


def _with_shim(match: re.Match[str]) -> str:
    names = []
    for parameter in _split(re.sub(r"//[^\n]*", "", match[2])):
        named = re.search(r"[\s&](\w+)\s*$", parameter)
        if named and named[1] not in ("const",):
            names.append(named[1])
    types = "".join(f", decltype({n})" for n in names)
    return f"{match[0]}\n  cutecheck_shim::named<struct cutecheck_{match[1]}{types}>();"


def _split(text: str) -> list[str]:
    """At the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [p.strip() for p in (*parts, text[start:]) if p.strip()]


# ------------------------------------------------------------ types as g++ spells them

_INTEGERS = {"int", "long int", "long long int", "unsigned int", "long unsigned int", "int64_t", "long", "short int"}
_ELEMENTS = {
    "half_t": "half_t", "bfloat16_t": "bfloat16_t", "tfloat32_t": "tfloat32_t", "float": "float", "double": "double",
    "signed char": "int8_t", "unsigned char": "uint8_t", "unsigned int": "uint32_t", "int": "int",
    "uint128_t": "uint128_t", "bool": "bool", "char": "char",
}  # fmt: skip


def _template(text: str) -> tuple[str, list[str]]:
    """Name without namespaces, and arguments."""
    text = re.sub(r"^(const |volatile )+", "", text.strip().rstrip("&").strip())
    name, angle, rest = text.partition("<")
    return name.strip().rsplit("::", 1)[-1], _split(rest[: rest.rindex(">")]) if angle else []


def tree(text: str) -> str:
    """A shape or stride as CuTe prints it; ``?`` for run-time integers."""
    name, arguments = _template(text)
    if name in ("C", "Int") or name == "constant":
        return f"_{arguments[0]}"
    if name == "integral_constant":
        return f"_{arguments[-1]}"
    if name == "tuple":
        return "(" + ",".join(tree(a) for a in arguments) + ")"
    if name == "ScaledBasis":
        return f"{tree(arguments[0])}@{'@'.join(reversed(arguments[1:]))}"
    if name in ("Underscore",):
        return "_"
    return "?"


def layout(text: str, swizzle: str) -> str:
    """A layout type; ``swizzle`` is that of the pointer in front of it."""
    name, arguments = _template(text)
    if name == "ComposedLayout":
        return layout(arguments[2], swizzle_of(arguments[0]))
    shape, stride = (tree(a) for a in arguments)
    return f"{swizzle}{shape}:{stride}"


def swizzle_of(text: str) -> str:
    name, arguments = _template(text)
    if name != "Swizzle" or arguments[0] == "0":
        return ""
    return f"Sw<{','.join(arguments)}> o "


def tensor(text: str) -> Operand | None:
    """The operand that a ``cute::Tensor`` type describes; None for any other type."""
    name, arguments = _template(text)
    if name != "Tensor":
        return None
    space, element, swizzle = _engine(arguments[0])
    return space, element, layout(arguments[1], swizzle)


def _engine(text: str) -> tuple[str, str, str]:
    name, arguments = _template(text)
    if name == "ArrayEngine":
        return "rmem", _element(arguments[0]), ""
    if name in ("ViewEngine", "ConstViewEngine"):
        return _pointer(arguments[0])
    return "coord", "?", ""


def _pointer(text: str) -> tuple[str, str, str]:
    name, arguments = _template(text)
    if name in ("gmem_ptr", "smem_ptr", "rmem_ptr", "tmem_ptr"):
        inner = _pointer(arguments[0])
        return name[:4], inner[1], inner[2]
    if name in ("swizzle_ptr", "smem_ptr_swizzle"):
        inner = _pointer(arguments[1])
        return inner[0], inner[1], swizzle_of(arguments[0])
    if name == "recast_ptr" or "ArithmeticTuple" in text:
        return "coord", "?", ""
    if text.strip().endswith("*"):
        return "rmem", _element(text.strip()[:-1]), ""
    if name in ("subbyte_iterator", "sparse_ptr"):
        return "rmem", _element(arguments[-1]), ""
    return "?", "?", ""


def _element(text: str) -> str:
    name, arguments = _template(text)
    if name == "complex":
        return f"complex<{_element(arguments[0])}>"
    if name == "sparse_elem":
        name = _template(arguments[-1])[0]
    if name == "integer_subbyte":
        name = f"{'int' if arguments[1] == 'true' else 'uint'}{arguments[0]}b_t"
    return _ELEMENTS.get(name, name)


# ------------------------------------------------------------ what the compiler says


def compiled(
    kernel: Path, headers: Path, flags: list[str], folder: Path, library: Path
) -> tuple[dict[Place, set[Called]], list[str]]:
    """Calls by place outside ``library``, and the errors that kept some from being seen."""
    done = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", "-x", "c++", "-ftemplate-backtrace-limit=0", "-fpermissive",
         "-I", str(headers), *flags, str(kernel)],
        capture_output=True, text=True, check=False, cwd=folder, timeout=1500,
    )  # fmt: skip
    calls: dict[Place, set[Called]] = defaultdict(set)
    chain: list[Place] = []
    for line in done.stderr.splitlines():
        required = _FROM.match(line)
        warned = _WARNED.search(line)
        if required:
            chain.append((required[1], int(required[2])))
        elif warned:
            outside = next((p for p in chain if not p[0].startswith(str(library))), None)
            if outside is not None and chain[0] == outside:
                tag, *types = _split(warned[1])
                kind = "gemm" if "cutecheck_gemm" in tag else "copy"
                operands = tuple(t for t in map(tensor, types) if t is not None)
                if "cutecheck_copy_if" in tag:
                    operands = operands[-2:]
                calls[outside].add((kind, operands))
            chain = []
        elif ": error:" in line or "In instantiation of" in line or ": warning:" in line:
            chain = []
    if done.returncode not in (0, 1):
        print(done.stderr[-2000:])
    errors = [e for e in done.stderr.splitlines() if ": error:" in e or ": fatal error:" in e]
    return calls, errors


# ------------------------------------------------------------ what cutecheck says


def described(operand: TensorFact) -> Operand | None:
    if isinstance(operand.layout, Unknown):
        return None
    element = operand.dtype.name if operand.dtype is not None else "?"
    return operand.space, element, plain(operand.layout)


def plain(value: object) -> str:
    """The layout's text with run-time integers as ``?``."""
    if isinstance(value, ComposedLayout):
        swizzle = value.a if isinstance(value.a, Swizzle) and value.a.bits else None
        return (f"{swizzle} o " if swizzle is not None else "") + plain(value.b)
    return _RUN_TIME.sub("?", show(value)) if isinstance(value, Layout) else str(value)


_SAME = {"int32_t": "int"}  # one type of two names


def agree(ours: Operand, theirs: Operand) -> bool:
    """The same space, element and layout; where one side does not know, the other decides."""
    named = [(_SAME.get(a, a), _SAME.get(b, b)) for a, b in zip(ours[:2], theirs[:2], strict=True)]
    return all(a == b or "?" in (a, b) for a, b in named) and ours[2] == theirs[2]


def compare(events: list[Event], calls: dict[Place, set[Called]], root: Path) -> Iterator[tuple[str, str]]:
    """(verdict, account) for each distinct event and for each distinct call of the compiler's that no event has.

    g++ warns once for the same types, at the first place: an event is right when some call has its types.
    """
    theirs: dict[Called, Place] = {}
    for (path, line), called in sorted(calls.items()):
        for call in called:
            if Path(path).is_relative_to(root):
                theirs.setdefault(call, (Path(path).relative_to(root).as_posix(), line))
            elif "/include/cutlass/" in path:
                theirs.setdefault(call, (path.rpartition("/include/")[2], line))
    met: set[Called] = set()
    ours = {(e.kind, tuple(map(described, e.operands)), e.span): e for e in events}
    for kind, mine, span in ours:
        if None in mine or len(mine) < 2:
            yield "unknown", f"{span} {kind} {mine}\n"
            continue
        hits = [c for c in theirs if c[0] == kind and len(c[1]) == len(mine)
                and all(a is not None and agree(a, b) for a, b in zip(mine, c[1], strict=True))]  # fmt: skip
        met.update(hits)
        near = [c for c, place in theirs.items() if place[1] == span.line and c[0] == kind]
        yield (
            "same" if hits else "extra",
            f"{span} {kind}\n    cutecheck {mine}\n" + "".join(f"    compiler  {c[1]}\n" for c in near[:3]),
        )
    for call, place in theirs.items():
        if call not in met:
            yield "missing", f"{place[0]}:{place[1]} {call[0]}\n    compiler  {call[1]}\n"


def main() -> int:
    args = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    args.add_argument("kernels", nargs="+", type=Path)
    args.add_argument("--cutlass", type=Path, required=True, help="folder with include/")
    args.add_argument("--cuda", default="/usr/local/cuda/include", help="CUDA's headers")
    args.add_argument("-I", dest="include", action="append", default=[], type=Path)
    args.add_argument("--root", type=Path, help="folder that cutecheck reads (that of the first kernel)")
    args.add_argument("--arch", default="80")
    args.add_argument(
        "--stub", action="append", default=[], metavar="FILE=TEXT", help="a header in place of a library's"
    )
    args.add_argument("--collectives", action="store_true", help="compare what CUTLASS's own headers call")
    args.add_argument("-v", action="store_true", help="list what is not the same")
    options = args.parse_args()
    root = (options.root or options.kernels[0].parent).resolve()
    counts: dict[str, int] = defaultdict(int)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        headers = folder / "include"
        shimmed(options.cutlass, headers)
        number = re.match(r"\d+", options.arch)
        feature = f"#define __CUDA_ARCH_FEAT_SM{options.arch.rstrip('a')}_ALL\n" if options.arch.endswith("a") else ""
        for name in (
            "cutlass/arch/wmma.h",
            "cutlass/arch/wmma_sm70.h",
            "cutlass/arch/wmma_sm72.h",
            "cutlass/arch/wmma_sm75.h",
        ):
            (headers / name).write_text("")  # needs the compiler's own nvcuda::wmma
        macro = f"#define __CUDA_ARCH__ {number[0] if number else 80}0\n"
        (folder / "prelude.h").write_text(PRELUDE + macro + feature)
        for stub in options.stub:
            file, _, text = stub.partition("=")
            (folder / "stubs" / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / "stubs" / file).write_text(text.encode().decode("unicode_escape"))
        flags = ["-include", str(folder / "prelude.h"), "-I", str(folder / "stubs"), "-I", f"{options.cuda}/cccl",
                 "-I", options.cuda]  # fmt: skip
        copied = folder / "tree"
        shutil.copytree(root, copied, ignore=shutil.ignore_patterns(".git"))
        for file in copied.rglob("*"):
            if file.suffix in (".cu", ".cuh", ".h", ".hpp", ".inl"):
                text = file.read_text(errors="replace")
                file.write_text(_LAUNCH.sub(lambda m: "\n" * m[0].count("\n"), text))
        for folder_ in options.include:
            own = folder_.resolve()
            flags += ["-I", str(copied / own.relative_to(root) if own.is_relative_to(root) else own)]
        every: dict[Place, set[Called]] = defaultdict(set)
        for kernel in options.kernels:
            shown = kernel.resolve().relative_to(root)
            library = headers / "cute" if options.collectives else headers
            calls, errors = compiled(copied / shown, headers, flags, folder, library)
            print(
                f"{shown}: {sum(map(len, calls.values()))} calls at {len(calls)} places, {len(errors)} errors",
                flush=True,
            )
            for error, times in Counter(e.split("error: ", 1)[1] for e in errors).most_common(8 if options.v else 0):
                print(f"    {times} times: {error}")
            for place, called in calls.items():
                if Path(place[0]).is_relative_to(copied) or options.collectives:
                    every[place].update(called)
        settings = Settings(
            arch=(f"sm_{options.arch}",), include=tuple(map(str, options.include)), compile_commands="none"
        )
        headers_of = [f for f in root.rglob("*") if f.suffix in (".h", ".hpp", ".cuh", ".inl")]
        own = [p for p in dict.fromkeys(Path(path) for path, _ in every) if p.is_relative_to(copied)]
        theirs = [p.relative_to(headers) for p in dict.fromkeys(Path(path) for path, _ in every) if p not in own]
        facts = extract_facts(
            [*options.kernels, *headers_of, *(options.cutlass / "include" / p for p in theirs)], settings
        )
        seen = {p.relative_to(copied).as_posix() for p in own} | {p.as_posix() for p in theirs}
        events = [e for e in facts.events if any(e.span.path == p or p.endswith("/" + e.span.path) for p in seen)]
        for verdict, account in compare(events, every, copied):
            counts[verdict] += 1
            if options.v and verdict != "same":
                print(f"{verdict}: {account}", end="")
    print(", ".join(f"{k} {v}" for k, v in sorted(counts.items())))
    return 1 if counts["extra"] else 0


if __name__ == "__main__":
    sys.exit(main())
