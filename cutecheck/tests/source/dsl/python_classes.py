"""Pieces of Python with a result ``R``: classes. One an empty line apart."""

# ruff: noqa: E501

BODIES = r"""
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
"""
