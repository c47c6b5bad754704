"""Translation units side by side: the facts of one process, whatever happens to the others."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from cutecheck.facts import Facts, Unknown
from cutecheck.source import workers
from cutecheck.source.eval.launches import Attempt, Launches
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.tuples import Designated, Elements, Held, IntegerSequence, Pair
from cutecheck.source.eval.values import EnumVal
from cutecheck.source.extract import INTERRUPTED, extract
from cutecheck.source.request import ExtractRequest
from cutecheck.source.translate import Job, Part, Translator

RUN = Translator.run
HEADER = """
#pragma once
#include <cute/tensor.hpp>
using namespace cute;
using Shared = Layout<Shape<_8, _8>>;
template <int M, bool Causal, bool Even> __global__ void kernel(half_t* p) {
  auto tile = make_layout(Shape<Int<M>, _8>{});
  auto s = make_tensor(make_gmem_ptr(p), tile);
  auto r = make_fragment_like(s);
  copy(s, r);
}
template <int N> struct Unused {
  using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<Int<N>, _1, _1>>>;
};
"""


def tree(folder: Path, count: int = 9) -> Path:
    (folder / "kernel.cuh").write_text(HEADER)
    for i in range(count):
        calls = "".join(f"  kernel<{8 * (i // 3 + 1)}, {c}, {e}><<<1, 32>>>(p);\n"
                        for c in ("true", "false")[i % 2 :] for e in ("true", "false"))  # fmt: skip
        (folder / f"unit{i}.cu").write_text(f'#include "kernel.cuh"\nvoid run{i}(half_t* p) {{\n{calls}}}\n')
    return folder


def facts(folder: Path, jobs: int, limits: Limits = Limits()) -> Facts:  # noqa: B008 - frozen
    return extract(ExtractRequest((folder,), jobs=jobs, limits=limits))


def logged(monkeypatch: pytest.MonkeyPatch, log: Path, first: str, others: int) -> None:
    """Writes who evaluates which unit; the first one waits until so many others are under way."""
    evaluate, parent = RUN, os.getpid()

    def run(self: Translator, job: Job, launches: Launches) -> Part:
        if job.open is None:
            with log.open("a") as out:
                out.write(f"{job.path} {os.getpid() == parent}\n")
            until = time.monotonic() + 120
            while job.path == first and len(runs(log)) <= others and time.monotonic() < until:
                time.sleep(0.01)
        return evaluate(self, job, launches)

    monkeypatch.setattr(Translator, "run", run)


def runs(log: Path) -> list[tuple[str, str]]:
    """The path of each unit that was evaluated, as often as it was, and whether the parent did it."""
    return [(path, by) for path, _, by in (line.partition(" ") for line in log.read_text().splitlines())]


def test_any_number_of_processes_gives_the_same_facts(tmp_path: Path) -> None:
    alone = facts(tree(tmp_path), 1)
    assert len(alone.events) == 7  # two combinations of flags for each of three tiles, and each value of each flag once
    assert any(s.symbol.startswith("Unused") for s in alone.sites)
    for jobs in (2, 3, 5):
        assert facts(tmp_path, jobs) == alone


def test_the_limit_of_flag_combinations_can_be_raised(tmp_path: Path) -> None:
    assert [(k.rsplit(":", 1)[-1], n) for k, n in facts(tree(tmp_path), 1).dropped] == [("kernel", 11)]
    raised = Limits(flag_combinations=4)
    assert facts(tmp_path, 1, raised).dropped == ()
    assert len(facts(tree(tmp_path), 1, raised).events) == 12
    assert facts(tmp_path, 3, raised) == facts(tmp_path, 1, raised)


def test_past_some_units_one_of_flags_and_element_types_stands_for_others(tmp_path: Path) -> None:
    """Each value of each flag, and each element type, is walked once, under whatever other arguments."""
    (tmp_path / "kernel.cuh").write_text(HEADER.replace("half_t* p", "T* p").replace("int M,", "class T, int M,"))
    for i in range(49):
        calls = "".join(f"  kernel<{t}, {8 * (i // 24 + 1)}, {f}, {f}><<<1, 32>>>(({t}*)p);\n"
                        for t in ("half_t", "bfloat16_t", "float") for f in ("true", "false"))  # fmt: skip
        (tmp_path / f"unit{i}.cu").write_text(f'#include "kernel.cuh"\nvoid run{i}(void* p) {{\n{calls}}}\n')
    found = facts(tmp_path, 2)
    walked = sorted(e.enclosing.split("kernel")[1] for e in found.events)
    assert walked == [
        "<cutlass::bfloat16_t,8,true,true>", "<cutlass::half_t,16,true,true>", "<cutlass::half_t,24,true,true>",
        "<cutlass::half_t,8,false,false>", "<cutlass::half_t,8,true,true>",
        "<float,16,true,true>", "<float,24,true,true>", "<float,8,true,true>",
    ]  # fmt: skip
    assert [n for _, n in found.dropped] == [24 * 2 + 24 * 4 + 4]
    assert facts(tmp_path, 1) == found


def test_of_many_units_none_waits_for_what_others_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        (tmp_path / f"part{i}").mkdir()
        tree(tmp_path / f"part{i}", 4 + i)
    many = Limits(many=True)
    alone = facts(tmp_path, 1, many)
    assert {e.span.path for e in alone.events} == {f"part{i}/kernel.cuh" for i in range(3)}
    log = tmp_path / "runs"
    logged(monkeypatch, log, first="part0/unit0.cu", others=0)
    for jobs in (2, 4):
        assert facts(tmp_path, jobs, many) == alone
        assert max(Counter(runs(log)).values()) == 1
        log.unlink()
    logged(monkeypatch, log, first="part0/unit0.cu", others=2)
    facts(tmp_path, 3)  # the limits of few units: what others walked counts, and is evaluated again
    assert max(Counter(path for path, _ in runs(log)).values()) > 1


def test_addresses_of_variables_are_no_facts(tmp_path: Path) -> None:
    """A fact that holds what is the evaluator's alone cannot come from another process."""
    (tmp_path / "a.cu").write_text(
        "#include <cute/tensor.hpp>\n#include <cutlass/arch/barrier.h>\nusing namespace cute;\n"
        "struct Pipe { uint64_t full; };\n__global__ void k() { Pipe pipe; auto l = make_layout(Shape<_8, _8>{});\n"
        "  cutlass::arch::ClusterTransactionBarrier::expect_transaction(&pipe.full, 128);\n}\n"
    )
    call = next(c for c in facts(tmp_path, 1).calls if c.function == "expect_transaction")
    assert isinstance(call.arguments[0], Unknown) and call.arguments[1] == 128


def test_facts_hold_enumerators_without_the_program(tmp_path: Path) -> None:
    """``Bytes::Tile``: the enumeration has bodies that are read when they are needed, which cannot travel."""
    (tmp_path / "a.cu").write_text(
        "#include <cute/tensor.hpp>\n#include <cutlass/arch/barrier.h>\nnamespace own {\n"
        "inline int lazy() { return 1; }\nenum Bytes { Tile = 128 };\n}\nstruct Pipe { uint64_t full; };\n"
        "__global__ void k() { Pipe pipe; auto l = cute::make_layout(cute::_8{});\n"
        "  cutlass::arch::ClusterTransactionBarrier::expect_transaction(&pipe.full, own::Tile); }\n"
    )
    found = facts(tmp_path, 1)
    call = next(c for c in found.calls if c.function == "expect_transaction")
    assert isinstance(call.arguments[1], EnumVal) and call.arguments[1].of is None
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("victim", [0, 4, 8])
def test_a_worker_that_dies_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: int) -> None:
    whole = facts(tree(tmp_path), 1)
    evaluate, parent = Translator.run, os.getpid()

    def run(self: Translator, job: Job, launches: Launches) -> Part:
        if job.path == f"unit{victim}.cu" and job.open is None and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return evaluate(self, job, launches)

    monkeypatch.setattr(Translator, "run", run)
    found = facts(tmp_path, 2)
    assert [e.path for e in found.errors] == [f"unit{victim}.cu"]
    assert "signal 9" in found.errors[0].message
    assert {e.span.path for e in found.events} == {e.span.path for e in whole.events}


@pytest.mark.parametrize(
    "value", [IntegerSequence((0, 1), "int"), Designated.of((1,), ("a",)), Held((1, 2)), Pair((1, 2)), Elements((1,))]
)
def test_tuples_of_the_program_come_from_other_processes(value: tuple[object, ...]) -> None:
    came = pickle.loads(pickle.dumps(value))
    assert type(came) is type(value) and came == value
    assert getattr(came, "__dict__", None) == getattr(value, "__dict__", None)


class _Lost:
    """Goes into a pipe and does not come out."""

    def __reduce__(self) -> tuple[type[_Lost], tuple[int]]:
        return _Lost, (1,)


def test_what_does_not_arrive_is_evaluated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = facts(tree(tmp_path), 1)
    evaluate, parent = Translator.run, os.getpid()

    def run(self: Translator, job: Job, launches: Launches) -> Part:
        part = evaluate(self, job, launches)
        if job.path == "unit4.cu" and os.getpid() != parent:
            part.attempts += (_Lost(),)  # type: ignore[assignment]
        return part

    monkeypatch.setattr(Translator, "run", run)
    assert facts(tmp_path, 2) == whole


def test_an_interrupt_keeps_what_came_before_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, wait, came = Translator.run, workers.wait, []

    def slow(self: Translator, job: Job, launches: Launches) -> Part:
        if job.path == "unit0.cu":
            time.sleep(60)
        return run(self, job, launches)

    def interrupted(pipes: list[object]) -> list[object]:
        if len(came) == 4:
            raise KeyboardInterrupt
        came.append(0)
        return wait(pipes)

    monkeypatch.setattr(Translator, "run", slow)
    monkeypatch.setattr(workers, "wait", interrupted)
    found = facts(tree(tmp_path), 2)
    assert [e.message for e in found.errors] == [INTERRUPTED]
    assert "kernel<16,false,true>" in {e.enclosing for e in found.events}  # of units after the first


def test_time_for_a_file_runs_out_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**9, 400))
    monkeypatch.setattr("cutecheck.source.eval.budget.time.thread_time", lambda: next(clock))
    found = facts(tree(tmp_path, 1), 1)
    assert any("600 seconds for a file; raise `file-timeout`" in e.message for e in found.errors)
    assert facts(tmp_path, 1, Limits(seconds_per_file=0)).errors == ()


def attempt(signature: str, answer: str, capped: bool = True) -> Attempt:
    return Attempt("k", "int", signature, capped, answer)  # type: ignore[arg-type]


def test_a_guess_counts_only_when_the_run_agrees() -> None:
    launches = Launches(Limits(flag_combinations=2))
    assert launches.follows([attempt("a", "walk"), attempt("a", "before")])
    assert not launches.follows([attempt("b", "walk"), attempt("c", "walk"), attempt("a", "before")])
    assert not launches.follows([attempt("b", "walk"), attempt("a", "walk")])
    assert launches.done == {("k", "int"): {"a"}} and launches.count == {"k": 1}
    assert launches.follows([attempt("b", "walk"), attempt("c", "dropped"), attempt("d", "walk", False)])
    assert [launches.ask("k", "int", s) for s in "abcd"] == ["before", "before", "dropped", "before"]


def test_each_value_of_each_flag_is_walked_once() -> None:
    launches = Launches(Limits(flag_combinations=1))
    asked = [launches.ask("k", types, types + flags, flags=tuple(flags)) for types, flags in (
        ("int", "TT"), ("int", "TF"), ("int", "FT"), ("int", "FF"), ("char", "FF"), ("char", "TT"))]  # fmt: skip
    assert asked == ["walk", "walk", "walk", "dropped", "walk", "dropped"]
    assert launches.knows("k", 0) and launches.knows("k", 1) and not launches.knows("k", 2)
    before = launches.copy()
    wrong = [
        Attempt("n", "int", "T", True, "walk", "", ("T",)),
        Attempt("k", "int", "FF", True, "walk", "", ("F", "F")),
    ]
    assert not launches.follows(wrong)
    assert launches.flags == before.flags
    assert launches.ask("n", "int", "T", flags=("T",)) == "walk"


def test_whether_both_values_of_a_flag_were_walked_is_an_answer_too() -> None:
    """A dispatch leaves out ways by it: a unit that was told otherwise than in its turn is evaluated again."""
    guess = Launches(Limits(flag_combinations=1))
    guess.ask("k", "int", "T", flags=("T",))
    guess.ask("k", "int", "F", flags=("F",))
    guess.attempts.clear()
    assert guess.knows("k", 0) and guess.ask("k", "int", "T", flags=("T",)) == "before"
    turn = Launches(Limits(flag_combinations=1))
    turn.ask("k", "int", "T", flags=("T",))
    assert not turn.copy().follows(guess.attempts)
    turn.ask("k", "int", "F", flags=("F",))
    assert turn.copy().follows(guess.attempts)
    later = Launches(Limits(flag_combinations=1))
    assert not later.knows("k", 0) and later.follows(later.attempts)
    assert not turn.follows(later.attempts)


def test_of_a_kernel_that_is_instantiated_a_few_others_are_walked() -> None:
    """Those that templates launch which nothing instantiates; of one that nothing instantiates all are."""
    launches = Launches(Limits(flag_combinations=2))
    assert [launches.ask("alone", t, t, unbound=True) for t in "abcd"] == ["walk"] * 4
    assert launches.ask("k", "bound", "bound") == "walk"
    before = launches.copy()
    assert [launches.ask("k", t, t, unbound=True) for t in "abcd"] == ["walk", "walk", "dropped", "dropped"]
    assert launches.ask("k", "more", "more") == "walk" and launches.ask("k", "a", "a", unbound=True) == "before"
    assert before.copy().follows(launches.attempts[5:])
    wrong = [*launches.attempts[5:7], Attempt("k", "c", "c", True, "walk", unbound=True)]
    assert not before.follows(wrong)
    assert before.unbound == {"alone": 4, "k": 0}  # the guess does not count
    assert [before.ask("k", t, t, unbound=True) for t in "def"] == ["walk", "walk", "dropped"]


def test_templates_that_nothing_instantiates_launch_what_others_do(tmp_path: Path) -> None:
    host = "template <class T> void never(T* p) {\n"
    host += "".join(f"  kernel<{n}, true, true><<<1, 32>>>(p);\n" for n in range(8, 48, 8)) + "}\n"
    launch = "void some(half_t* p) { kernel<64, true, true><<<1, 32>>>(p); }\n"

    def walked(text: str) -> int:
        (tmp_path / "a.cu").write_text(HEADER.replace("#pragma once", "") + text)
        return len({e.enclosing for e in facts(tmp_path, 1).events})

    assert walked(host) == 5
    assert walked(host + launch) == 1 + Limits().flag_combinations


def test_of_arguments_that_nothing_binds_few_instantiations_are_walked(tmp_path: Path) -> None:
    """Until one says nothing new of any place; where each has another value there all are."""
    launches = "".join(f"  kernel<T, {n}><<<1, 32>>>(p);\n" for n in range(1, 7))

    def walked(rows: str) -> int:
        (tmp_path / "a.cu").write_text(
            "#include <cute/tensor.hpp>\nusing namespace cute;\n"
            "template <class T, int N> __global__ void kernel(T* p) {\n"
            f"  auto tile = make_layout(Shape<{rows}, _8>{{}});\n"
            "  copy(make_tensor(p, tile), make_tensor(p, tile));\n}\n"
            f"template <class T> void never(T* p) {{\n{launches}}}\n"
        )
        found = facts(tmp_path, 1)
        assert not found.errors
        return len({s.symbol for s in found.sites if s.symbol.endswith("::tile")})

    assert (walked("_16"), walked("Int<N>")) == (2, 6)


def test_wrong_guesses_are_evaluated_again_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first unit comes last: what the others walked of its kernels they walk no more, and not in the parent."""
    alone = facts(tree(tmp_path, 6), 1)
    log = tmp_path / "runs"
    logged(monkeypatch, log, first="unit0.cu", others=5)
    results, steps = workers.Crew.results, []
    monkeypatch.setattr(workers.Crew, "results", lambda crew, step: results(crew, lambda: steps.append(step())))
    assert facts(tmp_path, 6) == alone
    assert len(steps) == 6  # however often they were evaluated
    ran = runs(log)
    assert not any(by == "True" for _, by in ran)
    assert ran.count(("unit1.cu", "False")) == 2 and ran.count(("unit3.cu", "False")) == 1  # 3: first of its kernels


def test_recursion_on_what_is_not_known_ends_soon(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\n"
        "template <class T> int depth(T t) { if (t.deep()) return depth(t.a()) + depth(t.b()); return depth(t.c()); }\n"
        "void run() { auto n = depth(mystery()); auto after = make_layout(Shape<_8, _8>{}); }\n"
    )
    found = facts(tmp_path, 1, Limits(steps_per_root=50_000))
    assert found.errors == ()
    assert [s.symbol for s in found.sites if s.status == "resolved"] == ["run::after"]


def test_a_file_has_a_budget_for_all_its_roots(tmp_path: Path) -> None:
    loop = "for (int i = 0; i < 1200; ++i) n += i;"
    roots = "".join(f"constexpr int f{i}() {{ int n = 0; {loop} return n; }}\nusing T{i} = Layout<Int<f{i}()>>;\n"
                    for i in range(12))  # fmt: skip
    (tmp_path / "a.cu").write_text(f"#include <cute/tensor.hpp>\nusing namespace cute;\n{roots}")
    found = facts(tmp_path, 1, Limits(steps_per_root=30_000))
    assert any("90000 evaluation steps for a file" in e.message for e in found.errors)
    assert facts(tmp_path, 1).errors == ()
