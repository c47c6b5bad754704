"""Pictures as text: cells in columns, colours on a terminal, cut to its width with a line that says so.

An MMA is arranged as CuTe's print_latex arranges it: B above, A at the left, C in the middle. Grids of a copy stand
side by side where they fit, else one under the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from cutecheck.model.picture import Grid, Picture
from cutecheck.records import record
from cutecheck.report.terminal import wants_colour
from cutecheck.report.text import safe

ROWS = 32
_GAP = 3
_TONES = ("#afafff", "#afffaf", "#ffffaf", "#ffafaf", "#d2d2ff", "#d2ffd2", "#ffffd2", "#ffd2d2")
_FEW = ("blue", "green", "yellow", "red", "bright_blue", "bright_green", "bright_yellow", "bright_red")
# Styles of cells: thread t modulo 8, offset x modulo 8; for terminals of 256 colours or more, and of 16.
_STYLES = {f"t{i}": f"black on {c}" for i, c in enumerate(_TONES)}
_STYLES |= {f"x{i}": "black on #" + 3 * f"{255 - 16 * i:02x}" for i in range(8)}
_STYLES_OF_16 = {f"t{i}": f"black on {c}" for i, c in enumerate(_FEW)}
_STYLES_OF_16 |= {f"x{i}": "" for i in range(8)}

Segment = tuple[str, str]
Line = tuple[Segment, ...]


def cell_text(grid: Grid, row: int, column: int) -> str:
    """``thread/value``, the offset, or a dot where nothing maps to the element."""
    cell = grid.cells[row * grid.columns + column]
    if grid.kind == "values":
        return str(cell)
    return "." if cell < 0 else f"{cell // grid.num_val}/{cell % grid.num_val}"


def render(picture: Picture, width: int, rows: int = ROWS) -> list[Line]:
    """The picture in lines of at most ``width`` columns (a few more if not even one cell fits).

    ``rows``: the rows shown of each grid, 0 for all.
    """
    lines: list[Line] = [((safe(picture.title), "bold"),)]
    lines += [((f"  {safe(note)}", ""),) for note in picture.notes]
    if any(g.kind == "owners" for g in picture.grids):
        lines.append((("  cells: thread/value", ""),))
    lines.append(())
    frames = [_Frame.of(g, rows) for g in picture.grids]
    if picture.arrangement == "mma":
        c, a, b = frames
        drawn, shown = _mma(c, a, b, width)
    else:
        drawn, shown = _row(frames, width)
    lines += drawn
    remarks = _remarks(picture.grids, shown, width)
    return [*lines, *([()] if remarks else []), *(((r, ""),) for r in remarks)]


def write(picture: Picture, stream: TextIO, width: int, rows: int = ROWS) -> None:
    """Render to a stream; rich is loaded only where colours are wanted."""
    lines = render(picture, width, rows)
    if not wants_colour(stream):
        stream.writelines("".join(text for text, _ in line).rstrip() + "\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, force_terminal=True, highlight=False, soft_wrap=True)
    styles = _STYLES_OF_16 if console.color_system == "standard" else _STYLES
    for line in lines:
        console.print(Text.assemble(*((text, styles.get(style, style)) for text, style in line)))


@record(frozen=True, slots=True)
class _Frame:
    """A grid with the columns of text it needs: ``cell`` for one cell, ``label`` for the labels at its left."""

    grid: Grid
    rows: int
    cell: int
    label: int

    @staticmethod
    def of(grid: Grid, rows: int) -> _Frame:
        last = max(grid.cells, default=0)
        first = min(grid.cells, default=0)
        if grid.kind == "values":
            cell = max(len(str(last)), len(str(first)))
        else:
            cell = len(f"{max(0, last) // grid.num_val}/{grid.num_val - 1}")
        cell = max(cell, len(str(grid.columns - 1)), *map(len, grid.column_labels[:256]), 1)
        label = len(str(grid.rows - 1)) + max((len(t) + 1 for t in grid.row_labels), default=0)
        shown = grid.rows if rows == 0 else min(rows, grid.rows)
        return _Frame(grid, shown, cell, max(label, len(_corner(grid))))

    def columns(self, width: int) -> int:
        """How many cells fit into the width beside the labels (one at least)."""
        room = width - self.label
        if room >= self.grid.columns * (self.cell + 1):
            return self.grid.columns
        return max(1, (room - 4) // (self.cell + 1))

    def width(self, columns: int) -> int:
        return self.label + columns * (self.cell + 1) + (4 if columns < self.grid.columns else 0)


def _corner(grid: Grid) -> str:
    modes = f"{grid.row_mode},{grid.column_mode}" if grid.row_mode else ""
    return f"{grid.name} {modes}".strip() if len(grid.name) < 4 else modes


def _block(frame: _Frame, columns: int) -> list[Line]:
    """A grid with labels; all lines have the same width."""
    grid = frame.grid
    cut = " ..." if columns < grid.columns else ""
    lines: list[Line] = []
    if len(grid.name) >= 4:
        lines.append(((f"{grid.name:<{frame.width(columns)}}"[: frame.width(columns)], "bold"),))
    corner = f"{_corner(grid):>{frame.label}}"
    head = "".join(f" {j:>{frame.cell}}" for j in range(columns))
    lines.append(((corner, "bold"), (head + cut, "blue")))
    if grid.column_labels:
        names = "".join(f" {t:>{frame.cell}}" for t in grid.column_labels[:columns])
        lines.append(((" " * frame.label + names + " " * len(cut), "blue"),))
    digits = len(str(grid.rows - 1))
    for i in range(frame.rows):
        name = f"{i:>{digits}} {grid.row_labels[i]}" if grid.row_labels else str(i)
        lines.append(((f"{name:>{frame.label}}", "blue"), *_cells(frame, i, columns), (cut, "blue")))
    if frame.rows < grid.rows:
        lines.append(((f"{'...':<{frame.width(columns)}}", "blue"),))
    return lines


def _cells(frame: _Frame, row: int, columns: int) -> Iterable[Segment]:
    grid = frame.grid
    for column in range(columns):
        cell = grid.cells[row * grid.columns + column]
        if grid.kind == "values":
            style = f"x{cell % 8}"
        else:
            style = "" if cell < 0 else f"t{cell // grid.num_val % 8}"
        yield f" {cell_text(grid, row, column):>{frame.cell}}", style


_Shown = list[tuple[int, int]]


def _mma(c: _Frame, a: _Frame, b: _Frame, width: int) -> tuple[list[Line], _Shown]:
    label = max(c.label, b.label)
    middle = _Frame(c.grid, c.rows, max(c.cell, b.cell), label)
    above = _Frame(b.grid, b.rows, middle.cell, label)
    if a.width(a.grid.columns) + _GAP + middle.width(c.grid.columns) <= width:
        at_left, in_middle = a.grid.columns, c.grid.columns
    else:
        in_middle = middle.columns((width - _GAP) // 2)
        at_left = a.columns(width - _GAP - middle.width(in_middle))
        in_middle = middle.columns(width - _GAP - a.width(at_left))
    blank = " " * (a.width(at_left) + _GAP)
    lines: list[Line] = [((blank, ""), *line) for line in _block(above, in_middle)]
    lines.append(())
    lines += _beside([_block(a, at_left), _block(middle, in_middle)], [a.width(at_left)])
    return lines, [(c.rows, in_middle), (a.rows, at_left), (b.rows, in_middle)]


def _row(frames: Sequence[_Frame], width: int) -> tuple[list[Line], _Shown]:
    whole = [f.width(f.grid.columns) for f in frames]
    if sum(whole) + _GAP * (len(whole) - 1) <= width:
        blocks = [_block(f, f.grid.columns) for f in frames]
        return _beside(blocks, whole), [(f.rows, f.grid.columns) for f in frames]
    lines: list[Line] = []
    shown = []
    for frame in frames:
        columns = frame.columns(width)
        lines += [*([()] if lines else []), *_block(frame, columns)]
        shown.append((frame.rows, columns))
    return lines, shown


def _beside(blocks: Sequence[list[Line]], widths: Sequence[int]) -> list[Line]:
    """Blocks side by side; ``widths`` of all but the last."""
    lines: list[Line] = []
    for i in range(max(map(len, blocks))):
        line: list[Segment] = []
        for j, block in enumerate(blocks):
            line += block[i] if i < len(block) else ((" " * widths[j], ""),) if j < len(widths) else ()
            if j < len(blocks) - 1:
                line.append((" " * _GAP, ""))
        lines.append(tuple(line))
    return lines


def _remarks(grids: Sequence[Grid], shown: _Shown, width: int) -> list[str]:
    out = []
    for grid, (rows, columns) in zip(grids, shown, strict=True):
        name = f"{grid.name}: " if grid.name else ""
        parts = [f"{rows} of {grid.rows} rows"] if rows < grid.rows else []
        parts += [f"{columns} of {grid.columns} columns"] if columns < grid.columns else []
        if parts:
            out.append(f"cut: {name}{', '.join(parts)} shown")
    if out:
        out.append(f"     (width {width}; --width, --rows, --svg FILE or --latex FILE show more)")
    return out + picture_remarks(grids)


def picture_remarks(grids: Sequence[Grid]) -> list[str]:
    """What the cells of a grid cannot show: elements with several owners, with none, owners outside the tile."""
    out = []
    for grid in grids:
        if grid.kind != "owners":
            continue
        name = f"{grid.name}: " if grid.name else ""
        if grid.owners > 1:
            out.append(f"{name}up to {grid.owners} owners an element; the first thread and value are shown")
        if missing := grid.cells.count(-1):
            out.append(f"{name}{missing} elements have no owner")
        if grid.outside:
            out.append(f"{name}{grid.outside} thread-values are outside the tile")
    return out
