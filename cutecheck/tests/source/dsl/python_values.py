"""Pieces of Python with a result ``R``: the language. One an empty line apart."""

# ruff: noqa: E501

BODIES = r"""
def gen():
    for t in (4, 8):
        yield t
R = tuple(gen())

def gen(n):
    i = 0
    while i < n:
        if i % 2:
            i += 1
            continue
        yield i + 1
        i += 1
R = sum(gen(6)), max(gen(5))

import itertools
R = tuple(a * b for a, b in itertools.product((1, 2), (3, 4)) if a * b != 6)

from collections import defaultdict
d = defaultdict(list)
d["a"].append(3)
d["a"] += [4, 5]
d["b"].extend((6, 7))
R = tuple(d["a"] + d["b"])

from collections import namedtuple
Q = namedtuple("Q", "m v", defaults=[2])
q = Q(8)
R = q.m, q.v, len(Q._fields), q._replace(m=5).m

from collections import Counter
c = Counter("abca")
R = c["a"], c["b"] + 1, len(c)

from collections import OrderedDict
d = OrderedDict(); d["x"] = 1; d["y"] = 2; d.move_to_end("x")
R = tuple(d.values())

from collections import deque
q = deque([1, 2, 3], maxlen=3); q.append(4); q.appendleft(9)
R = tuple(q)

REG = {}
def register(name, **kw):
    def deco(fn):
        REG[name] = (fn, kw)
        return fn
    return deco
@register("s", m=4)
def small(m): return m
@register("b", m=8)
def big(m): return m * 2
R = tuple(REG[k][0](**REG[k][1]) for k in sorted(REG))

class Base:
    reg = []
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        cls.n = len(Base.reg) + 1
        Base.reg.append(cls)
class A(Base): pass
class B(Base): pass
R = tuple(c.n for c in Base.reg)

import contextlib
@contextlib.contextmanager
def ctx(n):
    yield n * 2
with ctx(4) as v:
    R = v

class C:
    def __enter__(self): self.x = 3; return self
    def __exit__(self, *a): self.x = 5; return False
with C() as c:
    y = c.x
R = y, c.x

def f(*args, **kw): return len(args) + sum(kw.values())
R = f(1, 2, *[3, 4], a=1, **{"b": 2})

def f(a, /, b, *, c=3): return a * 100 + b * 10 + c
R = f(1, b=2)

x = [1, 2, 3, 4, 5]
R = tuple(x[::2]) + tuple(x[-2:]) + tuple(x[::-1])

x = list(range(5)); x[1:3] = [9, 9, 9]; del x[0]
R = tuple(x[:3]) + (len(x),)

R = tuple({k: v for k, v in zip("ab", (1, 2))}.values())

R = tuple(sorted({3, 1, 2}))

R = (lambda x, y=2: x * y)(4)

try:
    int("x")
    R = 1
except ValueError:
    R = 2

try:
    R = {}["a"]
except KeyError as e:
    R = 7
finally:
    R = R + 1

def f():
    try:
        return 1
    finally:
        pass
R = f()

for i in range(10):
    if i == 5: break
else:
    i = 100
R = i

for i in range(3): pass
else:
    i = 100
R = i

i = 0
while True:
    i += 1
    if i > 6: break
R = i

n = 37
R = (n & -n) + 1, n.bit_length(), bin(n).count("1"), n >> 2, n << 1, n ^ 5, ~n + 100

R = -7 // 2 + 10, -7 % 3 + 1, divmod(17, 5)[0], divmod(17, 5)[1], pow(3, 4), pow(3, 4, 5), 2 ** 5

import math
R = math.gcd(12, 18), math.lcm(4, 6), math.ceil(7 / 2), math.floor(3.7), math.isqrt(17), int(math.log2(64)), math.prod((2, 3, 4))

R = round(2.5) + 1, round(3.5), int(2.9), int("12"), int("ff", 16), int(True)

s = "128x64x32"
R = tuple(map(int, s.split("x")))

s = "tile_128_64"
import re
m = re.match(r"tile_(\d+)_(\d+)", s)
R = int(m.group(1)), int(m.group(2))

R = tuple(int(c) for c in "123") + (len(f"{12:04d}"),)

a, *b, c = range(1, 6)
R = a, tuple(b), c

(a, b), c = (1, 2), 3
R = a, b, c

a = b = 4
a += 1
R = a, b

if (n := 12) > 10:
    R = n

R = tuple(x if x > 2 else 7 for x in (1, 2, 3))

class P:
    def __init__(self): self._x = 1
    @property
    def x(self): return self._x
    @x.setter
    def x(self, v): self._x = v * 2
p = P(); p.x = 4
R = p.x

class S:
    count = 0
    @staticmethod
    def f(x): return x + 1
    @classmethod
    def make(cls):
        cls.count += 1
        return cls()
    def __getattr__(self, name): return len(name)
S.make(); s = S.make()
R = S.f(2), S.count, s.abcd

class A:
    def f(self): return 1
class B(A):
    def f(self): return super().f() + 10
class C(A):
    def f(self): return super().f() + 100
class D(B, C):
    def f(self): return super().f() + 1000
R = D().f()

import functools
R = functools.reduce(lambda a, b: a * b, (2, 3, 4), 1), functools.partial(pow, 2)(5)

import functools
@functools.cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
R = fib(15)

import functools
def deco(k):
    def outer(fn):
        @functools.wraps(fn)
        def inner(*a, **kw): return fn(*a, **kw) * k
        return inner
    return outer
@deco(3)
@deco(2)
def f(x): return x + 1
R = f(1)

def make():
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n
    return inc
i = make(); i(); i()
R = i()

fs = [lambda: i for i in range(3)]
R = tuple(f() + 1 for f in fs)

fs = [lambda i=i: i + 1 for i in range(3)]
R = tuple(f() for f in fs)

def f(x, acc=[]):
    acc.append(x)
    return len(acc)
f(1); f(2)
R = f(3)

x = 5
def g():
    global x
    x = 9
g()
R = x

R = tuple(enumerate("ab", 1))[1][0], tuple(zip((1, 2), (3, 4)))[1], len(list(zip((1, 2, 3), (1, 2))))

R = all(x > 0 for x in (1, 2)) + 1, any(x > 5 for x in (1, 2)) + 1

from dataclasses import dataclass
@dataclass(frozen=True, kw_only=True, slots=True)
class B:
    a: int = 1
@dataclass(frozen=True)
class C(B):
    b: int = 2
R = C(b=4, a=3).a, C().b

import enum
class E(str, enum.Enum):
    A = "128"
    B = "64"
R = int(E.A.value), int(E("64").value), len(E.A.name)

from typing import NamedTuple, Optional, Union, Literal, ClassVar, TypeVar, Generic, Protocol
T = TypeVar("T")
class Box(Generic[T]):
    n: ClassVar[int] = 4
    def __init__(self, x: T): self.x = x
class P(NamedTuple):
    m: int
    n: int = 2
    def area(self) -> int: return self.m * self.n
R = Box[int](3).x, Box.n, P(3).area(), P(*[4, 5])[1], P(1)._asdict()["n"]
"""
