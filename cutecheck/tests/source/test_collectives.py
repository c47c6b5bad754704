"""CUTLASS's collectives in trees without its headers: read from where they are installed, or told."""

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.model.notation import show
from cutecheck.source.collectives import HEADER, Library
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

BUILDER = (
    "namespace cutlass::gemm::collective { template <class T> struct CollectiveBuilder {"
    " using CollectiveOp = cute::Layout<cute::Int<4 * sizeof(T)>>; }; }\n"
)
KERNEL = """
#include <cute/tensor.hpp>
#include "cutlass/gemm/collective/collective_builder.hpp"
using Made = typename cutlass::gemm::collective::CollectiveBuilder<float>::CollectiveOp;
void host() { auto layout = make_layout(cute::size(Made{})); }
"""


def library(folder: Path) -> Path:
    (folder / HEADER).parent.mkdir(parents=True)
    (folder / HEADER).write_text(BUILDER)
    return folder


@pytest.fixture
def request_of_a_kernel(tmp_path: Path) -> ExtractRequest:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "gemm.cu").write_text(KERNEL)
    return ExtractRequest((tree,))


def values(request: ExtractRequest) -> list[str]:
    return [show(s.value) for s in extract(request).sites if s.status == "resolved" and s.symbol == "host::layout"]


def test_without_headers_a_note_says_what_is_not_known(request_of_a_kernel: ExtractRequest) -> None:
    facts = extract(request_of_a_kernel)
    assert not [s for s in facts.sites if s.status == "resolved"]
    (note,) = facts.notes
    assert note.startswith("gemm.cu: CUTLASS's collectives are used")
    assert "not known" in note and "install nvidia-cutlass" in note


def test_installed_headers_are_read(request_of_a_kernel: ExtractRequest, tmp_path: Path) -> None:
    empty, installed = Library(tmp_path / "none", "1.0.0"), Library(library(tmp_path / "installed"), "4.2.0")
    asked = replace(request_of_a_kernel, installed=(empty, installed))
    assert values(asked) == ["_16:_1"]
    (note,) = extract(asked).notes
    assert f"CUTLASS 4.2.0 is read from {installed.include}" in note
    assert all(s.span.path == "gemm.cu" for s in extract(asked).sites)


def test_what_the_tree_or_the_include_path_has_goes_before(request_of_a_kernel: ExtractRequest, tmp_path: Path) -> None:
    other = tmp_path / "other"
    installed = (Library(library(other), "4.2.0"),)
    (other / HEADER).write_text(BUILDER.replace("4 *", "8 *"))
    asked = replace(request_of_a_kernel, installed=installed)
    named = replace(asked, include_dirs=(library(tmp_path / "named"),))
    assert values(named) == ["_16:_1"] and extract(named).notes == ()
    library(request_of_a_kernel.paths[0] / "third_party")
    assert values(asked) == ["_16:_1"] and extract(asked).notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "template <class T> struct CollectiveEpilogue {}; using E = CollectiveEpilogue<int>;",
        "// CollectiveBuilder makes no kernel here\n",
    ],
)
def test_templates_of_ones_own_need_no_headers(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.cu").write_text(f"#include <cute/tensor.hpp>\n{text}\nusing L = cute::Layout<cute::_4>;\n")
    installed = Library(library(tmp_path.parent / f"{tmp_path.name}-installed"), "4.2.0")
    assert extract(ExtractRequest((tmp_path,), installed=(installed,))).notes == ()


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("<cutlass/gemm/collective/collective_builder.hpp>", True),
        ("<cutlass/pipeline/pipeline.hpp>", False),  # its classes are modelled
        ('"cutlass/gemm/collective/builders/sm90_common.inl"', True),
        ("<cutlass/numeric_types.h>", False),
    ],
)
def test_kernels_that_include_what_collectives_are_built_by(tmp_path: Path, header: str, read: bool) -> None:
    (tmp_path / "tree").mkdir()
    text = f"#include <cute/tensor.hpp>\n#  include {header}\nusing L = cute::Layout<cute::_4>;\n"
    (tmp_path / "tree" / "a.cu").write_text(text)
    asked = ExtractRequest((tmp_path / "tree",), installed=(Library(library(tmp_path / "installed"), "4.2.0"),))
    assert [("is read from" in note) for note in extract(asked).notes] == [True] * read
