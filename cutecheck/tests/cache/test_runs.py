"""A run that is remembered says what it would say; whatever decides a report is looked at."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.source import scripts

KERNEL = """#include "parts/tile.h"
#include <elsewhere/pad.h>
template <class T> __global__ void __launch_bounds__(128) k(T* out) {
  __shared__ T data[cosize_v<Tile>];
  Tensor s = make_tensor(make_smem_ptr(data), Tile{});
  Tensor g = make_tensor(make_gmem_ptr(out), Tile{});
  auto copier = make_tiled_copy(Copy_Atom<UniversalCopy<T>, T>{}, Layout<Shape<_32, _4>>{}, Layout<Shape<_1, _1>>{});
  auto thread = copier.get_slice(threadIdx.x);
  copy(copier, thread.partition_S(s), thread.partition_D(g));
}
void run(float* a, half_t* b) { k<<<1, 128>>>(a); k<<<1, 128>>>(b); }
"""
OPEN = "#pragma once\n#include <cute/tensor.hpp>\nusing namespace cute;\n"
TILE = f"{OPEN}using Tile = Layout<Shape<_64, _32>, Stride<_32, _1>>;\n"
PAD = f"{OPEN}using Pad = Layout<Shape<_64, _32>, Stride<Int<33>, _1>>;\n"
SCRIPT = (
    "import cutlass\nimport cutlass.cute as cute\nfrom sizes import N\n\n\n@cute.jit\ndef f():\n"
    "    a = cute.make_layout((N, 4), stride=(4, 1))\n    print(a)\n\n\nf()\n"
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTECHECK_CACHE_DIR", str(tmp_path / "kept"))
    root = tmp_path / "tree"
    (root / "parts").mkdir(parents=True)
    (root / "a.cu").write_text(KERNEL)
    (root / "b.cu").write_text(KERNEL.replace("k<", "kk<").replace("void k(", "void kk("))
    (root / "parts/tile.h").write_text(TILE)
    (root / "layouts.py").write_text(SCRIPT)
    (root / "sizes.py").write_text("N = 8\n")
    return root


def said(root: Path, out: Path, *more: str) -> str:
    main(["check", str(root), "--isolated", "-I", str(root.parent / "inc"), "--output-format", "json",
          "--output-file", str(out), *more])  # fmt: skip
    return out.read_text()


def cold(root: Path, out: Path) -> str:
    return re.sub(r'"milliseconds": [\d.e-]+', "", said(root, out, "--no-cache"))


def warm(root: Path, out: Path) -> str:
    return re.sub(r'"milliseconds": [\d.e-]+', "", said(root, out))


def test_a_second_run_is_the_first_to_the_byte(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = said(tree, tmp_path / "1.json")
    capsys.readouterr()
    assert said(tree, tmp_path / "2.json", "--time") == first
    assert "time: extract" not in capsys.readouterr().err  # nothing was evaluated
    assert said(tree, tmp_path / "3.json", "-j", "2") == first


def test_edits_in_any_order_give_what_a_run_without_memory_gives(tree: Path, tmp_path: Path) -> None:
    edits = [
        lambda: (tree / "parts/tile.h").write_text(TILE.replace("_64, _32", "_32, _32")),
        lambda: (tree / "a.cu").write_text("\n" + KERNEL),
        lambda: (tree / "sizes.py").write_text("N = 16\n"),
        (tree / "parts/tile.h").unlink,
        lambda: (tree / "parts/tile.h").write_text(TILE),
        lambda: (tree / "tile.h").write_text(TILE.replace("_64", "_96")),
        lambda: (tree / "c.cu").write_text(KERNEL.replace("_4>", "_8>")),
        lambda: (tree / "a.cu").unlink(missing_ok=True),
        lambda: (tree / ".gitignore").write_text("b.cu\n"),
        lambda: (tree / "parts" / "more.cu").write_text(KERNEL),
    ]
    random.Random(7).shuffle(edits)
    before = warm(tree, tmp_path / "w.json")
    changed = 0
    for edit in edits:
        edit()
        after = warm(tree, tmp_path / "w.json")
        assert after == cold(tree, tmp_path / "c.json")
        assert warm(tree, tmp_path / "w.json") == after
        changed += after != before
        before = after
    assert changed >= 6


def test_a_header_outside_the_tree_that_appears_is_noticed(tree: Path, tmp_path: Path) -> None:
    pad = tmp_path / "inc" / "elsewhere" / "pad.h"
    (tree / "a.cu").write_text(KERNEL.replace("Tile{});\n  Tensor g", "Pad{});\n  Tensor g").replace("<Tile>", "<Pad>"))
    without = warm(tree, tmp_path / "w.json")
    pad.parent.mkdir(parents=True)
    pad.write_text(PAD)
    padded = warm(tree, tmp_path / "w.json")
    assert padded == cold(tree, tmp_path / "c.json") != without
    pad.write_text(pad.read_text().replace("33", "36"))
    again = warm(tree, tmp_path / "w.json")
    assert again == cold(tree, tmp_path / "c.json") != padded
    pad.unlink()
    assert warm(tree, tmp_path / "w.json") == without


def test_other_settings_are_another_run(tree: Path, tmp_path: Path) -> None:
    every = said(tree, tmp_path / "1.json")
    assert said(tree, tmp_path / "1.json", "--ignore", "CUT1") != every
    assert said(tree, tmp_path / "1.json", "-D", "X=1", "--arch", "sm_90a") != every
    assert said(tree, tmp_path / "1.json") == every


def test_facts_of_python_files_are_kept_while_a_kernel_is_edited(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    one = scripts._Work.one
    monkeypatch.setattr(scripts._Work, "one", lambda work, path: ran.append(path) or one(work, path))
    warm(tree, tmp_path / "w.json")
    assert len(ran) == 1
    (tree / "a.cu").write_text("\n" + KERNEL)
    after = warm(tree, tmp_path / "w.json")
    assert len(ran) == 1
    assert after == cold(tree, tmp_path / "c.json")
    (tree / "sizes.py").write_text("N = 32\n")
    ran.clear()
    assert warm(tree, tmp_path / "w.json") == cold(tree, tmp_path / "c.json")
    assert len(ran) == 2  # both


def test_who_needs_the_facts_gets_them_all(tree: Path, tmp_path: Path) -> None:
    said(tree, tmp_path / "1.json")
    report = check(inputs([str(tree)]), Settings())
    assert any(site.value is not None for site in report.facts.sites)
    assert report.facts.calls
