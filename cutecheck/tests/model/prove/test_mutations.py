"""Faults seeded into one engine's translation must show up as DISAGREE, never as a wrong verdict.

Each mutation changes one function or constant of one engine; at least one of the accesses below then gets the verdict
``disagree``, and none a verdict that the unmutated engines contradict.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.ints import Sym
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines import banks, bitvec, brute, normal
from cutecheck.tests.model.prove.random_accesses import digits

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))


def lanes(extents: list[int], strides: list[int]) -> ex.Expr:
    total = ex.const(0)
    for digit, stride in zip(digits(THREAD, extents), strides, strict=True):
        total = ex.add(total, ex.mul(digit, ex.const(stride)))
    return total


ROW64 = lanes([16, 2, 4], [64, 8, 16 * 64])
ROW72 = lanes([16, 2, 4], [72, 8, 16 * 72])
WIDE = lanes([8, 16], [8, 64])
BASE = ex.mul(ex.var("j", ex.Domain(0)), ex.const(64))
K = ex.mul(ex.var("k", ex.Domain(0, 3)), ex.const(16))

ACCESSES: tuple[p.Payload, ...] = (
    p.BankAccess("ldmatrix", 16, 128, ROW64, 128, Swizzle(3, 3, 3), Layout((2, 4), (4096, 16)), 4),
    p.BankAccess("ldmatrix", 16, 128, ROW64, 128, Swizzle(3, 3, -3), Layout((2, 4), (4096, 16)), 4),
    p.BankAccess("ldmatrix", 16, 128, ex.add(ROW64, K), 128, Swizzle(2, 3, 3), matrices=4),
    p.BankAccess("st", 16, 128, ex.add(lanes([2, 2, 2, 16], [8, 32, 192, 1024]), BASE), 128, Swizzle(3, 3, 3)),
    p.BankAccess("ldmatrix", 16, 128, ROW72, 128, None, Layout((2, 4), (72 * 64, 16)), 4),
    p.BankAccess("st", 16, 128, WIDE, 128, Swizzle(3, 3, 3)),
    p.BankAccess("ld", 32, 64, lanes([4, 32], [2, 32]), 128, Swizzle(3, 1, 4)),
    p.BankAccess("ld", 32, 32, lanes([32, 4], [1, 32]), 128),
    p.BankAccess("ld", 32, 32, lanes([32, 4], [0, 1]), 128),
    p.BankAccess("ld", 32, 32, lanes([32, 4], [33, 1]), 128),
    p.BankAccess("ld", 32, 128, lanes([2, 16, 4], [0, 4, 64]), 128),
    p.BankAccess("cp.async.ca", 32, 128, lanes([2, 16, 4], [0, 4, 64]), 128),
    p.BankAccess("st", 16, 32, lanes([4, 8, 4], [2, 64, 512]), 128, Swizzle(3, 3, 3), Layout((8,), (8,))),
    p.BankAccess("ld", 32, 32, lanes([16, 2, 4], [1, 32, 64]), 128),
    p.BankAccess("st", 8, 8, lanes([32, 4], [1, 32]), 128),
    p.BankAccess("st", 32, 64, lanes([16, 8], [2, 32]), 128),
)


def bank_verdicts() -> list[Verdict]:
    return [prove(make_obligation(a), Options(without=("gf2",))).verdict for a in ACCESSES]


@pytest.fixture(scope="module")
def truth() -> list[Verdict]:
    found = bank_verdicts()
    assert set(found) == {Verdict.PROVED, Verdict.REFUTED}
    return found


def edited(module: ModuleType, name: str, old: str, new: str) -> Callable[..., object]:
    """The module's function or class with one piece of its source replaced."""
    target = getattr(module, name)
    source = inspect.getsource(target)
    assert old in source, (name, old)
    space = dict(vars(sys.modules[target.__module__]))
    exec(compile(source.replace(old, new, 1), f"<mutated {name}>", "exec"), space)
    return space[name]  # type: ignore[no-any-return]


TRANSLATION = [
    (bitvec, "_BankQuery", "& t.value(31) == 0", "& t.value(15) == 0"),
    (bitvec, "_BankQuery", "z3.LShR(byte, 2)", "z3.LShR(byte, 3)"),
    (bitvec, "_conflicts", "group = 8 if", "group = 4 if"),
    (bitvec, "_conflicts", "{a.thread: thread}", "{a.thread: ex.mul(thread, ex.const(8))}"),
    (bitvec, "_BankQuery", 'if a.kind == "cp.async.ca" else', 'if a.kind == "st" else'),
    (bitvec, "_BankQuery", "z3.ULT(words[0], words[1])", "z3.ULT(self.threads[0], self.threads[1])"),
    (bitvec, "swizzled_byte", "t.swizzle(a.swizzle, element)", "element"),
    (bitvec, "swizzled_byte", "int(a.element_bits) // 8)", "int(a.element_bits) // 4)"),
    (bitvec, "Translation", "sw.shift)), sw.shift", "sw.shift)), sw.shift + 1"),
    (bitvec, "Translation", '"div": z3.UDiv, "mod": z3.URem', '"div": z3.URem, "mod": z3.URem'),
    (bitvec, "Translation", "term * translated", "term + translated"),
    (banks, "swizzled", "x ^ ((x >> shift) & mask)", "x ^ ((x >> (shift + 1)) & mask)"),
    (banks, "Search", "word % 32", "word % 64"),
    (banks, "Search", "group = 8 if", "group = 4 if"),
    (banks, "swizzle_period", "1 << (", "1 << (-3 + "),
    (banks, "Search", "_Worst(waves,", "_Worst(waves + 1,"),
    (banks, "Search", 'tag = word if a.kind != "cp.async.ca" else lane', "tag = word"),
]  # fmt: skip


@pytest.mark.parametrize("change", TRANSLATION)
def test_mutated_translation_disagrees(
    monkeypatch: pytest.MonkeyPatch, truth: list[Verdict], change: tuple[ModuleType, str, str, str]
) -> None:
    module, name, old, new = change
    mutant = edited(module, name, old, new)
    with monkeypatch.context() as patch:
        patch.setattr(module, name, mutant)
        found = bank_verdicts()
    assert Verdict.DISAGREE in found
    for got, right in zip(found, truth, strict=True):
        assert got in (right, Verdict.DISAGREE, Verdict.UNKNOWN)


SWIZZLED = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
SYMBOLIC = [
    p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 32),
    p.Bijective(Layout((2, 8, 2), (1, 2, 2)), 32),
    p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 64),
    p.Coverage(Layout(((8, 16), 8), ((128, 1), 16)), (16, 64)),
    p.Coverage(Layout(((8, 16), (8, Sym.named("m", ex.Domain(1)))), ((128, 1), (16, 1024))), 1024 * Sym.named("m")),
    p.Injective(Layout((4, 8), (0, 1))),
    p.Injective(Layout((4, 8), (8, 1))),
    p.LayoutEqual(Layout((4, 2), (1, 4)), Layout(8, 1)),
    p.Divides((p.Division("M", 128, 64),)),
    p.CosizeFits(SWIZZLED, 512, base=ex.var("start", ex.Domain(0, 448, 64))),
    p.CosizeFits(SWIZZLED, 504, base=ex.const(64)),
    p.CosizeFits(SWIZZLED, 512, base=ex.const(72)),
    p.CosizeFits(
        SWIZZLED,
        512 << 16,
        ex.mul(ex.var("stage", ex.Domain(0, 65535)), ex.const(512)),
        "",
        ex.var("start", ex.Domain(0, 448, 64)),
    ),
]

LAYOUT_MUTATIONS = [
    (normal, "_mixed_radix", "radix = ONE", "radix = ex.const(2)"),
    (normal, "_mixed_radix", "same = context.decide(Rel.EQ, radix, size)", "same = True"),
    (normal, "_coalesced", "d == ex.mul(*result[-1])", "False"),
    (brute, "plain_offsets", "x + i * step", "x + i * step + i // 2"),
    (brute, "plain_offsets", "range(extent)", "range(max(1, extent - 1))"),
    (brute, "_bijective", "counts[x] > 1", "counts[x] > 2"),
    (brute, "_cosize_fits", "base + start", "start"),
    (brute, "_cosize_fits", "x - base", "x"),
    (normal, "_cosize_fits", "Rel.LT, high, allocation", "Rel.LT, allocation, high"),
    (bitvec, "_cosize_fits", "moved - t.expression(base)", "moved"),
]


@pytest.mark.parametrize(("module", "name", "old", "new"), LAYOUT_MUTATIONS)
def test_mutated_layout_engines_disagree(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, old: str, new: str
) -> None:
    right = [prove(make_obligation(payload)).verdict for payload in SYMBOLIC]
    with monkeypatch.context() as patch:
        for target in tables(module):
            for key, function in target.items():
                if getattr(function, "__name__", "") == name:
                    patch.setitem(target, key, edited(module, name, old, new))
        patch.setattr(module, name, edited(module, name, old, new))
        found = [prove(make_obligation(payload)).verdict for payload in SYMBOLIC]
    assert Verdict.DISAGREE in found
    assert all(a in (b, Verdict.DISAGREE, Verdict.UNKNOWN) for a, b in zip(found, right, strict=True))


def tables(module: ModuleType) -> Iterator[dict[type, Callable[..., object]]]:
    """The dispatch tables of an engine."""
    for name in ("_FORMS", "_CHECKS", "_GOALS", "_QUERIES"):
        if hasattr(module, name):
            yield getattr(module, name)


def test_integers_engine_alone_never_proves() -> None:
    outcome = prove(make_obligation(SYMBOLIC[0]), Options(engine="z3-int"))
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.reason.startswith("one engine only")
