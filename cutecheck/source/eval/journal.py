"""Assignments that can be undone, so that both branches of an unknown condition can be walked and joined."""

from __future__ import annotations

from typing import Any

Cell = tuple[dict[str, Any], str]
_ABSENT = object()


class Journal:
    """Every write of a variable or field goes through :meth:`set`."""

    __slots__ = ("_log",)

    def __init__(self) -> None:
        self._log: list[tuple[dict[str, Any], str, Any]] = []

    def set(self, where: dict[str, Any], name: str, value: Any) -> None:
        self._log.append((where, name, where.get(name, _ABSENT)))
        where[name] = value

    def mark(self) -> int:
        return len(self._log)

    def written_since(self, mark: int) -> dict[tuple[int, str], tuple[dict[str, Any], str, Any]]:
        """Cells written since the mark, with their current values."""
        return {(id(where), name): (where, name, where[name]) for where, name, _ in self._log[mark:] if name in where}

    def undo(self, mark: int) -> None:
        while len(self._log) > mark:
            where, name, old = self._log.pop()
            if old is _ABSENT:
                where.pop(name, None)
            else:
                where[name] = old
