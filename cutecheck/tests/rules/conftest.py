"""Tests of findings."""

from __future__ import annotations

import pytest

from cutecheck.tests.proved import proved_once  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def of_findings(proved_once: None) -> None:  # noqa: F811
    """See there."""
