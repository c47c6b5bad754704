"""What earlier runs learned of the translation units of this one.

The facts of a unit are kept under a digest of what evaluation sees of the files that it may include (no comments),
of what every include line in them resolves to, also where that is nothing, and of all else that the facts depend on, so
they need no check of their own: a new file that shadows another, or fills a gap, changes the digest. Whether the
kernels that a unit walked were its to walk is for the schedule to see.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field

from cutecheck.cache import Store, digest
from cutecheck.cache.codec import DecodeError, decode, encode
from cutecheck.source.collect import Collected
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.eval.limits import MEMORY_IS_UP, TIME_IS_UP
from cutecheck.source.files import noted, same
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
        if any(TIME_IS_UP in e.message or MEMORY_IS_UP in e.message for e in part.facts.errors.values()):
            return
        try:
            text = encode(part)
        except TypeError:
            return
        key = self._key(job)
        if key is not None:
            self.store.put("units", key, text)

    def _key(self, job: Job) -> str | None:
        """None where what its callers hand it cannot be written: such a job is evaluated in each run."""
        try:
            given = encode(job.given) if job.given else ""
        except TypeError:
            return None
        closure = self.tree.closure(job.path, job.arch)
        wanted = [p for p in closure if p in self.reported]
        read = dict.fromkeys((*self.tree.read_with(job.path), *self.tree.fragments(job.path, job.arch)))
        files = [(p, self._digest(p)) for p in read]
        behind = dict.fromkeys(p for _, path in job.helpers for p in self.tree.read_with(path))
        helpers = [*job.helpers, *((p, self._digest(p)) for p in behind)]
        linked = [sorted(job.handing), given, helpers]
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
    """The facts of Python files, of each those of its own run.

    ``about``: a digest of what they depend on besides the contents of files, which files there are among it. What a run
    read and looked for, in the tree and outside of it, is part of its entry.
    """

    store: Store
    about: str
    _now: dict[str, str] = field(default_factory=dict)  # what the disk was asked so far

    def parts(self, path: str) -> list[Collected] | None:
        """The facts of a file, for each architecture, as they were when all that its run asked of the disk was so."""
        text = self.store.get("units", self._key(path))
        if text is None:
            return None
        try:
            seen, found = decode(text)
            if not same(seen, self._now):
                return None
        except (DecodeError, TypeError, ValueError, AttributeError):
            return None
        noted(seen)
        return found if isinstance(found, list) and all(isinstance(p, Collected) for p in found) else None

    def keep(self, path: str, seen: dict[str, str], parts: list[Collected]) -> None:
        """Keep the facts of a file, unless time ran out or some of them hold values that cannot be written."""
        if not any(map(_ran_out, parts)):
            with suppress(TypeError):
                self.store.put("units", self._key(path), encode((dict(seen), parts)))

    def _key(self, path: str) -> str:
        return digest("script", self.about, path)


def _ran_out(facts: Collected) -> bool:
    """Whether time or memory had a part in the facts."""
    return any(TIME_IS_UP in e.message or MEMORY_IS_UP in e.message for e in facts.errors.values())
