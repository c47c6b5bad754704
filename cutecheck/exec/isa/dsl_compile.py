"""Calls through the Python DSL's own compiler: PTX and cubin that it keeps (``--keep-ptx --keep-cubin``), and SASS."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.dsl import tier, trace_script
from cutecheck.exec.dsl.tier import DslOptions
from cutecheck.exec.isa import counts
from cutecheck.exec.isa.compile import Emitted, sass_of
from cutecheck.exec.isa.counts import Key
from cutecheck.exec.isa.dsl_calls import DslKernel

CHUNK = 64  # kernels that a child compiles, each in less than a second


@dataclass(frozen=True, slots=True)
class DslBench:
    """An interpreter with nvidia-cutlass-dsl, and a disassembler (None: PTX alone)."""

    options: DslOptions
    disassembler: str | None


@dataclass(frozen=True, slots=True)
class DslEmitted:
    """What each kernel compiled to, in order; ``unavailable`` says why the DSL could not be asked."""

    kernels: list[Emitted]
    version: str = ""
    unavailable: str = ""


def emitted(kernels: Sequence[DslKernel], arch: str, bench: DslBench) -> DslEmitted:
    """What the DSL emits for each kernel on one architecture; one that ends its process hides no other."""
    out: list[Emitted] = []
    version = ""
    for begin in range(0, len(kernels), CHUNK):
        made = _some(kernels[begin : begin + CHUNK], arch, bench)
        version = made.version or version
        if made.unavailable:
            return DslEmitted([Emitted(failure=made.unavailable)] * len(kernels), "", made.unavailable)
        out += made.kernels
    return DslEmitted(out, version)


def _some(kernels: Sequence[DslKernel], arch: str, bench: DslBench) -> DslEmitted:
    answers: dict[int, Emitted] = {}
    version = ""
    start = 0
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
        folder = Path(name)
        while start < len(kernels):
            ended = _child(kernels, start, arch, bench.options, folder)
            told, unfinished, version = tier.parsed(ended.out, version)
            if not version:
                return DslEmitted([], "", tier.why(ended, bench.options.python))
            for number, answer in told.items():
                kept = folder / "kept" / str(number)
                answers[number] = Emitted(failure=answer.failure) if answer.failure else _read(kept, folder, bench)
            if unfinished is None:
                break
            answers[unfinished] = Emitted(failure=f"the DSL was {ended.failure or 'cut short'} by it")
            start = unfinished + 1
    said_nothing = Emitted(failure="the DSL said nothing of it")
    return DslEmitted([answers.get(i, said_nothing) for i in range(len(kernels))], version)


def _child(kernels: Sequence[DslKernel], start: int, arch: str, options: DslOptions, folder: Path) -> child.Ended:
    (folder / "kept").mkdir(exist_ok=True)
    (folder / "calls.json").write_text(json.dumps([json.loads(k.text) for k in kernels]), encoding="utf-8")
    script, names = folder / "kernels.py", folder / "names.py"
    script.write_bytes(Path(__file__).with_name("dsl_kernels.py").read_bytes())
    names.write_bytes(trace_script().read_bytes())
    environment = {"CUTE_DSL_ARCH": arch, "HOME": str(folder), "CUTE_DSL_CACHE_DIR": str(folder)}
    kept = {k: os.environ[k] for k in ("LD_LIBRARY_PATH", "VIRTUAL_ENV") if k in os.environ}
    arguments = [str(names), str(folder / "calls.json"), str(start), str(folder / "kept")]
    command = [options.python, "-I", str(script), *arguments]
    return child.run(command, folder, options.limits, {**kept, **environment})


def _read(kept: Path, folder: Path, bench: DslBench) -> Emitted:
    """The counts of the one kernel of a folder."""
    ptx, cubins = sorted(kept.glob("*.ptx")), sorted(kept.glob("*.cubin"))
    if len(ptx) != 1:
        return Emitted(failure="the DSL kept no PTX")
    text = ptx[0].read_text(encoding="utf-8", errors="replace")
    found = sum(counts.ptx_counts(text).values(), Counter[Key]())
    if bench.disassembler is None or len(cubins) != 1:
        return Emitted(dict(found))
    read = sass_of(cubins[0], bench.disassembler, folder, bench.options.limits)
    return Emitted(dict(found), None if read is None else dict(sum(read.values(), Counter[Key]())))
