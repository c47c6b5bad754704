"""CPU time of the first look-up of an atom in a fresh process: ``python benchmarks/atoms.py``.

Prints the median of several processes in milliseconds, for each operation under the reference version of CuTe and under
an older one (which reads a second table), and fails above 10 ms. Importing the model is not counted; it reads no data.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS, BUDGET_MS = 9, 10.0
OPERATIONS = (
    ("SM80_16x8x16_F32F16F16F32_TN", ""),
    ("SM75_U32x4_LDSM_N", ""),
    ("SM90::GMMA::MMA_64x128x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K>", ""),
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,128,256,UMMA::Major::K,UMMA::Major::K>", ""),
    ("SM80_16x8x16_F32F16F16F32_TN", "4.2"),
)
CHILD = """
import sys, time
from cutecheck.model.atoms import copy_op, is_mma_op, mma_op
from cutecheck.model.version import REFERENCE, using_cute
name, version = sys.argv[1:]
with using_cute(version or REFERENCE):
    start = time.process_time()
    mma_op(name) if "LDSM" not in name else copy_op(name)
    print((time.process_time() - start) * 1e3)
"""


def first_lookup(name: str, version: str) -> float:
    """Milliseconds, the median of several fresh processes."""
    command = [sys.executable, "-c", CHILD, name, version]
    return statistics.median(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(RUNS)
    )


def main() -> int:
    slow = 0
    for name, version in OPERATIONS:
        milliseconds = first_lookup(name, version)
        slow += milliseconds > BUDGET_MS
        print(f"{name[:60]:62} {version or 'reference':10} {milliseconds:6.1f} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
