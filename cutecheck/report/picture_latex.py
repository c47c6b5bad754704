"""Pictures as LaTeX (TikZ): a standalone document, with nodes where ``cute::print_latex`` puts them."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.model.picture import Grid, Picture
from cutecheck.report.text import safe

# As CuTe colours them: offsets in eight greys, threads in eight pastel tones.
_GREYS = ("black!00", "black!40", "black!20", "black!60", "black!10", "black!50", "black!30", "black!70")
_TONES = tuple(
    f"{{rgb,255:red,{r};green,{g};blue,{b}}}"
    for r, g, b in (
        (175, 175, 255), (175, 255, 175), (255, 255, 175), (255, 175, 175),
        (210, 210, 255), (210, 255, 210), (255, 255, 210), (255, 210, 210),
    )
)  # fmt: skip
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "_": r"\_", "#": r"\#", "$": r"\$", "%": r"\%", "&": r"\&",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def escape(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_SPECIAL.get(c, c if c.isascii() else "?") for c in safe(text))


def render(picture: Picture) -> str:
    """The whole document."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    for line in (picture.title, *picture.notes):
        yield f"% {safe(line)}"
    yield r"\documentclass[tikz]{standalone}"
    yield r"\begin{document}"
    yield (
        r"\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},"
        r"every node/.style={minimum size=1cm, inner sep=0pt, outer sep=0pt}]"
    )
    for grid in picture.grids:
        yield from _grid(grid)
    yield r"\end{tikzpicture}"
    yield r"\end{document}"


def _grid(grid: Grid) -> Iterator[str]:
    at = 0
    for i in range(grid.row, grid.row + grid.rows):
        for j in range(grid.column, grid.column + grid.columns):
            cell = grid.cells[at]
            at += 1
            if grid.kind == "values":
                yield f"\\node[fill={_GREYS[cell % 8]}] at ({i},{j}) {{{cell}}};"
            elif cell >= 0:
                thread, value = divmod(cell, grid.num_val)
                yield f"\\node[fill={_TONES[thread % 8]}] at ({i},{j}) {{\\shortstack{{T{thread} \\\\ V{value}}}}};"
    bottom, right = grid.row + grid.rows, grid.column + grid.columns
    yield (
        f"\\draw[color=black,thick,shift={{(-0.5,-0.5)}}] ({grid.row},{grid.column}) grid ({bottom},{right});"
    )  # fmt: skip
    if grid.label_left:
        for i in range(grid.rows):
            label = _label(i, grid.row_labels)
            yield f"\\node[anchor=east] at ({grid.row + i},{grid.column - 0.6}) {{{label}}};"
    if grid.label_above:
        for j in range(grid.columns):
            yield f"\\node at ({grid.row - 1},{grid.column + j}) {{{_label(j, grid.column_labels)}}};"
    if grid.name:
        row, column = (grid.row - 2, grid.column) if grid.label_above else (bottom, grid.column)
        yield f"\\node[anchor=west] at ({row},{column - 0.5}) {{\\Large{{{escape(_caption(grid))}}}}};"


def _caption(grid: Grid) -> str:
    return f"{grid.name} ({grid.row_mode}, {grid.column_mode})" if grid.row_mode else grid.name


def _label(index: int, labels: tuple[str, ...]) -> str:
    number = f"\\Large{{\\texttt{{{index}}}}}"
    return f"\\shortstack{{{number} \\\\ \\tiny {escape(labels[index])}}}" if labels else number
