"""Objects with state, methods, helpers."""

# fmt: off
# ruff: noqa: E501
from __future__ import annotations

from cutecheck.tests.source.random_kernels.writer import Writer


class ObjectStatements(Writer):
    """Objects with state, methods, helpers."""

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
