"""Write programs with one mistake each: ``make.py OUT SOURCES [--each 10] [--seed a] [--of NAME]``.

SOURCES is a folder with checkouts of cutlass, Cute-Learning, CUTLASS-Examples, cute-gemm, cfx-article-src and
flash-attention. OUT gets
``base/NAME`` and ``NAME/000`` ..., each with a ``mutant.json``.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from dataclasses import asdict
from pathlib import Path

from operators import mutations, sample
from programs import PROGRAMS, Program

_KEPT = (".h", ".hpp", ".cu", ".cuh")
_LEFT_OUT = ("3rd", "build", "tests", "backup", "blackwell", "hopper", "python")


def _base(program: Program, sources: Path, to: Path) -> None:
    top = sources / program.folder

    def left_out(folder: str, names: list[str]) -> list[str]:
        files = [n for n in names if Path(folder, n).is_file() and Path(n).suffix not in _KEPT]
        return files + [n for n in names if n in _LEFT_OUT and Path(folder) == top]

    shutil.copytree(top, to, ignore=left_out)
    for file in to.rglob("*.cu"):
        if file.relative_to(to).as_posix() not in {program.main, *program.files}:
            file.unlink()
    launch = sources / "cfx-article-src/include/utils/cuda_launch.hpp"
    if program.folder.startswith("cfx") and launch.is_file():
        shutil.copy(launch, to)
    if program.driver:
        (to / program.main).write_text(program.driver)
    for name, text in program.besides:
        (to / name).write_text(text)
    for name in {program.main, *program.files}:
        text = (to / name).read_text()
        for old, new in program.edits:
            text = text.replace(old, new, 1)
        (to / name).write_text(text + ("\n#endif\n" if "#define MUTANTS_END" in text else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", default="a")
    parser.add_argument("--of", default="", help="how the names of the programs begin")
    options = parser.parse_args()
    for program in (p for p in PROGRAMS if p.name.startswith(options.of)):
        base = options.out / "base" / program.name
        _base(program, options.sources, base)
        known = {k: v for k, v in asdict(program).items() if k in ("name", "main", "runs", "element", "frees")}
        (base / "mutant.json").write_text(json.dumps({**known, "mistake": None}))
        found = []
        for name in program.files:
            source = (base / name).read_bytes()
            end = source.find(b"#define MUTANTS_END")
            found += [(name, m) for m in mutations(source, program.only, None if end < 0 else end)]
        for i, (name, m) in enumerate(sample(found, options.each, random.Random(program.name + options.seed))):
            to = options.out / program.name / f"{i:03d}"
            shutil.copytree(base, to)
            source = (base / name).read_bytes()
            (to / name).write_bytes(source[: m.start] + m.text + source[m.end :])
            line = source[: m.start].count(b"\n")
            mistake = {
                "operator": m.operator, "file": name, "line": line + 1,
                "before": source.split(b"\n")[line].decode().strip(),
                "after": (to / name).read_bytes().split(b"\n")[line].decode().strip(),
            }  # fmt: skip
            (to / "mutant.json").write_text(json.dumps({**known, "mistake": mistake}))
        print(program.name, len(found))


if __name__ == "__main__":
    main()
