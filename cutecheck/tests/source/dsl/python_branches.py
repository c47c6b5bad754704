"""Pieces of Python whose ``R`` depends on ``U``, 0 or 1, which is not known. One an empty line apart."""

BODIES = r"""
class C:
    def n(self): return 4
class D(C):
    def n(self): return 8
c = C()
if U: c.__class__ = D
R = c.n()

class C:
    def n(self): return 4
class D(C):
    def n(self): return 8
c = C()
for i in range(U + 1):
    if i: c.__class__ = D
R = c.n()

class C:
    def n(self): return 4
class D(C):
    def n(self): return 8
class E(C):
    pass
c = C()
c.__class__ = D if U else E
R = c.n(), 3

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

d = {}
for k in ("a", "b"):
    if U: d[k] = 1
R = len(d), d.get("a", 5)

d = {"a": 1}
if U: d["b"] = 2
R = sorted(d)[-1] == "a" and 1 or 2, sum(d.values()), "b" in d and 3 or 4

x = [1, 2, 3]
if U: x = [4]
R = sum(x)

x = [i for i in range(3)]
while x and U == 0: x.pop()
R = len(x) + 1

y = None
if U: y = 4
R = 3 if y is None else y

y = 4
if U: y = None
R = y or 7

try:
    if U: raise KeyError("a")
    z = 1
except KeyError:
    z = 2
else:
    z = 3
finally:
    w = z
R = w

s = 0
for i in range(4):
    if U and i == 2: continue
    if U and i == 3: break
    s += i
else:
    s += 100
R = s

i = 0
while i < 10:
    if i == U + 5: break
    i += 1
else: i = 50
R = i

it = iter((1, 2, 3))
if U: next(it)
R = next(it)

a, *b = [1, 2] if U else [1, 2, 3]
R = len(b)

x = {"a": [1]}
y = x["a"] if U else [9]
y.append(3)
R = len(x["a"])

fs = []
for i in range(2):
    if U: fs.append(lambda: i)
    else: fs.append(lambda: 7)
R = fs[0]()

f = (lambda: 3) if U else (lambda: 4)
R = f()

t = (1, 2)
if U: t += (3,)
R = len(t)

s = "a"
if U: s += "b"
R = len(s)

m = [[0] * 2 for _ in range(2)]
m[U][0] = 5
R = m[0][0], m[1][1]

x = [3, 1, 2]
x.sort(key=lambda v: v if U else -v)
R = x[0]

x = sorted([3, 1, 2], reverse=bool(U))
R = x[0]

R = [1, 2, 3][: U + 1][-1], len([1, 2, 3][U:])

R = sum(range(U + 3)), len(range(0, 10, U + 1))

R = divmod(7, U + 2)[0], pow(2, U), abs(-U - 1), min(U, 1) + 1

R = int(f"{U + 1}2")

R = {True: 3, False: 4}[U == 0]

from collections import Counter, defaultdict
c = Counter()
c["a"] += 1
if U: c["a"] += 1
d = defaultdict(int)
for i in range(3): d[i % (U + 1)] += 1
R = c["a"], d[0]

with open("/dev/null") as f:
    n = 3
    if U: n = 4
R = n

x = 1
del_me = [1, 2, 3]
if U: del del_me[0]
R = del_me[0], len(del_me)

d = {"b": 1, **({"b": 2} if U else {})}
R = d["b"], len(d)

d = {**({"b": 2} if U else {}), "c": 4}
R = d["c"], len(d)

x = [*([1] if U else []), 2]
R = len(x), x[-1]

x = (*([1] if U else []), 2)
R = len(x)

class A: pass
class B(A): n = 3
if U:
    class C(A): n = 5
R = len(A.__subclasses__()) + 2

class A: pass
def made(n):
    class B(A): k = n
    return B
for i in range(U + 1): made(i + 2)
R = sum(c.k for c in A.__subclasses__())
"""
