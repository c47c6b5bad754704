"""Facts and reports in JSON meet the published schemas."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cutecheck.cli.rule import rule_json
from cutecheck.facts import Event, Facts, Guard, Site, SmemBuffer, SourceError, Span, TensorFact, Unknown
from cutecheck.facts.json import facts_json, tensor_json
from cutecheck.findings import Edit, Finding, Fix, Related
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import Layout
from cutecheck.model.prove.obligation import (
    EngineRun,
    FiniteSet,
    Multiple,
    Obligation,
    Outcome,
    Range,
    Verdict,
    Witness,
)  # fmt: skip
from cutecheck.report.data import Report, Suppressed
from cutecheck.report.json import check_json
from cutecheck.rules import RULES

SCHEMAS = Path(__file__).parents[3] / "docs" / "schema"
SPAN = Span("a/k.cu", 3, 1, 3, 9)
LAYOUT = Layout((8, 8), (1, 8))


def validate(document: Any, name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(document)), schema)


def sample_facts() -> Facts:
    tensor = TensorFact("sA", SPAN, "smem", LAYOUT, dtype("half_t"), "smem", Dyn.named("t"), 16, "partition")
    blind = TensorFact("x", SPAN, "unknown", Unknown("opaque call", SPAN), None, None, Unknown("opaque call"))
    return Facts(
        sites=(
            Site("s1", "layout", "L", SPAN, SPAN, (("N", "8"),), "sm_80", "resolved", LAYOUT),
            Site("s2", "tiled_mma", "M", SPAN, SPAN, (), "sm_80", "unknown", None, Unknown("no header", SPAN)),
        ),
        events=(
            Event(
                "e1", "copy", "copy", SPAN, None, None, (tensor, blind), None, False, "k", "sm_80", 1,
                (Guard("t < 8", SPAN),), 128, Unknown("destination"),
            ),
        ),
        buffers=(  # one that escapes
            SmemBuffer("b", "s", SPAN, "sm_80", "k", Dyn.named("n"), 16, 16, ("e1",), False, (Unknown("asm", SPAN),)),
        ),
        errors=(SourceError("b.cu", "not UTF-8"), SourceError("c.cu", "syntax error", SPAN)),
    )  # fmt: skip


def test_facts_schema() -> None:
    document = facts_json(sample_facts(), lambda value: {"text": str(value)})
    validate(document, "facts")
    assert [s["status"] for s in document["sites"]] == ["resolved", "unknown"]
    assert document["sites"][1]["printed"] is None and document["sites"][1]["reason"]["message"] == "no header"
    assert document["events"][0]["operands"][1]["layout"] is None
    assert document["buffers"][0]["size_bytes"] == "n"


def test_check_schema() -> None:
    witness = Witness("two lanes meet", (("lane", 3), ("layout", "x")), ("lane 0", "lane 3"))
    fix = Fix("pad", (Edit(SPAN, "132"),), True)
    finding = Finding(
        "CUT901", "comma-drops-coordinate", "lint", "warning", "proved", SPAN, "m", "l", "h", witness,
        (Related(SPAN, "here"),), (fix,), "k", "sm_80",
    )  # fmt: skip
    obligation = Obligation(
        "o", "coverage", ("s1",), LAYOUT,
        (("n", FiniteSet((1, 2))), ("m", Multiple(8, 8, None)), ("k", Range(1, 4))), (), ("a",), "all", "sm_80", SPAN,
    )  # fmt: skip
    outcome = Outcome(obligation, Verdict.REFUTED, (EngineRun("z3", "fails", 1.5),), witness, measure=(("excess", 28),))
    report = Report(sample_facts(), (finding,), (Suppressed(finding, "why"),), (outcome,), sample_facts().errors)
    document = check_json(report)
    validate(document, "check")
    assert document["obligations"][0]["measure"] == {"excess": 28}
    assert document["summary"]["suppressed"] == 1


def test_empty_documents() -> None:
    validate(facts_json(Facts(), str), "facts")
    validate(check_json(Report(Facts())), "check")


def test_rule_schema() -> None:
    validate({"schema_version": 1, "rules": [rule_json(r) for r in RULES]}, "rule")


def test_a_schema_can_fail() -> None:
    document = facts_json(sample_facts(), str)
    document["sites"][0]["status"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        validate(document, "facts")


def test_offsets_are_written_out() -> None:
    i = Dyn.named("i")
    tensor = TensorFact("t", SPAN, "coord", Layout((8, 4), (1, 8)), None, offset=(i * 64, (3, i + 1)))
    assert tensor_json(tensor, str)["offset"] == "(64*i,(3,i + 1))"
    assert tensor_json(replace(tensor, offset=i), str)["offset"] == "i"
