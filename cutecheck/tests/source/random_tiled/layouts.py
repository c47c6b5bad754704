"""Random layouts as C++ text: nested, with gaps, in any order, swizzled."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from random import Random
from typing import Union

Tree = Union[int, tuple["Tree", ...]]


def flat(tree: Tree) -> list[int]:
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, tuple) else [tree]


def spelled(tree: Tree, name: str) -> str:
    """``Shape<Int<2>,Shape<Int<4>,Int<8>>>``."""
    return f"{name}<{','.join(spelled(t, name) for t in tree)}>" if isinstance(tree, tuple) else f"Int<{tree}>"


@dataclass(frozen=True)
class Text:
    """A static layout; ``extents`` are the sizes of its modes."""

    shape: Tree
    stride: Tree

    def __str__(self) -> str:
        return f"Layout<{spelled(self.shape, 'Shape')},{spelled(self.stride, 'Stride')}>"

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(prod(flat(m)) for m in self.shape) if isinstance(self.shape, tuple) else (self.shape,)


def factors(rng: Random, number: int, parts: int) -> tuple[int, ...]:
    """The number as a product of that many factors, some of which may be 1."""
    out = [1] * parts
    divisor = 2
    while number > 1:
        while number % divisor == 0:
            out[rng.randrange(parts)] *= divisor
            number //= divisor
        divisor += 1
    return tuple(out)


def nested(rng: Random, extent: int, chance: float = 0.4) -> Tree:
    """An extent, or a product of two or three of which some are products again."""
    if extent < 4 or rng.random() > chance:
        return extent
    return tuple(nested(rng, f, 0.2) for f in factors(rng, extent, rng.choice((2, 2, 3))))


def like(shape: Tree, leaves: list[int]) -> Tree:
    """The leaves, in order, in the form of ``shape``; the list is used up."""
    return tuple(like(s, leaves) for s in shape) if isinstance(shape, tuple) else leaves.pop(0)


def ordered(rng: Random, shape: Tree, *, gap: float = 0.0, broadcast: float = 0.0, shuffle: float = 0.5) -> Text:
    """Strides of a shape in random order: compact, or with gaps between modes, or 0 in some modes."""
    leaves = flat(shape)
    order = list(range(len(leaves)))
    if rng.random() < shuffle:
        rng.shuffle(order)
    elif rng.random() < 0.5:
        order.reverse()
    strides, reach = [0] * len(leaves), 1
    for position in order:
        if rng.random() < broadcast:
            continue
        if rng.random() < gap:
            reach *= rng.choice((2, 2, 3, 4))
        strides[position] = reach
        reach *= leaves[position]
    return Text(shape, like(shape, strides))


def tile(rng: Random, rows: int, columns: int) -> str:
    """The type of a layout of shared memory, of so many rows and columns."""
    kind = rng.randrange(7)
    if kind == 0:
        return str(Text((rows, columns), (1, rows)) if rng.random() < 0.5 else Text((rows, columns), (columns, 1)))
    if kind == 1:
        pad = rng.choice((1, 4, 8))
        rest = Text((rows, columns), (1, rows + pad)), Text((rows, columns), (columns + pad, 1))
        return str(rng.choice(rest))
    if kind == 2:
        return str(ordered(rng, (nested(rng, rows, 0.8), nested(rng, columns, 0.8)), gap=0.1))
    swizzle = f"Swizzle<{rng.randint(0, 3)},{rng.randint(0, 4)},{rng.choice((3, 3, 4, 5))}>"
    if kind in (3, 4):
        inner = ordered(rng, (rows, columns) if kind == 3 else (nested(rng, rows), nested(rng, columns)))
        return f"decltype(composition({swizzle}{{}},{inner}{{}}))"
    low, high = min(8, rows & -rows), min(64, columns & -columns)
    atom = Text((low, high), (high, 1)) if rng.random() < 0.7 else Text((high, low), (1, high))
    if atom.shape == (high, low):
        low, high = min(64, rows & -rows), min(8, columns & -columns)
        atom = Text((low, high), (1, low))
    inside = f"composition({swizzle}{{}},{atom}{{}})" if kind == 5 else f"{atom}{{}}"
    order = rng.choice(("", "", ",Step<_1,_2>{}", ",Step<_2,_1>{}"))
    return f"decltype(tile_to_shape({inside},Shape<Int<{rows}>,Int<{columns}>>{{}}{order}))"
