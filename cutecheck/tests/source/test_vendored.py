"""A copy of CUTLASS inside of a tree is a library: read where it is included, not checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config.settings import Settings
from cutecheck.engine.run import Inputs, check
from cutecheck.facts import Facts
from cutecheck.facts.json import facts_json
from cutecheck.model.notation import show
from cutecheck.report.json import check_json
from cutecheck.source.discover import discover
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

CUTE = "#include <cute/tensor.hpp>\n"
KERNEL = """
#include <cutlass/tile.hpp>
__global__ void kernel(float* p) {
  auto tiled = cute::make_tiled_copy(cute::Copy_Atom<cute::UniversalCopy<float>, float>{}, lib::Threads{});
  cute::copy(tiled, cute::make_tensor(cute::make_gmem_ptr(p), lib::Threads{}),
             cute::make_tensor<float>(lib::Threads{}));
}
void launch(float* p) { kernel<<<1, 32>>>(p); }
"""
HEADERS = {
    "include/cute/tensor.hpp": "namespace cute {}\n",
    "include/cutlass/version.h": "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 0\n",
    "include/cutlass/tile.hpp": CUTE + "namespace lib { using Threads = cute::Layout<cute::Int<32>>; }\n",
    "include/cutlass/other.hpp": CUTE + "inline auto other() { return cute::make_tiled_copy(A{}, B{}); }\n",
}
CHECKOUT = {**HEADERS, "examples/cute/tutorial/a.cu": CUTE, "test/unit/cute/b.cu": CUTE, "tools/c.cu": CUTE}


def write(root: Path, files: dict[str, str], below: str = "") -> None:
    for name, text in files.items():
        path = root / below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(*paths: Path) -> list[str]:
    return [f.path for f in discover(paths).files]


def facts(*paths: Path) -> Facts:
    return extract(ExtractRequest(paths))


def test_a_checkout_below_the_root_is_left_out_and_its_headers_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"src/k.cu": KERNEL})
    write(tmp_path, CHECKOUT, "third_party/cutlass")
    assert names(tmp_path) == ["src/k.cu"]
    found = facts(tmp_path)
    assert [(s.span.path, s.status) for s in found.sites if s.kind == "tiled_copy"] == [("src/k.cu", "resolved")]
    assert {e.span.path for e in found.events} == {"src/k.cu"}
    assert found.notes == (
        "third_party/cutlass: CUTLASS, read where it is included and not checked (name the folder to have it checked)",
    )


def test_of_two_copies_the_one_nearest_to_the_root_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"src/k.cu": KERNEL})
    other = {name: text.replace("Int<32>", "Int<64>") for name, text in CHECKOUT.items()}
    write(tmp_path, other, "a/b/cutlass")
    write(tmp_path, CHECKOUT, "z/cutlass")
    (copy,) = [s for s in facts(tmp_path).sites if s.kind == "tiled_copy"]
    assert copy.status == "resolved"
    assert "32" in repr(copy.value)
    assert "64" not in repr(copy.value)


@pytest.mark.parametrize("own", ["lib/src/k.cu", "lib/include/own/k.cu", "lib/test/k.cu", "lib/tools/k.cu"])
def test_what_stands_beside_headers_alone_is_of_the_tree(tmp_path: Path, own: str) -> None:
    write(tmp_path, {own: KERNEL})
    write(tmp_path, HEADERS, "lib")
    assert names(tmp_path) == [own]
    assert [s.status for s in facts(tmp_path).sites if s.kind == "tiled_copy"] == ["resolved"]


def test_headers_alone_at_the_root(tmp_path: Path) -> None:
    write(tmp_path, {"src/k.cu": KERNEL, **HEADERS})
    assert names(tmp_path) == ["src/k.cu"]
    found = facts(tmp_path)
    assert [(s.span.path, s.status) for s in found.sites if s.kind == "tiled_copy"] == [("src/k.cu", "resolved")]
    assert found.notes[0].startswith("include: CUTLASS")
    assert "include/cute/tensor.hpp" in names(tmp_path, tmp_path / "include" / "cute" / "tensor.hpp")


def test_what_is_named_is_scanned(tmp_path: Path) -> None:
    write(tmp_path, {"k.cu": KERNEL})
    write(tmp_path, CHECKOUT, "cutlass")
    every = sorted(CHECKOUT)
    assert names(tmp_path / "cutlass") == every
    assert names(tmp_path, tmp_path / "cutlass") == ["cutlass/" + name for name in every] + ["k.cu"]
    assert names(tmp_path / "cutlass" / "examples") == ["cute/tutorial/a.cu"]
    assert "cutlass/tools/c.cu" in names(tmp_path, tmp_path / "cutlass" / "test" / "unit" / "cute" / "b.cu")
    assert not facts(tmp_path, tmp_path / "cutlass").notes


def test_a_report_that_is_kept_is_not_that_of_a_tree_that_has_got_one(tmp_path: Path) -> None:
    write(tmp_path, {"tree/src/k.cu": KERNEL})
    settings = Settings(cache_dir=str(tmp_path / "cache"), cutlass_version="4.7")
    given = Inputs((tmp_path / "tree",), ())

    def resolved() -> int:
        sites = check(given, settings, 5.0, counts_alone=True).facts.sites
        return sum(s.status == "resolved" and s.kind == "tiled_copy" for s in sites)

    assert resolved() == 0
    write(tmp_path, CHECKOUT, "tree/third_party/cutlass")
    assert resolved() == 1
    assert resolved() == 1


def test_json_tells_of_it(tmp_path: Path) -> None:
    write(tmp_path, {"src/k.cu": KERNEL})
    write(tmp_path, CHECKOUT, "cutlass")
    found = facts(tmp_path)
    assert found.notes
    assert facts_json(found, lambda value: {})["notes"] == list(found.notes)
    assert check_json(check(Inputs((tmp_path,), ()), Settings(cache=False), 5.0))["notes"] == list(found.notes)


def test_the_utilities_of_a_checkout_on_the_include_path_are_found(tmp_path: Path) -> None:
    tree = {"csrc/k.cu": CUTE + "#include <cutlass/util/threads.hpp>\nauto made = cute::make_layout(lib::Many{});\n"}
    util = {"tools/util/include/cutlass/util/threads.hpp": CUTE + "namespace lib { using Many = cute::Int<64>; }\n"}
    write(tmp_path, tree)
    write(tmp_path, {**HEADERS, **util}, "elsewhere")
    facts = extract(ExtractRequest((tmp_path / "csrc",), include_dirs=(tmp_path / "elsewhere" / "include",)))
    assert [(s.symbol, s.status, show(s.value)) for s in facts.sites] == [("made", "resolved", "_64:_1")]
