"""Older versions of CuTe: results that differ, as their own headers printed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.ints import CuteError
from cutecheck.model.notation import parse, show
from cutecheck.model.version import REFERENCE, cute_version, parse_version, using_cute
from cutecheck.tests.model.differential import Row

TABLE = json.loads((Path(__file__).parent.parent / "data" / "cute_versions.json").read_text())
VERSIONS = list(TABLE["rows"][0]["results"])


def printed(row: dict[str, Any]) -> str:
    try:
        return show(Row(row["fn"], tuple(map(parse, row["args"])), tuple(row["targs"])).model())
    except CuteError:
        return "refused"


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_as_its_headers_print(version: str) -> None:
    with using_cute(version):
        wrong = [
            (row["fn"], row["args"], row["targs"], printed(row), row["results"][version])
            for row in TABLE["rows"]
            if printed(row) != row["results"][version]
        ]
    assert not wrong


def test_the_table_tells_versions_apart() -> None:
    columns = {tuple(row["results"][v] for row in TABLE["rows"]) for v in VERSIONS}
    assert len(columns) >= 5


def test_the_reference_is_the_default_and_comes_back() -> None:
    assert cute_version() == REFERENCE
    with using_cute("3.8.0"):
        assert cute_version() == (3, 8)
    assert cute_version() == REFERENCE


@pytest.mark.parametrize("text", ["3.4.1", "2.11", "four", "4", "4.x", ""])
def test_versions_that_are_not_modelled_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CUTLASS"):
        parse_version(text)
