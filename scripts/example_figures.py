"""Figures of each of CUTLASS's C++ examples: sites, events, obligations, findings, and what stays unresolved.

    python scripts/example_figures.py [--markdown FILE] [--only NAME]... [-j N] [--verbose] CUTLASS

Every folder of ``CUTLASS/examples`` with C++ that uses CuTe is checked by itself, with CUTLASS's ``include``,
``tools/util/include`` and ``examples/common`` on ``-I`` (sites of these are not counted). ``--verbose`` lists what is
unknown or unbound and every line about a limit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from figures import STATUSES, table, unresolved

_INCLUDE = ("include", "tools/util/include", "examples/common")
_PROGRAM = """
import resource, sys
from cutecheck.cli import main
try:
    main(sys.argv[1:])
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, file=sys.stderr)
"""


def run(what: str, folder: Path, root: Path) -> tuple[dict[str, Any], float]:
    """The JSON of a command on one example, and its CPU seconds."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [
            sys.executable,
            "-c",
            _PROGRAM,
            what,
            "--isolated",
            "--no-cache",
            "-j",
            "1",
            "--output-format",
            "json",
        ]
        command += ["--output-file", file.name, *(["--exit-zero"] if what == "check" else [])]
        command += [f"-I{root / d}" for d in _INCLUDE]
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        text = Path(file.name).read_text(encoding="utf-8")
    if not text:
        raise SystemExit(f"{folder}: {done.stderr.strip()[-2000:]}")
    return json.loads(text), float(done.stderr.split()[-1])


def row(name: str, report: dict[str, Any], seconds: float) -> list[str]:
    """One example's line of the table."""
    summary = report["summary"]
    sites, events, verdicts = summary["sites"], summary["events"], summary["obligations"]
    bound = sum(sites.get(s, 0) for s in ("resolved", "symbolic", "unknown"))
    share = f"{100 * sites.get('resolved', 0) / bound:.1f}%" if bound else "-"
    return [
        name, str(sites["found"]), *(str(sites.get(s, 0)) for s in STATUSES), share,
        f"{events['found'] - events['unknown']} of {events['found']}",
        *(str(verdicts.get(v, 0)) for v in ("proved", "refuted", "unknown", "assumed")),
        str(sum(summary["findings"].values())), str(len(report["errors"])), f"{seconds:.0f}",
    ]  # fmt: skip


def main() -> None:
    """Check the examples and print (or write) the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("cutlass", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--only", action="append", default=[], help="an example, by the start of its name")
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    root = options.cutlass.resolve()
    folders = [
        f
        for f in sorted((root / "examples").iterdir(), key=lambda f: (not f.name[:1].isdigit(), f.name))
        if f.is_dir() and f.name not in ("common", "python", "cute")
        and (not options.only or any(f.name.startswith(o) for o in options.only))
    ]  # fmt: skip
    rows, without = [], []
    with ThreadPoolExecutor(options.jobs) as pool:
        for folder, (report, seconds) in zip(folders, pool.map(lambda f: run("check", f, root), folders), strict=True):
            if not report["summary"]["files_with_cute"]:
                without.append(folder.name)
                continue
            rows.append(row(folder.name, report, seconds))
            print(*rows[-1], sep=" | ", flush=True)
            if options.verbose:
                for error in report["errors"]:
                    print("   ", f"{error['path']}:{error.get('line')}: {error['message']}")
                for line in unresolved(folder.name, run("facts", folder, root)[0]):
                    print("   ", *line[1:], sep=" | ", flush=True)
    header = ["example", "sites", *STATUSES, "resolved of bound", "events with operands"]
    header += ["proved", "refuted", "unknown", "assumed", "findings", "lines on limits", "CPU s"]
    text = table(header, rows) + f"\n\nWithout CuTe in their own files: {', '.join(without) or 'none'}."
    if options.markdown:
        options.markdown.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
