"""What a rule says of itself, as plain text for a terminal and as a page of ``docs/rules``."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from cutecheck.rules.base import Rule, documentation
from cutecheck.rules.examples import is_python

_CODE_SECTIONS = ("Example", "Use instead")


def title(rule: type[Rule]) -> str:
    """``CUT101 bank-conflict-read``."""
    return f"{rule.code} {rule.name}"


def file_name(rule: type[Rule]) -> str:
    """Name of its page."""
    return f"{rule.code}-{rule.name}.md"


def text(rule: type[Rule]) -> str:
    """The rule for a terminal."""
    doc = documentation(rule)
    parts = [f"{title(rule)} ({rule.family}; {rule.severity}, {rule.confidence})", "", doc.summary, ""]
    for heading, body in (*doc.sections, *_unasked(rule), *_examples(rule)):
        parts += [heading, *(f"    {line}".rstrip() for line in body.splitlines()), ""]
    return "\n".join(parts)


def page(rule: type[Rule]) -> str:
    """The rule in Markdown, the same text."""
    doc = documentation(rule)
    about = f"Family `{rule.family}`, severity {rule.severity}, confidence {rule.confidence}."
    parts = [f"# {title(rule)}", "", doc.summary, "", about, ""]
    for heading, body in doc.sections:
        parts += [f"## {heading}", "", _fenced(body) if heading in _CODE_SECTIONS else _spans(body), ""]
    for heading, body in _unasked(rule):
        parts += [f"## {heading}", "", _spans(body), ""]
    for heading, body in _examples(rule):
        parts += [f"## {heading}", "", _fenced(body), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def index(rules: Iterable[type[Rule]]) -> str:
    """The list of all rules in Markdown."""
    head = [
        "# Rules",
        "",
        "Written by `scripts/rule_pages.py` from the rules themselves; `cutecheck rule CODE` shows the same text.",
        "",
        "| code | name | severity | what it reports |",
        "|---|---|---|---|",
    ]
    rows = [
        f"| [{r.code}]({file_name(r)}) | {r.name} | {r.severity} | {_spans(documentation(r).summary)} |" for r in rules
    ]
    return "\n".join([*head, *rows]) + "\n"


def pages(rules: Iterable[type[Rule]]) -> dict[str, str]:
    """Every page by its file name, the index as ``README.md``."""
    rules = tuple(rules)
    return {"README.md": index(rules), **{file_name(r): page(r) for r in rules}}


def _unasked(rule: type[Rule]) -> list[tuple[str, str]]:
    """Why there is nothing to prove, for a rule of which that is so."""
    return [("Obligations", rule.unasked)] if rule.unasked else []


def _examples(rule: type[Rule]) -> list[tuple[str, str]]:
    """The sources that are checked as tests, without the includes that every one begins with."""
    return [
        (f"{heading} for {', '.join(rule.arch)}" if rule.arch else heading, inspect.cleandoc(example))
        for heading, examples in (("Reported", rule.invalid), ("Not reported", rule.valid))
        for example in examples
    ]


def _fenced(body: str) -> str:
    return f"```{'python' if is_python(body) or 'cute.' in body else 'cpp'}\n{body}\n```"


def _spans(body: str) -> str:
    """Two backquotes of a docstring are one in Markdown."""
    return body.replace("``", "`")
