"""What earlier runs learned of the translation units of this one.

A record of a unit says which files it read, with a digest of each, and what every include line in them resolved to,
also where that was nothing: a new file that shadows another, or fills a gap, changes an answer. If all of it is still
so, the closure of the unit is what it was. The facts of the unit are kept under a digest of what evaluation sees of
these files (no comments) together with everything else they depend on, so they need no check of their own; whether the
kernels that it walked were its to walk is for the schedule to see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.cache import Store, digest
from cutecheck.cache.codec import DecodeError, decode, encode
from cutecheck.source.collect import Collected
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.eval.limits import MEMORY_IS_UP, TIME_IS_UP
from cutecheck.source.files import holds, noted, read_bytes, same, watched
from cutecheck.source.translate import Job, Part


@dataclass(slots=True)
class Recall:
    """The memory of one run over one tree. ``request``: a digest of what the facts depend on besides the files."""

    store: Store
    tree: Tree
    request: str
    reported: frozenset[str] = frozenset()
    steps: tuple[int, ...] = ()  # the limits that depend on how many units there are
    _digests: dict[str, str] = field(default_factory=dict)
    _codes: dict[str, str] = field(default_factory=dict)
    _records: dict[tuple[str, str], str] = field(default_factory=dict)  # digests of what evaluation sees

    def closure(self, path: str, arch: str) -> list[str] | None:
        """The closure of a unit if nothing that decides it has changed."""
        text = self.store.get("units", self._name(path, arch))
        if text is None:
            return None
        try:
            includes, files, closure, seen = json.loads(text)
            if any(self.tree.resolve(t, p, s) != target for p, asked in includes for t, s, target in asked):
                return None
            if any(self._digest(p) != known for p, known in files):
                return None
            found = [str(p) for p in closure]
        except (ValueError, TypeError):
            return None
        self._records[path, arch] = str(seen)
        return found

    def learn(self, path: str, arch: str, closure: list[str]) -> None:
        """Keep the closure of a unit that was worked out."""
        files = self.tree.read_with(path)
        includes = []
        for name in files:
            found = self.tree.file(name)
            asked = () if found is None else found.asked
            includes.append([name, [[t, s, self.tree.resolve(t, name, s)] for t, s in asked]])
        seen = digest(json.dumps([closure, [[p, self._code(p)] for p in files]]))
        text = json.dumps([includes, [[p, self._digest(p)] for p in files], closure, seen])
        self._records[path, arch] = seen
        self.store.put("units", self._name(path, arch), text)

    def has(self, job: Job) -> bool:
        """Whether there is an entry for the facts of a job, good or not."""
        key = self._key(job)
        return key is not None and self.store.has("units", key)

    def part(self, job: Job) -> Part | None:
        """The facts of a job as they were when all it reads was as it is."""
        key = self._key(job)
        text = None if key is None else self.store.get("units", key)
        if text is None:
            return None
        try:
            part = decode(text)
        except DecodeError:
            return None
        return part if isinstance(part, Part) else None

    def keep(self, job: Job, part: Part) -> None:
        """Keep the facts of a job, unless time ran out or some of them hold values that cannot be written."""
        key = self._key(job)
        if key is not None and not any(
            TIME_IS_UP in e.message or MEMORY_IS_UP in e.message for e in part.facts.errors.values()
        ):
            try:
                text = encode(part)
            except TypeError:
                return
            self.store.put("units", key, text)

    def _key(self, job: Job) -> str | None:
        record = self._records.get((job.path, job.arch))
        if record is None:
            return None
        closure = self.tree.closure(job.path, job.arch)
        wanted = [p for p in closure if p in self.reported]
        about = [self.request, self.steps, record, job.arch, job.path, sorted(job.owned), job.open, wanted]
        return digest("part", json.dumps(about))

    def _name(self, path: str, arch: str) -> str:
        return digest("closure", self.request, path, arch)

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            data = self.tree.data(path)
            self._digests[path] = "" if data is None else digest(data)
        return self._digests[path]

    def _code(self, path: str) -> str:
        if path not in self._codes:
            self._codes[path] = digest(self.tree.code(path))
        return self._codes[path]


@dataclass(slots=True)
class ScriptRecall:
    """The facts of all Python files of a run, kept together: any of them may import any other.

    ``about``: a digest of what they depend on besides the files, ``package`` the folder of the DSL's own sources. What
    is read or looked for outside the scanned files is part of the entry.
    """

    store: Store
    about: str
    package: str

    def recall(self, scripts: Mapping[str, Path], wanted: Sequence[str], work: Callable[[], Collected]) -> Collected:
        """The facts as they were when all was as it is, else those of ``work``, which are kept."""
        if holds():
            return work()
        with watched() as own:
            digests = [[path, str(file), _digest_of(file)] for path, file in sorted(scripts.items())]
        key = digest("scripts", self.about, self.package, json.dumps([digests, list(wanted)]))
        text = self.store.get("units", key)
        try:
            other, found = ({}, None) if text is None else decode(text)
            if isinstance(found, Collected) and same(other):
                noted(other)
                return found
        except (DecodeError, TypeError, ValueError):
            pass
        with watched() as seen:
            made = work()
        if not _ran_out(made):
            with suppress(TypeError):
                self.store.put("units", key, encode(({p: a for p, a in seen.items() if p not in own}, made)))
        return made


def _digest_of(file: Path) -> str:
    try:
        return digest(read_bytes(file))
    except OSError:
        return ""


def _ran_out(facts: Collected) -> bool:
    """Whether time or memory had a part in the facts."""
    return any(TIME_IS_UP in e.message or MEMORY_IS_UP in e.message for e in facts.errors.values())
