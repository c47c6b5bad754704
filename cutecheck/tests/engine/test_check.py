"""Facts to report: ordering, suppressions, crashes of a rule, exit codes."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cutecheck.engine.check import check_facts
from cutecheck.engine.status import Exit, exit_code
from cutecheck.facts import Facts, Lint, SourceError, Span
from cutecheck.findings import Finding
from cutecheck.model.expr import const, var
from cutecheck.model.ints import Condition, NotModelledError, Rel, UndecidedError
from cutecheck.model.prove.obligation import Obligation, Outcome, Verdict
from cutecheck.report.data import Report
from cutecheck.rules import Rule, selected

PATH = "k.cu"


def no_prover(obligation: Obligation) -> Outcome:
    raise AssertionError(f"no obligation expected: {obligation}")


def comma(line: int, text: str = "(0, _)") -> Lint:
    return Lint("comma-drops-coordinate", Span(PATH, line, 5, line, 11), text)


def run(source: str, lints: tuple[Lint, ...], rules: tuple[type[Rule], ...] | None = None) -> Report:
    lines = source.splitlines()
    return check_facts(Facts(lints=lints), rules or selected(), no_prover, lambda _: lines)


def test_findings_are_ordered_and_deduplicated() -> None:
    report = run("a\nb\nc\n", (comma(3), comma(1), comma(3)))
    assert [f.span.line for f in report.findings] == [1, 3]
    assert "only `_` reaches the call" in report.findings[0].message


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = f((0, _));  // cutecheck: ignore[CUT901] on purpose\n", "on purpose"),
        ("// cutecheck: ignore[comma-drops-coordinate] -- by name\nf((0, _));\n", "by name"),
        ("# cutecheck: ignore[CUT9]\n\n// more words\nf((0, _))\n", ""),
        ("f();\nf((0, _)); /* cutecheck: ignore every rule */\n", "every rule"),
        ("// cutecheck: ignore-file[CUT901] generated\n\n\nf((0, _));\n", "generated"),
    ],
)
def test_suppressed_findings_are_kept_apart_with_their_reason(source: str, reason: str) -> None:
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "(0, _)" in text)
    report = run(source, (comma(line),))
    assert report.findings == ()
    assert [s.reason for s in report.suppressed] == [reason]
    assert exit_code(report, "warning", "warn") is Exit.CLEAN


def test_a_suppression_reaches_one_line_and_names_its_rules() -> None:
    report = run("// cutecheck: ignore[CUT901]\nf();\nf((0, _));\n", (comma(3),))
    assert [f.code for f in report.findings] == ["CUT002", "CUT901"]
    report = run("f((0, _));  // cutecheck: ignore[CUT001]\n", (comma(1),))
    assert [f.code for f in report.findings] == ["CUT901", "CUT002"]


def test_a_range_is_silenced_and_ranges_nest() -> None:
    source = (
        "// cutecheck: ignore-begin[CUT901] outer\n\nf((0, _));\n// cutecheck: ignore-begin all of it\nf((0, _));\n"
        "// cutecheck: ignore-end\nf((0, _));\n// cutecheck: ignore-end\nf((0, _));\n"
    )
    report = run(source, (comma(3), comma(5), comma(7), comma(9)))
    assert [(f.code, f.span.line) for f in report.findings] == [("CUT002", 4), ("CUT901", 9)]
    assert [s.finding.span.line for s in report.suppressed] == [3, 5, 7]


def test_half_a_range_is_an_error_and_silences_nothing() -> None:
    report = run("// cutecheck: ignore-begin[CUT901]\nf((0, _));\n", (comma(2),))
    assert [(f.code, f.span.line) for f in report.findings] == [("CUT001", 1), ("CUT901", 2)]
    report = run("f((0, _));\n// cutecheck: ignore-end\n", (comma(1),))
    assert [(f.code, f.span.line) for f in report.findings] == [("CUT901", 1), ("CUT001", 2)]


def test_unknown_codes_are_errors_and_unselected_rules_are_not_unused() -> None:
    report = run("f((0, _));  // cutecheck: ignore[CUT777]\n", (comma(1),))
    assert {f.code: f.severity for f in report.findings} == {"CUT901": "warning", "CUT001": "error"}
    report = run("f();  // cutecheck: ignore[CUT901]\n", (comma(2),), selected(ignore=["CUT901"]))
    assert report.findings == ()


def test_a_code_that_silences_nothing_is_said_beside_one_that_does() -> None:
    text = "f((0, _));  // cutecheck: ignore[CUT901, bank-conflict-read,CUT502] why\n"
    report = run(text, (comma(1),))
    assert [f.message for f in report.findings] == [
        f"unused suppression: no finding of {code} here" for code in ("bank-conflict-read", "CUT502")
    ]
    shown = [text[f.span.column - 1 : f.span.end_column - 1] for f in report.findings]
    assert shown == ["bank-conflict-read", "CUT502"]
    assert [s.reason for s in report.suppressed] == ["why"]
    report = run("f();  // cutecheck: ignore[CUT502, CUT901]\n", (comma(2),))
    assert next(f.message for f in report.findings) == "unused suppression: no finding of CUT502, CUT901 here"


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("ingore[CUT901]", "did you mean `ignore`?"),
        ("ignore-flie[CUT901] all", "did you mean `ignore-file`?"),
        ("asume N > 0", "did you mean `assume`?"),
        ("disable[CUT901]", "begins with `disable`"),
        ("ignored on purpose", "did you mean `ignore`?"),
    ],
)
def test_a_misspelt_comment_is_an_error(comment: str, said: str) -> None:
    report = run(f"f((0, _));  // cutecheck: {comment}\n", (comma(1),))
    assert [f.code for f in report.findings] == ["CUT901", "CUT001"]
    assert said in report.findings[1].message


@pytest.mark.parametrize("comment", ["see the manual", "assume N > 0", "instantiate f<8>", "", "[CUT901]"])
def test_other_comments_are_not(comment: str) -> None:
    assert [f.code for f in run(f"f();  // cutecheck: {comment}\n", (comma(1),)).findings] == ["CUT901"]


def test_what_is_no_comment_of_python_is_none() -> None:
    lint = Lint("comma-drops-coordinate", Span("a.py", 1, 1, 1, 7), "(0, _)")
    text = 'f("// cutecheck: ignore[CUT901]")'
    report = check_facts(Facts(lints=(lint,)), selected(), no_prover, lambda _: [text])
    assert [f.code for f in report.findings] == ["CUT901"]


def test_of_a_part_of_a_tree_nothing_else_is_reported() -> None:
    lines = {
        "a.cu": ["f((0, _));"],
        "b.h": ["f((0, _));  // cutecheck: ignore[CUT101]"],
        "c.cu": ["// cutecheck: ignore[X]"],
    }
    lints = tuple(Lint("comma-drops-coordinate", Span(p, 1, 3, 1, 9), "(0, _)") for p in ("a.cu", "b.h"))
    facts = Facts(lints=lints, reported=("a.cu", "c.cu"), commented=("c.cu",))
    report = check_facts(facts, selected(), no_prover, lines.get)
    assert [(f.span.path, f.code) for f in report.findings] == [("a.cu", "CUT901"), ("c.cu", "CUT001")]
    whole = check_facts(Facts(lints=lints, commented=("c.cu",)), selected(), no_prover, lines.get)
    assert [f.code for f in whole.findings] == ["CUT901", "CUT901", "CUT002", "CUT001"]


def test_a_crashing_rule_is_one_line_and_the_others_still_run() -> None:
    class Crash(Rule):
        code, name, family, severity, confidence = "CUT999", "crash", "lint", "error", "proved"

        def on_lint(self, lint: Lint, context: object) -> list[object]:  # type: ignore[override]
            raise RuntimeError("two\nlines")

    report = run("f((0, _));\n", (comma(1),), (Crash, *selected()))
    assert [f.code for f in report.findings] == ["CUT901"]
    assert [str(e.message) for e in report.failures] == ["internal error in CUT999 crash: RuntimeError: two lines"]
    assert exit_code(report, "warning", "warn") is Exit.ERROR


@pytest.mark.parametrize(
    "error", [UndecidedError(Condition(Rel.EQ, var("n"), const(1))), NotModelledError("a fraction")]
)
def test_what_open_parameters_leave_open_is_unknown_and_no_crash(error: Exception) -> None:
    class Open(Rule):
        code, name, family, severity, confidence = "CUT999", "open", "lint", "error", "proved"

        def on_lint(self, lint: Lint, context: object) -> Iterator[Finding]:  # type: ignore[override]
            yield self.finding(lint.span, "before")
            raise error

    report = run("f((0, _));\nf((0, _));\n", (comma(1), comma(2)), (Open,))
    assert [f.message for f in report.findings] == ["before", "before"] and not report.failures
    found = [(o.verdict, o.reason, o.obligation.property, str(o.obligation.span)) for o in report.outcomes]
    assert found == [(Verdict.UNKNOWN, str(error), "open", f"{PATH}:{line}:5") for line in (1, 2)]


def test_a_crash_of_the_evaluator_fails_the_run_and_an_unreadable_file_does_not() -> None:
    unread = SourceError("a.cu", "binary file, not read")
    crash = SourceError("b.cu", "internal error while evaluating this: KeyError: 3", Span("b.cu", 1, 1, 1, 2))
    report = check_facts(Facts(errors=(unread,)), selected(), no_prover, lambda _: None)
    assert report.errors == (unread,) and exit_code(report, "warning", "warn") is Exit.CLEAN
    report = check_facts(Facts(errors=(unread, crash)), selected(), no_prover, lambda _: None)
    assert (report.errors, report.failures) == ((unread,), (crash,))
    assert exit_code(report, "warning", "warn", exit_zero=True) is Exit.ERROR


def test_a_crash_at_a_fix_is_one_line_and_the_finding_stays() -> None:
    def finish(finding: Finding, context: object) -> Finding:
        raise KeyError("lost")

    facts = Facts(lints=(comma(1),))
    report = check_facts(facts, selected(), no_prover, lambda _: ["f((0, _));"], finish=finish)
    assert [f.code for f in report.findings] == ["CUT901"]
    assert [str(e.message) for e in report.failures] == ["internal error in the fixes of CUT901: KeyError: 'lost'"]
    assert exit_code(report, "warning", "warn") is Exit.ERROR


def test_exit_codes() -> None:
    report = run("f((0, _));\n", (comma(1),))
    assert exit_code(report, "warning", "warn") is Exit.FINDINGS
    assert exit_code(report, "error", "warn") is Exit.CLEAN
    assert exit_code(report, "warning", "warn", exit_zero=True) is Exit.CLEAN
    obligation = Obligation("o1", "coverage", (), None)
    unknown = replace(report, findings=(), outcomes=(Outcome(obligation, Verdict.UNKNOWN, reason="timeout"),))
    assert exit_code(unknown, "warning", "warn") is Exit.CLEAN
    assert exit_code(unknown, "warning", "error") is Exit.FINDINGS
    disagree = replace(report, outcomes=(Outcome(obligation, Verdict.DISAGREE),))
    assert exit_code(disagree, "warning", "warn", exit_zero=True) is Exit.DISAGREE
