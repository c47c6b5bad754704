"""What each architecture allows: CUDA C++ Programming Guide, "Compute Capabilities"; PTX ISA for tensor memory."""

from __future__ import annotations

import re
from typing import Literal

from cutecheck.model.units import Bytes
from cutecheck.records import record

Evidence = Literal["measured", "assumed"]
_KB = 1024


@record(frozen=True, slots=True)
class Arch:
    """Limits of one target. Shared memory in bytes, registers of 32 bits, tensor memory in columns of 128 x 32 bits.

    ``smem_per_block`` is the most a block can opt in to; 1 KB of ``smem_per_sm`` is the system's for each resident
    block from sm_80 on. ``access_model`` tells whether the shared-memory model was measured on this architecture.
    """

    name: str
    smem_per_block: Bytes
    smem_per_sm: Bytes
    threads_per_sm: int
    warp_size: int = 32
    threads_per_block: int = 1024
    registers_per_thread: int = 255
    registers_per_sm: int = 64 * _KB
    banks: int = 32
    bank_bytes: Bytes = Bytes(4)
    tmem_columns: int = 0
    max_cluster: int = 1
    access_model: Evidence = "assumed"


_LIMITS = {
    50: (48, 64, 2048), 52: (48, 96, 2048), 60: (48, 64, 2048), 61: (48, 96, 2048), 70: (96, 96, 2048),
    72: (96, 96, 2048), 75: (64, 64, 1024), 80: (163, 164, 2048), 86: (99, 100, 1536), 87: (163, 164, 1536),
    89: (99, 100, 1536), 90: (227, 228, 2048), 100: (227, 228, 2048), 101: (227, 228, 2048), 103: (227, 228, 2048),
    110: (227, 228, 1536), 120: (99, 100, 1536), 121: (99, 100, 1536),
}  # fmt: skip
_TENSOR_MEMORY = (100, 101, 103, 110)


def compute_capability(target: str) -> int:
    """``sm_90a``, ``sm90``, ``90a`` or ``9.0`` as 90; ValueError for anything else."""
    m = re.fullmatch(r"(?:sm_?|compute_)?(\d+)(?:\.(\d))?[af]?", target.strip().lower())
    if m is None:
        raise ValueError(f"no architecture name: {target!r}")
    return int(m[1] + m[2]) if m[2] is not None else int(m[1])


def architecture(target: str) -> Arch | None:
    """The limits of a target such as ``sm_90a``; None when they are not known here."""
    number = compute_capability(target)
    if number not in _LIMITS:
        return None
    block, sm, threads = _LIMITS[number]
    return Arch(
        name=f"sm_{number}",
        smem_per_block=Bytes(block * _KB),
        smem_per_sm=Bytes(sm * _KB),
        threads_per_sm=threads,
        tmem_columns=512 if number in _TENSOR_MEMORY else 0,
        max_cluster=16 if number in (90, *_TENSOR_MEMORY) else 1,
        access_model="measured" if number == 90 else "assumed",
    )


def supports(targets: tuple[str, ...], target: str) -> bool | None:
    """Whether an atom compiled for ``targets`` can be used on ``target``; None when the atom names no target.

    ``sm_90a`` code needs exactly ``sm_90a``; plain and family targets are listed one by one in the table.
    """
    if not targets:
        return None
    m = re.fullmatch(r"(?:sm_?|compute_)?(\d+)(?:\.(\d))?([af]?)", target.strip().lower())
    if m is None:
        raise ValueError(f"no architecture name: {target!r}")
    return f"sm_{m[1]}{m[2] or ''}{m[3]}" in targets
