"""Notifications and requests of an editor; checks run beside them, the newest text wins."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from cutecheck import __version__
from cutecheck.server.documents import Checked, column_of, run
from cutecheck.source.discover import SUFFIXES

DELAY_S = 0.4  # of quiet typing before a check


class Server(LanguageServer):
    """One editor's session. A document is checked when it is opened or saved, and after a pause in typing."""

    def __init__(self, delay_s: float = DELAY_S) -> None:
        super().__init__("cutecheck", __version__)
        self.delay_s = delay_s
        self.checked: dict[str, Checked] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._one = asyncio.Lock()

    def schedule(self, uri: str, delay_s: float) -> None:
        """Check the document after the delay, unless it is scheduled anew before."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        if _file(uri).suffix in SUFFIXES:
            self._waiting[uri] = asyncio.ensure_future(self._check(uri, delay_s))

    def forget(self, uri: str) -> None:
        """A closed document has no findings to show."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self.checked.pop(uri, None)
        self._publish(uri, [], None)

    async def _check(self, uri: str, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        async with self._one:  # a check takes all of a core
            document = self._document(uri)
            if document is None:
                return
            contents = {_file(d.uri): d.source.encode() for d in self.workspace.text_documents.values()}
            root = self._root(_file(uri))
            try:
                done = await asyncio.to_thread(run, _file(uri), root, contents, document.version)
            except Exception as error:  # an editor must not lose its server to one document
                self.window_log_message(
                    lsp.LogMessageParams(lsp.MessageType.Error, f"internal error: {type(error).__name__}: {error}")
                )
                return
        now = self._document(uri)
        if now is not None and now.version == done.version:
            self.checked[uri] = done
            self._publish(uri, done.diagnostics(), done.version)

    def _publish(self, uri: str, found: list[lsp.Diagnostic], version: int | None) -> None:
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def _document(self, uri: str) -> TextDocument | None:
        documents: dict[str, TextDocument] = self.workspace.text_documents
        return documents.get(unquote(uri))  # the keys pygls uses

    def _root(self, file: Path) -> Path | None:
        """The workspace folder around a file."""
        folders = [_file(f.uri) for f in self.workspace.folders.values()]
        if not folders and self.workspace.root_path:
            folders = [Path(self.workspace.root_path)]
        around = [f for f in folders if file.is_relative_to(f)]
        return max(around, key=lambda f: len(f.parts)) if around else None


def build(delay_s: float = DELAY_S) -> Server:
    """A server with its features, not yet started."""
    server = Server(delay_s)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def _(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.schedule(params.text_document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def _(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        ls.schedule(params.text_document.uri, ls.delay_s)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def _(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        for document in list(ls.workspace.text_documents.values()):  # a header may concern the others
            ls.schedule(document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def _(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def _(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        done = ls.checked.get(params.text_document.uri)
        if done is None:
            return None
        lines = ls.workspace.get_text_document(params.text_document.uri).lines
        at = params.position
        line = lines[at.line] if at.line < len(lines) else ""
        return done.hover(at.line + 1, column_of(line, at.character))

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    )
    def _(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        done = ls.checked.get(params.text_document.uri)
        if done is None or done.version != ls.workspace.get_text_document(params.text_document.uri).version:
            return []
        actions = []
        for finding, fix in done.fixes(params.range):
            changes: dict[str, list[lsp.TextEdit]] = {}
            for edit in fix.edits:
                changes.setdefault(done.uri(edit.span.path), []).append(
                    lsp.TextEdit(done.range(edit.span), edit.replacement)
                )
            title = f"{finding.code}: {fix.title}{'' if fix.safe else ' (unsafe)'}"
            actions.append(
                lsp.CodeAction(
                    title, kind=lsp.CodeActionKind.QuickFix, is_preferred=fix.safe, edit=lsp.WorkspaceEdit(changes)
                )
            )
        return actions

    return server


def _file(uri: str) -> Path:
    return Path(url2pathname(urlparse(uri).path))
