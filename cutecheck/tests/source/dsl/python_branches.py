"""Pieces of Python whose ``R`` depends on ``U``, 0 or 1, which is not known. One an empty line apart."""

BODIES = r"""
x = []
if U: x.append(4)
else: x.append(7)
R = x[0]

x = [1]
if U: x.append(4)
R = len(x) + 1

x = [1]
for i in range(U + 1): x.append(i)
R = len(x)

x = []
for i in range(U + 2): x.append(i + 3)
R = x[-1]

d = {}
if U: d["a"] = 4
else: d["a"] = 5
R = d["a"]

d = {"a": 1}
for i in range(U + 1): d["a"] = d["a"] + 1
R = d["a"]

d = {"a": 1}
if U: d.pop("a")
R = d.get("a", 9)

d = {"a": 1}
if U: d.update(a=6)
R = d["a"]

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

x = [3, 4]
if U: x.pop()
R = x[-1]

x = [3, 4]
if U: x.reverse()
R = x[0]

x = [3, 4]
y = x
if U: y = [7]
y.append(5)
R = len(x)

x = [3, 4]
if U: x = x + [5]
R = len(x)

x = {3, 4}
if U: x.add(5)
R = len(x)

i = 0
while True:
    i += 1
    if i > U + 1: break
R = i

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

try:
    if U: raise ValueError("x")
    R = 4
except ValueError:
    R = 6

x = 3
try:
    x = 4
    if U: raise ValueError("x")
    x = 5
except ValueError:
    pass
R = x

R = 3 if U else 4

R = U and 5 or 7

R = (U or 5) + 1

x = [1, 2, 3]
R = x[U]

R = {0: 4, 1: 5}[U]

R = {0: 4, 1: 5}.get(U, 7)

x = [1, 2, 3]
x[U] = 9
R = x[1]

d = {0: 4, 1: 5}
d[U] = 9
R = d[1]

R = max(3, U + 3)

R = min([4, 5], key=lambda v: abs(v - 4 - U))

R = sorted([4, 5], key=lambda v: abs(v - 4 - U))[0]

R = len([x for x in (1, 2, 3) if x > U])

R = tuple(x for x in (1, 2, 3) if x > U)

R = sum(x for x in (1, 2, 3) if x > U)

R = len("ab" * (U + 1))

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

best = None
for c in (4, 5, 6):
    if c > U + 4:
        best = c
        break
R = best

best, score = 0, 99
for c in (4, 5, 6):
    s = abs(c - 5 - U)
    if s < score: best, score = c, s
R = best

x = 128
while x > 8 * (U + 1): x //= 2
R = x

x = [8, 16]
if U: x[:] = [4]
R = x[0]

x = [8, 16]
if U: del x[0]
R = x[0]

x = [8, 16]
if U: x.clear(); x.append(5)
R = x[0]

x = [8, 16]
if U: x.insert(0, 3)
R = x[0]

x = [8, 16]
if U: x.sort(reverse=True)
R = x[0]

x = [8, 16]
if U: x += [3]
R = len(x)

x = [[8], [16]]
if U: x[0].append(3)
R = len(x[0])

x = ([8], 3)
if U: x[0].append(3)
R = len(x[0])

d = {"a": [1]}
if U: d["a"].append(2)
R = len(d["a"])

d = {"a": 1}
if U: d.clear()
R = len(d) + 1

d = {}
if U: d.setdefault("k", 4)
R = d.get("k", 5)

match U:
    case 0: R = 4
    case 1: R = 5

a, b = (3, 4) if U else (4, 3)
R = a

from types import SimpleNamespace
s = SimpleNamespace(a=3)
if U: s.a = 4
R = s.a

x = [C for C in (1, 2)]
for i in range(2):
    if U: continue
    x.append(i)
R = len(x)

x = 0
for i in range(4):
    if i == U + 1: break
    x += 2
R = x + 1

x = 0
for i in range(4):
    if i == U + 1: continue
    x += i
R = x

x = 0
for i in range(4):
    for j in range(4):
        if j == U + i: break
        x += 1
R = x + 1

def g(n):
    for i in range(n):
        if U and i == 1: return
        yield i + 1
R = tuple(g(3))

x = 4
def f(): return x
if U: x = 5
R = f()
"""
