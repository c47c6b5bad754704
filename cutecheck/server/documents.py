"""What the server knows of a document: one run of the checker over it, turned into the protocol's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types as lsp

from cutecheck.config import ConfigError, load_settings
from cutecheck.engine.run import Inputs, check
from cutecheck.engine.sources import SourceLines
from cutecheck.facts import SourceError, Span
from cutecheck.findings import Finding, Fix
from cutecheck.model.notation import show
from cutecheck.report.data import Report
from cutecheck.source.files import held

_SEVERITY = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_HOVERS = 4  # instantiations of one place that a hover shows


@dataclass(frozen=True, slots=True)
class Checked:
    """One run over a document of ``version``; ``lines`` gives the lines of every file of the run."""

    version: int | None
    report: Report
    lines: SourceLines
    file: Path

    def diagnostics(self) -> list[lsp.Diagnostic]:
        """Findings and errors of the document itself, one a (rule, place)."""
        found = {(f.code, f.span): f for f in reversed(self.report.findings) if self._own(f.span)}
        errors = [e for e in (*self.report.errors, *self.report.failures) if e.span is None or self._own(e.span)]
        return [*(self._diagnostic(f) for f in reversed(found.values())), *(self._error(e) for e in errors)]

    def hover(self, line: int, column: int) -> lsp.Hover | None:
        """Values of the configurations that stand at a place (1-based line and column of characters)."""
        here = [s for s in self.report.facts.sites if self._own(s.span) and _holds(s.call_span, line, column)]
        if not here:
            return None
        least = min(here, key=lambda s: (s.call_span.end_line - s.call_span.line, s.call_span.end_column))
        same = [s for s in here if s.call_span == least.call_span]
        parts = []
        for site in same[:_HOVERS]:
            where = ", ".join(f"{k} = {v}" for k, v in site.bindings)
            head = f"{site.kind} `{site.symbol.rsplit('::', 1)[-1]}`, {site.arch}{f', {where}' if where else ''}"
            body = f"```text\n{show(site.value)}\n```" if site.value is not None else f"{site.status}: {site.reason}"
            parts.append(f"{head}\n\n{body}")
        if len(same) > _HOVERS:
            parts.append(f"and {len(same) - _HOVERS} more instantiations")
        text = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n".join(parts))
        return lsp.Hover(text, self.range(least.call_span))

    def fixes(self, wanted: lsp.Range) -> list[tuple[Finding, Fix]]:
        """Fixes of the document's findings that touch a range, each once."""
        found: dict[tuple[str, Span, str], tuple[Finding, Fix]] = {}
        for finding in self.report.findings:
            place = self.range(finding.span)
            if self._own(finding.span) and place.start <= wanted.end and wanted.start <= place.end:
                for fix in finding.fixes:
                    found.setdefault((finding.code, finding.span, fix.title), (finding, fix))
        return list(found.values())

    def range(self, span: Span) -> lsp.Range:
        """A span in the protocol's terms: 0-based, columns in UTF-16 code units."""
        lines = self.lines(span.path) or []
        return lsp.Range(_position(lines, span.line, span.column), _position(lines, span.end_line, span.end_column))

    def uri(self, path: str) -> str:
        return (self.lines.file(path) or Path(path)).resolve().as_uri()

    def _own(self, span: Span) -> bool:
        file = self.lines.file(span.path)
        return file is not None and file.resolve() == self.file.resolve()

    def _diagnostic(self, finding: Finding) -> lsp.Diagnostic:
        texts = [finding.message]
        if finding.witness is not None:
            texts.append(f"witness: {finding.witness.summary}")
        if finding.help:
            texts.append(f"help: {finding.help}")
        return lsp.Diagnostic(
            range=self.range(finding.span),
            message="\n".join(texts),
            severity=_SEVERITY[finding.severity],
            code=finding.code,
            source="cutecheck",
            related_information=[
                lsp.DiagnosticRelatedInformation(lsp.Location(self.uri(r.span.path), self.range(r.span)), r.label)
                for r in finding.related
            ],
        )

    def _error(self, error: SourceError) -> lsp.Diagnostic:
        start = lsp.Position(0, 0)
        place = lsp.Range(start, start) if error.span is None else self.range(error.span)
        return lsp.Diagnostic(place, error.message, severity=lsp.DiagnosticSeverity.Error, source="cutecheck")


def run(file: Path, root: Path | None, contents: Mapping[Path, bytes], version: int | None) -> Checked:
    """Check one document within the tree at ``root``, with what the editor holds in place of files. Raises nothing
    but ConfigError's text as an error of the document."""
    with held(contents):
        paths = (file,) if root is None else (root, file)
        lines = SourceLines(paths)
        try:
            settings = replace(load_settings([file]), jobs=1)  # this is a thread: no place to fork
            given = Inputs((file,), ()) if root is None else Inputs((root,), (), (file,))
            report = check(given, settings)
        except ConfigError as error:
            from cutecheck.facts import Facts

            report = Report(Facts(), errors=(SourceError(file.as_posix(), str(error)),))
        for path in dict.fromkeys(_paths(report)):
            lines(path)  # read now, while the editor's contents are in place
    return Checked(version, report, lines, file)


def _paths(report: Report) -> list[str]:
    found = [s.span.path for s in report.facts.sites]
    for finding in report.findings:
        found += [finding.span.path, *(r.span.path for r in finding.related)]
        found += [e.span.path for f in finding.fixes for e in f.edits]
    return found + [e.span.path for e in (*report.errors, *report.failures) if e.span is not None]


def _holds(span: Span, line: int, column: int) -> bool:
    return (span.line, span.column) <= (line, column) < (span.end_line, span.end_column)


def _position(lines: list[str], line: int, column: int) -> lsp.Position:
    text = lines[line - 1][: column - 1] if 0 < line <= len(lines) else ""
    return lsp.Position(max(line - 1, 0), len(text.encode("utf-16-le")) // 2)


def column_of(line: str, character: int) -> int:
    """The 1-based column of characters of a position in UTF-16 code units."""
    units = 0
    for index, char in enumerate(line):
        if units >= character:
            return index + 1
        units += 2 if ord(char) > 0xFFFF else 1
    return len(line) + 1
