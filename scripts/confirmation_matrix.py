"""The confirmation matrix on one GPU: ``python scripts/confirmation_matrix.py [--flash .../csrc/flash_attn/src]``.

Works out the configurations from the cases, the fixtures, FlashAttention-2 and seeds; compiles and runs their reference
kernels; compares every counter with the prediction; writes ``docs/confirmation/<device>.md``, its plots and the raw
results as JSON. ``--plan FILE`` only works out the configurations (no GPU needed) and ``--from-plan FILE`` runs such a
file; ``--report RAW.json`` writes the page again from raw results.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pickle
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, default=ROOT / "cutecheck" / "tests" / "data" / "cases")
    parser.add_argument("--flash", type=Path, help="csrc/flash_attn/src of FlashAttention-2")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "confirmation")
    parser.add_argument("--name", default="h200", help="name of the page and its files")
    parser.add_argument("--scale", type=float, default=1.0, help="below 1: a smaller matrix, for a trial")
    parser.add_argument("--plan", type=Path, help="write the plan there and stop")
    parser.add_argument("--from-plan", type=Path, help="a plan written before (only one of your own: it is a pickle)")
    parser.add_argument("--raw", type=Path, help="where the raw results go (the output folder)")
    parser.add_argument("--state", type=Path, help="file that keeps what was measured, for a run in several pieces")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop measuring after that, with exit code 1")
    parser.add_argument("--report", type=Path, help="raw results to write the page from")
    given = parser.parse_args()
    raw = given.raw or given.output / f"{given.name}.json.xz"
    if given.report is None:
        plan = _plan(given)
        if given.plan is not None:
            given.plan.write_bytes(lzma.compress(pickle.dumps(plan)))
            return 0
        made = _run(plan, given)
        if made is None:
            return 1
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.write_bytes(lzma.compress(json.dumps(made, separators=(",", ":")).encode()))
    from confirmation.report import write

    results = json.loads(lzma.decompress((given.report or raw).read_bytes()))
    write(results, given.output, given.name)
    return 0


def _plan(given: argparse.Namespace) -> object:
    if given.from_plan is not None:
        return pickle.loads(lzma.decompress(given.from_plan.read_bytes()))
    from confirmation.plan import make

    with tempfile.TemporaryDirectory(prefix="cutecheck-") as folder:
        return make(given.cases, ROOT / "cutecheck" / "fixtures", given.flash, Path(folder), given.scale)


def _run(plan: object, given: argparse.Namespace) -> object:
    from confirmation.run import run

    from cutecheck.exec.gpu.devices import find_bench
    from cutecheck.exec.gpu.results import Bench

    bench = find_bench()
    if not isinstance(bench, Bench):
        print(f"confirmation_matrix: {bench}", file=sys.stderr)
        return None
    return run(plan, bench, given.state, given.seconds)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
