"""Hardware counters of bare runs, by Nsight Compute or CUPTI; names of metrics and what they count."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cutecheck.exec import child
from cutecheck.exec.gpu.run import Launch, environment, write_jobs
from cutecheck.exec.headers import cuda_directories, program

# our name: the metric. Wavefronts of shared memory by operation, instructions by class, sectors of global memory.
# Metrics of SASS instructions count what those instructions did and nothing else; those of l1tex count transfers of the
# whole kernel: sectors that come from L2 for loads and cp.async, bytes of tensor maps.
_WAVEFRONTS = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
_SECTORS = "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_"
_EXECUTED = "smsp__sass_inst_executed_op_"
METRICS = {
    "wavefronts_ld": _WAVEFRONTS + "ld.sum",
    "wavefronts_ldmatrix": _WAVEFRONTS + "ldsm.sum",
    "wavefronts_st": _WAVEFRONTS + "st.sum",
    "wavefronts_stmatrix": _WAVEFRONTS + "stsm.sum",
    "wavefronts_ca": _WAVEFRONTS + "ldgsts_cache_access.sum",
    "inst_ld": _EXECUTED + "shared_ld.sum",
    "inst_st": _EXECUTED + "shared_st.sum",
    "inst_ldmatrix": _EXECUTED + "ldsm.sum",
    "inst_stmatrix": _EXECUTED + "shared_stsm.sum",
    "inst_ldgsts": _EXECUTED + "ldgsts.sum",
    "inst_wgmma": _EXECUTED + "shared_gmma.sum",
    "sectors_ld": _SECTORS + "ld.sum",
    "sectors_st": _SECTORS + "st.sum",
    "sectors_ldgsts": _SECTORS + "ldgsts.sum",
    "sectors_read": "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
    # what tells the two apart where the compiler spills registers: reads of local memory cross from L2, too
    "inst_local_ld": "smsp__sass_inst_executed_op_local_ld.sum",
    "sectors_missed": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum",
    "tma_load_bytes": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
    "tma_store_bytes": "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",
}


Tool = Literal["ncu", "cupti", "cycles"]
CHOICES = ("auto", "ncu", "cupti", "cycles")


@dataclass(frozen=True, slots=True)
class NoCounters:
    """Why there are no hardware counters here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """What wavefronts are measured with: Nsight Compute (``path`` its program), CUPTI (its library), or cycles."""

    tool: Tool
    path: str = ""


CYCLES = Source("cycles")


def find_sources(environ: Mapping[str, str] = os.environ, wanted: str = "auto") -> tuple[Source, ...]:
    """What may be tried, the best first: ncu, CUPTI, cycle timing; only ``wanted`` where that names one.

    ``CUTECHECK_NCU`` and ``CUTECHECK_CUPTI`` name the program and the library. Whether the driver lets one read
    counters shows only when it is tried. ValueError for an unknown choice.
    """
    if wanted not in CHOICES:
        raise ValueError(f"no way to measure wavefronts: {wanted!r} (one of {', '.join(CHOICES)})")
    found = []
    for name in (environ.get("CUTECHECK_NCU"), "ncu", "/usr/local/cuda/bin/ncu"):
        if name and (path := program(name)):
            found.append(Source("ncu", path))
            break
    library = next((p for p in _cupti_libraries(environ) if p.is_file()), None)
    if library is not None:
        found.append(Source("cupti", str(library)))
    return tuple(s for s in (*found, CYCLES) if wanted in ("auto", s.tool))


def _cupti_libraries(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("CUTECHECK_CUPTI"):
        yield Path(environ["CUTECHECK_CUPTI"]).absolute()
    for include in cuda_directories(environ):
        home = include.parent
        for folder in (
            home / "extras" / "CUPTI" / "lib64",
            home / "lib64",
            home / "lib",
            home.parent / "cuda_cupti" / "lib",
        ):
            yield from sorted(folder.glob("libcupti.so.*"))


def count(
    launches: Sequence[Launch], source: Source, metrics: Mapping[str, str], device: int = 0, seconds: float = 300.0
) -> list[dict[str, int]] | NoCounters:
    """Counters of each launch, in order, all in one profiled child process; a metric that is not there is left out."""
    if source.tool == "cupti":  # what one pass counts: of several it gives no numbers
        metrics = {ours: m for ours, m in metrics.items() if m.startswith(("sm__sass", "smsp__sass"))}
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
        folder = Path(name)
        jobs = write_jobs(launches, folder, device)
        limits = child.Limits(seconds=seconds, memory=1 << 46, file=2 << 30)
        ended = child.run(_command(source, jobs, metrics), folder, limits, {**environment(), "HOME": str(folder)})
    rows = parsed(ended.out, metrics) if source.tool == "ncu" else _lines(ended.out, metrics)
    if len(rows) != len(launches) or [r[0] for r in rows] != [x.kernel for x in launches]:
        said = [x for x in (ended.out + ended.err).splitlines() if re.match(r"==(ERROR|WARNING)==|error: ", x)]
        why = said[0] if said else f"{ended.failure}, {len(rows)} of {len(launches)} kernels counted"
        return NoCounters(f"{source.tool} gave no counters: {why[:300]}")
    return [r[1] for r in rows]


def _command(source: Source, jobs: Path, metrics: Mapping[str, str]) -> list[str]:
    here = Path(__file__).parent
    if source.tool == "cupti":
        return [sys.executable, str(here / "cupti.py"), source.path, str(jobs), *metrics.values()]
    return [source.path, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
            "--cache-control", "all", "--kernel-name", "regex:^cc_", "--metrics", ",".join(metrics.values()),
            sys.executable, str(here / "launch.py"), str(jobs)]  # fmt: skip


def _lines(text: str, metrics: Mapping[str, str]) -> list[tuple[str, dict[str, int]]]:
    """(kernel, counters by our names) of every line of ``cupti.py``."""
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [
        (row["kernel"], {ours: round(row["counters"][m]) for ours, m in metrics.items() if m in row["counters"]})
        for row in rows
    ]


def parsed(text: str, metrics: Mapping[str, str]) -> list[tuple[str, dict[str, int]]]:
    """(kernel, counters by our names) of every row of ncu's raw page as CSV."""
    start = text.find('"ID"')
    if start < 0:
        return []
    table = list(csv.DictReader(io.StringIO(text[start:])))
    out = []
    for row in table[1:]:  # the first row holds the units
        counters = {}
        for ours, metric in metrics.items():
            value = (row.get(metric) or "").replace(",", "")
            if value and value.lower() not in ("n/a", "nan"):
                counters[ours] = int(float(value))
        out.append(((row.get("Kernel Name") or "").partition("(")[0], counters))
    return out
