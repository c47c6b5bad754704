"""What kernels write now and then: numbers of other types, constructors, pointers to objects, exceptions, gotos."""

# fmt: off
# ruff: noqa: E501
from __future__ import annotations

from cutecheck.tests.source.random_kernels.writer import Writer

_UNSIGNED = ("unsigned", "uint32_t", "size_t", "unsigned long long")
_NARROW = ("uint8_t", "int8_t", "uint16_t", "short", "unsigned char")


class RareStatements(Writer):
    """Numbers of other types, and the corners of the language."""

    def do_unsigned(self) -> None:
        """A number that wraps around; shown by its low and its high bits."""
        u, t = self.fresh("u"), self.target()
        wide = self.maybe(0.5)
        self.emit(f"{self.one(*(_UNSIGNED if wide else _NARROW))} {u} = {self.number(1)};")
        for _ in range(self.r.randint(1, 2)):
            self.emit(
                self.one(
                    f"{u} -= {self.number(0)};", f"{u} += {self.number(1)};", f"--{u};", f"{u}++;", f"{u} = -{u};", f"{u} = ~{u};",
                    f"{u} = {u} - 1;", f"{u} <<= 1;", f"{u} >>= 2;", f"{u} ^= {self.number(0)};", f"{u} = {u} % 7;",
                    f"{u} = {u} * 3;", f"if ({u} < {self.number(0)}) {{ {t} += 8; }}", f"{t} = int({u} / 2) % 64;",
                    f"if ({u} - 3 > 4) {{ {u} = 5; }}", f"{u} = {self.condition()} ? {u} : {self.constant()};",
                    f"{u} = std::max<decltype({u})>({u}, 3);", f"for (int i = 0; i < {self.one('n', '2')}; ++i) {{ {u} -= 3; }}",
                )
            )
        self.show(self.one(f"int({u} % 64)", f"int({u} / 3 % 128)", f"int({u} >> 3) % 32 + 32", f"int({u}) % 100 + 100", f"({u} > 8)"))
        if self.maybe(0.3):
            self.emit(f"{t} = int({u} & 15);")

    def do_rare(self) -> None:
        s = self.scope
        t, q = self.target(), self.fresh("q")
        w = self.r.choice([x for x in s.writes if x in ("x", "y")] or ["x"])
        counters = [o for o, paths in s.objects.items() if paths[0].endswith(".at")]
        c = self.r.choice(counters) if counters else None
        label = self.fresh("past")
        plain = not self.in_lambda and not any(self.loops) and self.depth == 0
        choices = [
            f"for (unsigned {q} = {self.one('n', '3', 'm')}; {q}-- > 0;) {{ {t} += 1; }}",
            f"for (unsigned {q} = {self.one('n', '3')}; {q} > 0; --{q}) {{ {t} = int({q}); }}",
            f"for (int {q} = 0; {q} < 6; ++{q}) {{ {t} = {q}; int* p = &{q}; *p += {self.one('1', '2')}; }}",
            f"for (int {q} = 0; {q} < 6; ++{q}) {{ bump({q}, 1); {t} = {q}; }}",
            f"for (int {q} = 0; {q} < 6; ++{q}) {{ int& r = {q}; r += 1; {t} = {q}; if ({self.condition()}) break; }}",
            f"{{ int {q} = 2; for (int i = 0; i < {q}; ++i) {{ if (i == 1) {q} = 4; {t} = i; }} }}",
            f"{{ auto {q} = [&] {{ {t} += 8; }}; {w} = 3; {q}(); {w} = {t}; call({q}); }}",
            f"{{ int {q} = {self.number(1)}; do {{ {q} += 3; }} while ({q} < 7); {t} = {q}; }}",
            f"{t} = ({w} = {self.number(0)}, {w} + 1);",
            f"{{ auto [{q}, r] = Pair{{}}; {q} += {self.number(0)}; {t} = {q} + r; }}",
            f"{{ int {q}[3] = {{1, 2, {self.number(0)}}}; auto& [e, f, g] = {q}; f = 9; {t} = {q}[1]; }}",
            f"{{ Outer {q}; {q}.in.up({self.number(0)}); {t} = {q}.look() + {q}.seen_times; }}",
            f"{{ Outer const {q}; {t} = {q}.look(); {t} += {q}.seen_times + Outer::Fixed; }}",
            f"{{ Stat {q}; {q}.put({self.constant()}); {t} = Stat::kept + {q}.own; }}",
            f"{{ Stat {q}; {t} = Stat::kept; Stat::kept = {self.constant()}; {t} -= Stat::kept; {q}.put(5); }}",
            f"{{ High {q}({self.number(1)}); {q}.twice(); {t} = {q}.a + {q}.b; Low& r = {q}; r.a = 3; {t} += {q}.a; }}",
            f"{{ Twice {q}({self.number(0)}); {t} = {q}.a * 2 + {q}.b; Twice r; {t} += r.a; }}",
            f"{{ Plain {q}; {t} = {q}.a + {q}.k; }}", f"{{ Held {q}; {t} = {q}.low.a + {q}.other.a; }}",
            f"{{ Copied {q}; Copied r = {q}; {t} = r.v; r = {q}; {t} += r.v; }}",
            f"{{ Dest {q}({w}); {w} = 3; {q}.by = {self.number(0)}; }} {t} = {w};",
            f"{{ Dest {q}({w}); if ({self.condition()}) {{ Dest r({t}); }} }}",
            f"leave_early({t}, {self.one('n', 'm', '1', '3')});",
            f"{t} = counted();", f"{{ int {q} = counted(); {t} = counted() - {q}; }}", f"{t} = fact({self.one('3', 'n', '4')});",
            f"{{ int {q}[3] = {{1, 2, {self.number(0)}}}; inc_all({q}); for (auto e : {q}) {{ {t} += e; }} }}",
            f"{{ int {q}[2][2] = {{{{1, 2}}, {{3, 4}}}}; {q}[1][0] = 9; int* p = &{q}[0][0]; p[1] = 7; {t} = {q}[0][1] + {q}[1][0]; }}",
            f"{{ Conv {q}; {t} = {q} + 2; Acc r; {t} += r(3) + r(4); r[0] = 5; {t} += r.t; }}",
            f"{{ Kind {q} = Kind::B; {t} = int({q}) % 16 + Red + static_cast<int>(Kind::A); }}",
            f"fwd({t}) += {self.constant()};", f"{{ int* {q} = {self.condition()} ? &{w} : &{t}; *{q} = 5; }}",
            f"{{ int* {q} = &{w}; int*& r = {q}; r = &{t}; *{q} = 7; }}", f"{{ int* {q} = &{t}; {q}[0] = 5; }}",
            f"{{ int {q}[4] = {{1, 2, 3, 4}}; int* b = {q}; int sum = 0; while (b != {q} + 4) {{ sum += *b++; }} {t} = sum; }}",
            f"for (auto [{q}, r] : {{Pair{{1, 2}}, Pair{{3, {self.number(0)}}}}}) {{ {t} += {q} * r; }}",
            f"{{ auto {q} = [&](auto self, int d) -> int {{ if (d <= 0) return 0; {t} += d; return 1 + self(self, d - 1); }}; {w} = {q}({q}, {self.one('3', 'n')}); }}",
            f"{{ auto {q} = [c = 0]() mutable {{ return ++c; }}; {q}(); auto r = {q}; r(); {t} = {q}() + r(); }}",
            f"try {{ {w} = 1; if ({self.condition()}) throw 5; {w} = 2; }} catch (...) {{ {t} += 3; }}",
            f"try {{ thrower({w}, {self.one('n', 'm', 'tid')}); }} catch (int v) {{ {t} = v; }}",
            f"for (int {q} = 0; {q} < 3; ++{q}) {{ try {{ if ({q} == n) throw 1; {t} += 1; }} catch (...) {{ {t} += 8; break; }} }}",
            f"std::swap({w}, {t});", f"{{ int {q}[2] = {{1, {self.number(0)}}}; std::swap({q}[0], {q}[1]); {t} = {q}[0]; }}",
            f"{{ auto {q} = make_tuple(1, {self.number(0)}); auto& [e, f] = {q}; f = 8; {t} = get<1>({q}) + e; }}",
            f"{{ decltype(auto) {q} = ({w}); {q} = 6; {t} = {w}; }}", f"{{ Self {q}; {q}.me()->v = 4; auto p = {q}.me(); p->v += 2; {t} = {q}.v; }}",
            f"{{ Self {q}, r; {q}.next = &r; {q}.next->v = 5; {t} = r.v * 8 + {q}.v; }}",
            f"switch ({self.one('n', 'm')}) {{ case 0: {t} = 1; case 1: {t} += 2; break; case 3: {{ {t} = 8; break; }} default: {t} = 16; }}",
            f"if (int {q} = {self.number(1)}; {q} > 2) {{ {t} = {q}; }} else {{ {w} = {q}; }}",
            f"{t} = ({self.number(1)}) / 2 + ({self.number(1)}) % 3 + (({self.number(0)}) >> 1);",
            f"{{ struct Local {{ int v; CUTE_HOST_DEVICE int twice() {{ return v *= 2; }} }} {q}{{{self.number(0)}}}; {q}.twice(); {t} = {q}.v; }}",
            f"{{ long {q} = {self.number(1)}; {q} = {q} * 1000000007L; {t} = int({q} % 97); }}",
            f"{{ bool {q} = {self.condition()}; {q} |= n > 2; {q} = !{q}; {t} = {q} ? 3 : 4 + {q}; }}",
            f"{{ int (*{q})(int, int) = pure; {t} = {q}({self.number(0)}, 4); }}",
        ]
        if c is not None:
            choices += [
                f"{{ Counter* {q} = &{c}; {q}->at = {self.number(0)}; (*{q}).advance(2); {t} = {c}.at; }}",
                f"{{ auto {q} = &{c}; {q}->advance({self.number(0)}); }}", f"set_at(&{c}, {self.number(0)});",
                f"{{ Counter {q}; ({self.condition()} ? {c} : {q}).at = 7; {t} = {q}.at; }}",
                f"{{ Counter {q}; Counter& r = {self.condition()} ? {c} : {q}; r.at = 5; {t} = {q}.at + {c}.at; }}",
                f"{{ Counter {q}; Counter* p = {self.condition()} ? &{c} : &{q}; p->advance(8); {t} = {q}.at; }}",
                f"{{ Node {q}{{&{c}, &{t}}}; {q}.go(); }}", f"{{ Counter {q} = std::move({c}); {q}.at = 1; }}",
                f"{{ Counter {q}[2]; {q}[0].at = 5; {q}[1] = {c}; for (auto& e : {q}) {{ e.at += 1; }} {t} = {q}[0].at; }}",
                f"new (&{c}) Counter{{8}};", f"{{ int Counter::* {q} = &Counter::at; {c}.*{q} = 5; }}",
                f"{{ auto {q} = [p = &{c}] {{ p->at += 1; }}; {q}(); {q}(); }}",
            ]
        if plain and self.maybe(0.05):
            choices = [f"{t} = 8; if ({self.condition()}) goto {label}; {t} = 24; {label}: ;"]
        if self.maybe(0.03):
            choices = [f"leap({t}, {self.one('n', 'm')});"]
        line = self.one(*choices)
        if line.startswith("try") or "try {" in line:
            line = line if not self.in_lambda else f"{t} += 2;"
        self.emit(line)
