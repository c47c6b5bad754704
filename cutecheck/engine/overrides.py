"""What the configuration changes of findings: severities by rule, and rules and severities by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from cutecheck.config import Settings
from cutecheck.findings import Finding, Severity
from cutecheck.rules import Rule
from cutecheck.rules.registry import find

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Overrides:
    """The overrides of one run; ``file`` says which file a shown path is. Raises UnknownRuleError for a selector.

    Patterns are those of .gitignore, relative to the folder of the configuration file (or where the run stands).
    """

    def __init__(self, settings: Settings, file: Callable[[str], Path | None]) -> None:
        self._file = file
        self._root = Path(settings.origin).absolute().parent if settings.origin else Path.cwd()
        self._severity = _chosen(settings.severity)
        self._paths = [
            (_pattern(glob), [r.code for s in ignore for r in find(s)], _chosen(levels))
            for glob, ignore, levels in settings.per_path
        ]

    def __call__(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are left, with their severities."""
        if not self._severity and not self._paths:
            return list(findings)
        return [kept for f in findings if (kept := self._one(f)) is not None]

    def _one(self, finding: Finding) -> Finding | None:
        level = self._severity.get(finding.code)
        place = self._place(finding.span.path) if self._paths else ""
        for pattern, ignored, levels in self._paths:
            if pattern.match_file(place):
                if finding.code in ignored:
                    return None
                level = levels.get(finding.code, level)
        return finding if level is None else replace(finding, severity=level)

    def _place(self, shown: str) -> str:
        file = self._file(shown)
        try:
            return shown if file is None else file.absolute().relative_to(self._root).as_posix()
        except ValueError:
            return shown


def _chosen(levels: Sequence[tuple[str, str]]) -> dict[str, Severity]:
    """The severity of each code: the longest matching selector decides."""
    found: dict[str, tuple[int, Severity]] = {}
    for selector, level in levels:
        assert level in get_args(Severity)
        for rule in find(selector):
            weight = _weight(selector, rule)
            if rule.code not in found or weight >= found[rule.code][0]:
                found[rule.code] = (weight, cast(Severity, level))
    return {code: level for code, (_, level) in found.items()}


def _weight(selector: str, rule: type[Rule]) -> int:
    return 0 if selector == "ALL" else 100 if selector == rule.name else len(selector)


def _pattern(glob: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # most runs have none, and it takes time to read

    return GitIgnoreSpec.from_lines([glob])
