"""The ISA tier: what the compiler emits for a checked copy or MMA, against what its layouts predict."""

from cutecheck.exec.isa.tier import IsaOptions, confirm

__all__ = ["IsaOptions", "confirm"]
