"""CPU time of starting cutecheck, beyond a bare interpreter: ``python benchmarks/startup.py``.

Prints the median of several runs of user plus system time, in milliseconds, and fails when a budget is exceeded:
80 ms for ``--version`` and ``--help``, 400 ms for checking one 500-line file cold.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

RUNS = 15
BUDGETS_MS = {"--version": 80.0, "--help": 80.0, "check (500 lines)": 400.0}

UNIT = """
using Atom{n} = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>;
using Copy{n} = decltype(make_tiled_copy(Atom{n}{{}},
                                         Layout<Shape<_16, _8>, Stride<_8, _1>>{{}},
                                         Layout<Shape<_1, _8>>{{}}));
using Smem{n} = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{{}}, Layout<Shape<_8, _64>, Stride<_64, _1>>{{}}),
                                       Shape<_64, _64>{{}}));
__global__ void stage{n}(half_t const* src) {{
  __shared__ alignas(128) half_t buf[cosize_v<Smem{n}>];
  Tensor g = make_tensor(make_gmem_ptr(src), Shape<_64, _64>{{}}, Stride<_64, _1>{{}});
  Tensor s = make_tensor(make_smem_ptr(buf), Smem{n}{{}});
  Copy{n} copier;
  auto thr = copier.get_slice(threadIdx.x);
  copy(copier, thr.partition_S(g), thr.partition_D(s));
}}
"""
FILLER = "inline int helper_{n}(int x) {{ return x * {n} + 1; }}\n"


def sample(lines: int = 500) -> str:
    """A CuTe source of about that many lines: a few real units, the rest plain code."""
    text = "#include <cute/tensor.hpp>\nusing namespace cute;\n" + "".join(UNIT.format(n=n) for n in range(10))
    return text + "".join(FILLER.format(n=n) for n in range(lines - text.count("\n")))


def _environment() -> dict[str, str]:
    """The caller's environment, with compiled modules kept as an installation keeps them."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def cpu_ms(command: list[str]) -> float:
    """User plus system time of one child process. RuntimeError when it does not do its work."""
    pid = os.posix_spawn(
        command[0], command, _environment(), file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{' '.join(command[1:])} failed")
    return (usage.ru_utime + usage.ru_stime) * 1e3


def main() -> int:
    python = sys.executable
    bare = statistics.median(cpu_ms([python, "-c", "pass"]) for _ in range(RUNS))
    print(f"{'bare interpreter':20} {bare:7.1f} ms")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sample.cu"
        file.write_text(sample(), encoding="utf-8")
        for name, arguments in (
            ("--version", ["--version"]),
            ("--help", ["--help"]),
            ("check (500 lines)", ["check", str(file)]),
        ):
            cpu_ms([python, "-m", "cutecheck", *arguments])  # the first run of an installation compiles its modules
            runs = RUNS if name.startswith("-") else 5
            total = statistics.median(cpu_ms([python, "-m", "cutecheck", *arguments]) for _ in range(runs))
            beyond, budget = total - bare, BUDGETS_MS[name]
            verdict = "ok" if beyond < budget else "TOO SLOW"
            failed += beyond >= budget
            print(f"{name:20} {total:7.1f} ms, {beyond:6.1f} beyond bare (budget {budget:.0f}): {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
