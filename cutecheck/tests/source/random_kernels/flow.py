"""Branches, loops, switches, jumps, and oddities."""

# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_kernels.writer import Writer


class FlowStatements(Writer):
    """Branches, loops, switches, jumps, and oddities."""

    def do_odd(self) -> None:
        t = self.target()
        v = self.fresh("v")
        self.emit(
            self.one(
                f"{{ union {{ int whole; int same; }} u; u.whole = {self.number(1)}; u.same = 16; {t} = u.whole; }}",
                f"{{ Either u; u.whole = 8; u.same = {self.number(1)}; {t} = u.whole; }}",
                f"{{ int volatile w = {self.number(1)}; w = w + 8; {t} = w; }}",
                f"{{ Counter c4; new (&c4) Counter{{8}}; {t} = c4.at; }}",
                f"{{ int w = 4; asm volatile(\"movl $8, %0\" : \"=r\"(w)); {t} = w; }}",
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
