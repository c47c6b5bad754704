"""Entries on disk by kind and key: written whole, authenticated, and simply absent when anything is wrong with them.

An entry is one file: a line with its MAC, then its text. The MAC is keyed with a secret of the user and covers kind,
key and the stamp of the program, so an entry that is cut, damaged, of another version, moved to another key or written
by somebody else (a cache folder that came with a tree) is no entry. Nothing in an entry is ever executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

MAX_BYTES = 256 << 20  # of an entry that is read
MOST_ENTRIES = 20_000  # of a folder; the oldest go when a run ends with more
MOST_RUNS = 50  # whole runs are kept, likewise
_TAG = "CACHEDIR.TAG"
_TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file marks a cache folder of cutecheck: nothing in it is needed. See https://bford.info/cachedir/\n"
)
_KINDS = ("runs", "units", "verdicts")


def digest(*parts: str | bytes) -> str:
    """A name for contents: equal for equal parts only."""
    h = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()


def user_folder() -> Path:
    """The user's cache folder: ``CUTECHECK_CACHE_DIR``, else below ``XDG_CACHE_HOME`` or ``~/.cache``."""
    own = os.environ.get("CUTECHECK_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "cutecheck"


def folder_of(cache_dir: str) -> Path:
    """Where entries are: ``cache_dir``, or the user's folder where that is empty."""
    return Path(cache_dir) if cache_dir else user_folder()


def open_store(cache_dir: str) -> Store | None:
    """The store of a run; None where no folder of the user's can be made or no secret kept."""
    try:
        secret = _secret(user_folder())
        folder = folder_of(cache_dir)
        folder.mkdir(parents=True, exist_ok=True)
        _mark(folder)
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        return None
    return Store(folder, secret)


def _secret(folder: Path) -> bytes:
    """32 random bytes that only the user can read; made once, the same for all runs that race for it."""
    file = folder / "secret"
    with contextlib.suppress(FileNotFoundError):
        data = file.read_bytes()
        if len(data) == 32:
            return data
    import secrets
    import tempfile

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _mark(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix="secret-")  # readable by the user alone
    with os.fdopen(handle, "wb") as out:
        out.write(secrets.token_bytes(32))
    try:
        if file.exists() and file.stat().st_size == 32:
            pass
        elif file.exists():
            Path(name).replace(file)  # a damaged one: entries of before are lost
        else:
            os.link(name, file)  # the first of several runs wins
    except FileExistsError:
        pass
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
    return file.read_bytes()


def _mark(folder: Path) -> None:
    """Backups leave the folder out, and so does git."""
    for name, text in ((_TAG, _TAG_TEXT), (".gitignore", "*\n")):
        file = folder / name
        if not file.exists():
            _write(file, text.encode())


def _write(file: Path, data: bytes) -> None:
    """A file as a whole or not at all."""
    import tempfile

    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


@lru_cache(maxsize=1)
def stamp() -> str:
    """What else a result depends on: the program's own files, Python, and the solver."""
    from cutecheck import __version__

    root = Path(__file__).resolve().parent.parent
    own = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("tests", "__pycache__"))
        for name in sorted(files):
            if name.endswith((".py", ".json", ".txt")):
                found = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - hundreds of files at every start
                own.append(f"{folder[len(str(root)) :]}/{name}:{found.st_size}:{found.st_mtime_ns}")
    return digest(__version__, sys.version, _solver(), "\n".join(own))


def _solver() -> str:
    """The installed versions of Z3, by the names of their metadata folders: the library that reads these is slow."""
    found = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            found += [n for n in os.listdir(folder or ".") if n.startswith("z3_solver") and "-info" in n]  # noqa: PTH208
    return " ".join(found)


@dataclass(slots=True)
class Store:
    """A folder of entries. Reading and writing never raise: what cannot be kept is computed again."""

    folder: Path
    secret: bytes = field(repr=False)
    hits: int = 0
    misses: int = 0

    def get(self, kind: str, key: str) -> str | None:
        """The text of an entry, None where there is none that can be trusted."""
        text = self._get(kind, key)
        if text is None:
            self.misses += 1
        else:
            self.hits += 1
        return text

    def has(self, kind: str, key: str) -> bool:
        """Whether there is a file for an entry, good or not."""
        return self._file(kind, key).exists()

    def _get(self, kind: str, key: str) -> str | None:
        try:
            handle = os.open(self._file(kind, key), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as file:
                if os.fstat(handle).st_size > MAX_BYTES:
                    return None
                mac, _, body = file.read().partition(b"\n")
        except OSError:
            return None
        if not hmac.compare_digest(mac, self._mac(kind, key, body)):
            return None
        try:
            return body.decode()
        except UnicodeDecodeError:
            return None

    def put(self, kind: str, key: str, text: str) -> None:
        """Keep an entry; of runs that write the same one at once, one is kept."""
        body = text.encode("utf-8", "surrogatepass")
        file = self._file(kind, key)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, self._mac(kind, key, body) + b"\n" + body)

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, oldest first."""
        found = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder / kind):
                with contextlib.suppress(OSError):
                    if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                        found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
        return [name for _, name in sorted(found)]

    def forget(self, kind: str, key: str) -> None:
        with contextlib.suppress(OSError):
            self._file(kind, key).unlink()

    def prune(self) -> None:
        """Let the oldest entries go where there are too many."""
        for kind in _KINDS:
            most = MOST_RUNS if kind == "runs" else MOST_ENTRIES
            with contextlib.suppress(OSError):
                if len(os.listdir(self.folder / kind)) <= most:  # noqa: PTH208
                    continue
            keys = self.keys(kind)
            for key in keys[: max(0, len(keys) - most)]:
                self.forget(kind, key)

    def clean(self) -> int:
        """Remove every entry, and what killed runs left behind; the number of files. Other files stay."""
        count = 0
        for kind in _KINDS:
            with contextlib.suppress(OSError):
                for entry in list(os.scandir(self.folder / kind)):
                    with contextlib.suppress(OSError):
                        if not entry.is_dir(follow_symlinks=False):
                            Path(entry.path).unlink()
                            count += 1
                (self.folder / kind).rmdir()
        return count

    def _file(self, kind: str, key: str) -> Path:
        assert kind in _KINDS and key.isalnum(), (kind, key)
        return self.folder / kind / key

    def _mac(self, kind: str, key: str, body: bytes) -> bytes:
        text = digest(stamp(), kind, key, body).encode()
        return hashlib.blake2b(text, key=self.secret, digest_size=20).hexdigest().encode()
