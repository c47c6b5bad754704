"""Pieces of Python with a result ``R``: functions and the standard library. One an empty line apart."""

# ruff: noqa: E501

BODIES = r"""
import itertools
R = tuple(itertools.accumulate((1, 2, 3))), len(list(itertools.permutations((1, 2, 3)))), len(list(itertools.combinations((1, 2, 3), 2))), tuple(itertools.chain.from_iterable([(1,), (2, 3)])), tuple(itertools.islice((5, 6, 7), 2)), tuple(itertools.repeat(4, 2)), tuple(itertools.zip_longest((1, 2), (3,), fillvalue=9))[1]

R = tuple(reversed((1, 2, 3))), tuple(map(lambda a, b: a + b, (1, 2), (3, 4))), tuple(filter(None, (0, 1, 2))), sum([[1], [2]], [])[1]

it = iter((4, 5, 6))
R = next(it), next(it), next(it, 9), next(it, 9)

it = iter((4, 5, 6))
a = next(it)
R = a, tuple(it)

def g():
    yield 1
    yield 2
it = g()
next(it)
R = next(it)

R = next((x for x in (4, 8, 16) if x >= 8), 1), next((x for x in (4,) if x > 8), 3)

x = (1, 2, 3, 4)
R = x[slice(1, 3)], x[-1], x[:-1], x.index(3) + 1, x.count(1)

s = slice(1, 9, 2)
R = s.start, s.stop, s.step, len(range(*s.indices(6)))

r = range(2, 20, 3)
R = r.start, r.stop, r.step, len(r), r[2], r[-1], int(5 in r) + 1, r.index(8)

s = "a-b_c"
R = len(s.split("-")), len(s.replace("_", "")), s.find("b"), s.count("_") , len(s.upper()), ord(s[0]), len(s.strip("a")), len(s.partition("-"))

s = "{}x{n:>4}".format(128, n=64)
R = len(s), len("%dx%02d" % (3, 4)), len(f"{3.14159:.2f}"), len(f"{'ab':>10}"), len(f"{255:#x}"), len(f"{1000000:,}")

name = "x"
R = len(f"{name!r}"), len(f"{name=}"), len(f"{{}}"), len(f"{name:{10}}")

def outer(x):
    def inner(y):
        return x + y
    return inner
R = outer(3)(4), [outer(i)(1) for i in range(2)][1]

def f(*, a=1, **k): return a + len(k)
R = f(a=2, b=3, c=4), f(**dict(a=5))

def f(a, b=2, *c, d=4, **e): return (a, b, len(c), d, len(e) + 1)
R = f(1), f(1, 3, 5, 6), f(1, d=9, z=1), f(*(7, 8), **{"d": 3})

x = {"a": {"b": [1, 2, {"c": 5}]}}
R = x["a"]["b"][2]["c"]

d = {"a": 1, **{"b": 2}, "a": 3}
R = d["a"], len(d), tuple(d.values())

d = {1: "a", 2: "b"}
inv = {v: k for k, v in d.items()}
R = inv["b"], len(d | {3: "c"}), sorted(inv.items())[0][1]

d = dict(a=1, b=2)
for k in list(d):
    if d[k] == 1: del d[k]
R = len(d), d["b"]

d = {}
d.setdefault("x", []).append(4)
d.setdefault("x", []).append(5)
R = tuple(d["x"])

a = [[0] * 3 for _ in range(2)]
a[0][1] = 5
R = a[0][1], a[1][1] + 1, len(a) * len(a[0])

a = [[0] * 3] * 2
a[0][1] = 5
R = a[1][1]

a = [3, 1, 2]
b = a
b.sort()
R = tuple(a)

a = [3, 1, 2]
b = a[:]
b.append(7)
c = list(a); c.pop()
R = len(a), len(b), len(c)

a = [1, 2]
a += (3, 4)
a *= 2
R = len(a), a[-1]

a, b = 1, 2
a, b = b, a + b
a, b = b, a + b
R = a, b

x = [1, 2, 3]
x[0], x[2] = x[2], x[0]
R = tuple(x)

i = 0
x = [0, 0, 0]
i, x[i] = 1, 5
R = tuple(v + 1 for v in x)

R = 1 if [] else 2, 1 if [0] else 2, 1 if "" else 2, 1 if 0.0 else 2, 1 if None else 2, 1 if {} else 2

R = (0 or 5), (3 and 4), (None or 0 or 7), (1 if not () else 2)

R = 1 < 2 < 3 and 5, 5 if 1 < 3 > 2 else 6

R = 7 // 2, -7 // 2 + 10, 7 % 3, -7 % 3 + 5, 7 >> 1, 1 << 4, 6 & 3, 6 | 1, 6 ^ 3

R = int(7 / 2), int(-3.5) + 10, round(7.5), round(-0.5) + 1, int(1e3), int(2 ** 0.5 * 100)

R = 0x10, 0b101, 0o17, 1_000, int("0x1f", 16), int("101", 2), int(" 12 ")

x = 10
def f():
    x = 5
    def g():
        nonlocal x
        x += 1
    g(); g()
    return x
R = f(), x

def fact(n): return 1 if n <= 1 else n * fact(n - 1)
R = fact(6)

def collatz(n):
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return c
R = collatz(27)

best = None
for t in (128, 64, 32):
    for s in (4, 3, 2):
        if t * t * 2 * s <= 40000:
            best = (t, s)
            break
    if best: break
R = best

primes = [p for p in range(2, 30) if all(p % q for q in range(2, p))]
R = tuple(primes)

def gcd(a, b):
    while b: a, b = b, a % b
    return a
R = gcd(48, 36)

try:
    x = {}["k"]
except (KeyError, IndexError): R = 3
except Exception: R = 4

try:
    assert 1 == 2, "no"
    R = 1
except AssertionError: R = 2

def f():
    for i in range(5):
        try:
            if i == 2: continue
            if i == 3: break
        finally:
            last = i
    return last
R = f()

from typing import overload, TYPE_CHECKING, Callable
if TYPE_CHECKING:
    R = 1
else:
    R = 2

R = (lambda *a, k=3, **kw: len(a) + k + len(kw))(1, 2, k=4, z=5)

from functools import partial
def f(a, b, c=0): return a * 100 + b * 10 + c
p = partial(f, 1, c=3)
R = p(2), p(2, c=4), partial(p, 5)(), len(p.args), p.keywords["c"]

compose = lambda *fs: (lambda x: __import__("functools").reduce(lambda a, f: f(a), fs, x))
R = 5

from contextlib import contextmanager, nullcontext, ExitStack
log = []
@contextmanager
def cm(n):
    log.append(n)
    try:
        yield n * 2
    finally:
        log.append(n + 1)
with cm(3) as a, cm(5) as b:
    R = a, b, len(log)
R = R + (tuple(log),)

matrix = [[1, 2], [3, 4]]
R = tuple(zip(*matrix)), [sum(r) for r in matrix][1], tuple(x for r in matrix for x in r), max(map(max, matrix))

def flatten(t):
    for x in t:
        if isinstance(x, (tuple, list)): yield from flatten(x)
        else: yield x
R = tuple(flatten((1, (2, [3, (4,)]), 5)))

R = tuple(sorted([(2, "b"), (1, "z"), (2, "a")], key=lambda t: (t[0], t[1])))[1][0], sorted("hello", reverse=True)[0] == "o" and 4

import copy
a = {"x": [1, 2]}
b = copy.deepcopy(a); c = copy.copy(a)
b["x"].append(3); c["x"].append(4)
R = len(a["x"]), len(b["x"]), len(c["x"])

x = 1
for x in range(3): pass
R = x, [x for x in range(5)][-1], x

def kw_only(*, stages: int = 3, **rest: int) -> int: return stages + sum(rest.values())
cfg = {"stages": 4, "extra": 2}
R = kw_only(**cfg), kw_only(**{k: v for k, v in cfg.items() if k != "extra"})

*a, b = (1, 2, 3)
(c, *d), e = (4, 5, 6), 7
R = tuple(a), b, c, tuple(d), e

R = tuple(x for i, x in enumerate((5, 6, 7)) if i != 1), dict(zip("ab", (1, 2)))["b"], {**{"a": 1}}["a"]

w = [1, 2, 3]
while w:
    last = w.pop()
R = last, len(w) + 1

n = 0
while n < 10:
    n += 3
    if n == 6: continue
else:
    n += 100
R = n

from collections import UserDict, OrderedDict, ChainMap
R = ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], OrderedDict([("x", 4)])["x"]

f = lambda n: 1 if n == 0 else n * f(n - 1)
R = f(4)

def f(n, memo={}):
    if n in memo: return memo[n]
    memo[n] = n if n < 2 else f(n - 1) + f(n - 2)
    return memo[n]
R = f(20)
"""
