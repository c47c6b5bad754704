"""Kernels of files that are not reported are walked where they can reach one that is, and not otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source import bystanders
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.eval import kernels
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEADER = """#pragma once
#include <cute/tensor.hpp>
using namespace cute;
template <int N> struct Traits { using L = Layout<Shape<Int<N>, _8>>; };
template <class T> struct Box : T {};
template <class L> __device__ void moved(L layout);
template <class T, class F> __global__ void kernel(float* p, F f) {
  typename T::L layout;
  Tensor g = make_tensor(make_gmem_ptr(p), layout);
  Tensor r = make_fragment_like(g);
  BODY
  copy(g, r);
}
template <class T> void run(float* p) { kernel<T, int><<<1, 128>>>(p, 1); }
template <class T, class F> void with(float* p, F f) { kernel<T><<<1, 128>>>(p, f); }
"""
MINE = "struct Mine { using L = Layout<Shape<_16, _8>>; };\n"
REACHED = {  # what the kernel does, and the changed file
    "a class": ("", f"{MINE}void start(float* p) {{ run<Mine>(p); }}\n"),
    "a class within another": ("", f"{MINE}void start(float* p) {{ run<Box<Mine>>(p); }}\n"),
    "a specialisation": (
        "",
        "template <> struct Traits<8> { using L = Layout<Shape<_4, _8>>; };\n"
        "void start(float* p) { run<Traits<8>>(p); }\n",
    ),
    "a function": (
        "moved(layout);",
        "template <class L> __device__ void moved(L layout) { auto x = make_layout(shape(layout)); }\n"
        "void start(float* p) { run<Traits<8>>(p); }\n",
    ),
    "an argument": (
        "f();",
        "struct Act { __device__ void operator()() { auto x = make_layout(_8{}); } };\n"
        "void start(float* p) { with<Traits<8>>(p, Act{}); }\n",
    ),
    "an operator": (
        "auto v = layout & layout;",
        "template <class L> __device__ int operator&(L a, L b) { auto x = make_layout(_8{}); return 0; }\n"
        "void start(float* p) { run<Traits<8>>(p); }\n",
    ),
    "a lambda": ("f();", "void start(float* p) { with<Traits<8>>(p, [=]() { auto x = make_layout(_8{}); }); }\n"),
    "a macro of pieces": (
        "MAKE(mo, ved)(layout);",
        "template <class L> __device__ void moved(L layout) { auto x = make_layout(shape(layout)); }\n"
        "void start(float* p) { run<Traits<8>>(p); }\n",
    ),
    "the launch": ("", "void start(float* p) { kernel<Traits<8>, int><<<1, 128>>>(p, 1); }\n"),
}  # fmt: skip


def changed(folder: Path, body: str, text: str) -> Facts:
    """What a run says of ``edited.cu`` alone, in a tree where another file uses the kernel, too."""
    folder.mkdir(exist_ok=True)
    (folder / "kernel.h").write_text("#define MAKE(a, b) a##b\n" + HEADER.replace("BODY", body))
    (folder / "other.cu").write_text('#include "kernel.h"\nvoid g(float* p) { run<Traits<32>>(p); }\n')
    (folder / "edited.cu").write_text('#include "kernel.h"\n' + text)
    return extract(ExtractRequest((folder,), changed=(folder / "edited.cu",)))


@pytest.mark.parametrize("way", REACHED)
def test_what_reaches_the_changed_file_is_walked(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = changed(tmp_path, *REACHED[way])
    assert found.launches
    monkeypatch.setattr(bystanders.Bystanders, "wanted", lambda *_: True)
    assert changed(tmp_path, *REACHED[way]) == found


def test_what_does_not_is_left_to_a_run_that_reports_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked = []
    run = kernels.run_function
    monkeypatch.setattr(kernels, "run_function", lambda m, e, *more: walked.append(e) or run(m, e, *more))
    text = "using Own = Layout<Shape<_8>>;\nvoid start(float* p) { run<Traits<8>>(p); }\n"
    found = changed(tmp_path, "", text)
    assert not walked and not found.launches and [s.symbol for s in found.sites] == ["Own"]
    monkeypatch.setattr(bystanders.Bystanders, "wanted", lambda *_: True)
    every = changed(tmp_path, "", text)
    assert walked and (every.sites, every.events, every.calls) == (found.sites, found.events, found.calls)


def test_a_run_over_all_of_it_walks_every_kernel(tmp_path: Path) -> None:
    changed(tmp_path, "", "void start(float* p) { run<Traits<8>>(p); }\n")
    every = {"kernel<Traits<8>,int>", "kernel<Traits<32>,int>"}
    assert every <= {launch.kernel for launch in extract(ExtractRequest((tmp_path,))).launches}
    header = extract(ExtractRequest((tmp_path,), changed=(tmp_path / "kernel.h",)))
    assert every <= {launch.kernel for launch in header.launches}
    assert {e.span.path for e in header.events} == {"kernel.h"}


@pytest.mark.parametrize("header", ["include/cute/util/type_traits.hpp", "util/type_traits.hpp"])
@pytest.mark.parametrize("defined", [True, False])
def test_an_include_that_a_macro_completes_leads_from_the_library_to_no_file_of_the_tree(
    header: str, defined: bool, tmp_path: Path
) -> None:
    """CuTe's headers write ``#include CUDA_STD_HEADER(utility)``; a user's macro that is not known any file."""
    (tmp_path / header).parent.mkdir(parents=True)
    define = "#define STD(x) <cuda/std/x>\n" if defined else ""
    (tmp_path / header).write_text(f"#pragma once\n{define}#include STD(utility)\n")
    for name in ("edited.cu", "other.cu"):
        text = "#include <cute/layout.hpp>\nusing namespace cute;\nusing Own = Layout<Shape<_8>>;\n"
        (tmp_path / name).write_text(f'#include "{header}"\n' + text)

    def reported(name: str) -> set[str]:
        return {s.span.path for s in extract(ExtractRequest((tmp_path,), changed=(tmp_path / name,))).sites}

    assert reported("edited.cu") == ({"edited.cu"} if defined or "cute" in header else {"edited.cu", "other.cu"})
    assert reported(header) == {"edited.cu", "other.cu"}


_HEADERS = {
    "every": ("", "#define OF(name) <sub/name.h>\n#include OF(mine)\n"),
    "whole": ("", '#define MINE "mine.h"\n#include MINE  // the one\n'),
    "two": ("", "#if X\n#define MINE <sub/other.h>\n#else\n#define MINE <sub/mine.h>\n#endif\n#include MINE\n"),
    "elsewhere": ("#define OF( name )  <sub/name.h>\n", "#include OF(mine)\n"),
}


@pytest.mark.parametrize("kind", _HEADERS)
def test_what_a_macro_names_by_its_definitions(kind: str, tmp_path: Path) -> None:
    """Of a changed file the library's headers that do not name it are not among those which include it."""
    (tmp_path / "sub").mkdir()
    for name in ("mine", "other", "third"):
        (tmp_path / f"sub/{name}.h").write_text(f"#pragma once\n// {name}\n")
    (tmp_path / "include/cutlass").mkdir(parents=True)
    first, text = _HEADERS[kind]
    (tmp_path / "include/cutlass/macros.h").write_text(f"#pragma once\n{first}")
    (tmp_path / "include/cutlass/user.h").write_text(f"#pragma once\n#include <cutlass/macros.h>\n{text}")
    files = {str(p.relative_to(tmp_path)): p for p in tmp_path.rglob("*.h")}
    direct = {n: Tree(dict(files)).reaching(frozenset({f"sub/{n}.h"})) for n in ("mine", "other", "third")}
    assert "include/cutlass/user.h" in direct["mine"] and "include/cutlass/user.h" not in direct["third"]
    assert ("include/cutlass/user.h" in direct["other"]) == (kind == "two")


@pytest.mark.parametrize("given", ["-D", "#ifndef MINE\n", "#if !defined(MINE)\n", "computed"])
def test_what_a_macro_may_name_that_the_command_line_defines(given: str, tmp_path: Path) -> None:
    """As any file may be meant, all that ask it are looked at."""
    (tmp_path / "a.h").write_text("#pragma once\n")
    (tmp_path / "b.h").write_text("#pragma once\n")
    inside = '#define MINE "a.h"\n' if given != "computed" else '#define MINE PATH(a)\n#define PATH(x) "a.h"\n'
    around = (given, "#endif\n") if given.startswith("#if") else ("", "")
    (tmp_path / "user.h").write_text(f"#pragma once\n{around[0]}{inside}{around[1]}#include MINE\n")
    files = {p.name: p for p in tmp_path.iterdir()}
    user = (("MINE", '"b.h"'),) if given == "-D" else ()
    assert "user.h" in Tree(files, (), user).reaching(frozenset({"b.h"}))
