"""Pointers where they are not followed: in arrays, in members of elements, behind other pointers, in containers."""

# fmt: off
# ruff: noqa: E501
from __future__ import annotations

from cutecheck.tests.source.random_kernels.writer import Writer


class IndirectStatements(Writer):
    """Writes through pointers that come from arrays, unions, globals, functions and other pointers."""

    def do_indirect(self) -> None:
        s, q = self.scope, self.fresh("q")
        t = self.target()
        plain = [x for x in s.writes if x.isidentifier() and not x.startswith("b")]
        v, w = self.r.choice(plain or ["x"]), self.r.choice(plain or ["x"])
        number, index = self.number(1), self.one("0", "1", "n & 1", "tid & 1", "m % 2")
        aims = self.one(f"int* {q}[2]; {q}[0] = &{v}; {q}[1] = &{w};", f"int* {q}[2] = {{&{v}, &{w}}};",
                        f"std::array<int*, 2> {q} = {{&{v}, &{w}}};", f"int* {q}[2]; for (auto& e : {q}) {{ e = &{v}; }}",
                        f"int* {q}[2] = {{&{v}, &{v}}}; {q}[{index}] = &{w};",
                        f"int* {q}[2]; aim(&{q}[0], &{v}); become({q}[1], &{w});")
        write = self.one(f"*{q}[{index}] = {number};", f"{q}[{index}][0] = {number};", f"*{q}[{index}] += {self.constant()};",
                         f"(*{q}[{index}])++;", f"through({q}[{index}], {number});", f"{{ int* p = {q}[{index}]; *p = {number}; }}",
                         f"{{ int& r = *{q}[{index}]; r = {number}; }}", f"for (int* p : {q}) {{ *p = {number}; }}",
                         f"{{ int** p = &{q}[{index}]; **p = {number}; }}", f"std::swap({q}[0], {q}[1]); *{q}[0] = {number};",
                         f"{{ auto f = [&] {{ *{q}[{index}] = {number}; }}; f(); }}", f"for (int i = 0; i < n; ++i) {{ *{q}[i & 1] += i; }}",
                         f"if ({self.condition()}) {{ {q}[0] = &{t}; }} *{q}[0] = {number};", f"bump(*{q}[{index}], 8);")
        counters = [o for o, paths in s.objects.items() if paths[0].endswith(".at")]
        c = self.r.choice(counters) if counters else None
        choices = [
            f"{{ {aims} {write} }}", f"{{ {aims} {write} {t} = *{q}[{index}]; }}", f"{{ {aims} {write} {write} }}",
            f"{{ {aims} {v} = {number}; {t} = {w}; {write} }}",
            f"{{ int* {q} = &{v}; int** p = &{q}; *p = &{w}; **p = {number}; *{q} += 1; }}",
            f"{{ int* {q} = &{v}; aim(&{q}, &{w}); *{q} = {number}; }}", f"{{ int* {q}; aim(&{q}, &{w}); *{q} = {number}; }}",
            f"{{ Kept {q}[2]; {q}[0].p = &{v}; {q}[{index}].p = &{w}; {q}[0].set({number}); }}",
            f"{{ Kept {q}[2] = {{{{&{v}}}, {{&{w}}}}}; {q}[{index}].set({number}); for (auto& e : {q}) {{ e.set({self.constant()}); }} }}",
            f"{{ Kept {q}{{&{v}}}; Kept r = {q}; r.p = &{w}; {q}.set({number}); r.set(2); }}",
            f"{{ Kept {q}{{&{v}}}; Kept* r = &{q}; r->p = &{w}; {q}.set({number}); }}",
            f"{{ Hand {q}; {q}.put(0, &{v}); {q}.put(1, &{w}); Hand r = {q}; r.set({index}, {number}); }}",
            f"{{ Either2 {q}; {q}.p = &{v}; *{q}.p = {number}; }}", f"{{ Aim {q}{{&{v}}}; int*& r = {q}.p; r = &{w}; *{q}.p = {number}; }}",
            f"global_pointer = &{v}; *global_pointer = {number};", f"remember(&{v}); {v} = 2; write_remembered({number});",
            f"global_kept.p = &{v}; global_kept.set({number});", f"{{ auto {q} = std::make_pair(&{v}, 1); *{q}.first = {number}; }}",
            f"{{ std::vector<int*> {q}{{&{v}}}; {q}.push_back(&{w}); *{q}[{index}] = {number}; }}",
            f"{{ auto {q} = std::ref({v}); {q}.get() = {number}; }}", f"{{ std::reference_wrapper<int> {q}[2] = {{{v}, {w}}}; {q}[{index}].get() = {number}; }}",
            f"std::tie({v}, {w}) = std::make_pair(3, {number});", f"{{ std::function<void()> {q}[2]; {q}[{index}] = [&] {{ {v} = {number}; }}; {q}[0] = {q}[{index}]; {q}[0](); }}",
            f"{{ long {q} = reinterpret_cast<long>(&{v}); *reinterpret_cast<int*>({q}) = {number}; }}",
            f"{{ int {q}[3] = {{1, {number}, 8}}; int* p = {q}; *p = {number}; p[1] = 4; {t} = {q}[0] + {q}[{index}]; }}",
            f"{{ int {q}[3] = {{1, {number}, 8}}; through({q} + 1, 5); {t} = {q}[1]; for (int* p = {q}; p != {q} + 3; ++p) {{ *p += 1; }} {t} += {q}[0]; }}",
            f"{{ int {q}[2][2] = {{{{1, 2}}, {{3, {number}}}}}; int* p = {q}[1]; p[0] = 9; through({q}[0], 7); {t} = {q}[1][0] * 8 + {q}[0][0]; }}",
            f"{{ Numbers {q}; int* p = {q}.c; p[{index}] = {number}; Numbers r = {q}; r.c[0] = 5; {t} = {q}.c[{index}] + r.c[0]; }}",
            f"{{ int {q}[2] = {{1, 2}}; int& e = {q}[{index}]; e = {number}; {q}[1] = 3; {t} = e; }}",
            f"{{ Ring {q}, r; {q}.next = &r; r.next = &{q}; {q}.next->next->v = {number}; Ring* p = &{q}; for (int i = 0; i < n; ++i) {{ p = p->next; }} p->v += 8; {t} = {q}.v; }}",
        ]
        if c is not None:
            choices += [
                f"{{ Counter* {q}[2]; {q}[{index}] = &{c}; {q}[0] = &{c}; {q}[0]->at = {number}; {q}[{index}]->advance(2); }}",
                f"{{ Node {q}[1]; {q}[0].c = &{c}; {q}[0].q = &{v}; {q}[0].go(); }}", f"{{ int* {q}[1]; {q}[0] = &{c}.at; *{q}[0] = {number}; {t} = {c}.at; }}",
                f"{{ Counter** {q} = static_cast<Counter**>(std::malloc(16)); {q}[1] = &{c}; {q}[1]->at = {number}; }}",
            ]
        self.emit(self.one(*choices))
