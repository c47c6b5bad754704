"""Functions of one name in several files of a tree: facts are told apart by the function they are of.

Tutorials and benchmarks define a ``gemm_kernel`` in every file. Those are programs of their own: their shared memory,
barriers and fragments have nothing to do with each other. The first one read keeps its name; the facts of another are
those of ``gemm_kernel (its file)``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

from cutecheck.facts import Call, Event, Launch, Predicate, Site, SmemBuffer
from cutecheck.facts.tensor import TensorFact
from cutecheck.source.eval.record.variants import with_names


@dataclass(slots=True)
class Renaming:
    """``names``: the symbols of functions, and what those of this part of the tree are called instead."""

    names: Mapping[str, str]
    _buffers: dict[str, str] = field(default_factory=dict)
    _events: dict[str, str] = field(default_factory=dict)  # by what they were called

    def but(self, names: Container[str]) -> Renaming:
        """One that leaves these names, and calls events what this one does."""
        return Renaming({n: other for n, other in self.names.items() if n not in names}, _events=self._events)

    def symbol(self, name: str) -> str:
        return self.names.get(name, name)

    def buffer(self, ident: str) -> str:
        """A buffer is named after the function that declares it: ``kernel::smem``, ``kernel/function::smem``."""
        if ident not in self._buffers:
            found = next((n for n in self.names if ident.startswith((f"{n}::", f"{n}/"))), "")
            self._buffers[ident] = self.names[found] + ident[len(found) :] if found else ident
        return self._buffers[ident]

    def barriers(self, subject: str) -> str:
        """Barriers, a pipeline or its state are named after the kernel, and where they are: ``kernel|place``."""
        kernel, bar, place = subject.partition("|")
        return f"{self.symbol(kernel)}|{self.buffer(place)}" if bar else subject

    def value(self, value: object) -> object:
        if isinstance(value, TensorFact):
            return self.tensor(value)
        return tuple(self.value(v) for v in value) if type(value) is tuple else value

    def tensor(self, tensor: TensorFact) -> TensorFact:
        known = tensor.buffer
        return tensor if not known or self.buffer(known) == known else replace(tensor, buffer=self.buffer(known))

    def site(self, s: Site) -> Site:
        """A site is named as itself, or after the function that it is in."""
        for name, other in self.names.items():
            if s.symbol == name or s.symbol.startswith(f"{name}::"):
                symbol = other + s.symbol[len(name) :]
                return replace(s, symbol=symbol, site_id=s.site_id.replace(s.symbol, symbol))
        return s

    def event(self, e: Event) -> Event:
        """Events before buffers, which name them."""
        operands = tuple(self.tensor(t) for t in e.operands)
        predicate = None if e.predicate is None else self.tensor(e.predicate)
        enclosing, kernel = self.symbol(e.enclosing), self.symbol(e.kernel)
        if (enclosing, kernel, operands) == (e.enclosing, e.kernel, e.operands):
            return e
        told = with_names(e.event_id.rpartition(f":{e.arch}:")[2], operands)
        ident = f"{e.kind}:{e.span}:{enclosing}:{e.arch}:{told}"
        self._events[e.event_id] = ident
        return replace(
            e, event_id=ident, enclosing=enclosing, operands=operands, predicate=predicate, kernel=kernel,
            signals=self.barriers(e.signals),
        )  # fmt: skip

    def key(self, key: tuple[object, ...]) -> tuple[object, ...]:
        """What facts are told by."""
        return tuple(self.buffer(self.symbol(k)) if isinstance(k, str) else k for k in key)

    def call(self, c: Call) -> Call:
        arguments = tuple(self.value(a) for a in c.arguments)
        result, enclosing, kernel = self.value(c.result), self.symbol(c.enclosing), self.symbol(c.kernel)
        subject = self.barriers(c.subject)
        return replace(c, arguments=arguments, result=result, enclosing=enclosing, kernel=kernel, subject=subject)

    def shared(self, b: SmemBuffer) -> SmemBuffer:
        accesses = tuple(self._events.get(ident, ident) for ident in b.accesses)
        return replace(b, buffer_id=self.buffer(b.buffer_id), enclosing=self.symbol(b.enclosing), accesses=accesses)

    def launch(self, launch: Launch) -> Launch:
        return replace(launch, kernel=self.symbol(launch.kernel))

    def predicate(self, p: Predicate) -> Predicate:
        enclosing, kernel = self.symbol(p.enclosing), self.symbol(p.kernel)
        return replace(p, buffer=self.buffer(p.buffer), enclosing=enclosing, kernel=kernel)


def aside(kernel: str) -> str:
    """What a kernel is called of which nothing binds the arguments, where other code launches it with others."""
    return f"{kernel}<unbound>"
