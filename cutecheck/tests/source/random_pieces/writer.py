"""What every kind of piece is written with: lines, names, what is shown."""

from __future__ import annotations

from random import Random

LANES = 4
STEP = 100  # numbers of one piece


class Writer:
    """A function of one seed. ``kernel`` is its body, ``before`` what is declared before it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.lines: list[str] = []
        self.before: list[str] = []
        self._shown = 0
        self._names = 0
        self.threads = 128
        self.element = "half_t"
        self.deep = False

    @property
    def kernel(self) -> str:
        return "\n".join(f"  {line}" for line in self.lines)

    @property
    def lanes(self) -> tuple[int, ...]:
        rng = Random(self.seed)
        return tuple(sorted({0, self.threads - 1, *(rng.randrange(self.threads) for _ in range(LANES))}))

    def text(self) -> str:
        before = "".join(f"{line}\n" for line in self.before)
        return (
            f"namespace p{self.seed} {{\n{before}__global__ void k(int n) {{\n"
            f"  alignas(1024) __shared__ uint8_t raw[1 << 18];\n"
            f"  auto* s = reinterpret_cast<{self.element}*>(raw); int t = threadIdx.x;\n{self.kernel}\n}}\n}}\n"
        )

    def one(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def say(self, line: str) -> None:
        self.lines.append(line)

    def name(self, stem: str = "v") -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def let(self, what: str, stem: str = "v") -> str:
        name = self.name(stem)
        self.say(f"auto {name} = {what};")
        return name

    def show(self, how: str, what: str) -> None:
        """``how``: config, seen (a tensor and its place), laid (a tensor), layout, coords (of coordinates) or value."""
        if self._shown >= STEP:
            return
        number = self.seed * STEP + self._shown
        self._shown += 1
        if how == "value":
            how, what = "laid", f"make_tensor(make_smem_ptr(raw), make_layout(make_shape({what}, Int<1>{{}})))"
        elif how == "layout":
            how, what = "laid", f"make_tensor(make_smem_ptr<{self.element}>(raw), {what})"
        last = ", raw" if how == "seen" else ""
        self.say(f"{how}(Int<{number}>{{}}, {what}{last});")
