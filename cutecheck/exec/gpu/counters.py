"""Hardware counters of bare runs, by Nsight Compute; names of metrics and what they count."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.gpu.run import Launch, environment, write_jobs

# our name: the metric. Wavefronts of shared memory by operation, instructions by class, sectors of global memory.
# Metrics of SASS instructions count what those instructions did and nothing else.
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
}


@dataclass(frozen=True, slots=True)
class NoCounters:
    """Why there are no hardware counters here."""

    reason: str


def find_ncu(environ: Mapping[str, str] = os.environ) -> str | NoCounters:
    """The profiler's program: ``CUTECHECK_NCU``, ``ncu`` on the path, or that of the toolkit."""
    for name in (environ.get("CUTECHECK_NCU"), "ncu", "/usr/local/cuda/bin/ncu"):
        if name and (path := shutil.which(name)):
            return path
    return NoCounters("Nsight Compute (ncu) is not installed")


def count(
    launches: Sequence[Launch], ncu: str, metrics: Mapping[str, str], device: int = 0, seconds: float = 300.0
) -> list[dict[str, int]] | NoCounters:
    """Counters of each launch, in order, all in one profiled child process; a metric that is not there is left out."""
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
        folder = Path(name)
        jobs = write_jobs(launches, folder, device)
        script = str(Path(__file__).with_name("launch.py"))
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
                   "--cache-control", "all", "--kernel-name", "regex:^cc_", "--metrics", ",".join(metrics.values()),
                   sys.executable, script, str(jobs)]  # fmt: skip
        limits = child.Limits(seconds=seconds, memory=1 << 46, file=2 << 30)
        ended = child.run(command, folder, limits, {**environment(), "HOME": str(folder)})
        rows = parsed(ended.out, metrics)
    if len(rows) != len(launches) or [r[0] for r in rows] != [x.kernel for x in launches]:
        said = [x for x in (ended.out + ended.err).splitlines() if "==ERROR==" in x or "==WARNING==" in x]
        why = said[0] if said else f"{ended.failure}, {len(rows)} of {len(launches)} kernels counted"
        return NoCounters(f"ncu gave no counters: {why[:300]}")
    return [r[1] for r in rows]


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
