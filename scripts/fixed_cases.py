"""Which of the bad cases ``check --unsafe-fixes`` repairs, and whether nvcc compiles what it wrote.

python scripts/fixed_cases.py [--nvcc nvcc -I cutlass/include] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check_and_fix, inputs

CASES = Path(__file__).parents[1] / "cutecheck" / "tests" / "data" / "cases"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc")
    parser.add_argument("-I", dest="include", action="append", default=[])
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    fixed = total = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for case in sorted(p.parent for p in CASES.glob("*/case.json")):
            about = json.loads((case / "case.json").read_text())
            source = next(case.glob("bad.*"))
            run = check_and_fix(inputs([str(source)]), Settings(arch=tuple(about["arch"])), unsafe=True)
            left = [f.code for f in run.report.findings if f.severity != "note"]
            total += 1
            fixed += bool(run.applied) and not left
            state = f"left: {', '.join(left)}" if left else "fixed" if run.applied else "nothing to fix"
            titles = "; ".join(a.fix.title for a in run.applied)
            compiled = ""
            if run.applied and not left and arguments.nvcc and source.suffix == ".cu":
                file = folder / f"{case.name}.cu"
                file.write_bytes(next(iter(run.contents.values())))
                compiled = compile_(arguments.nvcc, arguments.include, file, (about["arch"] or ["sm_80"])[0])
            print(f"{case.name:45} {state:18} {titles} {compiled}", flush=True)
    print(f"{fixed} of {total} fixed")
    return 0


def compile_(nvcc: str, include: list[str], file: Path, arch: str) -> str:
    flags = [f"-I{i}" for i in include]
    command = [nvcc, "-std=c++17", f"-arch={arch}", "--expt-relaxed-constexpr", *flags, "-cubin", "-o", "/dev/null"]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    first = next((line for line in done.stderr.splitlines() if "error" in line), "")
    return "[compiles]" if done.returncode == 0 else f"[nvcc: {first}]"


if __name__ == "__main__":
    raise SystemExit(main())
