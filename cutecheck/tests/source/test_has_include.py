"""``__has_include``: of headers of the tree, of what stands beside a compiler, and of neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.notation import show
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest


def _site(tmp_path: Path, asked: str, included: str = "") -> tuple[str, int]:
    for folder in ("kernels", "generated"):
        (tmp_path / folder).mkdir()
    (tmp_path / "generated" / "config.h").write_text("#pragma once\n#define TILE 64\n")
    (tmp_path / "kernels" / "k.cu").write_text(
        f"""#include <cute/tensor.hpp>
#if {asked}
{included or "#define TILE 64"}
#endif
#ifndef TILE
#define TILE 32
#endif
using Site = cute::Layout<cute::Int<TILE>>;
"""
    )
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    (site,) = (s for s in facts.sites if s.symbol == "Site")
    return show(site.value), len(facts.notes)


@pytest.mark.parametrize(
    "asked",
    [
        '__has_include("../generated/config.h")',
        "__has_include(<generated/config.h>) && defined(__has_include)",
        "__has_include( <cuda_fp8.h> )",
        "!__has_include(<acme/private.h>)",
        '__has_include(<version>) && !__has_include("config.h.in")',
        "__has_include(<cute/atom/mma_atom.hpp>)",
    ],
)
def test_what_is_there(asked: str, tmp_path: Path) -> None:
    assert _site(tmp_path, asked) == ("_64:_1", 0)


@pytest.mark.parametrize("asked", ["__has_include(<acme/private.h>)", "!__has_include(<cuda_fp8.h>)"])
def test_what_is_not(asked: str, tmp_path: Path) -> None:
    assert _site(tmp_path, asked) == ("_32:_1", 0)


def test_what_is_asked_for_is_included(tmp_path: Path) -> None:
    assert _site(tmp_path, '__has_include("../generated/config.h")', '#include "../generated/config.h"') == (
        "_64:_1",
        0,
    )
