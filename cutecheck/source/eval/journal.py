"""Assignments that can be undone, so that both branches of an unknown condition can be walked and joined."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from cutecheck.source.eval.slots import Slots, written

Cell = tuple[dict[Any, Any], Any]
_ABSENT = object()


class Journal:
    """Every write of a variable, a field or an item of a dictionary goes through :meth:`set`."""

    __slots__ = ("_log", "_marked", "watched")

    def __init__(self) -> None:
        self._log: list[tuple[dict[Any, Any], Any, Any]] = []
        self._marked = 0  # the last place that somebody may undo to
        # by identity and name: cells of which something is remembered until they are written, and what
        self.watched: dict[tuple[int, Any], tuple[dict[Any, Any], Any]] = {}

    def set(self, where: dict[Any, Any], name: Any, value: Any) -> None:
        if type(where) is Slots:
            where, name, value = written(where, name, value)
        self._log.append((where, name, where.get(name, _ABSENT)))
        where[name] = value
        if self.watched:
            self.watched.pop((id(where), name), None)

    def drop(self, where: dict[Any, Any], name: Any) -> Any:
        """Remove a cell that exists; what it held."""
        self._log.append((where, name, where[name]))
        return where.pop(name)

    def touch(self, where: Any, name: Any) -> None:
        """Note a cell that is written in place: once for all writes since the last mark. ``where.logged`` says when."""
        at = where.logged
        if self._marked <= at < len(self._log) and self._log[at][0] is where:
            return
        where.logged = len(self._log)
        self._log.append((where, name, where[name]))

    def mark(self) -> int:
        self._marked = len(self._log)
        return self._marked

    def written_since(self, mark: int) -> dict[tuple[int, Any], tuple[dict[Any, Any], Any, Any]]:
        """Cells written since the mark, with their current values."""
        return {(id(where), name): (where, name, where[name]) for where, name, _ in self._log[mark:] if name in where}

    def wrote(self, mark: int, cells: dict[Any, Any], name: Any) -> bool:
        """Whether a cell was written since the mark."""
        return any(where is cells and written == name for where, written, _ in self._log[mark:])

    def before(self, mark: int, absent: Any = None) -> dict[tuple[int, str], Any]:
        """Values at the mark of cells written since; ``absent`` of those that were not there."""
        found: dict[tuple[int, str], Any] = {}
        for where, name, old in self._log[mark:]:
            key = id(where), name
            if key not in found:
                found[key] = absent if old is _ABSENT else old
        return found

    def made(self, mark: int) -> Collection[tuple[int, Any]]:
        """Cells written since the mark that were not there before."""
        first: dict[tuple[int, Any], Any] = {}
        for where, name, old in self._log[mark:]:
            first.setdefault((id(where), name), old)
        return {key for key, old in first.items() if old is _ABSENT}

    def undo(self, mark: int) -> None:
        while len(self._log) > mark:
            where, name, old = self._log.pop()
            if self.watched:
                self.watched.pop((id(where), name), None)
            if old is _ABSENT:
                where.pop(name, None)
            else:
                where[name] = old

    def keep(self, mark: int) -> None:
        """What was written since the mark stays: parts of a value that is made once, wherever it is asked for first."""
        del self._log[mark:]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """What is written inside is undone."""
        mark = self.mark()
        try:
            yield
        finally:
            self.undo(mark)
