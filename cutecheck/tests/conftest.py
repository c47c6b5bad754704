"""What every test starts from."""

from __future__ import annotations

from itertools import count

import pytest

_NUMBERS = count()


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another, or the user, keeps."""
    monkeypatch.setenv("CUTECHECK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / f"cache{next(_NUMBERS)}"))
