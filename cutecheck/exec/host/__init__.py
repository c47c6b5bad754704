"""The host tier: configurations spelled in real CuTe types, compiled by a host compiler, printed and compared."""

from cutecheck.exec.host.tier import HostOptions, confirm

__all__ = ["HostOptions", "confirm"]
