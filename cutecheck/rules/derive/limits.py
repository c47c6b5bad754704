"""Limits of the architectures (CUDA C++ Programming Guide, technical specifications per compute capability)."""

from __future__ import annotations

import re

LARGEST_BLOCK = 1024  # threads
_KIB = 1024
_SMEM = {
    70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227,
    100: 227, 101: 227, 103: 227, 110: 227, 120: 99, 121: 99,
}  # fmt: skip


STATIC_SMEM = 48 * _KIB  # of a kernel's own arrays, and of a launch without an opt-in


def smem_limit(arch: str) -> int | None:
    """Most bytes of shared memory one block can have; None for an architecture that is not listed."""
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    return _SMEM[int(match[1])] * _KIB if match and int(match[1]) in _SMEM else None


def static_smem(arch: str) -> int:
    """Most bytes of a kernel's own arrays; ptxas of CUDA 13.0 takes a block's limit for targets of one architecture."""
    return max(STATIC_SMEM, smem_limit(arch) or 0) if arch.endswith(("a", "f")) else STATIC_SMEM
