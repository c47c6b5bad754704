"""The hook under the real pre-commit, in a repository of its own (extra `oracle`, git, a package index)."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="not a git checkout"),
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


def _as_it_lies(to: Path, run: Callable[..., str]) -> str:
    """The checkout with what is staged and changed in it, as a repository at ``to``; its commit."""
    run("git", "clone", "-q", "--no-checkout", str(CHECKOUT), str(to))
    index = run("git", "-C", str(CHECKOUT), "rev-parse", "--git-path", "index").strip()
    shutil.copyfile(CHECKOUT / index, to / ".git/index")
    between = ("git", f"--git-dir={to / '.git'}", f"--work-tree={CHECKOUT}")
    run(*between, "add", "-u")
    run(*between, "commit", "-q", "--allow-empty", "-m", "as it lies there")
    return run("git", "-C", str(to), "rev-parse", "HEAD").strip()


def test_a_changed_header_stops_the_commit_for_what_includes_it(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PYTHONPATH"))}
    env |= {"PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    env["PIP_NO_COMPILE"] = "1"  # of what is installed little is imported
    repo = tmp_path / "repo"
    (repo / "include").mkdir(parents=True)

    def run(*command: str, code: int | None = 0) -> str:
        done = subprocess.run(command, cwd=repo, env=env, capture_output=True, text=True, timeout=540, check=False)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def hook(code: int) -> str:  # installed by the first of them
        return run(sys.executable, "-m", "pre_commit", "run", "--config", str(tmp_path / "hooks.yaml"), code=code)

    (tmp_path / "gitconfig").write_text("[user]\n  name = n\n  email = n@example.org\n[safe]\n  directory = *\n")
    (repo / "include/tile.h").write_text(HEADER % 8)
    (repo / "use.cu").write_text(BAD)
    (repo / "alone.cu").write_text(ALONE)  # bad, but unchanged: never reported
    hooks, rev = tmp_path / "hooks", _as_it_lies(tmp_path / "hooks", run)
    (tmp_path / "hooks.yaml").write_text(f"repos: [{{repo: {hooks}, rev: {rev}, hooks: [{{id: cutecheck}}]}}]\n")
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
