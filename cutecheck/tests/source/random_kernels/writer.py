"""What every kind of random statement is written with: names in reach, expressions, conditions."""

# fmt: off
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Scope:
    """What a place of a program may use: integers that may be written, integers that may be read, objects, tensors."""

    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    objects: dict[str, list[str]] = field(default_factory=dict)
    tensors: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    lambdas: list[str] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(
            [*self.writes], [*self.reads], {k: [*v] for k, v in self.objects.items()}, [*self.tensors],
            [*self.pointers], [*self.lambdas],
        )


class Writer:
    """The text of one program so far, and what its next place may use."""

    def __init__(self, seed: int, features: frozenset[str] | None) -> None:
        self.r = random.Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.names = 0
        self.ids = 0
        self.depth = 0
        self.loops: list[str] = []  # kinds of the loops around
        self.in_lambda = 0
        self.scope = Scope(["x", "y"], ["n", "m", "tid", "x", "y"], {}, ["S"])
        self.features = features

    def emit(self, line: str) -> None:
        self.lines.append("  " * (len(self.loops) + 1) + line)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def one(self, *choices: str) -> str:
        return self.r.choice(choices)

    def maybe(self, p: float) -> bool:
        return self.r.random() < p

    def number(self, depth: int = 2) -> str:
        s = self.scope
        kind = self.r.random()
        if depth <= 0 or kind < 0.35:
            if s.reads and self.maybe(0.7):
                return self.r.choice([*s.reads, *s.writes])
            return self.one("0", "1", "2", "3", "4", "8", "16", "-8", "int(Steps<3>::value)")
        a, b = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.6:
            return f"({a} {self.one('+', '-')} {b})"
        if kind < 0.68:
            return f"({a} * {self.one('2', '4', '8', '-1')})"
        if kind < 0.74:
            return f"({a} {self.one('/', '%')} {self.one('2', '4', '8')})"
        if kind < 0.79:
            return f"({a} {self.one('&', '|', '^')} {self.one('1', '3', '8', '12')})"
        if kind < 0.84:
            return f"({self.condition()} ? {a} : {b})"
        if kind < 0.88:
            return f"pure({a})" if self.maybe(0.5) else f"pure({a}, {b})"
        if kind < 0.91:
            return f"cute::{self.one('min', 'max')}({a}, {b})"
        if kind < 0.94:
            return f"int({a})"
        if kind < 0.97:
            return f"either({a}, {b})"
        return "int(unsigned(tid) % 8u)"

    def condition(self) -> str:
        a = self.r.choice([*self.scope.reads, *self.scope.writes])
        return self.one(
            "tid < 16", "n < 3", "m == 2", f"{a} == 8", f"{a} < {self.number(0)}", f"({a} & 1)", f"{a} != 0",
            f"!({a} > 4)", "tid % 2 == 0", f"(n > 1 && {a} < 8)", f"(m < 2 || {a} == 0)", "true", "1 > 2",
        )

    def target(self) -> str:
        return self.r.choice(self.scope.writes)

    def constant(self) -> str:
        return self.one("1", "3", "8", "16", "-8")

    def show(self, what: str) -> None:
        self.ids += 1
        self.emit(f"seen(Int<{self.ids}>{{}}, make_tensor(make_smem_ptr(s + ({what})), Layout<_8>{{}}));")

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()
            if not self.in_lambda and self.depth == 0 and self.maybe(0.03):
                self.emit(f"if ({self.condition()}) return;")
            if self.maybe(0.25):
                self.show(self.target() if self.maybe(0.7) else self.number())

    @contextmanager
    def inside(self, kind: str = "") -> Iterator[None]:
        before = self.scope
        self.scope = before.copy()
        self.loops.append(kind)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.loops.pop()
            self.scope = before

    def block(self, count: int, kind: str = "") -> None:
        with self.inside(kind):
            self.statements(count)

    def statement(self) -> None:
        deep = self.depth >= 3
        kinds: list[tuple[int, str]] = [
            (6, "assign"), (4, "declare"), (3, "object"), (5, "method"), (3, "helper"), (3, "tensor"), (3, "lambda"),
            (2, "reference"), (2, "pointer"), (2, "array"), (2, "expression"), (2, "binding"), (2, "move"), (1, "odd"),
            (1, "layout"), (2, "unsigned"), (6, "rare"), (6, "indirect"), (5, "missing"), (3, "extent"),
        ]
        if not deep:
            kinds += [(4, "if_"), (4, "loop"), (1, "switch"), (1, "while_"), (1, "range_for"), (1, "local_block")]
        if any(self.loops) and not self.in_lambda and "switch" not in self.loops[-1:]:
            kinds += [(1, "jump")]
        if self.features is not None:
            kinds = [(w, k) for w, k in kinds if k in self.features or k in ("assign",)]
        weights = [w for w, _ in kinds]
        kind = self.r.choices([k for _, k in kinds], weights)[0]
        method: Callable[[], None] = getattr(self, f"do_{kind.rstrip('_')}")
        method()
