"""Small programs whose values g++ 12 prints, with CuTe's own headers."""

from pathlib import Path

import pytest

from cutecheck.tests.source.program_tables import FOLDER, agrees, read, said


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda p: p.stem)
def test_every_program_of_a_table_has_the_value_that_a_compiler_prints(path: Path, tmp_path: Path) -> None:
    table = read(path)
    assert len(table.programs) > 1
    values = zip(table.programs, said(table, tmp_path), strict=True)
    assert [f"{p.body} => {p.shown}: {v}, not {p.printed}" for p, v in values if not agrees(p, v)] == []
