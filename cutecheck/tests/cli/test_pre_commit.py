"""The hook under the real pre-commit, in a repository of its own (extra `oracle`, git, a package index)."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="not a git checkout, which try-repo needs"),
]

HEADER = """#pragma once
#include <cute/tensor.hpp>
using namespace cute;
template <int K> struct Tile { static constexpr int k = %d; };
"""
BAD = """#include "tile.h"
using Op = Copy_Atom<UniversalCopy<cute::uint128_t>, cute::half_t>;
using C = decltype(make_tiled_copy(Op{}, Layout<Shape<_32, _1>>{}, Layout<Shape<_1, Int<Tile<1>::k>>>{}));
"""
ALONE = BAD.replace('#include "tile.h"', "#include <cute/tensor.hpp>\nusing namespace cute;").replace(
    "Int<Tile<1>::k>", "_4"
)


def test_a_changed_header_stops_the_commit_for_what_includes_it(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PYTHONPATH"))}
    env |= {"PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    repo = tmp_path / "repo"
    (repo / "include").mkdir(parents=True)

    def run(*command: str, code: int | None = 0) -> str:
        done = subprocess.run(command, cwd=repo, env=env, capture_output=True, text=True, timeout=540, check=False)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def hook(code: int) -> str:
        return run(sys.executable, "-m", "pre_commit", "try-repo", str(CHECKOUT), "cutecheck", code=code)

    (tmp_path / "gitconfig").write_text("[user]\n  name = n\n  email = n@example.org\n[safe]\n  directory = *\n")
    (repo / "include/tile.h").write_text(HEADER % 8)
    (repo / "use.cu").write_text(BAD)
    (repo / "alone.cu").write_text(ALONE)  # bad, but unchanged: never reported
    run("git", "init", "-q")
    run("git", "add", "-A")
    run("git", "commit", "-qm", "start")
    (repo / "include/tile.h").write_text(HEADER % 16)
    run("git", "add", "-A")
    assert "Passed" in hook(0)
    (repo / "include/tile.h").write_text(HEADER % 4)
    run("git", "add", "-A")
    shown = hook(1)
    assert "use.cu:3:" in shown
    assert "CUT301" in shown
    assert "alone.cu" not in shown
