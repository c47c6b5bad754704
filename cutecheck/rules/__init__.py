"""Rules: each maps facts to obligations, and their outcomes to findings. One rule a file."""

from cutecheck.rules.base import SECTIONS, Context, Rule, RuleDoc, documentation
from cutecheck.rules.registry import RULES, find, selected

__all__ = ["RULES", "SECTIONS", "Context", "Rule", "RuleDoc", "documentation", "find", "selected"]
