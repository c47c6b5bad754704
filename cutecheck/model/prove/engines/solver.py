"""Z3 solvers with fixed seeds and budgets, shared plumbing of the two Z3 engines (no translation lives here)."""

from __future__ import annotations

from typing import Any, Literal

from cutecheck.model.prove.answer import Options


def solver(logic: str | None, options: Options) -> Any:
    """A solver for one query: fixed seed, reproducible ``rlimit`` budget, wall-clock backstop."""
    import z3

    s = z3.SolverFor(logic) if logic else z3.Solver()
    s.set("random_seed", 0)
    s.set("rlimit", options.rlimit)
    s.set("timeout", options.timeout_ms)
    return s


def check(s: Any, name: str, options: Options) -> Literal["sat", "unsat", "unknown"]:
    """Run a query, handing its SMT-LIB 2 text to ``options.dump``, with the answer as its ``:status``."""
    text = s.to_smt2() if options.dump is not None else ""
    result = str(s.check())
    answer: Literal["sat", "unsat", "unknown"] = (
        "sat" if result == "sat" else "unsat" if result == "unsat" else "unknown"
    )
    if options.dump is not None:
        options.dump(name, text.replace("(set-info :status unknown)", f"(set-info :status {answer})", 1))
    return answer
