"""The language server as an editor meets it: a child process, the protocol, diagnostics, hover."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

BAD = """#include "tile.h"
using Op = Copy_Atom<UniversalCopy<cute::uint128_t>, cute::half_t>;
using C = decltype(make_tiled_copy(Op{}, Layout<Shape<_32, _1>>{}, Layout<Shape<_1, Int<Tile::k>>>{}));
"""
HEADER = (
    "#pragma once\n#include <cute/tensor.hpp>\nusing namespace cute;\nstruct Tile { static constexpr int k = %d; };\n"
)
LIMIT_S = 60


def session(tmp_path: Path, body: Callable[["Editor"], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        editor = Editor(tmp_path)
        await editor.start()
        try:
            await asyncio.wait_for(body(editor), LIMIT_S)
        finally:
            await editor.stop()

    asyncio.run(all_of_it())


class Editor:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = LanguageClient("test", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

    async def start(self) -> None:
        await self.client.start_io(sys.executable, "-m", "cutecheck", "server")
        folder = lsp.WorkspaceFolder(self.root.as_uri(), "root")
        await self.client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=self.root.as_uri(), workspace_folders=[folder])
        )
        self.client.initialized(lsp.InitializedParams())

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def open(self, name: str, text: str) -> str:
        uri = (self.root / name).as_uri()
        document = lsp.TextDocumentItem(uri, "cuda-cpp", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
        return uri

    def change(self, uri: str, version: int, text: str) -> None:
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version, uri), [lsp.TextDocumentContentChangeWholeDocument(text)]
            )
        )

    async def diagnostics(self, uri: str) -> list[lsp.Diagnostic]:
        while True:
            params = await self.published.get()
            if params.uri == uri:
                return list(params.diagnostics)


def test_findings_follow_the_text_and_the_open_headers(tmp_path: Path) -> None:
    (tmp_path / "tile.h").write_text(HEADER % 8)

    async def body(editor: Editor) -> None:
        uri = editor.open("é use.cu", BAD)
        assert await editor.diagnostics(uri) == []
        header = editor.open("tile.h", HEADER % 4)  # as typed, not as saved
        assert await editor.diagnostics(header) == []
        editor.change(uri, 2, "// 𝛼\n" + BAD)
        found = await editor.diagnostics(uri)
        assert [d.code for d in found] == ["CUT301"]
        assert found[0].range.start.line == 3
        editor.change(uri, 3, BAD.replace("cute::half_t", "float"))
        assert await editor.diagnostics(uri) == []
        hover = await editor.client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(2, 12))
        )
        assert hover is not None
        assert "TiledLayout_TV" in str(hover.contents)
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await editor.diagnostics(uri) == []

    session(tmp_path, body)


def test_a_bad_configuration_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "cutecheck.toml").write_text("selekt = []\n")

    async def body(editor: Editor) -> None:
        uri = editor.open("a.cu", BAD)
        found = await editor.diagnostics(uri)
        assert len(found) == 1
        assert "did you mean 'select'" in found[0].message

    session(tmp_path, body)


def test_columns_count_utf16_units() -> None:
    from cutecheck.server.documents import column_of

    line = "a𝛼b"
    assert [column_of(line, n) for n in (0, 1, 3, 4)] == [1, 2, 3, 4]
