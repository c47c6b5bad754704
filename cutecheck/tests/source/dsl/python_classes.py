"""Pieces of Python with a result ``R``: classes and patterns. One an empty line apart."""

# ruff: noqa: E501

BODIES = r"""
class C:
    def n(self): return 4
class D(C):
    def n(self): return 8
c, d, e = C(), C(), C()
c.__class__ = D
object.__setattr__(d, "__class__", D)
if e.n() == 4:
    e.__class__ = D
    e.k = 1
R = c.n(), d.n(), e.n(), isinstance(c, D), type(c) is D, C().n()

from operator import itemgetter, attrgetter, mul, add, methodcaller
class P:
    def __init__(self): self.x = 4
R = itemgetter(1)((5, 6)), attrgetter("x")(P()), mul(3, 4), add(1, 2)

class A:
    x = 1
    def __init__(self): self.y = self.x + 1
class B(A):
    x = 5
R = B().y, A().y

class A:
    n = 0
    def __new__(cls, *args):
        cls.n += 1
        return super().__new__(cls)
A(); A()
R = A.n

class Sing:
    _inst = None
    def __new__(cls):
        if cls._inst is None: cls._inst = super().__new__(cls); cls._inst.v = 0
        return cls._inst
Sing().v += 2
Sing().v += 3
R = Sing().v

class Desc:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, typ=None): return getattr(obj, self.name, 7)
    def __set__(self, obj, v): setattr(obj, self.name, v * 2)
class C:
    x = Desc()
c = C()
a = c.x
c.x = 5
R = a, c.x

from functools import cached_property
class C:
    calls = 0
    @cached_property
    def v(self):
        C.calls += 1
        return 4
c = C(); c.v; c.v
R = c.v, C.calls

from functools import wraps
calls = []
def logged(fn):
    @wraps(fn)
    def w(*a, **k):
        calls.append(fn.__name__)
        return fn(*a, **k)
    return w
class C:
    @logged
    def f(self, x): return x + 1
R = C().f(3), len(calls)

class memo:
    def __init__(self, fn): self.fn, self.cache, self.n = fn, {}, 0
    def __call__(self, *a):
        if a not in self.cache:
            self.n += 1
            self.cache[a] = self.fn(*a)
        return self.cache[a]
@memo
def f(x): return x * 2
R = f(2), f(2), f(3), f.n

from enum import Enum
class Color(Enum):
    RED = 1
    GREEN = 2
    ALIAS = 1
    @classmethod
    def default(cls): return cls.GREEN
    @property
    def double(self): return self.value * 2
R = Color.default().value, Color.RED.double, len(list(Color)), Color["GREEN"].value, Color(2).double, int(Color.RED is Color.ALIAS) + 1, len(Color.RED.name)

from dataclasses import dataclass, field, asdict
@dataclass
class Base:
    m: int = 4
    def __post_init__(self): self.k = self.m * 2
@dataclass
class Derived(Base):
    n: int = 8
    tags: dict = field(default_factory=lambda: {"a": 1})
    def __post_init__(self):
        super().__post_init__()
        self.k += self.n
d = Derived(n=3)
R = d.k, d.m, len(asdict(d)), d.tags["a"], Derived(5, 6).k

from dataclasses import dataclass
@dataclass(frozen=True)
class K:
    a: int
    b: tuple = (1, 2)
cache = {K(1): 5, K(2, (3,)): 6}
R = cache[K(1)], cache[K(2, (3,))], len({K(1), K(1)}), int(K(1) == K(1)) + 1

from abc import ABC, abstractmethod
class S(ABC):
    @property
    @abstractmethod
    def n(self): ...
    def twice(self): return 2 * self.n
class T(S):
    @property
    def n(self): return 4
R = T().twice()

class Mixin:
    def size(self): return self.m * self.n
class Tile(Mixin):
    __slots__ = ("m", "n")
    def __init__(self, m, n): self.m, self.n = m, n
R = Tile(4, 8).size()

class A:
    def __init__(self, **kw):
        for k, v in kw.items(): setattr(self, k, v)
a = A(x=3, y=4)
R = a.x, getattr(a, "y"), getattr(a, "z", 5), int(hasattr(a, "x")) + 1, len(vars(a)), len(a.__dict__)

class A:
    def __init__(self): self.d = {}
    def __setitem__(self, k, v): self.d[k] = v * 2
    def __getitem__(self, k): return self.d[k]
    def __delitem__(self, k): del self.d[k]
    def __contains__(self, k): return k in self.d
    def __len__(self): return len(self.d)
a = A()
a["x"] = 3; a["y"] = 1
del a["y"]
R = a["x"], len(a), int("x" in a) + 1

class E(Exception):
    def __init__(self, n): self.n = n
try:
    raise E(7)
except E as e:
    R = e.n

def f(x):
    match x:
        case -4: return 1
        case 4 | -5: return 2
        case None: return 3
        case True: return 4
        case "a" "b": return 5
        case (a, [b, *rest], _): return a, b, tuple(rest)
        case [1, 2] as y: return 6, tuple(y)
        case {"k": v, "z": 3, **r}: return v, r["m"]
        case (1, 2, *_): return 7
        case str() | float(): return 8
        case int(q) if q > 100: return q
        case d if d == 50: return d + 1
        case _: return 9
R = f(-4), f(4), f(-5), f(5), f(None), f(True), f("ab"), f((1, [2, 3, 4], 5)), f([1, 2]), f({"k": 1, "z": 3, "m": 4}), f((1, 2, 3)), f("x"), f(2.5), f(101), f(50), f(7), f([]), f({"k": 1, "z": 4})

from dataclasses import dataclass
from typing import NamedTuple
@dataclass
class Tile:
    m: int
    n: int = 64
class Shape(NamedTuple):
    a: int
    b: int
class Own:
    __match_args__ = ("v",)
    def __init__(self, v): self.v = v
def f(x):
    match x:
        case Tile(128, n=n): return "a", n
        case Tile(m, 32): return "b", m
        case Tile(n=-1) | Own(v=(2, _)): return "c"
        case Own(Tile(k)): return "d", k
        case (Shape(p, q) | (p, q, _)): return "e", p, q
        case _: return "f"
R = f(Tile(128)), f(Tile(3, 32)), f(Tile(3, -1)), f(Own((2, 3))), f(Own(Tile(9))), f(Shape(4, 5)), f((4, 5, 6)), f(Own(3)), f(Tile(1, 2))

def f(a, b):
    match a, b:
        case 1, 2: return 3
        case x, 3: return x
        case (4, y) if y > 5: return y
        case _, z: return -z
R = f(1, 2), f(7, 3), f(4, 9), f(4, 5), f(8, 1)

x = (5, 6)
n = 0
match x:
    case (x, y) if y > 6: n = 1
    case (y, x): n = 2
R = n, x, y

import enum
class Mask(enum.IntFlag):
    NONE = 0
    CAUSAL = enum.auto()
    LOCAL = enum.auto()
    SEQ = enum.auto()
m = Mask.CAUSAL
m |= Mask.SEQ
R = int(Mask.CAUSAL in m) + 1, int(Mask.LOCAL in m) + 1, int(Mask.LOCAL not in m) + 3, int(m & ~Mask.CAUSAL), int(Mask.SEQ in (m & ~Mask.SEQ)) + 1, int(bool(m & Mask.LOCAL)) + 5, int(m == 5) + 1, int(Mask.SEQ in (m & 4)) + 8

import enum
class Mode(enum.Flag):
    A = enum.auto()
    B = enum.auto()
    AB = A | B
R = int(Mode.A in Mode.AB) + 1, (~Mode.A).value, int(Mode.A | Mode.B == Mode.AB) + 1, int(bool(Mode.A & Mode.B)) + 1

from typing import NamedTuple
class Shape(NamedTuple):
    m: int
    n: int
R = int(Shape(1, 2) == (1, 2)) + 1, int((3, 4) == Shape(1, 2)) + 1, int(Shape(1, 2) in [(1, 2)]) + 1, int(Shape(1, 2) == Shape(1, 2)) + 1

class A:
    seen = ()
    def __init_subclass__(cls, n=1, **kw):
        super().__init_subclass__(**kw)
        cls.n = n
class B(A): pass
class C(A, n=3): pass
class D(B, n=4): pass
R = [c.__name__ for c in A.__subclasses__()], [c.n for c in A.__subclasses__()], len(B.__subclasses__()), D.__subclasses__()
"""
