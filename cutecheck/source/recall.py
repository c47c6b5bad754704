"""What earlier runs learned of the translation units of this one.

The facts of a unit are kept under a digest of what evaluation sees of the files that it may include (no comments),
of what every include line in them resolves to, also where that is nothing, and of all else that the facts depend on, so
they need no check of their own: a new file that shadows another, or fills a gap, changes the digest. Whether the
kernels that a unit walked were its to walk is for the schedule to see.
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
    beneath: frozenset[str] = frozenset()
    limits: tuple[int, ...] = ()  # those that depend on how many units there are
    _seen: dict[str, str] = field(default_factory=dict)  # of files: digests of what evaluation sees

    def has(self, job: Job) -> bool:
        """Whether there is an entry for the facts of a job, good or not."""
        return self.store.has("units", self._key(job))

    def part(self, job: Job) -> Part | None:
        """The facts of a job as they were when all it reads was as it is."""
        text = self.store.get("units", self._key(job))
        if text is None:
            return None
        try:
            part = decode(text)
        except DecodeError:
            return None
        return part if isinstance(part, Part) else None

    def keep(self, job: Job, part: Part) -> None:
        """Keep the facts of a job, unless time ran out or some of them hold values that cannot be written."""
        if any(TIME_IS_UP in e.message or MEMORY_IS_UP in e.message for e in part.facts.errors.values()):
            return
        try:
            text = encode(part)
        except TypeError:
            return
        self.store.put("units", self._key(job), text)

    def _key(self, job: Job) -> str:
        closure = self.tree.closure(job.path, job.arch)
        wanted = [p for p in closure if p in self.reported]
        read = dict.fromkeys((*self.tree.read_with(job.path), *self.tree.fragments(job.path, job.arch)))
        files = [(p, self._digest(p)) for p in read]
        behind = dict.fromkeys(p for _, path in job.helpers for p in self.tree.read_with(path))
        helpers = [*job.helpers, *((p, self._digest(p)) for p in behind)]
        linked = [sorted(job.handing), encode(job.given) if job.given else "", helpers]
        about = [
            self.request,
            self.limits,
            job.arch,
            job.path,
            sorted(job.owned),
            job.open,
            wanted,
            [p for p in closure if p in self.beneath],
            closure,
            files,
            linked,
        ]
        return digest("part", json.dumps(about))

    def _digest(self, path: str) -> str:
        """Of the code of a file, and of what each of its include lines means."""
        if path not in self._seen:
            found = self.tree.file(path)
            asked = () if found is None else found.asked
            self._seen[path] = digest(self.tree.code(path), *(self.tree.resolve(t, path, s) or "" for t, s in asked))
        return self._seen[path]


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
