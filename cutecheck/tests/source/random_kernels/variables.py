"""Variables: assignments, references, pointers, arrays, bindings, lambdas, tensors."""

# fmt: off
# ruff: noqa: E501
from __future__ import annotations

from cutecheck.tests.source.random_kernels.writer import Writer


class VariableStatements(Writer):
    """Variables: assignments, references, pointers, arrays, bindings, lambdas, tensors."""

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
