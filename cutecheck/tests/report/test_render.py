"""The renderers: layout of the full report, stability of the concise one, safety of the text."""

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.facts import Facts, Site, SourceError, Span, Unknown
from cutecheck.findings import Edit, Finding, Fix, Related
from cutecheck.model.prove import contracts
from cutecheck.model.prove.obligation import Obligation, Outcome, Verdict, Witness
from cutecheck.report import concise, full, terminal
from cutecheck.report.data import Report, summarise
from cutecheck.report.json import check_json
from cutecheck.report.snippet import Line, Mark, snippet
from cutecheck.report.summary import summary_lines
from cutecheck.report.text import safe, width

SOURCE = ["using L = Layout<_8>;", "int a;", "int b;", "int c;", "\tcopy(t, s, d);"]


def finding(**changes: object) -> Finding:
    values: dict[str, object] = {
        "code": "CUT101", "name": "bank-conflict-read", "family": "bank-conflict-read", "severity": "warning",
        "confidence": "proved", "span": Span("k.cu", 5, 2, 5, 6), "message": "32 wavefronts, 4 suffice",
        "label": "this copy", "help": "swizzle it", "witness": Witness("lane 0 and lane 4 meet in bank 0"),
        "related": (Related(Span("k.cu", 1, 11, 1, 21), "the layout"), Related(Span("t.h", 9, 1, 9, 2), "the atom")),
        "arch": "sm_80",
    }  # fmt: skip
    values.update(changes)
    return Finding(**values)  # type: ignore[arg-type]


def text(report: Report, **options: object) -> list[str]:
    return [line.text for line in full.render(report, **options)]  # type: ignore[arg-type]


def report(*findings: Finding) -> Report:
    return Report(Facts(), findings, lines=lambda path: SOURCE if path == "k.cu" else None)


def test_full_report_to_the_letter() -> None:
    assert text(report(finding()))[:-1] == [
        "warning[CUT101] bank-conflict-read: 32 wavefronts, 4 suffice",
        "  --> k.cu:5:2",
        "  |",
        "1 | using L = Layout<_8>;",
        "  |           ---------- the layout",
        "...",
        "5 |     copy(t, s, d);",
        "  |     ^^^^ this copy",
        "  |",
        "  ::: t.h:9:1: the atom",
        "  = witness: lane 0 and lane 4 meet in bank 0",
        "  = help: swizzle it",
        "  = in: sm_80",
        "",
    ]


def test_fixes_that_are_called_alike_are_told_apart_by_where_they_edit() -> None:
    edits = [(Edit(Span("k.cu", line, 1, line, 4), "x"),) for line in (1, 2)]
    one, two = (Fix("swizzle the layout", e, False) for e in edits)
    shown = text(report(finding(fixes=(one, two))))
    assert [x for x in shown if "fix" in x] == [
        f"  = fix (unsafe): swizzle the layout, at k.cu:{line}:1" for line in (1, 2)
    ]
    assert "  = fix (unsafe): swizzle the layout" in text(report(finding(fixes=(one,))))


def test_instantiations_of_one_place_fold_into_the_worst() -> None:
    lines = text(report(finding(arch="sm_80"), finding(arch="sm_90", severity="error", message="64 wavefronts")))
    assert sum("CUT101" in line for line in lines) == 1
    assert "error[CUT101] bank-conflict-read: 64 wavefronts" in lines
    assert "  = in: sm_90 and 1 more instantiation" in lines


def test_concise_is_stable_and_ends_with_the_summary() -> None:
    lines = list(concise.render(report(finding())))
    assert lines[0] == "k.cu:5:2: CUT101 32 wavefronts, 4 suffice"
    assert lines[-1].startswith("1 warning; 0 of 0 files with CuTe; 0 sites found, 0 resolved, 0 symbolic, 0 unknown")


def test_summary_counts_distinct_sites_and_says_what_is_not_verified() -> None:
    def site(line: int, status: str, binding: str) -> Site:
        span = Span("k.cu", line, 1, line, 2)
        return Site(f"s{line}", "layout", "L", span, span, (("N", binding),), "sm_80", status)  # type: ignore[arg-type]

    in_part = (site(1, "resolved", "1"), site(1, "unknown", "2"))
    facts = Facts(sites=(*in_part, site(2, "resolved", "1"), site(2, "unbound", "2"), site(3, "unknown", "1")), files=3)
    outcome = Outcome(Obligation("o", "coverage", (), None), Verdict.UNKNOWN, reason="timeout")
    summary = summarise(Report(facts, outcomes=(outcome,)))
    assert (summary.sites, summary.status("resolved"), summary.status("unknown")) == (3, 1, 1)
    assert summary.not_verified == 3
    rendered = list(concise.render(Report(facts, outcomes=(outcome,))))
    assert rendered[-1] == "not fully verified: 3 unknown"
    assert "3 sites found, 1 resolved, 1 partly resolved, 0 symbolic, 1 unknown, 0 unbound" in rendered[-2]
    assert "1 obligation: 0 proved, 0 refuted, 1 unknown" in rendered[-2]
    assert "not fully verified" not in "\n".join(concise.render(Report(facts, outcomes=(outcome,)), "ignore"))


def test_the_summary_names_contracts_that_would_settle_what_is_unknown() -> None:
    def under(contract: str, verdict: Verdict = Verdict.UNKNOWN) -> Outcome:
        return Outcome(Obligation("o", "vector-aligned", (), None), verdict, reason=contracts.reason(contract))

    outcomes = (
        *(under("params.lda % 8 == 0 and params.n % 8 == 0"), under("params.lda % 8 == 0")),
        *(under("params.lda % 8 == 0 and the two branches of ?: % 4 == 0"), under("k % 8 == 0", Verdict.VACUOUS)),
    )
    summary = summarise(Report(Facts(), outcomes=outcomes))
    assert (summary.under_contract, summary.contracts) == (2, (("params.lda % 8 == 0", 2), ("params.n % 8 == 0", 1)))
    assert summary_lines(summary)[-1] == (
        "not fully verified: 4 unknown; 2 of them hold under contracts that nothing in the source states: "
        "params.lda % 8 == 0 (2), params.n % 8 == 0 (1) (key `assume`)"
    )
    many = tuple(under(f"n{i} % 8 == 0") for i in range(6))
    assert "n3 % 8 == 0 (1) and 2 more (key" in summary_lines(summarise(Report(Facts(), outcomes=many)))[-1]


def test_assumptions_of_one_name_are_one_kind() -> None:
    said = [(f"N#{i} is a multiple of 128 bytes", f"sym{i}:i64 is the {i} elements of a row") for i in (12, 59)]
    said.append(("lda is a multiple of 128 bytes", "shared-memory base is a multiple of 1024 bytes"))
    outcomes = [Outcome(Obligation("o", "coalesced", (), None, assumptions=a), Verdict.PROVED) for a in said]
    assert summarise(Report(Facts(), outcomes=tuple(outcomes))).assumptions == (
        ("strides are multiples of 128 bytes", 3),
        ("strides are the elements of a row", 2),
        ("shared-memory base is a multiple of 1024 bytes", 1),
    )


def test_show_proofs_lists_scope_assumptions_and_reason() -> None:
    outcome = Outcome(
        Obligation("o", "coverage", (), None, assumptions=("x",)), Verdict.PROVED, scope="all 128 threads",
        assumptions=("access-model: sm_90",),
    )  # fmt: skip
    lines = text(Report(Facts(), outcomes=(outcome,)), show_proofs=True)
    assert lines[:3] == ["proved: coverage [o]", "  = scope: all 128 threads", "  = assuming: access-model: sm_90"]


def test_errors_are_one_line_each() -> None:
    facts_error = SourceError("bad.cu", "not UTF-8: byte 0xff at offset 3")
    placed = SourceError("k.cu", "syntax error\x1b[2J", Span("k.cu", 3, 4, 3, 5))
    lines = list(concise.render(Report(Facts(), errors=(facts_error,), failures=(placed,))))
    assert lines[0] == "bad.cu: error: not UTF-8: byte 0xff at offset 3"
    assert lines[1] == "k.cu:3:4: error: syntax error\\x1b[2J"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\tb", "a    b"),
        ("\u202eevil", "\\u202eevil"),
        ("\x9b2J", "\\x9b2J"),
        ("é漢", "é漢"),
    ],
)
def test_safe(raw: str, shown: str) -> None:
    assert safe(raw) == shown


@given(st.text())
def test_nothing_that_moves_the_cursor_gets_through(raw: str) -> None:
    shown = safe(raw)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or ord(c) in (0x202E, 0x2066, 0x200B) for c in shown)
    assert width(shown) >= 0


@given(st.lists(st.text(max_size=12), max_size=4), *(st.integers(-2, 30) for _ in range(4)))
def test_snippets_never_fail_on_odd_spans(lines: list[str], line: int, column: int, end: int, end_column: int) -> None:
    span = Span("k.cu", line, max(column, 1), max(end, line), max(end_column, 1))
    for out in snippet(lines, [Mark(span, "l", True)], "error"):
        assert "\n" not in out.text


def test_carets_align_under_tabs_and_wide_characters() -> None:
    out = snippet(["\t漢x;"], [Mark(Span("k", 1, 3, 1, 4), "", True)], "error")
    assert [line.text for line in out][1:3] == ["1 |     漢x;", "  |       ^"]


def test_plain_without_a_terminal_and_colours_when_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    stream = io.StringIO()
    terminal.write([Line("hello", "error")], stream)
    assert stream.getvalue() == "hello\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = io.StringIO()
    terminal.write([Line("hello [red]x", "error")], coloured)
    assert "\x1b[" in coloured.getvalue() and "hello [red]x" in coloured.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.wants_colour(stream)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_places_are_links_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    (tmp_path / "a b;\x1b]é.cu").write_text("", encoding="utf-8")
    lines = [Line("  --> a", "frame", "a b;\x1b]é.cu"), Line("  --> b", "frame", "not there.cu"), Line("plain")]
    out = _Terminal()
    terminal.write(lines, out)
    links = re.findall(r"\x1b]8;[^;]*;([^\x1b]*)\x1b\\", out.getvalue())
    assert [link for link in links if link] == [(tmp_path / "a b;\x1b]é.cu").resolve().as_uri()]
    assert re.fullmatch(r"[!-~]+", links[0]) and ";" not in links[0].removeprefix("file:")
    monkeypatch.setenv("FORCE_COLOR", "1")
    log = io.StringIO()
    terminal.write(lines, log)
    assert "\x1b[" in log.getvalue() and "\x1b]8" not in log.getvalue()


def test_the_place_of_a_finding_is_its_file() -> None:
    files = {line.text.strip(): line.file for line in full.render(Report(Facts(), (finding(),))) if line.file}
    assert files and all(text.split()[1].startswith(file + ":") for text, file in files.items())


def test_json_keeps_unknown_reasons_and_is_serialisable() -> None:
    span = Span("k.cu", 1, 1, 1, 2)
    site = Site("s", "layout", "L", span, span, (), "sm_80", "unknown", None, Unknown("why", span))
    document = json.loads(json.dumps(check_json(Report(Facts(sites=(site,)), (finding(),)))))
    assert document["summary"]["sites"]["unknown"] == 1
    assert document["findings"][0]["witness"]["summary"].startswith("lane 0")
    assert document["findings"][0]["related"][0]["label"] == "the layout"
