"""A random configuration: a kernel that builds tiled copies and MMAs, partitions tensors with them and shows each part.

``config(ID, x)`` shows an object, ``seen(ID, t, s)`` a tensor's layout and its place behind ``s``, ``laid(ID, t)`` the
layout alone, ``coords(ID, t)`` a tensor of coordinates.
"""

from __future__ import annotations

from math import prod
from random import Random

from cutecheck.tests.source.random_tiled.layouts import Tree, factors, flat, nested, ordered, spelled, tile
from cutecheck.tests.source.random_tiled.operations import BITS, Multiply, move, multiply

LANES = 5
STEP = 100  # numbers of one configuration


class Config:
    """The configuration of one seed. ``kernel`` is its body; ``threads`` of its block run it."""

    def __init__(self, seed: int, deep: float = 0.1) -> None:
        self.seed = seed
        self._rng = Random(seed)
        self._lines: list[str] = []
        self._shown = 0
        self.threads = 1
        self.deep = self._rng.random() < deep  # partitions, most of the compiler's time
        kind = self._rng.random()
        if kind < 0.4:
            self._copy()
        elif kind < 0.55:
            self._cotiled()
        else:
            self._multiply()
        self.kernel = "\n".join(f"  {line}" for line in self._lines)

    @property
    def lanes(self) -> tuple[int, ...]:
        rng = Random(self.seed)
        more = {0, self.threads - 1, *(rng.randrange(self.threads) for _ in range(LANES))}
        return tuple(sorted(more))

    def text(self) -> str:
        return (
            f"namespace p{self.seed} {{\n__global__ void k(int n) {{\n"
            f"  alignas(1024) __shared__ {self.element} s[65536];\n  int t = threadIdx.x;\n{self.kernel}\n}}\n}}\n"
        )

    def _say(self, line: str) -> None:
        self._lines.append(line)

    def _show(self, how: str, what: str) -> None:
        number = self.seed * STEP + self._shown
        self._shown += 1
        assert self._shown <= STEP
        last = ", s" if how == "seen" else ""
        self._say(f"{how}(Int<{number}>{{}}, {what}{last});")

    # tiled copies

    def _copy(self) -> None:
        rng = self._rng
        self.element = rng.choice([e for e in BITS if e != "int"])
        op = move(rng, self.element)
        rank = rng.choice((1, 2, 2, 2, 2))
        self.threads = (
            op.threads * rng.choice((1, 2, 4, 4, 8, 3)) if op.threads > 1 else rng.choice((4, 32, 64, 96, 128))
        )
        values = max(1, op.bits // BITS[self.element]) * rng.choice((1, 1, 2, 4))
        thr = ordered(
            rng, self._shape(self.threads, rank), gap=rng.choice((0, 0, 0.3)), broadcast=rng.choice((0, 0, 0.1))
        )
        val = ordered(rng, self._shape(values, rank), gap=rng.choice((0, 0, 0, 0.2)))
        rows = [a * b for a, b in zip(thr.extents, val.extents, strict=True)]
        self._say(f"auto tiled = make_tiled_copy(Copy_Atom<{op.text},{self.element}>{{}}, {thr}{{}}, {val}{{}});")
        self._show("config", "tiled")
        self._partitions("tiled", rows)
        if rng.random() < 0.4:
            other = move(rng, self.element, threads=self.threads)
            side = rng.choice("SD")
            self._say(f"auto second = make_tiled_copy_{side}(Copy_Atom<{other.text},{self.element}>{{}}, tiled);")
            self._show("config", "second")
            self._partitions("second", rows)

    def _shape(self, size: int, rank: int) -> Tree:
        return size if rank == 1 else tuple(nested(self._rng, p, 0.2) for p in factors(self._rng, size, rank))

    def _cotiled(self) -> None:
        rng = self._rng
        self.element = rng.choice([e for e in BITS if e != "int"])
        op = move(rng, self.element)
        self.threads = max(op.threads, 32) * rng.choice((1, 2, 4))
        values = max(1, op.bits // BITS[self.element]) * rng.choice((1, 2, 4))
        tv = ordered(rng, (nested(rng, self.threads, 0.6), nested(rng, values, 0.4)), broadcast=rng.choice((0, 0, 0.1)))
        rows, columns = factors(rng, self.threads * values, 2)
        data = ordered(rng, (nested(rng, rows), nested(rng, columns)))
        self._say(f"auto tiled = make_cotiled_copy(Copy_Atom<{op.text},{self.element}>{{}}, {tv}{{}}, {data}{{}});")
        self._show("config", "tiled")
        self._partitions("tiled", [rows, columns])

    def _partitions(self, name: str, rows: list[int]) -> None:
        rng = self._rng
        counts = ", ".join(f"typename decltype({name})::TiledNum{what}{{}}" for what in ("Thr", "Val"))
        self._show("laid", f"make_tensor(make_smem_ptr(s), make_layout(make_shape({counts})))")
        if not self.deep:
            if rng.random() < 0.2:
                self._show("laid", f"make_tensor(make_smem_ptr(s), {name}.get_layout{rng.choice('SD')}_TV())")
            return
        self._say(f"auto thr_{name} = {name}.get_slice(t);")
        for side in rng.sample("SD", rng.choice((1, 2))):
            tensor, _ = self._tensor(rows)
            part = f"{tensor}_{side}"
            self._say(f"auto {part} = thr_{name}.partition_{side}({tensor});")
            self._show("seen", part)
            if rng.random() < 0.7:
                self._say(f"auto {part}_r = make_fragment_like({part});")
                self._show("laid", f"{part}_r")
                self._show("laid", f"thr_{name}.retile_{rng.choice('SD')}({part}_r)")
        for side in "SD":
            self._show("laid", f"make_tensor(make_smem_ptr(s), {name}.get_layout{side}_TV())")
        self._identity(f"thr_{name}.partition_{rng.choice('SD')}", rows)

    def _identity(self, partition: str, rows: list[int]) -> None:
        extents = ",".join(f"Int<{r}>{{}}" for r in rows)
        self._show("coords", f"{partition}(make_identity_tensor(make_shape({extents})))")

    def _tensor(self, rows: list[int]) -> tuple[str, bool]:
        """A tensor of whole tiles; True where its layout is plain."""
        rng = self._rng
        name = f"t{len(self._lines)}"
        extents = [r * rng.choice((1, 1, 2, 3)) for r in rows]
        kind = rng.random()
        plain = True
        if len(extents) != 2:
            layout = f"{ordered(rng, extents[0] if len(extents) == 1 else tuple(extents))}{{}}"
        elif kind < 0.7:
            text = tile(rng, *extents)
            plain = "Swizzle" not in text
            layout = f"{text}{{}}"
        elif kind < 0.85:
            m, k = extents
            strides = rng.choice(("n,Int<1>{}", "Int<1>{},n", "n,n*4"))
            layout = f"make_layout(make_shape(Int<{m}>{{}},Int<{k}>{{}}), make_stride({strides}))"
        else:
            m, k = extents
            layout = f"{ordered(rng, (m, k, rng.choice((2, 3))))}{{}}"
            self._say(f"auto {name}_all = make_tensor(make_smem_ptr(s), {layout});")
            if rng.random() < 0.5:
                self._say(f"auto {name} = {name}_all(_,_,{rng.choice(('Int<1>{}', '1', 'n % 2'))});")
            else:
                self._say(f"auto {name} = {name}_all;")
            return name, plain
        self._say(f"auto {name} = make_tensor(make_smem_ptr(s), {layout});")
        return name, plain

    # tiled MMAs

    def _multiply(self) -> None:
        rng = self._rng
        op = multiply(rng)
        self.element = op.operands
        warps = rng.choice((1, 1, 2, 2, 4, 4, 8, 3)) if op.shape[0] > 1 else rng.choice((16, 64, 128, 256))
        if op.shape[0] == 64:
            warps = rng.choice((1, 1, 2, 2, 4))
        shape: tuple[Tree, ...] = tuple(nested(rng, f, 0.15) for f in factors(rng, warps, 3))
        if rng.random() < 0.6 and op.shape[0] > 1:
            shape = (*(nested(rng, f, 0.15) for f in factors(rng, warps, 2)), 1)
        atoms = ordered(rng, shape, gap=rng.choice((0, 0, 0, 0.3)), broadcast=rng.choice((0, 0, 0, 0.1)))
        extents = [prod(flat(m)) for m in shape]
        tiles = [a * b for a, b in zip(extents, op.shape, strict=True)]
        permutation, tiles = self._permutation(tiles)
        self._say(f"auto mma = make_tiled_mma(MMA_Atom<{op.text}>{{}}, {atoms}{{}}{permutation});")
        self._show("config", "mma")
        self.threads = op.threads * warps
        if self.deep:
            self._say("auto thr = mma.get_slice(t);")
        for operand in "ABC" if self.deep else rng.sample("ABC", 1):
            self._show("laid", f"make_tensor(make_smem_ptr(s), mma.get_layout{operand}_TV())")
        sizes = ",".join(f"tile_size<{i}>(mma)" for i in range(3))
        self._show("laid", f"make_tensor(make_smem_ptr(s), make_layout(make_shape({sizes},size(mma))))")
        m, n, k = tiles
        for operand, rows in zip("ABC", ([m, k], [n, k], [m, n]), strict=True):
            if rng.random() < (0.75 if self.deep else 0.3):
                self._operand(op, operand, rows)

    def _permutation(self, tiles: list[int]) -> tuple[str, list[int]]:
        """The third argument, and the tile of elements that the MMA then covers."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.3:
            return "", tiles
        wide = [t * rng.choice((1, 1, 2, 2, 4)) for t in tiles]
        if kind < 0.4:
            return f", {spelled(tuple(wide), 'Shape')}{{}}", wide
        entries = []
        for mode, (least, extent) in enumerate(zip(tiles, wide, strict=True)):
            choice = rng.random()
            if choice < 0.25:
                entries.append("Underscore")
                wide[mode] = least
            elif choice < 0.5:
                entries.append(f"Int<{extent}>")
            else:
                shape = nested(rng, extent, 0.9)
                entries.append(str(ordered(rng, shape, gap=rng.choice((0, 0, 0, 0.1)))))
        return f", Tile<{','.join(entries)}>{{}}", wide

    def _operand(self, op: Multiply, operand: str, rows: list[int]) -> None:
        rng = self._rng
        if not self.deep:
            moved = move(rng, self.element, threads=self.threads)
            self._say(
                f"auto copy{operand} = make_tiled_copy_{operand}(Copy_Atom<{moved.text},{self.element}>{{}}, mma);"
            )
            self._show("config", f"copy{operand}")
            return
        part = f"part{operand}"
        self._identity(f"thr.partition_{operand}", rows)
        if operand == "C":
            self._say(
                f"auto r{operand} = partition_fragment_C(mma, make_shape(Int<{rows[0]}>{{}},Int<{rows[1] * 2}>{{}}));"
            )
            self._show("laid", "rC")
        tensor, plain = self._tensor(rows)
        self._say(f"auto {part} = thr.partition_{operand}({tensor});")
        self._show("seen", part)
        if operand in op.descriptors:
            return
        if operand != "C" and plain:
            self._say(f"auto r{operand} = thr.partition_fragment_{operand}({tensor});")
            self._show("laid", f"r{operand}")
        if rng.random() < 0.6:
            moved = move(
                rng,
                self.element,
                rng.choice((BITS[self.element], 32, 128)) if BITS[self.element] < 64 else 64,
                self.threads,
            )
            name = f"copy{operand}"
            self._say(f"auto {name} = make_tiled_copy_{operand}(Copy_Atom<{moved.text},{self.element}>{{}}, mma);")
            self._show("config", name)
            self._partitions(name, rows)
            if operand == "C" or plain:
                self._show("laid", f"thr_{name}.retile_{rng.choice('SD')}(r{operand})")
