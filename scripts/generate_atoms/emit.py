"""Writes the C++ that prints trait specialisations, compiles and runs it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PRELUDE = r"""
#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/copy_traits_sm90_im2col.hpp>
#if __has_include(<cute/atom/copy_traits_sm100_im2col.hpp>)
#include <cute/atom/copy_traits_sm100_im2col.hpp>
#endif
#include <cstdio>
#include <cstring>
using namespace cute;
using namespace cutlass;

template <class T> void type_name() {
  char const* text = __PRETTY_FUNCTION__;
  char const* from = std::strstr(text, "T = ") + 4;
  std::fwrite(from, 1, std::strlen(from) - 1, stdout);
}
template <class T> struct op_of { using type = void; };
template <class Op, class... Args> struct op_of<MMA_Traits<Op, Args...>> { using type = Op; };
template <class Op, class... Args> struct op_of<Copy_Traits<Op, Args...>> { using type = Op; };

#define OPTIONAL(NAME)                                                                    \
  template <class T, class = void> struct opt_##NAME { static void type() {} static void value() {} }; \
  template <class T> struct opt_##NAME<T, void_t<typename T::NAME>> {                     \
    static void type() { std::printf("\t" #NAME "="); type_name<typename T::NAME>(); }  \
    static void value() { std::printf("\t" #NAME "="); print(typename T::NAME{}); }     \
  };
OPTIONAL(ValTypeA) OPTIONAL(ValTypeB) OPTIONAL(ValTypeC) OPTIONAL(ValTypeD) OPTIONAL(ValTypeE)
OPTIONAL(ValTypeSFA) OPTIONAL(ValTypeSFB)
OPTIONAL(FrgTypeA) OPTIONAL(FrgTypeB) OPTIONAL(FrgTypeC) OPTIONAL(FrgTypeE) OPTIONAL(FrgTypeSFA) OPTIONAL(FrgTypeSFB)
OPTIONAL(ELayout) OPTIONAL(SFALayout) OPTIONAL(SFBLayout) OPTIONAL(ValID)

template <class T> void mma(int id) {
  std::printf("@%d\top=", id); type_name<typename op_of<T>::type>();
  std::printf("\tThrID="); print(typename T::ThrID{});
  std::printf("\tShape_MNK="); print(typename T::Shape_MNK{});
  std::printf("\tALayout="); print(typename T::ALayout{});
  std::printf("\tBLayout="); print(typename T::BLayout{});
  std::printf("\tCLayout="); print(typename T::CLayout{});
  opt_ELayout<T>::value(); opt_SFALayout<T>::value(); opt_SFBLayout<T>::value();
  opt_ValTypeD<T>::type(); opt_ValTypeA<T>::type(); opt_ValTypeB<T>::type(); opt_ValTypeC<T>::type();
  opt_ValTypeE<T>::type(); opt_ValTypeSFA<T>::type(); opt_ValTypeSFB<T>::type();
  opt_FrgTypeA<T>::type(); opt_FrgTypeB<T>::type(); opt_FrgTypeC<T>::type();
  opt_FrgTypeE<T>::type(); opt_FrgTypeSFA<T>::type(); opt_FrgTypeSFB<T>::type();
  std::printf("\n");
}
template <class T> void copy_op(int id) {
  std::printf("@%d\top=", id); type_name<typename op_of<T>::type>();
  std::printf("\tThrID="); print(typename T::ThrID{});
  std::printf("\tSrcLayout="); print(typename T::SrcLayout{});
  std::printf("\tDstLayout="); print(typename T::DstLayout{});
  std::printf("\tRefLayout="); print(typename T::RefLayout{});
  opt_ValID<T>::value();
  std::printf("\n");
}
"""


@dataclass(frozen=True, slots=True)
class Instance:
    """One specialisation with concrete arguments, as C++ text."""

    kind: str  # "mma" or "copy"
    traits: str  # e.g. MMA_Traits<SM80_16x8x16_F32F16F16F32_TN>


class CompileError(Exception):
    """The compiler refused the program; the message has its first error lines."""


def compile_and_run(source: str, compiler: str, includes: Sequence[Path]) -> str:
    """Compile a C++ program against CuTe's headers and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "atoms.cpp"
        path.write_text(source)
        flags = [f for include in includes for f in ("-I", str(include))]
        command = [compiler, "-std=c++17", "-O1", "-w", *flags, str(path), "-o", str(path.with_suffix(""))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line][:5]
            raise CompileError("\n".join(errors) or done.stderr[-500:])
        return subprocess.run([str(path.with_suffix(""))], capture_output=True, text=True, check=True).stdout


def program(instances: Sequence[Instance]) -> str:
    calls = [f"  {'mma' if x.kind == 'mma' else 'copy_op'}<{x.traits}>({i});" for i, x in enumerate(instances)]
    return PRELUDE + "int main() {\n" + "\n".join(calls) + "\n}\n"


def parse(output: str) -> dict[int, dict[str, str]]:
    """The printed records by instance number."""
    records = {}
    for line in output.splitlines():
        if line.startswith("@"):
            head, *fields = line[1:].split("\t")
            records[int(head)] = dict(f.split("=", 1) for f in fields)
    return records


def print_traits(
    instances: Sequence[Instance], compiler: str, includes: Sequence[Path], chunk: int = 800
) -> dict[int, dict[str, str]]:
    """Print every instance; several translation units of ``chunk`` instances each."""
    records: dict[int, dict[str, str]] = {}
    for start in range(0, len(instances), chunk):
        part = instances[start : start + chunk]
        found = parse(compile_and_run(program(part), compiler, includes))
        records |= {start + i: record for i, record in found.items()}
    return records


def guard_table(compiler: str, includes: Sequence[Path]) -> dict[str, tuple[str, ...]]:
    """The targets on which each ``CUTE_ARCH_*_ENABLED``, ``CUTLASS_ARCH_*_ENABLED`` is defined: a compiler says it."""
    plain = ["500", "600", "610", "700", "720", "750", "800", "860", "870", "890", "900", "1000", "1010", "1030"]
    plain += ["1100", "1200", "1210"]
    accelerated = ["900", "1000", "1010", "1030", "1100", "1200", "1210"]
    targets = [(f"sm_{int(a) // 10}", a, "") for a in plain]
    targets += [(f"sm_{int(a) // 10}a", a, "ALL") for a in accelerated]
    targets += [(f"sm_{int(a) // 10}f", a, "FAMILY") for a in accelerated if a != "900"]
    table: dict[str, list[str]] = {}
    flags = [f for include in includes for f in ("-I", str(include))]
    heads = "".join(f"#if __has_include(<{n}>)\n#include <{n}>\n#endif\n" for n in _GUARDED)
    for name, arch, feature in targets:
        # a toolkit that knows the target (CUDA 13 calls sm_101 sm_110); not nvcc, whose own headers would be needed
        toolkit = "__CUDACC_VER_MAJOR__ 12\n#define __CUDACC_VER_MINOR__ 9" if arch == "1010" else _TOOLKIT
        supports = "".join(f"#define CUTE_ARCH_NVCC_SUPPORTS_{n}_SM75 1\n" for n in ("LDSM", "MOVM"))
        macros = f"#define {toolkit}\n{supports}#define __CUDA_ARCH__ {arch}\n"
        number = int(arch) // 10
        if feature == "ALL":
            macros += f"#define __CUDA_ARCH_FEAT_SM{number}_ALL\n#define __CUDA_ARCH_SPECIFIC__ {arch}\n"
            macros += f"#define __CUDA_ARCH_FAMILY_SPECIFIC__ {arch}\n" if arch != "900" else ""
        elif feature == "FAMILY":
            macros += f"#define __CUDA_ARCH_FAMILY_SPECIFIC__ {arch}\n"
        done = subprocess.run(
            [compiler, "-std=c++17", "-E", "-dM", "-w", *flags, "-x", "c++", "-"],
            input=macros + heads,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) >= 2 and _GUARD.match(words[1]):
                table.setdefault(words[1], []).append(name)
    return {guard: tuple(names) for guard, names in table.items()}


_TOOLKIT = "__CUDACC_VER_MAJOR__ 13\n#define __CUDACC_VER_MINOR__ 0"
_GUARD = re.compile(r"(?:CUTE|CUTLASS)_ARCH_\w+_(?:ENABLED|ACTIVATED)\Z")
_GUARDED = (
    "cutlass/arch/config.h",
    *(f"cutlass/arch/mma_sm{n}.h" for n in (70, 75, 80, 89)),
    *(f"cutlass/arch/mma_sparse_sm{n}.h" for n in (80, 89)),
    "cutlass/arch/barrier.h",
    "cutlass/arch/wmma.h",
    "cute/arch/config.hpp",
    "cute/arch/cluster_sm90.hpp",
    *(f"cute/arch/copy_sm{n}.hpp" for n in ("50", "75", "80", "90", "90_tma", "100")),
    *(f"cute/arch/mma_sm{n}.hpp" for n in (61, 70, 75, 80, 89, 90)),
)
