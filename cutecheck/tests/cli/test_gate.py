"""Baselines, ``--diff-base``, ``--show-settings``, ``init``, the pre-commit hook and the action, from the outside."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cutecheck.cli import main

TOP = Path(__file__).parents[3]
HEADER = "#include <cute/tensor.hpp>\nusing namespace cute;\nusing Op = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;\n"
PERMUTED = (
    "using {0} = TiledMMA<Op, Layout<Shape<_{1}, _1, _1>>,\n"
    "                     Tile<_{2}, Layout<Shape<_2, _4, _2>, Stride<_1, _2, _4>>, _16>>;\n"
)
ONE, TWO = PERMUTED.format("One", 2, 32), PERMUTED.format("Two", 4, 64)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one finding in ``src/a.cu``, committed; it is the current folder."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cu").write_text(HEADER + ONE)
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    git("init", "-q")
    commit("first")
    return tmp_path


def git(*arguments: str) -> None:
    own = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *arguments], check=True, capture_output=True)


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "--no-verify", "-m", message)


def check(capsys: Capture, *arguments: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = main(["check", *arguments, "--output-format", "json"])
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads((TOP / "docs/schema/check.schema.json").read_text(encoding="utf-8")))
    return code, document


def codes(document: Any) -> list[str]:
    return [f["code"] for f in document["findings"]]


def test_a_baseline_lets_known_findings_pass_wherever_they_move(tree: Path, capsys: Capture) -> None:
    assert main(["baseline", "write", "src"]) == 0
    assert "1 known, 1 added, 0 removed" in capsys.readouterr().out
    (tree / "src/a.cu").write_text(HEADER + "\n\nint moved;\n" + ONE)
    code, document = check(capsys, "src", "--baseline", "cutecheck-baseline.json")
    assert (code, codes(document)) == (0, [])
    assert [s["suppressed_by"] for s in document["suppressed"]] == ["baseline"]
    assert document["summary"]["baselined"] == 1 and document["summary"]["suppressed"] == 0
    (tree / "src/b.cu").write_text(HEADER + TWO)
    code, document = check(capsys, "src", "--baseline", "cutecheck-baseline.json")
    assert (code, codes(document)) == (1, ["CUT203"])
    assert main(["baseline", "write", "src"]) == 2
    assert "exists" in capsys.readouterr().err


def test_stale_entries_are_errors_within_what_was_read(tree: Path, capsys: Capture) -> None:
    (tree / "src/b.cu").write_text(HEADER + TWO)
    assert main(["baseline", "write", "src"]) == 0
    (tree / "src/a.cu").write_text(HEADER)
    code, document = check(capsys, "src", "--baseline", "cutecheck-baseline.json")
    assert (code, codes(document)) == (1, ["CUT003"])
    stale = document["findings"][0]
    assert stale["path"] == "cutecheck-baseline.json" and "src/a.cu" in stale["message"]
    line = (tree / stale["path"]).read_text().splitlines()[stale["line"] - 1]
    assert '"fingerprint"' in line
    assert check(capsys, "src/b.cu", "--baseline", "cutecheck-baseline.json")[0] == 0, "a.cu was not read"
    assert check(capsys, "src", "--baseline", "cutecheck-baseline.json", "--ignore", "CUT203")[0] == 0
    assert main(["baseline", "prune", "src"]) == 0
    assert "1 known, 0 added, 1 removed" in capsys.readouterr().out
    assert check(capsys, "src", "--baseline", "cutecheck-baseline.json")[0] == 0


def test_of_changed_files_alone_no_entry_of_another_is_stale(tree: Path, capsys: Capture) -> None:
    (tree / "src/b.cu").write_text(HEADER + TWO)
    assert main(["baseline", "write", "."]) == 0
    known = ("--baseline", "cutecheck-baseline.json", "--tree", ".")
    assert check(capsys, *known, "src/b.cu") == (0, check(capsys, *known, "src/b.cu")[1])
    (tree / "src/b.cu").write_text("int nothing;\n")
    code, document = check(capsys, *known, "src/b.cu")
    assert (code, codes(document)) == (1, ["CUT003"])
    assert "src/b.cu" in document["findings"][0]["message"]


def test_diff_base_of_changed_files_alone(tree: Path, capsys: Capture) -> None:
    (tree / "src/b.cu").write_text(HEADER)
    commit("b")
    (tree / "src/b.cu").write_text(HEADER + TWO)
    (tree / "src/a.cu").write_text(HEADER)
    code, document = check(capsys, "--diff-base", "HEAD", "--tree", ".", "src/b.cu")
    assert (code, codes(document)) == (1, ["CUT203"])
    assert document["summary"]["fixed"] == document["summary"]["pre_existing"] == 0  # of a.cu nothing is said
    (tree / "src/new.cu").write_text(HEADER + ONE)
    assert check(capsys, "--diff-base", "HEAD", "--tree", ".", "src/new.cu")[0] == 1


def test_diff_base_knows_notebooks(tree: Path, capsys: Capture) -> None:
    text = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (tree / "book.ipynb").write_text(text)
    commit("book")
    from cutecheck.engine.diffbase import base_of, extract_tree

    extract_tree(base_of("HEAD", tree), tree, tree / "out")
    assert (tree / "out/book.ipynb").read_text() == text


def test_diff_base_of_a_library_that_its_project_calls(tree: Path, capsys: Capture) -> None:
    (tree / "lib").mkdir()
    (tree / "tests").mkdir()
    made = "cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(n, 1)), cute.make_layout((1, 8)))"
    atom = "cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)"
    head = f"import cutlass\nimport cutlass.cute as cute\ndef tile(n):\n    atom = {atom}\n    "
    (tree / "lib/tiles.py").write_text(f"{head}return {made}\n")
    (tree / "tests/test_tiles.py").write_text("from lib.tiles import tile\ndef test_tile():\n    tile(2)\n")
    commit("library")
    assert codes(check(capsys, "lib")[1]) == ["CUT202"]
    (tree / "lib/tiles.py").write_text(f"{head}moved = True\n    return {made}\n")
    code, document = check(capsys, "--diff-base", "HEAD", "lib")
    assert (code, codes(document), document["summary"]["pre_existing"]) == (0, [], 1)


def test_prune_never_adds_and_update_keeps_other_paths(tree: Path, capsys: Capture) -> None:
    assert main(["baseline", "write", "src"]) == 0
    (tree / "src/b.cu").write_text(HEADER + TWO)
    assert main(["baseline", "prune", "src"]) == 0
    assert check(capsys, "src", "--baseline", "cutecheck-baseline.json")[0] == 1
    assert main(["baseline", "update", "src/b.cu"]) == 0
    assert "2 known, 1 added, 0 removed" in capsys.readouterr().out
    (tree / "cutecheck.toml").write_text('baseline = "cutecheck-baseline.json"\n')
    assert check(capsys, "src")[0] == 0, "the configuration names the baseline"
    assert check(capsys, "src", "--isolated")[0] == 1


def test_what_got_worse_is_not_known(tree: Path, capsys: Capture) -> None:
    assert main(["baseline", "write", "src"]) == 0
    file = tree / "cutecheck-baseline.json"
    file.write_text(file.read_text().replace('"severity": "error"', '"severity": "note"'))
    code, document = check(capsys, "src", "--baseline", str(file))
    assert (code, codes(document)) == (1, ["CUT203"])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "\x00", "[" * 100_000, '{"cutecheck_baseline": 1}', '{"cutecheck_baseline": 1, "entries": [1]}',
     '{"cutecheck_baseline": 2, "entries": []}', '{"cutecheck_baseline": 1, "entries": [{"path": 1, "code": "x", '
     '"fingerprint": "f", "severity": "note", "message": "m"}]}'],
)  # fmt: skip
def test_a_broken_baseline_is_one_line(tree: Path, text: str, capsys: Capture) -> None:
    (tree / "b.json").write_text(text)
    assert main(["check", "src", "--baseline", "b.json"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("cutecheck: error: ") and error.count("\n") == 1 and "b.json" in error
    assert main(["check", "src", "--baseline", "none.json"]) == 2


def test_diff_base_tells_introduced_fixed_and_pre_existing(tree: Path, capsys: Capture) -> None:
    (tree / "src/gone.cu").write_text(HEADER + PERMUTED.format("Gone", 8, 128))
    commit("second")
    git("branch", "base")
    git("mv", "src/a.cu", "src/renamed.cu")
    (tree / "src/renamed.cu").write_text("// moved down\n\n" + HEADER + ONE)
    (tree / "src/gone.cu").write_text(HEADER)
    (tree / "src/new.cu").write_text(HEADER + TWO)
    commit("third")
    code, document = check(capsys, "src", "--diff-base", "base")
    assert (code, codes(document)) == (1, ["CUT203"])
    assert document["findings"][0]["path"] == "new.cu"
    assert [(s["path"], s["suppressed_by"]) for s in document["suppressed"]] == [("renamed.cu", "diff-base")]
    assert [f["path"] for f in document["fixed"]] == ["gone.cu"]
    assert (document["summary"]["pre_existing"], document["summary"]["fixed"]) == (1, 1)
    assert main(["check", "src", "--diff-base", "base", "--output-format", "concise"]) == 1
    assert "1 pre-existing; 1 fixed" in capsys.readouterr().out
    (tree / "src/new.cu").unlink()
    assert check(capsys, "src", "--diff-base", "base")[0] == 0


def test_diff_base_looks_at_the_merge_base(tree: Path, capsys: Capture) -> None:
    git("checkout", "-q", "-b", "other")
    (tree / "src/a.cu").write_text(HEADER)
    commit("mended elsewhere")
    git("checkout", "-q", "-")
    (tree / "src/x.cu").write_text(HEADER)
    commit("mine")
    assert check(capsys, "src", "--diff-base", "other")[0] == 0, "not introduced here"


def test_silencing_is_no_fix_and_unsilencing_introduces(tree: Path, capsys: Capture) -> None:
    (tree / "src/a.cu").write_text(HEADER + "// cutecheck: ignore[CUT203] known\n" + ONE)
    code, document = check(capsys, "src", "--diff-base", "HEAD")
    assert (code, document["fixed"], document["summary"]["suppressed"]) == (0, [], 1)
    commit("silenced")
    (tree / "src/a.cu").write_text(HEADER + ONE)
    code, document = check(capsys, "src", "--diff-base", "HEAD")
    assert (code, codes(document)) == (1, ["CUT203"])


def test_diff_base_errors_are_one_line(tree: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for ref in ("nowhere", "--upload-pack=x", ""):
        assert main(["check", "src", f"--diff-base={ref}"]) == 2
        error = capsys.readouterr().err
        assert error.startswith("cutecheck: error: --diff-base: ") and error.count("\n") == 1
    outside = tree.parent / "plain"
    outside.mkdir()
    (outside / "a.cu").write_text(HEADER)
    monkeypatch.chdir(outside)
    assert main(["check", "a.cu", "--diff-base", "HEAD"]) == 2


def test_diff_base_runs_no_hook_or_filter(tree: Path, capsys: Capture) -> None:
    (tree / ".gitattributes").write_text("*.cu filter=evil\n")
    git("config", "filter.evil.smudge", f"touch {tree}/ran; cat")
    hook = tree / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tree}/ran\n")
    hook.chmod(0o755)
    commit("attributes")
    assert check(capsys, "src", "--diff-base", "HEAD")[0] == 0
    assert not (tree / "ran").exists()


def test_diff_base_runs_no_program_of_the_tree_s_git_configuration(tree: Path, capsys: Capture) -> None:
    git("config", "core.fsmonitor", f"touch {tree}/monitor; echo")
    git("config", "remote.origin.url", f"ext::sh -c touch% {tree}/fetched")
    git("config", "remote.origin.promisor", "true")
    git("config", "protocol.ext.allow", "always")
    (tree / "src/a.cu").write_text(HEADER + ONE + TWO)
    code, document = check(capsys, "src", "--diff-base", "HEAD")
    assert (code, codes(document)) == (1, ["CUT203"])
    check_missing = main(["check", "src", "--diff-base", "0" * 39 + "1"])
    assert check_missing == 2
    assert not (tree / "monitor").exists() and not (tree / "fetched").exists()


def test_show_settings_names_origins(tree: Path, capsys: Capture) -> None:
    (tree / "cutecheck.toml").write_text('arch = ["sm_80"]\nignore = ["CUT9"]\nunknown = "warn"\n')
    assert main(["check", "src", "--show-settings", "--ignore", "CUT204", "--fail-on", "error"]) == 0
    lines = dict(line.split(" = ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["arch"].startswith('["sm_80"]  # /') and lines["arch"].endswith("cutecheck.toml")
    assert lines["ignore"].endswith("cutecheck.toml and command line") and '"CUT9", "CUT204"' in lines["ignore"]
    assert lines["fail-on"] == '"error"  # command line' and lines["exclude"] == "[]  # default"
    assert main(["check", "src", "--show-settings", "--isolated"]) == 0
    others = [line for line in capsys.readouterr().out.splitlines() if not line.endswith("# default")]
    assert others == ['compile-commands = "none"  # command line']


def test_init_writes_what_cutecheck_reads_and_replaces_nothing(tmp_path: Path, capsys: Capture) -> None:
    from cutecheck.config import Settings, read_config

    assert main(["init", str(tmp_path)]) == 0
    settings = read_config(tmp_path / "cutecheck.toml")
    assert settings == Settings(origin=settings.origin)
    assert "id: cutecheck" in (tmp_path / ".pre-commit-config.yaml").read_text()
    (tmp_path / "cutecheck.toml").write_text("")
    assert main(["init", str(tmp_path)]) == 0
    assert "has the hook already" in capsys.readouterr().out
    (tmp_path / ".pre-commit-config.yaml").write_text("repos:\n  - repo: local\n")
    assert main(["init", str(tmp_path)]) == 0
    assert (tmp_path / "cutecheck.toml").read_text() == ""
    shown = capsys.readouterr().out
    assert "left as it is" in shown and "add to its repos:\n  - repo: local\n" in shown
    assert main(["init", str(tmp_path / "none")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_init_names_every_key(tmp_path: Path) -> None:
    from dataclasses import fields

    from cutecheck.cli.init import CONFIG
    from cutecheck.config import Settings

    keys = [line.split(" = ")[0] for line in CONFIG.splitlines() if " = " in line]
    assert sorted(keys) == sorted(f.name.replace("_", "-") for f in fields(Settings) if f.name != "origin")


def run_action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """The last step of action.yml, with cutecheck of this checkout in place of an installed one."""
    text = (TOP / "action.yml").read_text(encoding="utf-8")
    script = textwrap.dedent(text.rsplit("run: |\n", 1)[1])
    tool = folder / "temp/cutecheck/bin/cutecheck"
    tool.parent.mkdir(parents=True, exist_ok=True)
    tool.write_text(f'#!/bin/sh\nPYTHONPATH="{TOP}" exec "{sys.executable}" -m cutecheck "$@"\n')
    tool.chmod(0o755)
    own = {f"CUTECHECK_{k.upper()}": v for k, v in {"paths": ".", "args": "", "sarif": "", **inputs}.items()}
    environment = {**os.environ, **own, "RUNNER_TEMP": str(folder / "temp")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_action_annotates_and_takes_its_inputs_as_words(tree: Path) -> None:
    done = run_action(tree, paths="src", sarif="out.sarif", args="--unknown=warn --fail-on error")
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=src/a.cu,line=4,")
    assert json.loads((tree / "out.sarif").read_text())["version"] == "2.1.0"
    done = run_action(tree, paths="$(touch ran) ;touch ran", args="--exit-zero")
    assert done.returncode == 2 and not (tree / "ran").exists()


def test_the_hook_runs_an_existing_command(tree: Path, capsys: Capture) -> None:
    lines = (TOP / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").splitlines()
    fields = dict(line.strip(" -").split(": ", 1) for line in lines)
    assert (fields["language"], fields["types_or"], fields["require_serial"]) == (
        "python",
        "[c++, cuda, python, jupyter]",
        "true",
    )
    program, *arguments = fields["entry"].split()
    assert program == "cutecheck" and main([*arguments, "src/a.cu"]) == 1
    assert capsys.readouterr().out.startswith("src/a.cu:4:7: CUT203 ")
