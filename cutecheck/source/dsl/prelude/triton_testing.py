"""``triton.testing``: the reports and timers of benchmarks, as far as they call what they are given.

Read by the evaluator in the place of Triton's own source, and never imported.
"""

import time

_MOST = 3  # values of what a benchmark varies


class Benchmark:
    def __init__(
        self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="", **style
    ):
        self.x_names, self.x_vals, self.xlabel, self.ylabel = x_names, x_vals, xlabel, ylabel
        self.line_arg, self.line_vals, self.line_names = line_arg, line_vals, line_names
        self.plot_name, self.args = plot_name, args


class Mark:
    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _once(self, bench, x, line):
        x = x if isinstance(x, (tuple, list)) else [x] * len(bench.x_names)
        self.fn(**dict(zip(bench.x_names, x)), **{bench.line_arg: line}, **bench.args)  # noqa: B905

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        for bench in [self.benchmarks] if isinstance(self.benchmarks, Benchmark) else self.benchmarks:
            for line in list(bench.line_vals)[:_MOST]:
                self._once(bench, bench.x_vals[0], line)
            for x in list(bench.x_vals)[1:_MOST]:
                self._once(bench, x, bench.line_vals[0])


def perf_report(benchmarks):
    return lambda fn: Mark(fn, benchmarks)


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    fn()
    return time.perf_counter()


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    fn()
    return time.perf_counter()
