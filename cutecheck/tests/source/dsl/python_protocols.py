"""Pieces of Python with a result ``R``: what classes, functions and generators answer for. One an empty line apart."""

# ruff: noqa: E501

BODIES = r"""
import functools
@functools.singledispatch
def conv(x, **kw): return ("other", 0)
@conv.register(int)
@conv.register(float)
def _num(x, **kw): return ("num", x)
@conv.register
def _s(x: str, **kw): return ("str", len(x))
class Base: pass
class Derived(Base): pass
@conv.register(Base)
def _b(x, k=1): return ("base", k)
conv.register(list, lambda x: ("list", len(x)))
R = conv(3), conv(2.5), conv("abc"), conv(Derived(), k=4), conv(None), conv([1, 2]), conv.dispatch(int)(7)

from functools import singledispatchmethod
class K:
    @singledispatchmethod
    def go(self, x): return 1
    @go.register
    def _(self, x: int): return x + 10
    @go.register(str)
    def _(self, x): return len(x)
R = K().go(None), K().go(5), K().go("abc")

class Base:
    plans = {}
    stages = 1
    def __init_subclass__(cls, /, op=None, stages=None, **kw):
        super().__init_subclass__(**kw)
        if op is not None:
            Base.plans[op] = cls
            cls.op = op
        if stages is not None: cls.stages = stages
class A(Base, op="a", stages=3): pass
class B(Base, op="b"): pass
class C(A, op="c"): pass
R = tuple(Base.plans), A.stages, B.stages, C.stages, A.op, Base.plans["c"].__name__

class Meta(type):
    registry = {}
    def __new__(mcls, name, bases, ns, **kw):
        cls = super().__new__(mcls, name, bases, ns)
        if ns.get("key"): mcls.registry[ns["key"]] = cls
        cls.tag = kw.get("tag", name.lower())
        return cls
    def __call__(cls, *a, **k):
        o = super().__call__(*a, **k)
        o.made = True
        return o
    @property
    def size(cls): return len(cls.tag)
    def make(cls, v): return cls(v)
class X(metaclass=Meta, tag="xx"):
    key = "kx"
    def __init__(self, v): self.v = v
class Y(X):
    key = "ky"
R = tuple(Meta.registry), X.tag, Y.tag, X(3).v, X(3).made, Y.size, Y.make(4).v, Meta.registry["ky"](5).v

class Meta(type):
    def __init__(cls, name, bases, ns):
        super().__init__(name, bases, ns)
        cls.names = [k for k in ns if not k.startswith("_")]
    def __getitem__(cls, k): return cls.__name__ + k
    def __len__(cls): return 4
    def __iter__(cls): return iter(cls.names)
    def __contains__(cls, k): return k in cls.names
class T(metaclass=Meta):
    a = 1
    b = 2
R = tuple(T.names), T["q"], len(T), list(T)[1], int("a" in T) + 1

class Single(type):
    _inst = {}
    def __call__(cls, *a):
        if cls not in cls._inst: cls._inst[cls] = super().__call__(*a)
        return cls._inst[cls]
class Q(metaclass=Single):
    def __init__(self, n): self.n = n
R = Q(3).n, Q(4).n

def inner():
    x = yield 1
    yield 2
    return 7
def outer():
    r = yield from inner()
    yield r
    s = yield from (8, 9)
    yield s
R = list(outer())[2], len(list(outer())), tuple(outer())

def tree(t):
    if isinstance(t, tuple):
        n = 0
        for x in t: n += yield from tree(x)
        return n
    yield t
    return 1
def count(t):
    n = yield from tree(t)
    yield n
R = list(count((1, (2, 3), 4)))

import inspect, functools
def jit_cache(fn):
    cache = {}
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        bound = inspect.signature(fn).bind(*args, **kwargs)
        bound.apply_defaults()
        key = tuple(bound.arguments.items())
        if key not in cache: cache[key] = fn(*args, **kwargs)
        return cache[key]
    wrapper.cache = cache
    wrapper.clear = cache.clear
    return wrapper
calls = []
@jit_cache
def f(a, b=2, *c, d=4):
    calls.append(a)
    return a + b + d + len(c)
R = f(1), f(1, 2), f(1, d=4), f(3, 4, 5), len(calls), len(f.cache)

import inspect
def f(a, b=2, *c, d=4, **e): pass
s = inspect.signature(f)
p = s.parameters
R = tuple(p), p["b"].default, int(p["a"].default is inspect.Parameter.empty) + 1, int(p["c"].kind == inspect.Parameter.VAR_POSITIONAL) + 1, int(p["d"].kind is inspect.Parameter.KEYWORD_ONLY) + 1, s.bind(1, d=3).arguments["d"], s.bind(1, 5, 6).args

import enum
class Kind(str, enum.Enum):
    TENSOR = "t"
    TOKEN = "token"
    @classmethod
    def parse(cls, s): return cls[s.upper()] if s.upper() in cls.__members__ else cls(s)
R = Kind.parse("token").value, Kind.parse("t").name, int(Kind.TENSOR == "t") + 1, Kind("token").name, int(isinstance(Kind.TENSOR, str)) + 1

import enum
class Op(enum.Enum):
    ADD = (1, "add")
    MUL = (2, "mul")
    def __init__(self, code, label):
        self.code = code
        self.label = label
    @property
    def both(self): return self.label + str(self.code)
    @classmethod
    def _missing_(cls, v): return cls.MUL
R = Op.ADD.code, Op.MUL.both, len(Op), Op((2, "mul")).code, Op("zzz").label

import types
ns = types.SimpleNamespace(a=1, b=2)
ns.c = 3
setattr(ns, "d", 4)
R = ns.a, ns.c, ns.d, len(vars(ns)), getattr(ns, "q", 9), int(hasattr(ns, "b")) + 1

class L:
    def __init__(self, *s): self.s = s
    def __iter__(self): return iter(self.s)
    def __len__(self): return len(self.s)
    def __getitem__(self, i): return self.s[i]
    def __eq__(self, o): return tuple(self) == tuple(o)
    def __hash__(self): return hash(self.s)
    def __mul__(self, k): return L(*(x * k for x in self.s))
    __rmul__ = __mul__
    def __call__(self, i): return self.s[i] + 100
R = tuple(L(1, 2) * 3), tuple(2 * L(1, 2)), int(L(1, 2) == L(1, 2)) + 1, int(L(1, 2) != L(1, 3)) + 1, {L(1, 2): 5}[L(1, 2)], L(4, 5)(1), len(L(1)), max(L(3, 9, 2)), [*L(1, 2)][1], sum(L(1, 2))

from contextlib import contextmanager, ExitStack, suppress, nullcontext
log = []
@contextmanager
def cm(n):
    log.append(n)
    try: yield n + 1
    finally: log.append(-n)
with cm(1) as a, cm(2) as b: log.append(a + b)
with suppress(KeyError):
    {}["x"]
with nullcontext(5) as z: pass
R = tuple(log), z

class D:
    def __set_name__(self, o, n): self.n = n
    def __get__(self, o, c): return 42 if o is None else o.__dict__.get("_" + self.n, 7)
    def __set__(self, o, v): o.__dict__["_" + self.n] = v + 1
class H:
    x = D()
h = H()
a = h.x
h.x = 3
R = a, h.x, H.x

def f(n): return (n, n + 1)
class O:
    def m(self): return (7, 8)
    v = ((4, 5), 6)
o = O()
def g():
    return *f(1), 9
d = {(1, 2): 3, (1, 2, 0): 4, (4, 5): 6}
x = *f(3), 5
R = [*f(1)], (*f(2), 3), x, g(), [*o.m()], [*o.v[0]], {*f(1)} == {1, 2}, d[*f(1)], d[*f(1), 0], d[*o.v[0]], [*(f(1) if o else f(2))], [[*f(i)] for i in range(2)], [*range(3)], [*map(str, (1, 2))], max(*f(5))

from contextlib import nullcontext
with nullcontext(5) as z: pass
with nullcontext(): y = 2
R = z, y

import enum
class M(enum.IntEnum):
    A = 0
    B = 1
    C = 3
class P(enum.Enum):
    A = 0
m = M.C
held = {M.A: "a", 3: "c"}
R = (m in [M.A, M.C], m in (M.A, M.B), m not in {M.C}, 3 in [M.C], M.B in [0, 1], [M.A, M.C].index(3), (M.A, m) == (0, 3),
    [M.C, 3].count(m), 0 in held, M.C in held, held[0], held[M.C], P.A in [0], P.A in (M.A, P.A))

import enum
class S(enum.StrEnum):
    ROW_MAJOR = enum.auto()
    K = "k"
class V(int, enum.Enum):
    A = 3
    def __new__(cls, n):
        obj = int.__new__(cls, n)
        obj._value_ = n
        return obj
class W(enum.Enum):
    X = 1, "a"
    Y = 2, "b"
    def __new__(cls, n, text):
        obj = object.__new__(cls)
        obj._value_ = n
        obj.text = text
        return obj
R = S.ROW_MAJOR.value, len(S.K), S.K.upper(), W.X.value, W.Y.text, W(2).name, int(isinstance(W.X, W)) + 1

class Box: pass
b = Box()
b.__dict__.update(m=4, n=5)
vars(b)["k"] = 6
setattr(b, "j", 7)
def f(): f.calls += 1
f.calls = 0
f()
f()
setattr(f, "tag", "t")
class C: pass
setattr(C, "limit", 9)
C.method = lambda self: self.limit + 1
R = b.m, b.n, b.k, b.j, f.calls, f.tag, C.limit, C().method()

class Cfg:
    __slots__ = ("m", "n")
    def __init__(self, m=1, n=2):
        for k, v in locals().items():
            if k != "self": setattr(self, k, v)
R = Cfg(3).m, Cfg().n

class Lazy:
    def __init__(self): self.calls = 0
    def __getattr__(self, name):
        if name == "tile":
            self.calls += 1
            self.tile = 8
            return 8
        raise AttributeError(name)
l = Lazy()
R = l.tile, l.tile, l.calls, getattr(l, "none", 4), hasattr(l, "none") + 1

R = eval("1 + 2"), eval("x * 2", {"x": 4}), int(eval("max(3, 4)"))

it = iter([1, 2, 3, 4])
pairs = list(zip(it, it))
R = pairs, [x for x in range(20) if x % 2 == 0 if x % 3 == 0], {i: [j for j in range(i)] for i in range(3)}, sum(i * j for i in range(3) for j in range(i)), any(x > 2 for x in (1, 2, 3)) + 1, min((3, "a"), (2, "b")), max([1, 5, 3], key=lambda v: -v), min([], default=7)

class Vec:
    def __init__(self, *v): self.v = v
    def __add__(self, o): return Vec(*(a + b for a, b in zip(self.v, o.v)))
    def __getitem__(self, i): return self.v[i]
    def __len__(self): return len(self.v)
    def __bool__(self): return any(self.v)
    def __neg__(self): return Vec(*(-a for a in self.v))
    def __matmul__(self, o): return sum(a * b for a, b in zip(self.v, o.v))
    def __contains__(self, x): return x in self.v
    def __lt__(self, o): return len(self) < len(o)
    def __repr__(self): return f"Vec{self.v}"
    def __hash__(self): return 1
    def __setitem__(self, i, x): self.v = self.v[:i] + (x,) + self.v[i + 1:]
    def __delitem__(self, i): self.v = self.v[:i] + self.v[i + 1:]
    def __iadd__(self, o):
        self.v += o.v
        return self
    def __index__(self): return 2
    def __float__(self): return 1.5
    def __enter__(self): return self
    def __exit__(self, *a): return True
class Named:
    def __str__(self): return "named"
tile = 5
def f(tile): return locals()["tile"] + len(vars())
v = Vec(1, 2)
v += Vec(3)
v[0] = 9
del v[1]
with Vec(5) as w: z = w[0]
R = (Vec(1, 2) + Vec(3, 4)).v, (-Vec(1)).v, Vec(1, 2) @ Vec(3, 4), (2 in Vec(2)) + 1, bool(Vec(0)) + 1, v.v, [0, 1, 2, 3][Vec()], float(Vec()), z, len(str(Named())), f(3), globals()["tile"], len(globals()["Named"].__name__), sorted([Vec(1, 2), Vec(1)])[0].v
"""
