"""Fixes: edits that are made, checked again, kept or rolled back; what they may touch, and how text is kept."""

import json
import os
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.config import Settings
from cutecheck.engine.fixes import difference, fix_all
from cutecheck.engine.fixes.apply import FixRun
from cutecheck.engine.fixes.text import Change, SourceText, moved
from cutecheck.engine.run import check_and_fix, inputs

CASES = Path(__file__).parents[1] / "data" / "cases"
ROWS = (CASES / "029-ldmatrix-plain-64-wide-rows" / "bad.cu").read_bytes()
SWIZZLED = b"decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}))"

# What an edit cannot know: how large the author's tiles, grids or copies should be, or another signature.
NOT_FIXED = {
    "017-copy-if-destination-too-small", "020-dynamic-tiler-skips-divisibility", "024-epilogue-subtile-136",
    "047-accumulator-256-registers", "049-tma-row-stride-not-16-bytes", "051-bulk-copy-not-16-byte-multiple",
    "060-dsl-copy-tile-larger-than-smem", "064-dsl-wgmma-unswizzled-smem",
}  # fmt: skip


def fixed(file: Path, unsafe: bool = True, arch: tuple[str, ...] = ("sm_80",)) -> FixRun:
    return check_and_fix(inputs([str(file)]), Settings(arch=arch), unsafe)


def put(folder: Path, data: bytes, name: str = "a.cu") -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


@pytest.mark.parametrize("case", sorted(p.parent.name for p in CASES.glob("*/case.json")))
def test_bad_cases_are_fixed_and_stay_so(case: str, tmp_path: Path) -> None:
    about = json.loads((CASES / case / "case.json").read_text())
    source = next((CASES / case).glob("bad.*"))
    run = fixed(source, arch=tuple(about["arch"]))
    left = [f for f in run.report.findings if f.severity != "note"]
    assert bool(left) == (case in NOT_FIXED)
    assert (
        run.report.failures == ()
        and source.read_bytes() == next(iter(run.originals.values()), SourceText("", source, source.read_bytes())).data
    )
    if run.applied:  # what was written has nothing more to fix
        again = put(tmp_path, next(iter(run.contents.values())), source.name)
        assert fixed(again, arch=tuple(about["arch"])).applied == []


def test_fix_writes_what_diff_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(tmp_path, ROWS)
    assert main(["check", str(file), "--arch", "sm_80", "--diff"]) == 1
    shown = capsys.readouterr()
    assert file.read_bytes() == ROWS
    assert f"+using SmemA = {SWIZZLED.decode()};" in shown.out and "would fix: a.cu:19:3 CUT101" in shown.err
    assert main(["check", str(file), "--arch", "sm_80", "--fix"]) == 0
    assert "fixed: a.cu:19:3 CUT101 swizzle the layout by Swizzle<3,3,3>" in capsys.readouterr().err
    assert file.read_bytes() == ROWS.replace(b"Layout<Shape<_64, _64>, Stride<_64, _1>>", SWIZZLED)
    assert main(["check", str(file), "--arch", "sm_80", "--diff"]) == 0
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda d: d.replace(b"\n", b"\r\n"), lambda d: d.replace(b"\n", b"\r\n")),
        (lambda d: b"\xef\xbb\xbf" + d, lambda d: b"\xef\xbb\xbf" + d),
        (lambda d: d.rstrip(b"\n"), lambda d: d.rstrip(b"\n")),
        (lambda d: "// \u00e9 \U0001f600\n".encode() + d, lambda d: "// \u00e9 \U0001f600\n".encode() + d),
        (lambda d: b"// \xe9t\xe9\n" + d, lambda d: b"// \xe9t\xe9\n" + d),
        (lambda d: d.replace(b"using SmemA", "/* \u00e9\u00e9 */ using SmemA".encode()),
         lambda d: d.replace(b"using SmemA", "/* \u00e9\u00e9 */ using SmemA".encode())),
    ],
    ids=["crlf", "bom", "no final newline", "utf-8", "latin-1", "columns are characters"],
)  # fmt: skip
def test_everything_else_of_the_file_stays(tmp_path: Path, before, after) -> None:  # type: ignore[no-untyped-def]
    file = put(tmp_path, before(ROWS))
    # a named file that is no UTF-8 is an error of its own
    assert main(["check", str(file), "--arch", "sm_80", "--fix", "--output-format", "concise"]) in (0, 2)
    assert file.read_bytes() == after(ROWS.replace(b"Layout<Shape<_64, _64>, Stride<_64, _1>>", SWIZZLED))


def test_a_buffer_with_unknown_accesses_is_fixed_only_on_demand(tmp_path: Path) -> None:
    escaping = ROWS.replace(b"__global__ void feed_a() {", b"void other(Elem*);\n__global__ void feed_a() {").replace(
        b"  Mma mma;", b"  other(smem);\n  Mma mma;"
    )
    file = put(tmp_path, escaping)
    assert fixed(file, unsafe=False).applied == []
    assert [a.fix.safe for a in fixed(file, unsafe=True).applied] == [False]


def test_what_makes_it_worse_is_rolled_back(tmp_path: Path) -> None:
    """A fixed size: no padding may outgrow the array, and a swizzle keeps its size."""
    case = CASES / "036-sgemm-tn-unpadded-store" / "bad.cu"
    run = fixed(case)
    assert run.applied and "Swizzle" in run.applied[0].fix.title
    text = case.read_text()
    # the same layout names another array: edited, that one would have a conflict of its own
    shared = text.replace("using SmemA = ", "using Alias = ").replace("SmemA", "Alias")
    assert fixed(put(tmp_path, shared.encode())).report.findings == ()


def test_a_fix_that_does_not_help_is_rolled_back_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (CASES / "003-autovec-assumes-128bit-dynamic-lda" / "bad.cu").read_bytes()
    # the copy is built under another name, so that its thread layout cannot be edited
    data = data.replace(b"make_tiled_copy(", b"BUILD(")
    data = data.replace(b"using LoadA", b"#define BUILD make_tiled_copy\nusing LoadA")
    file = put(tmp_path, data)
    assert main(["check", str(file), "--arch", "sm_80", "--unsafe-fixes", "--output-format", "concise"]) == 1
    said = capsys.readouterr()
    assert "CUT402" in said.out
    assert "rolled back" in said.err and "a new finding appears" in said.err
    assert file.read_bytes() == data


ROW_OF_33 = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k() {
  __shared__ ALIGN float buf[32 * 36];
  buf[threadIdx.x] = 0; __syncthreads();
  auto s = make_tensor(make_smem_ptr(buf), Layout<Shape<_32, _32>, Stride<Int<ROW>, _1>>{});
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                               Layout<Shape<_1, _4>>{});
  auto source = tiled.get_slice(threadIdx.x).partition_S(s);
  auto r = make_fragment_like(source);
  copy(tiled, source, r);
}
void run() { k<<<1, 128>>>(); }
"""


@pytest.mark.parametrize("align", ["", "alignas(16)"])
def test_alignment_of_an_array_is_offered_only_where_it_is_at_fault(tmp_path: Path, align: str) -> None:
    file = put(tmp_path, ROW_OF_33.replace("ALIGN", align).replace("ROW", "33").encode())
    (finding,) = fixed(file, unsafe=False).report.findings
    assert finding.code == "CUT402" and "a stride of 33 elements" in finding.message
    assert finding.fixes == ()


def test_links_and_files_outside_are_never_written(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    real = put(outside, ROWS)
    (inside / "link.cu").symlink_to(real)
    (inside / "folder").symlink_to(outside)
    header = put(outside, ROWS.replace(b"#include", b"#include"), "k.hpp")
    put(inside, b'#include "k.hpp"\n', "b.cu")
    run = check_and_fix(inputs([str(inside)]), Settings(arch=("sm_80",), include=(str(outside),)), True)
    assert run.applied == [] and run.contents == {}
    assert main(["check", str(inside), "-I", str(outside), "--arch", "sm_80", "--unsafe-fixes"]) in (0, 1)
    assert real.read_bytes() == ROWS and header.read_bytes() == ROWS
    assert main(["check", str(inside / "link.cu"), "--arch", "sm_80", "--fix"]) == 1
    assert real.read_bytes() == ROWS and (inside / "link.cu").is_symlink()


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecheck.engine.fixes import RefusedError, write_all

    file = put(tmp_path, ROWS)
    run = fixed(file)
    file.write_bytes(ROWS + b"// mine\n")
    with pytest.raises(RefusedError):
        write_all(run)
    assert file.read_bytes() == ROWS + b"// mine\n"


def test_mode_of_the_file_stays(tmp_path: Path) -> None:
    file = put(tmp_path, ROWS)
    file.chmod(0o640)
    assert main(["check", str(file), "--arch", "sm_80", "--fix"]) == 0
    assert os.stat(file).st_mode & 0o777 == 0o640  # noqa: PTH116


def test_unused_suppressions_go(tmp_path: Path) -> None:
    file = put(tmp_path, ROWS.replace(b"using Elem", b"// cutecheck: ignore[CUT104] never\nusing Elem"))
    assert main(["check", str(file), "--arch", "sm_80", "--fix"]) == 0
    assert b"cutecheck" not in file.read_bytes() and b"\n\nusing Elem = half_t;\nusing Mma" in file.read_bytes()


@pytest.mark.parametrize("codes", ["CUT901,CUT101", "CUT101 , CUT901", "CUT502, CUT101,CUT901"])
def test_an_unused_code_goes_and_the_others_stay(codes: str, tmp_path: Path) -> None:
    line = next(part for part in ROWS.split(b"\n") if b"copy(" in part)
    file = put(tmp_path, ROWS.replace(line, line + f"  // cutecheck: ignore[{codes}] why".encode()))
    assert main(["check", str(file), "--arch", "sm_80", "--fix"]) == 0
    assert b"// cutecheck: ignore[CUT101] why" in file.read_bytes()


def test_json_lists_the_fixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = put(tmp_path, ROWS)
    main(["check", str(file), "--arch", "sm_80", "--output-format", "json"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    (fix,) = finding["fixes"]
    assert fix["safe"] is True and fix["title"] == "swizzle the layout by Swizzle<3,3,3>"
    (edit,) = fix["edits"]
    assert (edit["path"], edit["line"], edit["replacement"]) == ("a.cu", 9, SWIZZLED.decode())


def test_a_crash_in_a_remedy_is_one_line_and_costs_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecheck.engine.fixes import remedies

    def broken(*_: object) -> object:
        raise RuntimeError("lost")

    monkeypatch.setitem(remedies.REMEDIES, "CUT101", (broken,))
    run = fixed(put(tmp_path, ROWS))
    assert run.applied == [] and [f.code for f in run.report.findings] == ["CUT101"]
    assert [f.message for f in run.report.failures] == ["internal error in the fixes of CUT101: RuntimeError: lost"]


def test_places_move_with_the_text() -> None:
    changes = [Change(2, 4, "abc"), Change(8, 8, "!")]
    assert [moved(i, changes) for i in range(11)] == [0, 1, 2, 2, 5, 6, 7, 8, 10, 11, 12]
    source = SourceText("a.py", Path("a.py"), b"ab\r\ncd\r\n")
    assert source.edited([Change(0, 1, "x\ny")]) == b"x\r\nyb\r\ncd\r\n"
    assert source.region(source.span(4, 6)) == (4, 6)


def test_nothing_to_fix_is_one_check(tmp_path: Path) -> None:
    calls = 0

    def checker() -> object:
        nonlocal calls
        calls += 1
        from cutecheck.facts import Facts
        from cutecheck.report.data import Report
        from cutecheck.rules import Context

        return Report(Facts()), Context(Facts(), lambda o: None)  # type: ignore[arg-type,return-value]

    run = fix_all((tmp_path,), checker, True)  # type: ignore[arg-type]
    assert calls == 1 and list(difference(run)) == []


TWO_VIEWS = b"""#include <cute/tensor.hpp>
using namespace cute;
using Words = Layout<Shape<_8, _32>, Stride<_1, _8>>;
using Rows = Layout<Shape<_2, _128>, Stride<_128, _1>>;
using Fill = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, uint32_t>{},
    Layout<Shape<_1, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(32) k(uint32_t const* w, uint32_t* out) {
  __shared__ alignas(128) uint32_t words[256];
  Tensor rows = make_tensor(make_smem_ptr(words), Rows{});
  Tensor mine = make_tensor(make_smem_ptr(words), Words{});
  auto thr = Fill{}.get_slice(threadIdx.x);
  copy(Fill{}, thr.partition_S(make_tensor(make_gmem_ptr(w), Rows{})), thr.partition_D(rows));
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    Tensor r = make_tensor<uint32_t>(Shape<_8>{});
    copy(AutoVectorizingCopyWithAssumedAlignment<128>{}, mine(_, threadIdx.x), r);
    out[threadIdx.x] += r(0) + r(7);
  }
}
"""


def test_a_layout_that_another_view_does_not_share_is_swizzled_only_on_demand(tmp_path: Path) -> None:
    file = put(tmp_path, TWO_VIEWS)
    assert fixed(file, unsafe=False).applied == []
    assert [a.fix.safe for a in fixed(file, unsafe=True).applied] == [False]
