"""Headers of the project that no include line finds, of which several fit it equally well, or that were not named: what
they declare is unknown or not judged, and the report says so."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from cutecheck.facts import Span
from cutecheck.source.cpp.splice import installed, of_library
from cutecheck.source.cpp.tree import Tree

# libraries that have no CuTe of their own: what they declare is host code
_OTHERS = re.compile(
    r"(torch|ATen|c10|caffe2|pybind11|nanobind|jax|xla|tensorflow|tvm|dlpack|gtest|gmock|benchmark|boost|fmt|spdlog|nlohmann|"
    r"absl|glog|gflags|Eigen|opencv2?|catch2|doctest|mpi|nccl|nvshmem\w*|nvtx3|nvml|rapidjson|sys|linux|asm|arpa|netinet|"
    r"llvm|mlir|triton|onnxruntime|NvInfer\w*|hip|rocm|CLI|cxxopts|range|pthreads?)/|"
    r"(Python|mpi|omp|pthread|unistd|getopt|dlfcn|nccl|nvshmem\w*|nvml|nvToolsExt|nvrtc|mma|vector_types|immintrin|"
    r"\w*intrin|helper_\w+|device_launch_parameters|host_defines|builtin_types|math_constants|sm_\w+|surface_\w+|"
    r"texture_\w+|driver_\w+|crt|NvInfer\w*|NvOnnx\w*|dlpack|json|argparse|cxxopts)\.(h|hpp|hxx)$"
)
_SHOWN = 3


def unfound(tree: Tree, paths: Collection[str], archs: Sequence[str], whole: bool = False) -> str:
    """What a report says of the include lines of these files that name no file; empty for none.

    Only lines that are active for one of the architectures, and headers that may declare something of CuTe: in quotes
    any that is none of CUTLASS, CUDA, the standard library or a well-known library; in ``<>`` those in a folder.
    ``whole``: lines of headers that were found beside these files count, too.
    """
    met: dict[str, list[str]] = {}
    own = _own(tree)
    if whole:
        tree.scan([p for p in tree.files if own(p)])
    for (quote, text), includers in tree.unfound.items():
        if installed(text) or _OTHERS.match(text) or (quote == "<" and "/" not in text):
            continue
        for path in includers:
            if of_library(path) or (path not in paths and not (whole and own(path))):
                continue
            line = _line(tree, path, text, archs)
            if line:
                name = f"<{text}>" if quote == "<" else f'"{text}"'
                met.setdefault(name + _several(tree, text), []).append(f"{path}:{line}")
    if not met:
        return ""
    ordered = sorted(met.items(), key=lambda item: (-len(item[1]), item[0]))
    shown = [f"{name} ({_places(at)})" for name, at in ordered[:_SHOWN]]
    more = [f"{len(ordered) - _SHOWN} more"] if len(ordered) > _SHOWN else []
    names = [*shown, *more]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    declared = "it declares" if len(ordered) == 1 else "they declare"
    return f"not found: {listed}; what {declared} is not known: -I DIR says where headers are"


def _own(tree: Tree) -> Callable[[str], bool]:
    """Whether a file that was read is the program's: of no library on the include path."""
    libraries = tuple(os.path.join(os.path.realpath(folder), "") for folder in tree.include_dirs)  # noqa: PTH118

    def own(path: str) -> bool:
        found = tree.files.get(path)
        return found is not None and not of_library(path) and not os.path.realpath(found).startswith(libraries)

    return own


def _several(tree: Tree, text: str) -> str:
    fitting = sum(p == text or p.endswith("/" + text) for p in tree.files)
    return f", which {fitting} files fit equally well" if fitting else ""


def _places(at: Sequence[str]) -> str:
    return at[0] if len(at) == 1 else f"{at[0]} and {len(at) - 1} more"


def _line(tree: Tree, path: str, text: str, archs: Sequence[str]) -> int:
    """The line of an include that some architecture reads; 0 for none."""
    found = tree.file(path)
    if found is None:
        return 0
    for arch in archs:
        for include in tree.preprocessed(path, arch).includes:
            if include.text == text and not include.within:
                return found.stripped.count("\n", 0, include.begin) + 1
    return 0


def unnamed(beside: Mapping[str, Collection[Span]], tree: Tree) -> str:
    """What a report says of kernels that were walked in headers which nobody asked to check; empty for none.

    ``beside``: the sites, copies and products in each file; those of libraries on the include path are no one's here.
    """
    own = _own(tree)
    mine = {p: len(at) for p, at in beside.items() if own(p)}
    if not mine:
        return ""
    first, *more = sorted(mine, key=lambda p: (-mine[p], p))
    others = f" and {len(more)} more" if more else ""
    count = sum(mine.values())
    where = f"{count} place{'' if count == 1 else 's'} in headers that were not named ({first}{others})"
    return f"configurations or copies at {where} are not judged: check the folder"


def unasked(kernels: Mapping[Span, str], project: Path | None = None) -> str:
    """What a report says of kernel templates that nothing in the scanned files instantiates; empty for none.

    ``project``: the folder around what is scanned whose other files may.
    """
    if not kernels:
        return ""
    (at, name), *more = sorted(kernels.items())
    others = f" and {len(more)} more" if more else ""
    what, whose = ("kernel templates", "their") if more else ("a kernel template", "its")
    return (
        f"`{name}` ({at.file}:{at.line}){others}: {what} that nothing in the scanned files instantiates; what depends "
        f"on {whose} arguments is not judged: name them, `--instantiate '{name}<...>'` or a comment "
        f"`// cutecheck: instantiate {name}<...>`"
    ) + (f", or take them from all of `{project.name}`: `--tree {project}`" if project is not None else "")
