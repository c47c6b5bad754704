"""What a host compiler with CuTe's own headers prints of random configurations, thread by thread."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cutecheck.exec.headers import Headers
from cutecheck.records import record
from cutecheck.tests.source.host_compiler import HostCompiler

SIZES = (64, 136)  # of n
# -O1 compiles CuTe in half the time of -O0
FLAGS = ("-std=c++20", "-O1", "-w", "-fmax-errors=0")
_OBJECTS = r"  (alignas|int t =|config|auto (tiled|second|mma|copy.) =)"
HEAD = "".join(f"#include <{name}>\n" for name in ("cute/tensor.hpp", "cstdio", "cstdlib", "sys/wait.h", "unistd.h"))
NAMES = """#include "head.hpp"
struct Index3 { unsigned x = 0, y = 0, z = 0; };
static Index3 threadIdx;
#define __global__ static
#define __device__
#define __shared__ static
using namespace cute;
static void begin(int id, char kind) { std::printf("@%d %c ", id, kind); }
template <class Id, class X> void config(Id, X const& x) { begin(Id::value, 'o'); print(x); std::printf("\\n"); }
template <class Id, class Tensor, class T> void seen(Id, Tensor const& t, T const* s) {
  begin(Id::value, 's');
  std::printf("%ld ", long(raw_pointer_cast(t.data()) - s));
  print(t.layout());
  std::printf("\\n");
}
template <class Id, class Tensor> void laid(Id, Tensor const& t) {
  begin(Id::value, 'l');
  print(t.layout());
  std::printf("\\n");
}
template <class Id, class Tensor> void coords(Id, Tensor const& t) {
  begin(Id::value, 'c');
  print(t.data().coord_);
  std::printf(" ");
  print(t.layout());
  std::printf("\\n");
}
"""


class Piece(Protocol):
    """What is compiled: a function ``k`` of the namespace of its seed, for some threads of a block."""

    seed: int

    @property
    def lanes(self) -> tuple[int, ...]: ...
    def text(self) -> str: ...


@record(frozen=True, slots=True)
class Shown:
    """What one call shows: to which thread, for which ``n``; ``kind`` is o(bject), s(een), l(aid) or c(oordinates)."""

    thread: int
    n: int
    ident: int
    kind: str
    text: str


class Compiler(HostCompiler):
    """What configurations print, those that CuTe takes."""

    names = NAMES  # what shows values
    objects = _OBJECTS  # statements that tell most refusals, cheaply; none where it is empty

    def __init__(self, headers: Headers, folder: Path, made: Path | None = None) -> None:
        super().__init__(headers, folder, FLAGS, HEAD, made)

    def run(self, configs: Sequence[Piece]) -> dict[int, list[Shown] | str]:
        """By seed; the error's text for a configuration that CuTe rejects."""
        refused: dict[int, str] = {}
        if self.objects:
            refused.update(self._compiled(configs, ["-fsyntax-only"], self.objects) or {})
        left = [c for c in configs if c.seed not in refused]
        while left:
            errors = self._compiled(left, ["-o", str(self._folder / "configs")])
            if errors is None:
                return {**refused, **self._shown(left)}
            refused.update(errors)
            left = [c for c in left if c.seed not in errors]
        return dict(refused)

    def _compiled(self, configs: Sequence[Piece], arguments: list[str], only: str = "") -> dict[int, str] | None:
        """Seeds of what does not compile with an error each, told by the lines that the compiler names.

        ``only`` is of the statements that are compiled; all where it is empty."""
        source = self._folder / "configs.cpp"
        text, owner = self.names, {}
        for c in configs:
            first = text.count("\n") + 1
            text += "".join(
                x for x in c.text().splitlines(keepends=True) if re.match(only, x) or not x.startswith("  ")
            )
            owner.update(dict.fromkeys(range(first, text.count("\n") + 1), c.seed))
        lanes = "".join(
            f"  if (!fork()) {{ int l[] = {{{','.join(map(str, c.lanes))}}};\n"
            f'    for (int t : l) {{ threadIdx.x = t; std::printf("T %d\\n", t); p{c.seed}::k(n); }}\n'
            f'    exit(0); }}\n  wait(&state); if (state) std::printf("X {c.seed}\\n"); std::fflush(stdout);\n'
            for c in configs
        )
        source.write_text(f"{text}int main(int, char** a) {{\n  int n = atoi(a[1]), state = 0;\n{lanes}}}\n")
        errors = self._run([str(source), *arguments])
        if not errors:
            return None
        found: dict[int, str] = {}
        at: int | None = None
        for line in errors.splitlines():
            if named := re.search(r"configs\.cpp:(\d+):", line):
                at = owner.get(int(named[1]), at)
            if " error: " in line and at is not None:
                found.setdefault(at, line.split(" error: ", 1)[1])
        if not found:
            raise RuntimeError(errors[:3000])
        return found

    def _shown(self, configs: Sequence[Piece]) -> dict[int, list[Shown] | str]:
        found: dict[int, list[Shown]] = defaultdict(list)
        stopped: dict[int, str] = {}
        for n in SIZES:
            done = subprocess.run([str(self._folder / "configs"), str(n)], capture_output=True, text=True, check=True)
            thread = 0
            for part in re.split(r"^(?=@\d|[TX] \d+$)", done.stdout, flags=re.M):
                if part.startswith("T "):
                    thread = int(part[2:])
                elif part.startswith("X "):
                    stopped[int(part[2:])] = "an assertion fails when it runs"
                elif part.startswith("@"):
                    ident, kind, text = part[1:].split(" ", 2)
                    found[int(ident) // 100].append(Shown(thread, n, int(ident), kind, text.rstrip("\n")))
        return {**found, **stopped}
