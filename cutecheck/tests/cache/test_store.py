"""Entries that are damaged, foreign, half written or of another version are no entries."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecheck.cache import Store, open_store
from cutecheck.cache import store as module
from cutecheck.cli.app import run


def opened(folder: Path) -> Store:
    found = open_store(str(folder))
    assert found is not None
    return found


def test_an_entry_is_there_for_the_next_run(tmp_path: Path) -> None:
    opened(tmp_path / "c").put("units", "a1", "text Ω\n")
    assert opened(tmp_path / "c").get("units", "a1") == "text Ω\n"
    assert opened(tmp_path / "c").get("units", "b2") is None
    assert (tmp_path / "c" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_makes_it_absent(tmp_path: Path, data: st.DataObject) -> None:
    store = opened(tmp_path / "c")
    store.put("units", "a1", "the text of an entry")
    file = tmp_path / "c" / "units" / "a1"
    whole = file.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    extra = data.draw(st.binary(max_size=8))
    damaged = whole[:cut] + extra + whole[cut + data.draw(st.integers(0, len(extra) + 1)) :]
    file.write_bytes(damaged)
    assert store.get("units", "a1") == ("the text of an entry" if damaged == whole else None)
    store.put("units", "a1", "again")
    assert store.get("units", "a1") == "again"


def test_entries_of_other_keys_versions_and_users_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(tmp_path / "c")
    store.put("units", "a1", "mine")
    (tmp_path / "c" / "units" / "a1").rename(tmp_path / "c" / "units" / "b2")
    assert store.get("units", "b2") is None
    store.put("units", "a1", "mine")
    other = tmp_path / "other"
    monkeypatch.setenv("CUTECHECK_CACHE_DIR", str(other))  # another user's secret: a folder that came with a tree
    assert opened(tmp_path / "c").get("units", "a1") is None
    assert store.get("units", "a1") == "mine"
    monkeypatch.setattr(module, "stamp", lambda: "another version")
    assert store.get("units", "a1") is None


def test_the_secret_is_the_users_alone_and_replaced_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTECHECK_CACHE_DIR", str(tmp_path / "u"))
    opened(tmp_path / "c").put("units", "a1", "text")
    secret = tmp_path / "u" / "secret"
    assert secret.stat().st_mode & 0o077 == 0 and len(secret.read_bytes()) == 32
    secret.write_bytes(b"short")
    assert opened(tmp_path / "c").get("units", "a1") is None
    assert len(secret.read_bytes()) == 32


def test_links_and_folders_that_cannot_be_written(tmp_path: Path) -> None:
    store = opened(tmp_path / "c")
    store.put("units", "a1", "text")
    outside = tmp_path / "outside"
    outside.write_bytes((tmp_path / "c" / "units" / "a1").read_bytes())
    (tmp_path / "c" / "units" / "a1").unlink()
    (tmp_path / "c" / "units" / "a1").symlink_to(outside)
    assert store.get("units", "a1") is None
    store.put("units", "a1", "new")  # replaces the link, does not follow it
    assert store.get("units", "a1") == "new" and b"new" not in outside.read_bytes()
    (tmp_path / "file").write_text("")
    assert open_store(str(tmp_path / "file")) is None


def _write_for_ever(folder: str) -> None:
    store = opened(Path(folder))
    while True:
        for i in range(20):
            store.put("units", f"k{i}", f"{i} " * 5000)


def test_writers_that_race_and_are_killed_leave_whole_entries(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_for_ever, args=(str(tmp_path / "c"),)) for _ in range(3)]
    for w in writers:
        w.start()
    store = opened(tmp_path / "c")
    end = time.monotonic() + 1.0
    seen = 0
    while time.monotonic() < end or not seen:
        for i in range(20):
            text = store.get("units", f"k{i}")
            seen += text is not None
            assert text in (None, f"{i} " * 5000)
    for w in writers:
        assert w.pid is not None
        os.kill(w.pid, signal.SIGKILL)
        w.join()
    for i in range(20):
        assert store.get("units", f"k{i}") in (None, f"{i} " * 5000)
    store.put("units", "k0", "after")
    assert store.get("units", "k0") == "after"


def test_cache_dir_and_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cutecheck.toml").write_text('cache-dir = "kept"\n')
    assert run(["cache", "dir"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "kept")
    store = opened(tmp_path / "kept")
    store.put("units", "a1", "text")
    (tmp_path / "kept" / "units" / ".tmp-left").write_text("of a killed run")
    (tmp_path / "kept" / "mine.txt").write_text("not of the cache")
    assert run(["cache", "clean"]) == 0
    assert capsys.readouterr().out.startswith("2 files removed")
    assert store.get("units", "a1") is None and (tmp_path / "kept" / "mine.txt").exists()


def test_the_oldest_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    store = opened(tmp_path / "c")
    for i in range(5):
        store.put("units", f"k{i}", "x")
        os.utime(tmp_path / "c" / "units" / f"k{i}", ns=(i, i))
    store.prune()
    assert store.keys("units") == ["k2", "k3", "k4"]
