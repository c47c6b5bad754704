"""Which items of a loop have to be walked: not those whose passes leave everything as the passes before them did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import Holding
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Extern, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_FIRST = 2  # passes between which nothing but what they compute of their item may differ
_LEAST = 6  # items of a loop that is worth it
_Cells = dict[tuple[int, Any], tuple[dict[Any, Any], Any, Any]]


def walked_passes(m: Machine, node: ir.Loop, env: Env, items: Sequence[Value]) -> Iterator[tuple[int, Value]]:
    """Items with their numbers. Each is to be walked before the next is asked for."""
    run = m.recorder.acts()
    whole = run is not None and (not run.by_source or (run.walks(node) and not _of_elements(m, node)))
    if len(items) < _LEAST or m.dialect.by_value or whole:
        yield from enumerate(items)
        return
    met = m.recorder.all_found(), m.recorder.clock
    before: _Cells = {}
    now: _Cells = {}
    for i in range(_FIRST):
        mark = m.journal.mark()
        yield i, items[i]
        before, now = now, _written(m, mark) if i else m.journal.written_since(mark)
    last = len(items) - 1
    if (m.recorder.all_found(), m.recorder.clock) == met and before.keys() >= now.keys():
        told = [key for key in now if not (_opaque(before[key][2]) and _same(before[key][2], now[key][2]))]
        if all(type(now[key][0]) is dict for key in told) and m.dialect.repeats(m, node, env):
            mark = m.journal.mark()
            for where, name, _ in (now[key] for key in told):
                # a pass that needs what those before it made of their items shows it
                m.journal.set(where, name, Unknown("passes in between were not walked", node.span))
            start = m.journal.mark()
            yield last, items[last]
            end = _written(m, start)
            if end.keys() == now.keys() and all(
                not isinstance(end[key][2], Unknown) if key in told else _same(end[key][2], now[key][2]) for key in now
            ):
                return
            m.journal.undo(mark)
    for i in range(_FIRST, len(items)):
        yield i, items[i]


def _of_elements(m: Machine, node: ir.Loop) -> bool:
    """All that happens in a loop is that elements of shared memory are accessed: no steps of a thread that is run."""
    run = m.recorder.acts()
    return run is not None and run.thread is not None and id(node) in m.recorder.elementary


def _written(m: Machine, mark: int) -> _Cells:
    """Cells written since the mark that were there before: not those of functions that were called."""
    made = m.journal.made(mark)
    return {key: cell for key, cell in m.journal.written_since(mark).items() if key not in made}


def _opaque(value: Value) -> bool:
    """A run-time number of which nothing is known, or some of them: no pass can tell what it is."""
    if isinstance(value, Holding):
        return value.keys is None and all(map(_opaque, value.items))
    if isinstance(value, tuple):
        return all(map(_opaque, value))
    return isinstance(value, Extern) or (isinstance(value, Scalar) and value.value is None)


def _same(a: Value, b: Value) -> bool:
    """Of what is opaque: for certain the same."""
    if isinstance(a, Holding):
        return isinstance(b, Holding) and len(a.items) == len(b.items) and all(map(_same, a.items, b.items))
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Scalar):
        return isinstance(b, Scalar) and b.value is None and a.ctype == b.ctype
    return isinstance(a, Extern) and isinstance(b, Extern) and a.type is None and b.type is None and a.what == b.what
