"""Files that are no programs: found by mutating real ones and evaluating what came of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.cpp import lexer
from cutecheck.source.cpp.lexer import lex
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

LONG = "x" * 5000
USE = "using namespace cute;\nvoid host() { X<int> x; auto l = make_layout(Int<8>{}); }\n"
FILES = {
    "an include of a name no file can have": f'#include "{LONG}.h"\n#include <{LONG}/{LONG}.h>\n{USE}',
    "raw strings that never end": "void f() { g(" + 'R"(' * 500 + "); }\n" + USE,
    "a bracket that nothing opened": f"int y = n) - 1;\n{USE}",
    "an alias and a class of one name": (
        f"template <class T> struct X {{ T a; }};\ntemplate <class T> using X = T;\n{USE}"
    ),
    "a class and an alias of one name": f"template <class T> using X = T;\ntemplate <class T> struct X;\n{USE}",
    "a class and a variable of one name": (
        f"template <class T> T X = 8;\ntemplate <class T> struct X {{ T a; }};\n{USE}"
    ),
    "a variable and a specialised class of one name": (
        f"template <class T> T X = 8;\ntemplate <> struct X<int> {{ int a; }};\n{USE}"
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_the_rest_of_the_file_is_read(case: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(FILES[case])
    found = extract(ExtractRequest((tmp_path,), include_dirs=(tmp_path,)))
    assert [str(s.value) for s in found.sites] == ["_8:_1"]
    assert not [e for e in found.errors if "internal" in e.message]


@pytest.mark.parametrize(
    "text", ['R"(a)" + R"x(b)")x"', 'f(R"(a)b)")', 'u8R"(a")"', 'R"(a', 'R"a(b)c" "d"', 'R"(a)" R"(b']
)
def test_raw_strings_are_read_alike_whether_or_not_one_is_open(text: str) -> None:
    assert lex(text).texts == [p.group().rstrip() for p in lexer._FULL.finditer(text)] + [""]


@pytest.mark.parametrize("end", ["\r\n", " \n", "\t\r\n"])
def test_a_macro_goes_on_past_white_space_at_the_end_of_its_lines(end: str, tmp_path: Path) -> None:
    lines = ("#define MAKE(n) \\", "  auto l = \\", "  make_layout(Int<n>{});", "void host() {", "  MAKE(8)", "}", "")
    (tmp_path / "a.cu").write_bytes(b"using namespace cute;\n" + end.join(lines).encode())
    found = extract(ExtractRequest((tmp_path,)))
    assert [(str(s.value), s.span.line) for s in found.sites] == [("_8:_1", 6)]
    assert not found.errors


def test_an_include_line_after_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "k.cuh").write_text("template <int N> void make() { auto l = cute::make_layout(cute::Int<N>{}); }\n")
    (tmp_path / "a.cu").write_bytes(b'\xef\xbb\xbf#include "k.cuh"\nvoid host() { make<8>(); }\n')
    found = extract(ExtractRequest((tmp_path,)))
    assert [str(s.value) for s in found.sites] == ["_8:_1"]
