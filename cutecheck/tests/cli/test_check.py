"""``cutecheck check``, ``facts`` and ``eval`` from the outside: output, exit codes, bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cutecheck.cli import main
from cutecheck.cli.facts import elided

SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"
HEADER = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
BAD = HEADER + (
    "using Op = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;\n"
    "using Twice = TiledMMA<Op, Layout<Shape<_2, _1, _1>>,\n"
    "                       Tile<_32, Layout<Shape<_2, _4, _2>, Stride<_1, _2, _4>>, _16>>;\n"
)
GOOD = HEADER + "using Op = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;\n"
NOTE = HEADER + (
    "using Nothing = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _1, _1>>,\n"
    "                         Tile<_32, Layout<Shape<_4, _4>, Stride<_1, _4>>, _16>>;\n"
)


def file(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def valid(text: str, name: str) -> Any:
    document = json.loads(text)
    jsonschema.validate(document, json.loads((SCHEMAS / f"{name}.schema.json").read_text()))
    return document


def test_findings_exit_1_and_clean_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file(tmp_path, "bad.cu", BAD), "--output-format", "concise"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bad.cu:4:7: CUT203 the permutation (_2,_4,_2):(_1,_2,_4) of N")
    assert lines[-1].startswith("1 error; 1 of 1 file with CuTe; 2 sites found, 2 resolved")
    assert main(["check", file(tmp_path, "good.cu", GOOD)]) == 0
    assert "no findings" in capsys.readouterr().out


def test_full_report_shows_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file(tmp_path, "bad.cu", BAD)]) == 1
    out = capsys.readouterr().out
    assert "error[CUT203] permutation-not-bijective" in out
    assert "4 | using Twice = TiledMMA<Op" in out and "= witness: " in out
    assert "\x1b" not in out


def test_fail_on_exit_zero_and_selection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, note = file(tmp_path, "bad.cu", BAD), file(tmp_path, "note.cu", NOTE)
    assert main(["check", note]) == 0
    assert main(["check", note, "--fail-on", "note"]) == 1
    assert main(["check", bad, "--exit-zero"]) == 0
    assert main(["check", bad, "--ignore", "CUT2"]) == 0
    assert main(["check", bad, "--select", "CUT1,comma-drops-coordinate"]) == 0
    assert main(["check", bad, "--select", "CUT1", "--extend-select", "CUT203"]) == 1
    capsys.readouterr()
    assert main(["check", bad, "--select", "CUT4O2"]) == 2
    assert "no rule matches 'CUT4O2'" in capsys.readouterr().err


def test_json_meets_its_schema_and_proofs_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file(tmp_path, "bad.cu", BAD), "--output-format", "json"]) == 1
    document = valid(capsys.readouterr().out, "check")
    assert [f["code"] for f in document["findings"]] == ["CUT203"]
    assert {o["verdict"] for o in document["obligations"]} == {"proved", "refuted"}
    assert document["summary"]["sites"]["found"] == 2
    assert main(["check", file(tmp_path, "bad.cu", BAD), "--show-proofs"]) == 1
    assert "proved: divides" in capsys.readouterr().out


def test_architectures_may_stand_in_one_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arms = "#if __CUDA_ARCH__ >= 900\nusing Tile = Layout<_9>;\n#else\nusing Tile = Layout<_8>;\n#endif\n"
    source = file(tmp_path, "k.cu", HEADER + arms)
    main(["facts", "--output-format", "json", "--arch", "sm_80,sm_90a", "--arch", "sm_90a", source])
    found = {s["arch"]: s["printed"]["text"] for s in json.loads(capsys.readouterr().out)["sites"]}
    assert found == {"sm_80": "_8:_1", "sm_90a": "_9:_1"}


@pytest.mark.parametrize("given", ["hopper", "sm_90a,90", "sm_9", "compute_80"])
def test_what_is_no_architecture_is_refused(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check", "--arch", given, str(tmp_path)])
    error = capsys.readouterr().err
    assert code == 2 and "no architecture" in error and "Traceback" not in error


def test_output_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.json"
    assert main(["check", file(tmp_path, "bad.cu", BAD), "--output-format", "json", "--output-file", str(out)]) == 1
    assert capsys.readouterr().out == ""
    valid(out.read_text(), "check")
    assert main(["check", file(tmp_path, "bad.cu", BAD), "--output-file", str(tmp_path / "no" / "x")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, "good.cu", BAD)
    assert main(["facts", path, "--output-format", "json"]) == 0
    document = valid(capsys.readouterr().out, "facts")
    site = next(s for s in document["sites"] if s["symbol"] == "Twice")
    assert (site["path"], site["line"], site["kind"], site["status"]) == ("good.cu", 4, "tiled_mma", "resolved")
    assert site["printed"]["ThrLayoutVMNK"] == "(_32,_2,_1,_1):(_1,_32,_0,_0)"
    assert main(["facts", path]) == 0
    out = capsys.readouterr().out
    assert "good.cu:4:7: tiled_mma Twice sm_80 resolved" in out and "2 sites found" in out


def test_missing_paths_are_one_line_and_the_others_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = file(tmp_path, "bad.cu", BAD)
    assert main(["check", "nowhere.cu", bad, "--output-format", "concise"]) == 2
    out = capsys.readouterr().out
    assert "nowhere.cu: error: no such file or folder" in out and "CUT203" in out
    assert main(["check", "nowhere.cu", "--output-format", "json"]) == 2
    assert valid(capsys.readouterr().out, "check")["errors"][0]["path"] == "nowhere.cu"


def test_no_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 3
    assert "no C++, CUDA or Python sources" in capsys.readouterr().err
    assert main(["facts", str(tmp_path), "--output-format", "json"]) == 3
    valid(capsys.readouterr().out, "facts")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("binary.cu", b"\x00\x01\x02\xff" * 500),
        ("latin.cu", HEADER.encode() + b"// \xe9\xff\n"),
        ("broken.cu", HEADER + "template <class T struct { using = Layout<; }}}}\n"),
        ("deep.cu", HEADER + "using D = " + "Shape<" * 3000 + "_1" + ">" * 3000 + ";\n"),
        ("parens.cu", HEADER + "int x = " + "(" * 5000 + "1" + ")" * 5000 + ";\n"),
        ("circular.cu", HEADER + "using A = B; using B = A; using L = Layout<A, B>;\n"),
        ("include.cu", '#include "include.cu"\n' + GOOD),
        ("empty.cu", ""),
        ("nul.cu", HEADER + "using A = \x00 Layout<_8>;\n"),
    ],
)
@pytest.mark.parametrize("style", ["full", "concise", "json"])
def test_bad_files_do_not_stop_the_run(
    tmp_path: Path, name: str, content: str | bytes, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file(tmp_path, f"tree/{name}", content)
    file(tmp_path, "tree/bad.cu", BAD)
    assert main(["check", str(tmp_path / "tree"), "--output-format", style]) == 1
    captured = capsys.readouterr()
    assert "CUT203" in captured.out and "Traceback" not in captured.out + captured.err
    assert "internal error" not in captured.out
    if style == "json":
        valid(captured.out, "check")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(file(tmp_path, "secret.cu", GOOD))
    path.chmod(0)
    assert main(["check", str(path), "--output-format", "concise"]) == 2
    assert "secret.cu: error:" in capsys.readouterr().out


def test_configuration_is_found_next_to_the_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = file(tmp_path, "src/bad.cu", BAD)
    file(tmp_path, "cutecheck.toml", 'ignore = ["CUT203"]\n')
    assert main(["check", bad]) == 0
    assert main(["check", bad, "--isolated"]) == 1
    file(tmp_path, "other.toml", 'fail-onn = "note"\n')
    capsys.readouterr()
    assert main(["check", bad, "--config", str(tmp_path / "other.toml"), "--output-format", "json"]) == 2
    captured = capsys.readouterr()
    assert "did you mean 'fail-on'?" in valid(captured.out, "error")["errors"][0]["message"]


def test_eval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "composition(Layout<Shape<_8,_8>>{}, Layout<Shape<_2,_4>,Stride<_1,_16>>{})"]) == 0
    assert capsys.readouterr().out == "(_2,_4):(_1,_16)\n"
    assert main(["eval", "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)"]) == 0
    assert capsys.readouterr().out == "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)\n"
    assert main(["eval", "shape_div(_7{}, _3{})"]) == 2
    assert "cutecheck: error:" in capsys.readouterr().err
    assert main(["eval"]) == 2


def test_eval_answers_one_object_a_line() -> None:
    lines = "Layout<_8>{}\n\nshape_div(_7{}, _3{})\n((((\nsize(Layout<Shape<_8,_4>>{})\n"
    command = [sys.executable, "-m", "cutecheck", "eval", "--stdin"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(a) for a in answers] == [{"result"}, {"error"}, {"error"}, {"result"}]
    assert answers[0]["result"] == "_8:_1" and answers[3]["result"] == "_32"
    for answer in answers:
        valid(json.dumps(answer), "eval")


def test_a_crash_is_one_line_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("cutecheck.engine.run.extract_facts", crash)
    assert main(["check", file(tmp_path, "good.cu", GOOD), "--output-format", "json"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("cutecheck: error: internal error: RuntimeError: two lines (")
    assert captured.err.count("\n") == 1
    valid(captured.out, "error")


def test_long_template_arguments_are_elided_in_text() -> None:
    assert elided("f<int>::g") == "f<int>::g"
    long = "Kernel<" + ", ".join(["Layout<Shape<_8, _64>>"] * 8) + ">::run<int>::copier"
    assert elided(long) == "Kernel<...>::run<int>::copier"
    assert elided("x" * 200) == "x" * 200


def test_obligations_say_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    fixture = Path(__file__).parents[2] / "fixtures" / "cpp" / "ldmatrix_rows.cu"
    main(["check", str(fixture), "--isolated", "--exit-zero", "--output-format", "json"])
    found = [o["objects"] for o in valid(capsys.readouterr().out, "check")["obligations"]]
    banks = next(o for o in found if o is not None and o["payload"] == "BankAccess")
    assert (banks["kind"], banks["element_bits"]) == ("ldmatrix", 16)


def test_the_parser_is_built_without_facts_or_rules() -> None:
    code = (
        "import sys, cutecheck.cli.app as a; a.build(); print([m for m in sys.modules if m.startswith('cutecheck.')])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    ).stdout
    assert "cutecheck.cli.check" in loaded
    for room in ("findings", "facts", "model", "rules", "report", "source", "engine", "exec"):
        assert f"'cutecheck.{room}" not in loaded


def test_paths_stand_on_both_sides_of_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = file(tmp_path, "a.cu", GOOD), file(tmp_path, "b.cu", BAD)
    code = main(["check", "--isolated", one, "-I", str(tmp_path), other, "--output-format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 1 and found["summary"]["files"] == 2
    assert main(["check", one, "--nonsense", other]) == 2
    assert "unrecognized arguments: --nonsense" in capsys.readouterr().err
