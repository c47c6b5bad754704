"""Random programs: integers, objects with state, references, pointers, lambdas, helpers, tensors; loops and branches.

Every program ends, does not read what was never written, and shows integers and tensors by ``seen(Int<N>{}, tensor)``:
where the tensor starts in ``s`` and its layout. What a program shows is the same for a compiler and for cutecheck.
"""

# fmt: off
# ruff: noqa: E501
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cutecheck.tests.source.random_kernels.library import TYPES


@dataclass
class Scope:
    """What a place of a program may use: integers that may be written, integers that may be read, objects, tensors."""

    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    objects: dict[str, list[str]] = field(default_factory=dict)
    tensors: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    lambdas: list[str] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(
            [*self.writes], [*self.reads], {k: [*v] for k, v in self.objects.items()}, [*self.tensors],
            [*self.pointers], [*self.lambdas],
        )


class Program:
    """One random program: the text of its namespace. ``features`` limits it to some kinds of statements."""

    def __init__(self, seed: int, features: frozenset[str] | None = None, size: int = 9) -> None:
        self.r = random.Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.names = 0
        self.ids = 0
        self.depth = 0
        self.loops: list[str] = []  # kinds of the loops around
        self.in_lambda = 0
        self.scope = Scope(["x", "y"], ["n", "m", "tid", "x", "y"], {}, ["S"])
        self.features = features
        self.emit("int x = 0; int y = 8; int const tid = threadIdx.x;")
        self.statements(size)
        for name in ("x", "y"):
            self.show(name)
        self.kernel = "\n".join(self.lines)

    def text(self) -> str:
        return (
            f"namespace p{self.seed} {{\n{TYPES}\nint global_count = 4;\n"
            "__global__ void k(int n, int m) {\n  alignas(128) __shared__ half_t s[65536];\n  START\n"
            "  auto S = make_tensor(make_smem_ptr(s), make_layout(make_shape(Int<8>{}, Int<4>{})));\n"
            f"{self.kernel}\n}}\n}}\n"
        )

    # text

    def emit(self, line: str) -> None:
        self.lines.append("  " * (len(self.loops) + 1) + line)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def one(self, *choices: str) -> str:
        return self.r.choice(choices)

    def maybe(self, p: float) -> bool:
        return self.r.random() < p

    # expressions

    def number(self, depth: int = 2) -> str:
        s = self.scope
        kind = self.r.random()
        if depth <= 0 or kind < 0.35:
            if s.reads and self.maybe(0.7):
                return self.r.choice([*s.reads, *s.writes])
            return self.one("0", "1", "2", "3", "4", "8", "16", "-8", "int(Steps<3>::value)")
        a, b = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.6:
            return f"({a} {self.one('+', '-')} {b})"
        if kind < 0.68:
            return f"({a} * {self.one('2', '4', '8', '-1')})"
        if kind < 0.74:
            return f"({a} {self.one('/', '%')} {self.one('2', '4', '8')})"
        if kind < 0.79:
            return f"({a} {self.one('&', '|', '^')} {self.one('1', '3', '8', '12')})"
        if kind < 0.84:
            return f"({self.condition()} ? {a} : {b})"
        if kind < 0.88:
            return f"pure({a})" if self.maybe(0.5) else f"pure({a}, {b})"
        if kind < 0.91:
            return f"cute::{self.one('min', 'max')}({a}, {b})"
        if kind < 0.94:
            return f"int({a})"
        if kind < 0.97:
            return f"either({a}, {b})"
        return "int(unsigned(tid) % 8u)"

    def condition(self) -> str:
        a = self.r.choice([*self.scope.reads, *self.scope.writes])
        return self.one(
            "tid < 16", "n < 3", "m == 2", f"{a} == 8", f"{a} < {self.number(0)}", f"({a} & 1)", f"{a} != 0",
            f"!({a} > 4)", "tid % 2 == 0", f"(n > 1 && {a} < 8)", f"(m < 2 || {a} == 0)", "true", "1 > 2",
        )

    def target(self) -> str:
        return self.r.choice(self.scope.writes)

    def constant(self) -> str:
        return self.one("1", "3", "8", "16", "-8")

    # statements

    def show(self, what: str) -> None:
        self.ids += 1
        self.emit(f"seen(Int<{self.ids}>{{}}, make_tensor(make_smem_ptr(s + ({what})), Layout<_8>{{}}));")

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()
            if not self.in_lambda and self.depth == 0 and self.maybe(0.03):
                self.emit(f"if ({self.condition()}) return;")
            if self.maybe(0.25):
                self.show(self.target() if self.maybe(0.7) else self.number())

    @contextmanager
    def inside(self, kind: str = "") -> Iterator[None]:
        before = self.scope
        self.scope = before.copy()
        self.loops.append(kind)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.loops.pop()
            self.scope = before

    def block(self, count: int, kind: str = "") -> None:
        with self.inside(kind):
            self.statements(count)

    def statement(self) -> None:
        deep = self.depth >= 3
        kinds: list[tuple[int, str]] = [
            (6, "assign"), (4, "declare"), (3, "object"), (5, "method"), (3, "helper"), (3, "tensor"), (3, "lambda"),
            (2, "reference"), (2, "pointer"), (2, "array"), (2, "expression"), (2, "binding"), (2, "move"), (1, "odd"),
            (1, "layout"),
        ]
        if not deep:
            kinds += [(4, "if_"), (4, "loop"), (1, "switch"), (1, "while_"), (1, "range_for"), (1, "local_block")]
        if any(self.loops) and not self.in_lambda and "switch" not in self.loops[-1:]:
            kinds += [(1, "jump")]
        if self.features is not None:
            kinds = [(w, k) for w, k in kinds if k in self.features or k in ("assign",)]
        weights = [w for w, _ in kinds]
        kind = self.r.choices([k for _, k in kinds], weights)[0]
        method: Callable[[], None] = getattr(self, f"do_{kind.rstrip('_')}")
        method()

    def do_assign(self) -> None:
        t = self.target()
        self.emit(
            self.one(
                f"{t} = {self.number()};", f"{t} += {self.number(1)};", f"{t} -= {self.constant()};", f"++{t};",
                f"{t}--;", f"{t} ^= 8;", f"{t} = {t} + {self.constant()};", f"{t} = {self.condition()} ? 8 : {t};",
            )
        )

    def do_expression(self) -> None:
        """What is written inside of expressions."""
        t = self.target()
        others = [w for w in self.scope.writes if w != t and w in ("x", "y")] or [t]
        u = self.r.choice(others)
        if u == t:
            self.emit(f"{t} += 2;")
            return
        self.emit(
            self.one(
                f"{u} = {t}++;", f"{u} = --{t};", f"{u} = ({t} += 8);", f"{u} = ({t} = 16, {t} + 1);", f"{u} = {t} = 8;",
                f"({self.condition()} ? {t} : {u}) = 24;", f"if ({t}++ < 8) {{ {u} += 8; }}",
                f"{self.one('n < 3', 'tid < 16', 'm == 2', 'true')} && ({t} = 40);",
                f"if ((n > 2) || ({t} += 8) > 16) {{ {u} = 1; }}", f"{u} = m < 2 ? {t}++ : ({t} += 16);",
                f"pick({t}, {u}, {self.condition()}) = 48;", f"std::swap({t}, {u});",
                f"{u} = std::exchange({t}, 8);", f"if (int const v = {t} + 8; v < 20) {{ {u} = v; }}",
                f"while ({t} < 12 && {t} > 4) {{ {t} += 4; }}", f"int const old{self.fresh('v')} = {t}++; {u} = {t};",
            )
        )

    def do_declare(self) -> None:
        name = self.fresh("v")
        self.emit(f"{self.one('int', 'auto', 'int')} {name} = {self.number()};")
        self.scope.reads.append(name)
        if self.maybe(0.6):
            self.scope.writes.append(name)

    def do_object(self) -> None:
        kind = self.one("Counter", "Counter", "Derived", "Given", "Pair", "Holder", "copy", "copy")
        name = self.fresh("o")
        s = self.scope
        if kind == "copy":
            if not s.objects:
                return
            old = self.r.choice([*s.objects])
            paths = s.objects[old]
            how = self.one(f"auto {name} = {old};", f"auto& {name} = {old};", f"auto const {name} = {old};",
                           f"auto {name} = {old}; {name} = {old};", f"auto* {name}_p = &{old}; auto& {name} = *{name}_p;")
            self.emit(how)
            own = [p.replace(old, name, 1) for p in paths]
            s.reads += own
            if "const" not in how:
                s.objects[name] = own
                s.writes += own
            return
        made = {
            "Counter": self.one(f"Counter {name};", f"Counter {name}{{{self.constant()}}};", f"auto {name} = made({self.number(1)});",
                                f"Counter {name} = made(8);", f"Counter {name}{{}};"),
            "Derived": f"Derived {name};",
            "Given": self.one(f"Given {name}({self.number(1)});", f"Given {name}{{4, {self.number(1)}}};"),
            "Pair": self.one(f"Pair {name};", f"Pair {name}{{{self.number(1)}}};"),
            "Holder": f"Holder {name}{{{self.target()}}};",
        }[kind]
        members = {
            "Counter": ["at", "phase"], "Derived": ["low", "high", "inner.at", "more[1]"], "Given": ["a", "b"],
            "Pair": ["first", "second"], "Holder": ["ref"],
        }[kind]
        self.emit(made)
        paths = [f"{name}.{x}" for x in members]
        s.writes += paths
        s.reads += paths
        if kind != "Holder":
            s.objects[name] = paths
        elif self.maybe(0.5):
            self.emit(f"{name}.set({self.number(1)});")

    def do_method(self) -> None:
        s = self.scope
        if not s.objects:
            self.do_object()
            return
        o = self.r.choice([*s.objects])
        first = s.objects[o][0]
        t = self.target()
        if first.endswith(".at"):
            self.emit(
                self.one(
                    f"{o}.advance({self.number(1)});", f"++{o};", f"{o}++;", f"{o} += 8;", f"{t} = {o}.index();",
                    f"{o}.get() = {self.constant()};", f"{o}.get() += 8;", f"{o}.reset();", f"by_value({o});",
                    f"by_reference({o});", f"same({o}).advance(8);", f"{t} = made({self.number(1)}).index();",
                    f"{{ auto c2 = {o}++; {t} = c2.at; }}", f"{o} = made(16);", f"{o} = Counter{{}};",
                    f"bump({o}, 8);", f"{{ Counter& r2 = same({o}); r2.at += 1; }}", f"(++{o}).advance(2);",
                    f"bump({o}.at, 8);", f"through(&{o}.at, {self.constant()});", f"take(3, {o}.at);",
                )
            )
        elif first.endswith(".low"):
            self.emit(
                self.one(
                    f"{o}.both({self.number(1)});", f"{o}.lift();", f"{t} = {o}.total();", f"{o}.inner.advance(8);",
                    f"++{o}.inner;", f"{{ Base& b2 = {o}; b2.low = 8; }}", f"{{ Base b3 = {o}; b3.lift(); {t} = b3.low; }}",
                    f"{{ auto c3 = {o}.inner; c3.advance(8); }}", f"by_reference({o}.inner);", f"{o}.inner = made(8);",
                )
            )
        elif first.endswith(".a"):
            self.emit(self.one(f"{o}.swap_them();", f"{o} = Given({self.number(1)});", f"{o}.a = {o}.b + 1;"))
        else:
            self.emit(self.one(f"{o}.first += {self.constant()};", f"{o} = Pair{{}};", f"{o} = {{4, {self.number(1)}}};",
                               f"std::swap({o}.first, {o}.second);"))

    def do_helper(self) -> None:
        t, u = self.target(), self.target()
        if t == u:
            u = "x" if t != "x" else "y"
        self.emit(
            self.one(
                f"bump({t}, {self.number(1)});", f"take({self.number(1)}, {t});", f"through(&{t}, {self.number(1)});",
                f"recurse<3>({t});", f"descend({self.one('2', 'n', '3')}, {t});", f"each(4, {t}, {u});",
                f"early({t}, {self.one('n', 'm', '1', '3', 'tid')});", f"{t} = pick({t}, {u}, {self.condition()});",
                f"take({t}, {u});",
            )
        )

    def do_tensor(self) -> None:
        s = self.scope
        name = self.fresh("T")
        old = self.r.choice(s.tensors)
        self.emit(
            self.one(
                f"auto {name} = make_tensor(make_smem_ptr(s + {self.number(1)}), Layout<Shape<_8,_4>>{{}});",
                f"auto {name} = make_tensor(make_smem_ptr(s) + {self.target()}, Layout<Shape<_8,_4>, Stride<_4,_1>>{{}});",
                f"auto {name} = {old};", f"auto& {name} = {old};", f"auto {name} = moved({old}, {self.number(1)});",
                f"auto const& {name}_c = {old}; auto {name} = {name}_c;",
                f"auto {name} = make_tensor({old}.data() + {self.constant()}, {old}.layout());",
            )
        )
        s.tensors.append(name)

    def do_move(self) -> None:
        t = self.r.choice(self.scope.tensors)
        if t == "S" and self.maybe(0.7):
            self.do_tensor()
            return
        self.emit(
            self.one(
                f"{t}.data() = {t}.data() + {self.number(1)};", f"shift({t}, {self.number(1)});",
                f"{t}.data() = {t}.data() + 8;",
            )
        )
        self.ids += 1
        view = self.one(t, f"{t}(_, {self.one('0', '1', 'n', 'tid', self.target())})")
        self.emit(f"seen(Int<{self.ids}>{{}}, {view});")

    def do_layout(self) -> None:
        self.ids += 1
        a, b = self.number(1), self.number(1)
        self.emit(
            f"seen(Int<{self.ids}>{{}}, make_tensor(make_smem_ptr(s), make_layout(make_shape(Int<4>{{}}, {a}), "
            f"{self.one(f'make_stride(Int<1>{{}}, {b})', 'LayoutLeft{}', f'make_stride({b}, Int<1>{{}})')})));"
        )

    def do_reference(self) -> None:
        s, name, t = self.scope, self.fresh("r"), self.target()
        self.emit(self.one(f"int& {name} = {t};", f"auto& {name} = {t};", f"auto&& {name} = {t};",
                           f"int& {name} = pick({t}, {self.target()}, {self.condition()});"))
        s.writes.append(name)
        s.reads.append(name)
        if self.maybe(0.5):
            self.emit(f"{name} = {self.number(1)};")

    def do_pointer(self) -> None:
        s, name, t = self.scope, self.fresh("p"), self.target()
        if s.pointers and self.maybe(0.5):
            p = self.r.choice(s.pointers)
            self.emit(self.one(f"*{p} = {self.number(1)};", f"{p} = &{self.one('x', 'y')};", f"{t} = *{p};", f"*{p} += 8;", f"(*{p})++;"))
            return
        self.emit(f"{self.one('int*', 'auto*', 'auto')} {name} = &{t};")
        s.pointers.append(name)
        s.writes.append(f"(*{name})")

    def do_array(self) -> None:
        s, name = self.scope, self.fresh("a")
        self.emit(self.one(f"int {name}[3] = {{1, {self.number(1)}, 8}};", f"int {name}[3] = {{}};",
                           f"cute::array<int, 3> {name} = {{1, {self.number(1)}, 8}};",
                           f"auto {name} = make_tensor<int>(Layout<_3>{{}}); {name}[0] = 1; {name}[1] = 8; {name}[2] = {self.number(1)};"))
        paths = [f"{name}[{i}]" for i in range(3)]
        s.writes += paths[:2]
        s.reads += paths
        if self.maybe(0.5):
            self.emit(self.one(f"{name}[n & 1] = {self.number(1)};", f"{name}[1] += {name}[0];",
                               f"{{ int& e = {name}[1]; e = 16; }}",
                               f"for (int i = 0; i < 3; ++i) {{ {name}[i] = i * {self.constant()}; }}"))

    def do_binding(self) -> None:
        s, a, b = self.scope, self.fresh("b"), self.fresh("b")
        pairs = [o for o, p in s.objects.items() if p and p[0].endswith((".first", ".at"))]
        if pairs and self.maybe(0.5):
            o = self.r.choice(pairs)
            self.emit(f"{self.one('auto', 'auto&', 'auto&')} [{a}, {b}] = {o};")
        elif self.maybe(0.5):
            self.emit(f"auto [{a}, {b}] = make_tuple({self.number(1)}, {self.number(1)});")
        else:
            c = self.fresh("tup")
            self.emit(f"auto {c} = make_tuple({self.number(1)}, {self.number(1)});")
            self.emit(f"get<1>({c}) = {self.number(1)};")
            self.emit(f"auto [{a}, {b}] = {c};")
        s.writes += [a, b]
        s.reads += [a, b]
        if self.maybe(0.5):
            self.emit(f"{a} = {self.number(1)};")

    def do_lambda(self) -> None:
        s = self.scope
        if s.lambdas and self.maybe(0.5):
            f = self.r.choice(s.lambdas)
            self.emit(self.one(f"{f}();", f"call({f});", f"twice({f});"))
            return
        name, t = self.fresh("f"), self.target()
        simple = [w for w in s.writes if w.isidentifier()]
        captured = self.r.choice(simple)
        other = self.r.choice(simple)
        kind = self.r.randrange(8)
        binding = any(w.startswith("b") for w in (captured, other, t))
        if kind == 0 and not binding:
            self.emit(f"auto {name} = [{captured}]() mutable {{ {captured} += 8; return {captured}; }};")
            self.emit(f"{t} = {name}();")
        elif kind == 1 and not binding:
            self.emit(f"auto {name} = [{captured}] {{ return {captured} + 1; }};")
            self.emit(f"{captured} = {self.number(1)};")
            self.emit(f"{t} = {name}();")
        elif kind == 2 and not binding:
            self.emit(f"auto {name} = [&, old = {captured}](int by) {{ {captured} = old + by; }};")
            self.emit(f"{name}({self.number(1)});")
            return
        elif kind == 3 and not binding:
            self.emit(f"{t} = with([=](auto v) {{ return v + {captured}; }}, {self.number(1)});")
            return
        elif kind == 4 and not binding:
            self.emit(f"[&] {{ {captured} += 8; }}();")
            return
        elif kind == 5 and not binding:
            self.emit(f"auto {name} = [&]() -> int& {{ return {captured}; }};")
            self.emit(f"{name}() = {self.number(1)};")
        elif any(w.startswith("b") for w in s.writes):
            return
        else:
            self.emit(f"auto {name} = [&] {{")
            self.in_lambda += 1
            outer, self.loops = self.loops, [""]
            lambdas, s.lambdas = s.lambdas, []
            with self.inside():
                self.statements(2)
            self.loops, s.lambdas = outer, lambdas
            self.in_lambda -= 1
            self.emit("};")
            self.emit(f"{name}();")
        s.lambdas.append(name)

    def do_odd(self) -> None:
        t = self.target()
        label = self.fresh("past")
        v = self.fresh("v")
        self.emit(
            self.one(
                f"{{ union {{ int whole; int same; }} u; u.whole = {self.number(1)}; u.same = 16; {t} = u.whole; }}",
                f"{{ Either u; u.whole = 8; u.same = {self.number(1)}; {t} = u.whole; }}",
                f"{{ int volatile w = {self.number(1)}; w = w + 8; {t} = w; }}",
                f"{{ Counter c4; new (&c4) Counter{{8}}; {t} = c4.at; }}",
                f"{{ int w = 4; asm volatile(\"movl $8, %0\" : \"=r\"(w)); {t} = w; }}",
                f"{t} = 8; if ({self.condition()}) goto {label}; {t} = 24; {label}: ;" if not self.in_lambda and not any(self.loops) and self.depth == 0
                else f"{t} += 2;",
                f"{{ static int {v} = 0; {v} = 16; {t} = {v}; }}",
                f"{t} = int({{threadIdx.x}} < 2);".replace("{threadIdx.x}", "threadIdx.x"),
                f"{{ int* q = &{t}; int** qq = &q; **qq = 32; }}",
                f"{{ int w[2] = {{1, 2}}; int* q = w; *q = 8; q[1] = 16; ++q; {t} = *q + w[0]; }}",
                f"{{ Pair d{{.second = 8}}; {t} = d.first + d.second; }}",
                f"global_count = {self.number(1)}; {t} = global_count;",
                f"do {{ {t} += 8; }} while ({t} < 16);",
            )
        )

    def do_if(self) -> None:
        self.emit(f"if ({self.condition()}) {{")
        self.block(2)
        if self.maybe(0.5):
            self.emit(f"}} else if ({self.condition()}) {{" if self.maybe(0.3) else "} else {")
            self.block(2)
        self.emit("}")

    def do_local_block(self) -> None:
        self.emit("{")
        if self.maybe(0.4):
            with self.inside():
                self.emit("int x = 3;")
                self.statements(2)
        else:
            self.block(2)
        self.emit("}")

    def do_loop(self) -> None:
        i = self.fresh("i")
        head = self.one(
            f"for (int {i} = 0; {i} < {self.one('2', '3', 'n', 'm')}; ++{i}) {{",
            f"for (int {i} = 0; {i} < {self.one('2', '3', 'n', 'm')}; {i}++) {{",
            f"for (int {i} = tid % 4; {i} < 8; {i} += 4) {{", f"for (int {i} = 3; {i} > 0; --{i}) {{",
            f"for (int {i} = 0; {i} < 16; {i} += 8) {{", f"for (int {i} = n; {i}-- > 0;) {{",
        )
        if self.maybe(0.2):
            self.emit("CUTE_UNROLL")
        self.emit(head)
        with self.inside("for"):
            self.scope.reads.append(i)
            self.statements(self.r.randint(1, 3))
        self.emit("}")

    def do_while(self) -> None:
        w = self.fresh("w")
        self.emit(f"int {w} = {self.one('2', 'n', '3')};")
        if self.maybe(0.5):
            self.emit(f"while ({self.one(f'{w} > 0', f'{w}-- > 0')}) {{")
            self.loops.append("")
            last = self.lines[-1]
            self.loops.pop()
            with self.inside("while"):
                self.scope.reads.append(w)
                self.statements(2)
                if "--" not in last:
                    self.emit(f"--{w};")
            self.emit("}")
        else:
            self.emit("do {")
            with self.inside("while"):
                self.scope.reads.append(w)
                self.statements(2)
            self.emit(f"}} while (--{w} > 0);")

    def do_switch(self) -> None:
        self.emit(f"switch ({self.one('n', 'm', 'tid % 4', '2', self.target())}) {{")
        for value in self.r.sample([0, 1, 2, 3, 8], 3):
            self.emit(f"case {value}: {{")
            self.block(1, "switch")
            self.emit("}" + self.one(" break;", " break;", ""))
        if self.maybe(0.5):
            self.emit("default: {")
            self.block(1, "switch")
            self.emit("}")
        self.emit("}")

    def do_range_for(self) -> None:
        a, e = self.fresh("a"), self.fresh("e")
        self.emit(f"int {a}[3] = {{1, 8, {self.number(1)}}};")
        self.emit(f"for ({self.one('int', 'auto', 'int&', 'auto&', 'auto const&')} {e} : {a}) {{")
        writable = "&" in self.lines[-1] and "const" not in self.lines[-1]
        with self.inside("for"):
            self.scope.reads.append(e)
            if writable:
                self.scope.writes.append(e)
            self.statements(2)
        self.emit("}")
        self.scope.reads += [f"{a}[0]", f"{a}[2]"]

    def do_jump(self) -> None:
        if "for" not in self.loops[-2:] or "while" in self.loops or "switch" in self.loops:
            return
        self.emit(f"if ({self.condition()}) {self.one('break', 'continue')};")
