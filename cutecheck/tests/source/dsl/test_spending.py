"""What steps are spent on: not again on what is known, and in many tests on what is new first."""

from __future__ import annotations

from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.source.dsl.drivers import Driver
from cutecheck.source.dsl.novelty import dropped
from cutecheck.source.eval.limits import Limits
from cutecheck.tests.source.dsl.run import HEAD, driver, results, variables

WORK = """
def work(n):
    s = 0
    for i in range(n):
        s += i
    return s
"""


def shapes(made: Driver) -> list[str]:
    return sorted(str(v) for found in results(made).values() for v in found)


def test_a_list_that_an_iteration_makes_is_not_changed_by_the_loop(tmp_path: Path) -> None:
    """Else each rehearsal finds another one, and the loop is rehearsed as often as there may be rehearsals."""

    def steps(head: str, last: str) -> int:
        text = f"""
            {HEAD}
            @cute.kernel
            def kernel(n: cutlass.Int32):
                for i in cutlass.range(n):
                    {head}
                    for k in cutlass.range_constexpr(20):
                        t = cute.make_rmem_tensor((4, 2), cutlass.Float32)
                        {last}
            @cute.jit
            def host(n: cutlass.Int32):
                kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))
            host(4)
        """.replace("\n            ", "\n").replace(HEAD, HEAD.replace("\n", "\n"))
        return driver(tmp_path, text).spent

    plain = steps("parts = (1, 2)", "len(parts)")
    assert steps("parts = []", "parts.append(t)") < 1.5 * plain
    assert steps("parts = {}", "parts[k] = t") < 1.5 * plain


def test_a_loop_that_is_left_loses_what_it_fills(tmp_path: Path) -> None:
    text = f"""{HEAD}{WORK}
class Box:
    pass
rows, table, box = [], {{}}, Box()
box.n = 0
for i in range(300):
    rows.append(work(100))
    table[i] = 1
    box.n += 2
cute.make_layout(len(rows))
cute.make_layout(len(table))
cute.make_layout(box.n)
"""
    assert shapes(driver(tmp_path, text)) == []


def test_a_long_loop_over_little_is_left_before_it_ends_the_script(tmp_path: Path) -> None:
    text = f"""{HEAD}
total = 0
for i in range(3000):
    total += i % 7
cute.make_layout(8)
cute.make_layout(total)
"""
    made = driver(tmp_path, text, limits=Limits(idle_steps=4000))
    assert shapes(made) == ["8:1"]
    assert not made.cut


def test_what_tries_until_it_works_is_not_tried_for_ever(tmp_path: Path) -> None:
    text = f"""{HEAD}{WORK}
import time
import pool
while True:
    try:
        pool.ready(work(300))
        break
    except pool.Pending:
        time.sleep(1)
cute.make_layout(8)
"""
    made = driver(tmp_path, text, limits=Limits(idle_steps=30_000))
    assert shapes(made) == ["8:1"]
    assert not made.cut


CALLED = f"""{HEAD}
class Copy:
    def __init__(self, n):
        self.n = n

    @cute.jit
    def __call__(self, x: cute.Tensor):
        self.threads = 4 * self.n
        for i in cutlass.range_constexpr(200):
            t = cute.make_layout((self.n, 2))
        self.kernel(x).launch(grid=(1, 1, 1), block=(self.threads, 1, 1))

    @cute.kernel
    def kernel(self, x: cute.Tensor):
        cute.make_layout((self.threads, 8))

def make(n):
    op = Copy(n)
    cute.compile(op, make_fake_tensor(cutlass.Float16, (cute.sym_int(), 64), stride=(64, 1)))
    return op
"""


def test_what_is_compiled_again_is_not_walked_again(tmp_path: Path) -> None:
    once = driver(tmp_path, CALLED + "make(8)\n").spent
    again = driver(tmp_path, CALLED + "make(8)\n" * 9 + "cute.make_layout(make(8).threads)\nmake(16)\n")
    assert again.spent < 3 * once
    assert "32:1" in shapes(again)  # the attribute is there
    assert "(64,8):(1,64)" in shapes(again)  # and another object is


def test_what_a_call_changes_elsewhere_has_it_walked_again(tmp_path: Path) -> None:
    text = f"""{HEAD}
count, rows, box = 0, [], {{}}

@cute.jit
def host(n: cutlass.Constexpr):
    global count
    count += n

@cute.jit
def filling(n: cutlass.Constexpr):
    rows.append(n)

@cute.jit
def into(where: cutlass.Constexpr):
    where[len(where)] = 1

class Kind:
    pass
kept = Kind()

@cute.jit
def first(n: cutlass.Constexpr):
    global late
    late = n

@cute.jit
def on_a_class(n: cutlass.Constexpr):
    Kind.late = n

@cute.jit
def on_another(n: cutlass.Constexpr):
    kept.late = n

first(1); late = 5; first(1)
on_a_class(1); Kind.late = 5; on_a_class(1)
on_another(1); kept.late = 5; on_another(1)
later = (late, Kind.late, kept.late)
host(2); host(2); host(2)
filling(1); filling(1)
into(box); into(box); into(box)
found = (count, len(rows), len(box))
"""
    found = variables(tmp_path, text)
    assert (found["found"], found["later"]) == ((6, 2, 3), (1, 1, 1))


def test_a_call_that_may_fail_is_looked_at_in_each_try(tmp_path: Path) -> None:
    text = f"""{HEAD}
import random
@cute.jit
def host(n: cutlass.Constexpr):
    if random.random() > 0.5:
        raise ValueError
def tried():
    try:
        host(2)
        return 4
    except ValueError:
        return 8
one, two = tried(), tried()
"""
    found = variables(tmp_path, text)
    assert 4 not in (found["one"], found["two"])
    assert 8 not in (found["one"], found["two"])


REPEATED = f"""{HEAD}{WORK}
calls = 0
def measured(x):
    global calls
    calls += 1
    return [work(400) for _ in range(2)]
def bench():
    for _ in (1, 2, 3, 4):
        measured(1); measured(1); measured(1); measured(1); measured(1); measured(1)
bench(); bench(); bench(); bench()
seen = calls
cute.make_layout(8)
"""


def test_host_code_that_repeats_itself_is_left_out_and_what_it_changes_is_lost(tmp_path: Path) -> None:
    made = driver(tmp_path, REPEATED, limits=Limits(idle_steps=12_000))
    assert shapes(made) == ["8:1"]
    assert not made.cut
    found = made.machine.functions["dsl modules"]["scopes"]["__main__ main"].env.vars
    assert not isinstance(found["seen"], int) or found["seen"] == 96
    assert sum(dropped(made.machine).values())


SETTLED = f"""{HEAD}{WORK}
class Inner:
    def __init__(self):
        self.stages = None
class Plan:
    def __init__(self):
        self.tile = None
        self.inner = Inner()
    def settle(self, other):
        work(400); work(400)
        self.tile = (64, 32)
        self.inner.stages = other.stages = 4
def bench():
    for _ in (1, 2, 3, 4, 5, 6):
        Plan().settle(other=Inner()); Plan().settle(other=Inner()); Plan().settle(other=Inner())
bench(); bench(); bench(); bench()
last, other = Plan(), Inner()
last.settle(other=other)
tile, stages, others = last.tile, last.inner.stages, other.stages
"""


def test_of_a_call_that_is_left_out_its_own_objects_are_changed_too(tmp_path: Path) -> None:
    """What was written before was others, which were like them."""
    made = driver(tmp_path, SETTLED, limits=Limits(idle_steps=12_000))
    assert sum(dropped(made.machine).values())
    found = made.machine.functions["dsl modules"]["scopes"]["__main__ main"].env.vars
    for name, right in (("tile", (64, 32)), ("stages", 4), ("others", 4)):
        assert isinstance(found[name], Unknown) or found[name] == right


CONFIGURED = f"""{HEAD}
@cute.kernel
def kernel(n: cutlass.Constexpr, wide: cutlass.Constexpr, kind: cutlass.Constexpr):
    for i in cutlass.range_constexpr(100):
        if i % 2:
            k = i * n
    cute.make_layout((n, 2))

@cute.jit
def host(n: cutlass.Constexpr, wide: cutlass.Constexpr, kind: cutlass.Constexpr):
    kernel(n, wide, kind).launch(grid=(1, 1, 1), block=(32, 1, 1))

for n in range(2, 42):
    host(n, False, cutlass.Float16)
host(99, True, cutlass.Float16)
host(98, False, cutlass.BFloat16)
host(97, False, cutlass.BFloat16)
"""


def test_of_many_configurations_those_with_something_new_are_walked(tmp_path: Path) -> None:
    made = driver(tmp_path, CONFIGURED, limits=Limits(steps_per_root=30_000))
    firsts = {str(v).split(",")[0] for found in results(made).values() for v in found}
    assert any("99" in s for s in firsts)
    assert any("98" in s for s in firsts)
    assert not any("97" in s for s in firsts)  # another number alone
    assert not any("41" in s for s in firsts)
    assert not made.cut
    assert list(dropped(made.machine)) == ["main::kernel"]
    whole = driver(tmp_path, CONFIGURED)  # with steps enough all are
    assert not dropped(whole.machine)


def test_a_file_with_many_tests_has_more_steps_while_they_come_to_what_is_new(tmp_path: Path) -> None:
    tests = "\n".join(f"def test_{i}():\n    work(60)\n    cute.make_layout({i + 1})\n" for i in range(60))
    made = driver(tmp_path, HEAD + WORK + tests, limits=Limits(steps_per_root=3_000))
    assert made.unrun
    assert not made.cut
    assert 20 < len(shapes(made)) < 60
    same = "\n".join(f"def test_{i}():\n    work(60)\n    made()\n" for i in range(60))
    few = driver(
        tmp_path, HEAD + WORK + "def made():\n    cute.make_layout(8)\n" + same, limits=Limits(steps_per_root=3_000)
    )
    assert few.unrun > made.unrun


def test_what_a_test_patches_holds_in_it_alone(tmp_path: Path) -> None:
    tools = 'table = {"n": 2}\nother = 5\ndef sizes():\n    return [1024]\n'
    text = f"""{HEAD}
import pytest
import tools
@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(tools, "sizes", lambda: [8, 16])
    monkeypatch.setitem(tools.table, "n", 64)
    monkeypatch.setattr("tools.other", 3)
    return 3
def test_a(small):
    for n in tools.sizes():
        cute.make_layout((n, tools.table["n"], tools.other))
def test_b():
    for n in tools.sizes():
        cute.make_layout((n, tools.table["n"], tools.other))
"""
    shown = ["(1024,2,5):(1,1024,2048)", "(16,64,3):(1,16,1024)", "(8,64,3):(1,8,512)"]
    assert shapes(driver(tmp_path, text, tools=tools)) == shown


def test_a_parameter_has_its_last_value_soon(tmp_path: Path) -> None:
    text = f"""{HEAD}
import pytest
@pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32, 64, 128])
def test_a(n):
    cute.make_layout((n, 3))
"""
    first = {s.split(",")[0] for s in shapes(driver(tmp_path, text))}
    assert {"(1", "(128"} <= first
