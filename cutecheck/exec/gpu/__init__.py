"""The GPU tier: the checked configuration as a kernel, run, counted and compared with the prediction."""
