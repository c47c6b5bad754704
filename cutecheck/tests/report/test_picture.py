"""Pictures as text, SVG and LaTeX."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest

from cutecheck.model.atoms import mma_op
from cutecheck.model.layout import Layout
from cutecheck.model.picture import Grid, Picture, picture
from cutecheck.model.tiled import make_tiled_mma
from cutecheck.report import picture_latex, picture_svg, picture_terminal
from cutecheck.tests.report.print_latex import nodes

MMA = make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"))
EVIL = "</text><script>alert(1)</script> \\input{x} \x1b[31m %_#&$^~\n\\end{document}"


def plain(drawn: Picture, width: int, rows: int = 0) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in picture_terminal.render(drawn, width, rows)]


def evil() -> Picture:
    grid = Grid(EVIL, "values", 1, 2, (3, 4), row_mode=EVIL, column_mode=EVIL, column_labels=(EVIL, EVIL))
    return Picture(EVIL, "row", (EVIL,), (grid,))


def test_an_mma_has_b_above_a_at_the_left_and_c_in_the_middle() -> None:
    lines = plain(picture(MMA), 200)
    head = next(i for i, line in enumerate(lines) if line.startswith("A m,k"))
    above = next(i for i, line in enumerate(lines) if "B k,n" in line)
    assert above == head - 18  # 16 rows of B, its labels and a blank line
    assert lines[head].index("C m,n") == lines[above].index("B k,n")
    first = lines[head + 1].split()
    assert first[:3] == ["0", "0/0", "0/1"] and first[17:20] == ["0", "0/0", "0/1"]
    # column n of B stands over column n of C
    assert lines[above + 1].index("4/0") == lines[head + 2].rindex("4/1")
    assert not any(line.startswith("cut:") for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 130])
def test_no_line_is_wider_than_the_terminal_and_cuts_are_stated(width: int) -> None:
    for value in (MMA, Layout((4, 128), (128, 1)), Layout((4, (2, 64)), (128, (1, 2)))):
        lines = plain(picture(value), width)
        body = lines[lines.index("") :]
        stated = [line for line in body if line.startswith("cut:")]
        drawn = body[: body.index(stated[0])] if stated else body
        assert max(map(len, drawn)) <= width
        assert bool(stated) == any(" ..." in line for line in drawn)


def test_a_cut_says_how_much_is_shown() -> None:
    lines = plain(picture(Layout((40, 100), (1, 40))), 60, 3)
    shown = len(lines[lines.index("") + 1].split()) - 1
    assert f"cut: 3 of 40 rows, {shown} of 100 columns shown" in lines
    row = next(line for line in lines if line.startswith(" 2 "))
    assert row.split()[1:4] == ["2", "42", "82"] and row.endswith("...")


@pytest.mark.parametrize(("term", "colorterm"), [("xterm", ""), ("xterm-256color", ""), ("xterm", "truecolor")])
def test_colours_only_where_wanted(term: str, colorterm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colorterm)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    stream = io.StringIO()
    picture_terminal.write(picture(MMA), stream, 100)
    assert "\x1b" not in stream.getvalue()
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = io.StringIO()
    picture_terminal.write(picture(MMA), coloured, 100)
    assert "\x1b[" in coloured.getvalue()
    without = re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue())
    assert [line.rstrip() for line in without.splitlines()] == stream.getvalue().splitlines()
    backgrounds = set(re.findall(r"\x1b\[30;(4[1-7]|10[0-7]|48;[0-9;]+)m", coloured.getvalue()))
    assert len(backgrounds) == 8  # threads modulo 8 are told apart
    monkeypatch.setenv("NO_COLOR", "1")
    again = io.StringIO()
    picture_terminal.write(picture(MMA), again, 100)
    assert again.getvalue() == stream.getvalue()


def test_owners_that_the_cells_cannot_show() -> None:
    lines = plain(picture(Layout((4, 2), (0, 9)), (2, 2)), 80)
    assert lines[-3:] == [
        "up to 4 owners an element; the first thread and value are shown",
        "3 elements have no owner",
        "4 thread-values are outside the tile",
    ]


def test_svg_holds_every_cell_in_place() -> None:
    root = ElementTree.fromstring(picture_svg.render(picture(MMA)))
    space = "{http://www.w3.org/2000/svg}"
    cells = [t for t in root.iter(f"{space}text") if t.find(f"{space}tspan") is not None]
    assert len(cells) == 16 * 8 + 16 * 16 + 16 * 8
    owners = {(t.text, t[0].text) for t in cells}
    assert ("T31", "V7") in owners and ("T0", "V0") in owners and ("T31", "V8") not in owners
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    assert all(
        0 < float(t.get("x", "-1")) < width and 0 < float(t.get("y", "-1")) < height for t in root.iter(f"{space}text")
    )
    places = {(t.get("x"), t.get("y")) for t in cells}
    assert len(places) == len(cells)  # nothing is drawn twice at one place


def test_svg_is_self_contained_and_escapes() -> None:
    text = picture_svg.render(evil())
    root = ElementTree.fromstring(text)
    assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "title", "style", "rect", "path", "text", "tspan"}
    assert "\x1b" not in text
    assert not re.search(r"href|url\(|@import", text)
    assert any("</text><script>" in (t.text or "") for t in root.iter())


def test_latex_escapes() -> None:
    text = picture_latex.render(evil())
    assert [line for line in text.splitlines() if not line.startswith("%") and "\\end{document}" in line] == [
        "\\end{document}"
    ]
    for line in text.splitlines():
        outside = "" if line.startswith("%") else line
        assert "\\input{" not in outside and "<script" not in outside
        assert not re.search(r"(?<!\\)[%#&$^~]", outside)
    assert "\x1b" not in text and text.splitlines()[-1] == "\\end{document}"


def test_latex_has_hierarchical_coordinates_and_one_node_a_cell() -> None:
    text = picture_latex.render(picture(Layout(((2, 2), 3), ((1, 6), 2))))
    assert r"\shortstack{\Large{\texttt{3}} \\ \tiny (1,1)}" in text
    found = nodes(text)
    assert {place: t for place, (t, _) in found.items()} == {
        (m, n): str(m % 2 + m // 2 * 6 + 2 * n) for m in range(4) for n in range(3)
    }


@pytest.mark.parametrize(
    ("text", "expected"), [("a_b", r"a\_b"), ("\\x{}", r"\textbackslash{}x\{\}"), ("é\t", "?    ")]
)
def test_latex_text(text: str, expected: str) -> None:
    assert picture_latex.escape(text) == expected
