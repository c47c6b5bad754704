"""Random programs of the kind that kernels are made of, run by a real compiler with CuTe's own headers."""
