"""Numbers that nobody knows before the program runs: in arrays of the host, in memory, in other lanes."""

from __future__ import annotations

from pathlib import Path

from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import Layout
from cutecheck.source.eval.values import Extern, Scalar
from cutecheck.tests.source.dsl.run import HEAD, driver, sites, variables


def test_numbers_in_arrays_are_any_of_their_type(tmp_path: Path) -> None:
    found = variables(tmp_path, """
    import math, torch
    starts = torch.tensor([0, 5, 9], dtype=torch.int32)
    total, last = starts[-1].item(), int(starts.amax())
    lengths = (starts[1:] - starts[:-1]).tolist()
    table = torch.zeros(2, 3, dtype=torch.long).tolist()
    most, tiles = max(lengths), math.ceil(total / 64)
    real, whether = torch.zeros(3).sum().item(), (starts > 3).any().item()
    many = torch.arange(1000).tolist()
    """)  # fmt: skip
    assert all(isinstance(found[name], Sym) for name in ("total", "last", "most", "tiles"))
    assert str(found["total"]) != str(found["last"])
    assert len(found["lengths"]) == 2 and len(found["table"]) == 2 and len({str(n) for n in found["table"][1]}) == 3
    assert (found["real"], found["whether"]) == (Scalar(None, "float"), Scalar(None, "bool"))
    assert isinstance(found["many"], Extern)


def test_numbers_that_the_host_does_not_know_are_run_time_numbers_of_the_device(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
import random, torch
from typing import Tuple
from cutlass import Int32

@cute.jit
def one(n: Int32):
    cute.make_layout((n, 8))

@cute.jit
def two(p: Tuple[Int32, Int32]):
    cute.make_layout((p[0], p[1]))

lengths = torch.randint(1, 9, (4,))
"""
    )
    for call in ("one(lengths.sum().item())", "one(random.choice([3, 4]))", "one(random.randint(3, 4))"):
        (made,) = [s for s in sites(driver(tmp_path, text + call)) if s.status == "resolved"]
        assert isinstance(made.value, Layout) and isinstance(made.value.shape[0], Dyn), call
    (made,) = [s for s in sites(driver(tmp_path, text + "two((max(lengths.tolist()), 3))")) if s.status == "resolved"]
    assert isinstance(made.value, Layout) and all(isinstance(n, Dyn) for n in made.value.shape)


def test_numbers_that_memory_and_other_lanes_hold_are_run_time_numbers_of_each_thread(tmp_path: Path) -> None:
    """The DSL prints each of these layouts as `(?,8):(1,?)`."""
    numbers = (
        "t[0]", "t[(1,)]", "t[bx]", "r[1]", "max(t[bx], 3)", "cute.arch.shuffle_sync(t[bx], 0)",
        "cute.arch.vote_ballot_sync(True)", "cute.arch.load(t.iterator, cutlass.Int32)",
    )  # fmt: skip
    text = HEAD + (
        "@cute.kernel\n"
        "def kernel(t: cute.Tensor):\n"
        "    bx, _, _ = cute.arch.block_idx()\n"
        "    r = cute.make_rmem_tensor(cute.make_layout(2), cutlass.Int32)\n"
        + "".join(f"    cute.make_layout(({n}, 8))\n" for n in numbers)
        + "@cute.jit\n"
        "def host(t: cute.Tensor):\n"
        "    kernel(t).launch(grid=(1, 1, 1), block=(128, 1, 1))\n"
        "host(make_fake_tensor(cutlass.Int32, (4,), stride=(1,)))\n"
    )
    made = [s for s in sites(driver(tmp_path, text)) if isinstance(s.value, Layout) and s.value.shape != 2]
    assert len(made) == len(numbers)
    assert all(isinstance(s.value.shape[0], Dyn) for s in made)


def test_an_integer_of_python_in_a_shape_stays_one_whatever_it_is(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
import random

@cute.jit
def shaped(shape: cute.Shape):
    cute.make_layout(shape)

"""
    )
    for call in ("shaped(random.randint(3, 4))", "shaped((random.randint(3, 4), 8))"):
        made = [s.value for s in sites(driver(tmp_path, text + call)) if isinstance(s.value, Layout)]
        assert made, call
        assert all("?" not in str(x) and not isinstance(x.shape, Dyn) for x in made), call
        assert isinstance(made[0].shape, Sym) or isinstance(made[0].shape[0], Sym), call


def test_names_of_arguments_that_are_names_of_parameters(tmp_path: Path) -> None:
    text = """
    import cutlass.cute as cute

    def rest(**k):
        return k.get("k", 1) + len(k)

    def more(*a, b=2, **kw):
        return len(a) * 10 + b + len(kw)

    def placed(a, /, **kw):
        return a + kw.get("a", 0)

    cute.make_layout((rest(k=4), rest(k=4, z=1), more(1, a=3, kw=4), placed(1, a=5)))
    """
    made = driver(tmp_path, text)
    assert [str(s.result).partition(":")[0] for s in sites(made)] == ["(5,6,14,6)"]
