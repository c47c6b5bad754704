"""Random layouts, shapes, tilers and coordinates."""

from __future__ import annotations

import random
from typing import Any

from cutecheck.model import algebra
from cutecheck.model import inttuple as it
from cutecheck.model.basis import X
from cutecheck.model.ints import Dyn, known_value
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle


class Generator:
    """Random layouts and arguments; ``dynamic`` is the chance that an integer is a run-time one."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dynamic = 0.0

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def integer(self, value: int) -> Any:
        return Dyn.of(value) if self.chance(self.dynamic) else value

    def extent(self) -> int:
        return self.rng.choice([1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 12, 16])

    def extents(self, modes: int, limit: int = 512, powers: bool = False) -> list[int]:
        result = []
        total = 1
        for _ in range(modes):
            e = self.rng.choice([1, 2, 2, 4, 4, 8, 16]) if powers else self.extent()
            if total * e > limit:
                e = 1
            total *= e
            result.append(e)
        return result

    def nest(self, items: list[Any]) -> Any:
        """A random nesting of a flat list of leaves; None marks in-place construction of a profile."""
        if len(items) == 1 and self.chance(0.6):
            return items[0]
        groups: list[Any] = []
        i = 0
        while i < len(items):
            n = self.rng.choice([1, 1, 1, 2, 3])
            chunk = items[i : i + n]
            groups.append(chunk[0] if len(chunk) == 1 and self.chance(0.9) else tuple(chunk))
            i += n
        return tuple(groups)

    def shape(self, limit: int = 512, powers: bool = False) -> Any:
        leaves = self.extents(self.rng.choice([1, 2, 2, 3, 3, 4]), limit, powers)
        return self.nest([self.integer(e) for e in leaves])

    def layout(self, limit: int = 512, powers: bool = False, compact: float = 0.75) -> Layout:
        extents = self.extents(self.rng.choice([1, 2, 2, 3, 3, 4]), limit, powers)
        order = list(range(len(extents)))
        if self.chance(0.6):
            self.rng.shuffle(order)
        strides = [0] * len(extents)
        current = 1
        for i in order:
            strides[i] = current
            current *= extents[i]
            if not self.chance(compact):
                current *= self.rng.choice([1, 2, 3, 4])
        for i in range(len(strides)):
            if self.chance(0.05):
                strides[i] = 0
            if self.chance(0.03):
                strides[i] = -strides[i]
            if not powers and self.chance(0.05):
                strides[i] = self.rng.choice([1, 2, 3, 5, 6, 7, 10, 24])
        profile = self.nest(list(range(len(extents))))
        shape = it.transform_leaf(profile, lambda i: self.integer(extents[i]))
        stride = it.transform_leaf(profile, lambda i: self.integer(strides[i]))
        return Layout(shape, stride)

    def swizzle(self) -> Swizzle:
        bits = self.rng.choice([0, 1, 1, 2, 2, 3, 3])
        shift = self.rng.choice([bits, bits, bits + 1, 3, 4])
        shift = max(shift, bits)
        if self.chance(0.15):
            shift = -shift
        return Swizzle(bits, self.rng.choice([0, 1, 2, 3, 3, 4]), shift)

    def swizzled(self, limit: int = 1024, flagged: float = 0.15) -> ComposedLayout:
        base = self.layout(limit, powers=True, compact=0.95)
        offset: Any = 0
        if self.chance(flagged):
            offset = SmemPtrFlag(self.rng.choice([8, 16, 32]))
        elif self.chance(0.15):
            offset = self.integer(self.rng.choice([0, 8, 16, 24, 64]))
        first: Any = self.layout(64, compact=1.0) if self.chance(0.05) else self.swizzle()
        return algebra.make_composed_layout(first, offset, base)

    def any_layout(self) -> Any:
        return self.swizzled() if self.chance(0.3) else self.layout()

    def divisor(self, n: int) -> int:
        return self.rng.choice([d for d in range(1, n + 1) if n % d == 0])

    def tiler_mode(self, extent: int) -> Any:
        pick = self.rng.random()
        if pick < 0.45:
            return self.integer(self.divisor(extent))
        if pick < 0.75:
            d = self.divisor(extent)
            step = self.divisor(max(1, extent // d))
            return Layout(self.integer(d), self.integer(step))
        if pick < 0.82:
            return X
        if pick < 0.9:
            return self.integer(self.extent())
        return self.layout(32)

    def tiler(self, layout: Any) -> Any:
        modes = algebra.rank(layout)
        if self.chance(0.25):
            return self.tiler_mode(known_value(algebra.size(layout)) or 1)
        count = self.rng.randint(1, modes)
        return tuple(self.tiler_mode(known_value(algebra.size(layout, i)) or 1) for i in range(count))

    def profile(self, shape: Any) -> Any:
        if isinstance(shape, tuple) and self.chance(0.7):
            return tuple(self.profile(s) for s in shape[: self.rng.randint(1, len(shape))])
        return self.integer(1)

    def coordinate(self, shape: Any, underscore: float = 0.0) -> Any:
        if self.chance(underscore):
            return X
        if isinstance(shape, tuple) and self.chance(0.8):
            return tuple(self.coordinate(s, underscore) for s in shape)
        n = known_value(it.product(shape)) or 1
        return self.integer(self.rng.randrange(max(1, n)))

    def identity(self) -> Layout:
        return algebra.make_identity_layout(self.shape(64))
