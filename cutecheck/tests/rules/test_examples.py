"""The examples in the rules' classes, through the whole pipeline: INVALID gives the rule's code, VALID does not."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules import RULES, Rule
from cutecheck.rules.examples import file_name, source
from cutecheck.rules.own import StaleBaseline, UnexplainedSuppression

EXAMPLES = [
    pytest.param(rule, text, wrong, id=f"{rule.code}-{'invalid' if wrong else 'valid'}{i}")
    for rule in RULES
    for wrong, texts in ((False, rule.valid), (True, rule.invalid))
    for i, text in enumerate(texts)
]


def codes(example: str, folder: Path, rule: type[Rule]) -> list[str]:
    path = folder / file_name(example)
    path.write_text(source(example))
    report = check(inputs([str(path)]), Settings(arch=rule.arch))
    assert not report.failures and not report.errors
    return [f.code for f in report.findings]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_every_rule_has_both(rule: type[Rule]) -> None:
    if rule in (StaleBaseline, UnexplainedSuppression):  # a baseline's, or asked for: cli/test_gate.py
        assert not rule.valid and not rule.invalid
    else:
        assert rule.valid and rule.invalid


@pytest.mark.parametrize(("rule", "example", "wrong"), EXAMPLES)
def test_example(rule: type[Rule], example: str, wrong: bool, tmp_path: Path) -> None:
    found = codes(example, tmp_path, rule)
    if wrong:
        assert rule.code in found
    else:
        assert found == []
