"""Functions and classes whose ``R`` depends on ``U``, 0 or 1, which is not known. One an empty line apart."""

BODIES = r"""
class C: pass
c = C(); c.x = 3
if U: c.x = 4
R = c.x

class C:
    n = 3
if U: C.n = 4
R = C.n

def f(l):
    if U: l[0] = 9
x = [3]; f(x)
R = x[0]

def f():
    if U: return 3
    return 4
R = f()

def f():
    for i in range(5):
        if i == U + 1: return i
    return 9
R = f()

def f():
    if U: raise ValueError("x")
    return 4
try:
    R = f()
except ValueError:
    R = 6

n = 0
def inc():
    global n
    n += 1
if U: inc()
inc()
R = n

def make():
    c = 1
    def inc():
        nonlocal c
        c += 1
    if U: inc()
    return c
R = make()

class C:
    def __init__(self): self.v = [1]
    def add(self): self.v.append(2)
c = C()
for _ in range(U + 1): c.add()
R = len(c.v)

import functools
@functools.cache
def f(x): return x + 1
R = f(U) + 1

class C:
    def __init__(self, n): self.n = n
o = C(3)
p = o
if U: o = C(4)
o.n = 7
R = p.n

def g(n):
    for i in range(n):
        if U and i == 1: return
        yield i + 1
R = tuple(g(3))

x = 4
def f(): return x
if U: x = 5
R = f()

def f(x):
    if U: x = x + 1
    return x
R = f(3), f(4)

def f(items):
    for i in items:
        if i == U: return i
    return 9
R = f([0, 1, 2])

class C:
    def __init__(self): self.items = []
    def add(self, x):
        if U: self.items.append(x)
        return self
c = C().add(1).add(2)
R = len(c.items)

def g(a=[]):
    if U: a.append(1)
    return len(a)
R = g() + 1

def h():
    try:
        if U: return 1
        return 2
    finally:
        pass
R = h()

def h():
    for i in range(3):
        try:
            if i == U: raise ValueError
        except ValueError:
            return i
    return 7
R = h()

def gen():
    yield 1
    if U: yield 2
    yield 3
R = tuple(gen())[1]

class K:
    n = 1
    @classmethod
    def up(cls):
        if U: cls.n += 1
K.up()
R = K.n

import functools
@functools.lru_cache
def f(k): return k if U else -k
R = f(3) + 9

x = 5
def set_x():
    global x
    if U: x = 6
set_x()
R = x

class A:
    def __eq__(self, o): return U == 1
    def __hash__(self): return 1
R = 3 if A() == A() else 4

class B:
    def __bool__(self): return U == 1
R = 3 if B() else 4

class D:
    def __len__(self): return U
R = 3 if D() else 4, len(D()) + 1

class E:
    def __getattr__(self, n): return 3 if U else 4
R = E().foo

class P:
    @property
    def v(self): return 3 if U else 4
R = P().v

from dataclasses import dataclass, replace
@dataclass(frozen=True)
class T:
    a: int = 1
t = T()
if U: t = replace(t, a=2)
R = t.a

def f(a=1): return a
kw = {"a": 5} if U else {}
R = f(**kw)

def f(a=1, *r): return a, len(r)
xs = [1, 2] if U else []
R = f(*xs)

def f(a, b=7): return b
xs = [1] if U else []
R = f(*xs, 5)

def f(**kw): return len(kw)
R = f(**({"a": 1} if U else {}))

from dataclasses import dataclass
@dataclass
class T:
    a: int = 1
R = T(**({"a": 3} if U else {})).a

def f(*a, **k): return g(*a, **k)
def g(x=1, *, y=2): return x, y
R = f(*([4] if U else []), **({"y": 5} if U else {}))

def f(u):
    match u:
        case 0: return 4
        case k: return k + 4
R = f(U)

n = 7
if U and (n := 5): pass
R = n

n = 7
match (U, 3):
    case (0, n): pass
R = n

n = 7
match (3, U):
    case (n, k) if k > 0: pass
R = n

match [1] * (U + 1):
    case [a]: n = 4
    case [a, b]: n = 5
R = n

from dataclasses import dataclass
@dataclass
class P:
    v: int
a, b = P(1), P(1)
R = 3 if a is b else 4 + 0 * U

a, b = [1], [1]
R = 3 if a is b else 4 + 0 * U

class C:
    def __getattr__(self, n):
        if n == "a" and U: return 3
        raise AttributeError(n)
R = getattr(C(), "a", 7)

class C:
    def __getattr__(self, n):
        if n == "a" and U: return 3
        raise AttributeError(n)
R = int(hasattr(C(), "a")) + 1
"""
