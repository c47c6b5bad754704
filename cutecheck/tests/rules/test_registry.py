"""Codes, names, documentation and selection of the rules."""

import re
from typing import get_args

import pytest

from cutecheck.findings import UnknownRuleError
from cutecheck.rules import RULES, SECTIONS, Rule, documentation, find, selected
from cutecheck.rules.base import Family


def test_codes_and_names_are_unique_and_well_formed_and_in_order() -> None:
    codes = [r.code for r in RULES]
    assert codes == sorted(set(codes))
    assert len({r.name for r in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"CUT\d{3}", rule.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name), rule.name
        assert rule.family in get_args(Family)


# what is wrong, said by a word: a name without one (`smem-capacity`) is a topic
FAULTS = re.compile(
    r"(?:^|-)(?:not|no|without|wrong|unknown|unused|stale|unexplained|conflict|misaligned|mismatch|exceeds?|too|splits|"
    r"disagree|loses|drops|rounds|out|past|silently|slow|odd)(?:-|$)"
)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_a_name_says_what_is_wrong(rule: type[Rule]) -> None:
    assert FAULTS.search(rule.name), rule.name
    assert not FAULTS.search("smem-capacity")


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_documentation_has_every_section(rule: type[Rule]) -> None:
    doc = documentation(rule)
    assert tuple(title for title, _ in doc.sections) == SECTIONS
    assert doc.summary.endswith(".")
    assert len(doc.section("Why")) > 40


def test_documentation_refuses_what_is_missing() -> None:
    class Bare(Rule):
        """One line."""

    with pytest.raises(ValueError, match="expected What it checks"):
        documentation(Bare)


def test_selection_by_prefix_name_and_longest_match() -> None:
    everything = {r.code for r in RULES}
    assert {r.code for r in selected()} == everything
    assert {r.code for r in selected(["CUT9"])} == {c for c in everything if c.startswith("CUT9")}
    assert [r.code for r in selected(["comma-drops-coordinate"])] == ["CUT901"]
    assert "CUT901" not in {r.code for r in selected(ignore=["CUT9"])}
    assert "CUT901" in {r.code for r in selected(["CUT901"], ignore=["CUT9"])}
    assert "CUT901" not in {r.code for r in selected(["CUT9"], ignore=["CUT901"])}
    assert {r.code for r in selected(["CUT0"], extend_select=["CUT901"])} >= {"CUT001", "CUT901"}


def test_unknown_selectors_are_errors_with_a_suggestion() -> None:
    with pytest.raises(
        UnknownRuleError, match="no rule matches 'coma-coordinate'; did you mean 'comma-drops-coordinate'"
    ):
        find("coma-coordinate")
    with pytest.raises(UnknownRuleError):
        selected(["CUT999"])
