"""What programs show when a host compiler has built them with CuTe's own headers, thread by thread."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from cutecheck.exec.headers import Headers
from cutecheck.records import record
from cutecheck.tests.source.host_compiler import HostCompiler
from cutecheck.tests.source.random_kernels.missing import MISSING
from cutecheck.tests.source.random_kernels.programs import Program

LANES = (0, 1, 5, 16, 31)
SIZES = ((0, 1), (1, 2), (3, 2), (4, 4))  # of n and m
_FLAGS = ("-std=c++17", "-O0", "-w", "-fsanitize=signed-integer-overflow,shift")
HEAD = "".join(
    f"#include <{name}>\n"
    for name in ("cute/tensor.hpp", "cstdio", "cstdlib", "functional", "new", "utility", "vector")
)
_NAMES = """#include "head.hpp"
struct Index3 { unsigned x = 0, y = 0, z = 0; };
static Index3 threadIdx;
#define __global__ static
#define __device__
#define __shared__ static
#define START base_of_s = s;
using namespace cute;
static half_t const* base_of_s;
template <class Id, class Tensor> void seen(Id, Tensor const& t) {
  std::printf("%d %ld ", int(Id::value), long(raw_pointer_cast(t.data()) - base_of_s));
  print(t.layout());
  std::printf("\\n");
}
"""


@record(frozen=True, slots=True)
class Shown:
    """One call of ``seen``: by which thread, under which arguments, and what it was given."""

    thread: int
    sizes: tuple[int, int]
    ident: int
    offset: int
    layout: str


class Compiler(HostCompiler):
    """What programs show when they have run."""

    def __init__(self, headers: Headers, folder: Path, made: Path | None = None) -> None:
        super().__init__(headers, folder, _FLAGS, HEAD, made)

    def run(self, programs: Sequence[Program]) -> dict[int, list[Shown] | str]:
        """By seed; a text for a program that does not compile, overflows, or does not end."""
        at = self._folder / f"programs{programs[0].seed}"
        runs = "".join(
            f"  if (program == {p.seed}) for (int t : lanes) {{ threadIdx.x = t; "
            f'std::printf("T %d\\n", t); p{p.seed}::k(n, m); }}\n'
            for p in programs
        )
        lanes = ", ".join(map(str, LANES))
        main = (
            "int main(int, char** a) {\n  int program = atoi(a[1]), n = atoi(a[2]), m = atoi(a[3]);\n"
            f"  int lanes[] = {{{lanes}}};\n{runs}}}\n"
        )
        at.with_suffix(".cpp").write_text(_NAMES + MISSING + "".join(p.text() for p in programs) + main)
        failed = self._run([str(at.with_suffix(".cpp")), "-o", str(at)])
        if failed:
            if len(programs) == 1:
                return {programs[0].seed: failed}
            return {seed: found for p in programs for seed, found in self.run([p]).items()}
        try:
            return {p.seed: self._shown(at, p.seed) for p in programs}
        finally:
            at.unlink()

    def _shown(self, binary: Path, seed: int) -> list[Shown] | str:
        found: list[Shown] = []
        for sizes in SIZES:
            command = [str(binary), str(seed), *map(str, sizes)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
            except subprocess.TimeoutExpired:
                return "does not end"
            if "runtime error" in done.stderr or done.returncode:
                return f"overflows: {done.stderr[:200]}"
            thread = 0
            for line in done.stdout.splitlines():
                first, rest = line.split(" ", 1)
                if first == "T":
                    thread = int(rest)
                else:
                    offset, layout = rest.split(" ", 1)
                    found.append(Shown(thread, sizes, int(first), int(offset), layout))
        return found
