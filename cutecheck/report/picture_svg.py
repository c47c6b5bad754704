"""Pictures as SVG: one file that needs nothing else, no script, all text escaped."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from xml.sax.saxutils import escape as xml_escape

from cutecheck.model.picture import Grid, Picture
from cutecheck.report.picture_terminal import picture_remarks
from cutecheck.report.text import safe

_TONES = ("#afafff", "#afffaf", "#ffffaf", "#ffafaf", "#d2d2ff", "#d2ffd2", "#ffffd2", "#ffd2d2")
_GREYS = tuple(f"#{level:02x}{level:02x}{level:02x}" for level in range(255, 127, -16))
_CELL_HEIGHT = 30
_CHAR = 7.0  # pixels a character at 11 px
_MARGIN = 12
_LINE = 17
_STYLE = (
    "text{font:11px ui-monospace,Menlo,Consolas,monospace;text-anchor:middle;fill:#111}"
    ".l{fill:#555}.h{font-size:9px;fill:#777}.e{text-anchor:end}.n{text-anchor:start;font-size:12px}"
    ".t{text-anchor:start;font-size:14px;font-weight:bold}"
)


def escape(text: str) -> str:
    """Text for an element: markup and control characters made harmless."""
    return xml_escape(safe(text))


def render(picture: Picture) -> str:
    """The whole document."""
    return "\n".join(_Sheet(picture).lines()) + "\n"


class _Sheet:
    """Where things are: cells in units of the grid, lines of text above them."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        grids = picture.grids
        longest = max((len(t) for g in grids for t in g.column_labels), default=0)
        widest = max((_widest(g) for g in grids), default=1)
        self.cell = max(32.0, widest * _CHAR + 6, longest * 5.8 + 4)
        labels = max((len(t) for g in grids for t in g.row_labels), default=0)
        self.left = 36.0 + (labels * 5.8 + 6 if labels else 0)
        # a gap between grids is at least one column in CuTe's arrangement; labels may need more
        self.shift = max(0.0, self.left - self.cell * (1 if picture.arrangement == "mma" else 3))
        self.above = 64.0 if longest else 48.0
        self.x0 = min(g.column for g in grids)
        self.y0 = min(g.row for g in grids)
        places = sorted({g.column for g in grids})
        self.order = {c: i for i, c in enumerate(places)}
        inner = max(self.x(g) + g.columns * self.cell for g in grids)
        self.page = max(inner + _MARGIN, 560.0)
        per_line = int((self.page - 2 * _MARGIN) / 7.4)
        remarks = picture_remarks(grids)
        if any(g.kind == "owners" for g in grids):
            remarks.insert(0, "T: thread, V: value of the thread")
        self.text = [w for n in (*picture.notes, *remarks) for w in textwrap.wrap(safe(n), per_line) or [""]]
        self.top = _MARGIN + 22 + _LINE * len(self.text) + self.above
        self.height = max(self.y(g) + g.rows * _CELL_HEIGHT for g in grids) + _MARGIN

    def x(self, g: Grid) -> float:
        return _MARGIN + self.left + (g.column - self.x0) * self.cell + self.order[g.column] * self.shift

    def y(self, g: Grid) -> float:
        return self.top + (g.row - self.y0) * _CELL_HEIGHT + (self.above - _CELL_HEIGHT if g.row > self.y0 else 0)

    def lines(self) -> Iterator[str]:
        width, height = _number(self.page), _number(self.height)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        )
        title = escape(self.picture.title)
        yield f"<title>{title}</title>"
        yield f"<style>{_STYLE}</style>"
        yield f'<rect width="{width}" height="{height}" fill="#fff"/>'
        yield f'<text class="t" x="{_MARGIN}" y="{_MARGIN + 12}">{title}</text>'
        for i, line in enumerate(self.text):
            yield f'<text class="n" x="{_MARGIN}" y="{_MARGIN + 32 + _LINE * i}">{escape(line)}</text>'
        for grid in self.picture.grids:
            yield from self._grid(grid)
        yield "</svg>"

    def _grid(self, g: Grid) -> Iterator[str]:
        x0, y0, w, h = self.x(g), self.y(g), self.cell, _CELL_HEIGHT
        xs = [_number(x0 + w * j) for j in range(g.columns)]
        centres = [_number(x0 + w * (j + 0.5)) for j in range(g.columns)]
        colours = _GREYS if g.kind == "values" else _TONES
        areas: list[list[str]] = [[] for _ in colours]
        box = f"h{_number(w)}v{h}h-{_number(w)}z"
        texts: list[str] = []
        at = 0
        for i in range(g.rows):
            y = y0 + h * i
            top, one, upper, lower = (_number(v) for v in (y, y + 19, y + 13, y + 25))
            for j in range(g.columns):
                cell = g.cells[at]
                at += 1
                if g.kind == "values":
                    areas[cell % 8].append(f"M{xs[j]} {top}{box}")
                    texts.append(f'<text x="{centres[j]}" y="{one}">{cell}</text>')
                elif cell >= 0:
                    thread, value = divmod(cell, g.num_val)
                    areas[thread % 8].append(f"M{xs[j]} {top}{box}")
                    c = centres[j]
                    texts.append(
                        f'<text x="{c}" y="{upper}">T{thread}<tspan x="{c}" y="{lower}">V{value}</tspan></text>'
                    )
        for colour, area in zip(colours, areas, strict=True):
            if area:
                yield f'<path fill="{colour}" d="{"".join(area)}"/>'
        right, bottom = _number(x0 + w * g.columns), _number(y0 + h * g.rows)
        rules = [f"M{_number(x0)} {_number(y0 + h * i)}H{right}" for i in range(g.rows + 1)]
        rules += [f"M{_number(x0 + w * j)} {_number(y0)}V{bottom}" for j in range(g.columns + 1)]
        yield f'<path fill="none" stroke="#333" stroke-width="0.7" d="{"".join(rules)}"/>'
        yield from texts
        yield from self._labels(g, x0, y0)

    def _labels(self, g: Grid, x0: float, y0: float) -> Iterator[str]:
        if g.label_left:
            for i in range(g.rows):
                y = _number(y0 + _CELL_HEIGHT * i + 19)
                yield f'<text class="l e" x="{_number(x0 - 5)}" y="{y}">{i}</text>'
                if g.row_labels:
                    x = _number(x0 - 12 - 7 * len(str(g.rows - 1)))
                    yield f'<text class="h e" x="{x}" y="{y}">{escape(g.row_labels[i])}</text>'
        if g.label_above:
            for j in range(g.columns):
                x = _number(x0 + self.cell * (j + 0.5))
                yield f'<text class="l" x="{x}" y="{_number(y0 - 6)}">{j}</text>'
                if g.column_labels:
                    yield f'<text class="h" x="{x}" y="{_number(y0 - 20)}">{escape(g.column_labels[j])}</text>'
        if g.name:
            modes = f" ({g.row_mode}, {g.column_mode})" if g.row_mode else ""
            above = (36 if g.column_labels else 22) if g.label_above else 8
            yield f'<text class="t" x="{_number(x0)}" y="{_number(y0 - above)}">{escape(g.name + modes)}</text>'


def _widest(g: Grid) -> int:
    last, first = max(g.cells, default=0), min(g.cells, default=0)
    if g.kind == "values":
        return max(len(str(last)), len(str(first)))
    return 1 + max(len(str(max(0, last) // g.num_val)), len(str(g.num_val - 1)))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
