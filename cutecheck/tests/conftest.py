"""What every test starts from."""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Iterator
from itertools import count

import pytest

from cutecheck.frames import roomy

_NUMBERS = count()


def pytest_collection_finish() -> None:
    """The collector looks as seldom as in the command (``cutecheck.cli``), and not at what was collected."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Tests run where commands do."""
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: value for name, value in pyfuncitem.funcargs.items() if name in names}
    roomy(lambda: pyfuncitem.obj(**given))
    return True


@pytest.fixture(scope="session", autouse=True)
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a compiler makes of CuTe's headers, and Python of modules in processes of their own, all tests share.

    Where Python is told to keep no bytecode such a process takes most of its time to compile the modules that it
    imports.
    """
    base = tmp_path_factory.getbasetemp()
    of_all = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("CUTECHECK_CACHE", str(of_all / "compiled"))
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            environ.delenv("PYTHONDONTWRITEBYTECODE")
            environ.setenv("PYTHONPYCACHEPREFIX", str(of_all / "bytecode"))
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another, or the user, keeps."""
    monkeypatch.setenv("CUTECHECK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / f"cache{next(_NUMBERS)}"))
