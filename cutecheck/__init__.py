"""cutecheck: a static verifier and linter for CuTe (CUTLASS) configurations."""

__version__ = "0.1.0"
