"""A header of the project that no include line finds is a note: what it declares is not known."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

CUTE = "#include <cute/tensor.hpp>\nauto l = cute::make_layout(cute::Int<4>{});\n"


def notes(folder: Path, *includes: str, more: str = "", dirs: tuple[Path, ...] = ()) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "a.cu").write_text("".join(f"{line}\n" for line in includes) + CUTE)
    if more:
        (folder / "b.cu").write_text(more + CUTE)
    return list(extract(ExtractRequest((folder,), include_dirs=dirs)).notes)


def test_a_quoted_header_that_is_nowhere_is_named_with_its_place(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, "", '#include "mine/traits.h"')
    assert note == 'not found: "mine/traits.h" (a.cu:2); what it declares is not known: -I DIR says where headers are'
    (tmp_path / "inc" / "mine").mkdir(parents=True)
    (tmp_path / "inc" / "mine" / "traits.h").write_text("using Number = int;\n")
    assert notes(tmp_path / "other", '#include "mine/traits.h"', dirs=(tmp_path / "inc",)) == []


def test_the_most_included_come_first_and_the_rest_is_counted(tmp_path: Path) -> None:
    lines = [f'#include "h{i}.h"' for i in range(4)]
    (note,) = notes(tmp_path, *lines, "#include <lib/x.cuh>", more="#include <lib/x.cuh>\n")
    assert note.startswith('not found: <lib/x.cuh> (a.cu:5 and 1 more), "h0.h" (a.cu:1), "h1.h" (a.cu:2) and 2 more;')


@pytest.mark.parametrize(
    "line",
    [
        "#include <vector>",
        "#include <cuda_runtime.h>",
        "#include <cutlass/gemm/none.h>",
        "#include <torch/extension.h>",
        "#include <mpi.h>",
        "#include <someone.h>",  # beside the compiler, or of a library that is installed
        '#if 0\n#include "off.h"\n#endif',
        '#if __has_include("off.h")\n#include "off.h"\n#endif',
        '// #include "off.h"',
    ],
)
def test_what_is_installed_or_not_read_is_no_note(line: str, tmp_path: Path) -> None:
    assert notes(tmp_path, line) == []


def test_of_headers_that_fit_equally_well_the_include_path_decides(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "lib" / name).mkdir(parents=True)
        (tmp_path / "lib" / name / "sizes.h").write_text(f"constexpr int kSize = {len(name) + (name == 'two')};\n")
    (tmp_path / "src").mkdir()
    text = '#include <cute/tensor.hpp>\n#include "sizes.h"\nauto l = cute::make_layout(cute::Int<kSize>{});\n'
    (tmp_path / "src" / "a.cu").write_text(text)
    (note,) = extract(ExtractRequest((tmp_path,))).notes
    assert note.startswith('not found: "sizes.h", which 2 files fit equally well (src/a.cu:2);')
    facts = extract(ExtractRequest((tmp_path,), include_dirs=(tmp_path / "lib" / "two",)))
    assert facts.notes == ()
    assert [str(s.value) for s in facts.sites] == ["_4:_1"]


KERNEL = """#pragma once
#include <cute/tensor.hpp>
using namespace cute;
template <int N>
__global__ void kernel(float const* in, float* out) {
  Tensor a = make_tensor(make_gmem_ptr(in), make_layout(Int<N>{}));
  copy(a, make_tensor(make_gmem_ptr(out), a.layout()));
}
"""


def test_kernels_in_headers_that_were_not_named(tmp_path: Path) -> None:
    """A file alone is checked: what its kernels do in the headers beside it is not judged, and that is said."""
    (tmp_path / "kernel.h").write_text(KERNEL)
    file, own = tmp_path / "a.cu", tmp_path / "own"
    file.write_text('#include "kernel.h"\nvoid run(float* p) { kernel<64><<<1, 1>>>(p, p); }\n')
    (note,) = extract(ExtractRequest((file,))).notes
    assert note.startswith(
        "configurations or copies at 1 place in headers that were not named (kernel.h) are not judged"
    )
    for paths in ((tmp_path,), (file, tmp_path / "kernel.h")):
        assert not extract(ExtractRequest(paths)).notes
    assert not extract(ExtractRequest((tmp_path,), changed=(file,))).notes
    own.mkdir()
    file.rename(own / "a.cu")
    assert not extract(ExtractRequest((own,), include_dirs=(tmp_path,))).notes  # a library's, as one says with -I


def test_kernel_templates_that_another_architecture_has(tmp_path: Path) -> None:
    """Of files that are looked at for different architectures one may launch what others only include."""
    (tmp_path / "kernel.h").write_text(KERNEL)
    (tmp_path / "a.cu").write_text('#include "kernel.h"\nvoid run(float* p) { kernel<64><<<1, 1>>>(p, p); }\n')
    (tmp_path / "b.cu").write_text('#include "kernel.h"\nusing Mma = TiledMMA<MMA_Atom<SM90_64x64x16_F32F16F16_SS<'
                                   "GMMA::Major::K, GMMA::Major::K>>>;\n")  # fmt: skip
    facts = extract(ExtractRequest((tmp_path,)))
    assert {s.arch for s in facts.sites} == {"sm_90a"}
    assert not facts.notes


def test_kernel_templates_that_nothing_instantiates(tmp_path: Path) -> None:
    """That they are not judged is said, with how to bind them; of a launched or asked one there is nothing to say."""
    file, host = tmp_path / "kernel.h", tmp_path / "a.cu"
    file.write_text(KERNEL)
    (note,) = extract(ExtractRequest((file,))).notes
    assert note.startswith("`kernel` (kernel.h:5): a kernel template that nothing in the scanned files instantiates;")
    assert "`--instantiate 'kernel<...>'` or a comment `// cutecheck: instantiate kernel<...>`" in note
    assert "--tree" not in note
    inner = tmp_path / "project" / "include"
    inner.mkdir(parents=True)
    (inner / "kernel.h").write_text(KERNEL)
    (inner.parent / "setup.py").touch()
    for path in (inner, inner / "kernel.h"):
        (note,) = extract(ExtractRequest((path,))).notes
        assert note.endswith(f", or take them from all of `project`: `--tree {inner.parent.resolve()}`")
    shutil.rmtree(inner.parent)
    assert not extract(ExtractRequest((file,), instantiate=("kernel<64>",))).notes
    host.write_text('#include "kernel.h"\nvoid run(float* p) { kernel<64><<<1, 1>>>(p, p); }\n')
    assert not extract(ExtractRequest((tmp_path,))).notes
    text = (
        KERNEL.replace("kernel(", "other(").replace("#pragma once", "").replace("template", "namespace own { template")
    )
    host.write_text(text + "}\n")
    assert (
        extract(ExtractRequest((tmp_path,))).notes[0].startswith("`own::other` (a.cu:5) and 1 more: kernel templates")
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("kernel<64>", ""),
        ("deep::kernel<64>", ""),
        ("own::deep::kernel<64>", ""),
        ("own::kernel<64>", "`own::kernel` is not known (there is `own::deep::kernel`)"),
        ("kernel", "its template arguments are not given"),
    ],
)
def test_bindings_are_found_in_the_namespace_that_declares_them(tmp_path: Path, name: str, why: str) -> None:
    """By a setting and by a comment; one that comes to nothing is an error, not silence."""
    file = tmp_path / "kernel.cu"
    inside = KERNEL.replace("template", "namespace own { namespace deep {\ntemplate") + "} }\n"
    for comment in (False, True):
        file.write_text(inside + (f"// cutecheck: instantiate {name}\n" if comment else ""))
        found = extract(ExtractRequest((tmp_path,), instantiate=() if comment else (name,)))
        assert len(found.events) == (why == "")
        assert [e.message for e in found.errors] == [f"instantiate `{name}`: {why}"] * bool(why)
        assert not any(n.startswith("instantiate") for n in found.notes)  # it is said once
        if why and not comment:  # of a file alone it is a note: the setting may mean another file
            found = extract(ExtractRequest((file,), instantiate=(name,)))
            assert not found.errors and found.notes[0] == f"instantiate `{name}`: {why}"
            assert not extract(ExtractRequest((tmp_path,), changed=(file,), instantiate=(name,))).errors
        assert all(e.path == ("kernel.cu" if comment else "<instantiate>") for e in found.errors)
    file.write_text(inside + "namespace own { using Sized = decltype(make_layout(Int<4>{})); }\n")
    assert not extract(ExtractRequest((tmp_path,), instantiate=("own::Sized",))).errors  # a value is met, too
    file.write_text("#include <cute/tensor.hpp>\n// cutecheck: instantiate elsewhere<64>\n" + CUTE)
    assert not extract(ExtractRequest((file,), instantiate=("another<64>",))).errors


@pytest.mark.parametrize("first", ["own", "other"])
def test_a_binding_is_met_by_any_unit(tmp_path: Path, first: str) -> None:
    """Which unit comes first does not matter; a name that two namespaces declare is not guessed."""
    second = {"own": "other", "other": "own"}[first]
    for file, space in (("a.cu", first), ("b.cu", second)):
        text = KERNEL.replace("#pragma once", "").replace("template", f"namespace {space} {{ template")
        (tmp_path / file).write_text(text + "}\n")
    found = extract(ExtractRequest((tmp_path,), instantiate=("own::kernel<64>",)))
    assert not found.errors and len(found.events) == 1
    (tmp_path / "b.cu").unlink()
    more = KERNEL.replace("#pragma once", "").replace("template", "namespace more { template") + "}\n"
    (tmp_path / "a.cu").write_text((tmp_path / "a.cu").read_text() + more)
    (error,) = extract(ExtractRequest((tmp_path,), instantiate=("kernel<64>",))).errors
    assert error.message.endswith(f"(there is `more::kernel`, `{first}::kernel`)")


def test_lines_of_headers_beside_a_file_count_as_its_own(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "run.h").write_text('#pragma once\n#include "deep/kernel.h"\n')
    file = tmp_path / "src" / "a.cu"
    file.write_text('#include "run.h"\n' + CUTE)
    (note,) = extract(ExtractRequest((file,))).notes
    assert note.startswith('not found: "deep/kernel.h" (run.h:2); what it declares is not known')
    assert not extract(ExtractRequest((file.parent,), changed=(file,))).notes  # a hook is about its own lines
    (tmp_path / "src" / "deep").mkdir()
    (tmp_path / "src" / "deep" / "kernel.h").write_text("#pragma once\n")
    assert not extract(ExtractRequest((file,))).notes
