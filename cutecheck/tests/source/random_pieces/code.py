"""What kernels compute their layouts with: structs of settings, traits, templates, `if constexpr`, lambdas, loops."""

# ruff: noqa: E501, N806
# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_pieces.writer import Writer


class Code(Writer):
    """Declarations and a function that use them; every number and layout of it is shown."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.statics: list[str] = []  # expressions that are constants
        self.numbers: list[str] = ["n", "t"]
        self.layouts: list[str] = []

    def static(self, depth: int = 2) -> str:
        """A constant expression, small and positive."""
        rng = self.rng
        kind = rng.random()
        if depth == 0 or kind < 0.25:
            return rng.choice((*self.statics, "2", "4", "8", "16")) if self.statics else str(rng.choice((2, 4, 8, 16)))
        a, b = self.static(depth - 1), self.static(depth - 1)
        return rng.choice((
            f"({a} + {b})", f"({a} * 2)", f"cute::max({a}, {b})", f"cute::min({a}, {b})", f"({a} > {b} ? {a} : {b} + 1)", f"cute::ceil_div({a} + 3, 4)",
            f"(({a} + 7) / 8 * 8)", f"int(sizeof(float) * {a})", f"({a} % 8 + 1)", f"({a} << 1)", f"(({a} >> 1) + 1)", f"int(cute::bit_width(unsigned({a})))",
            f"({a} == {b} ? 4 : 8)", "int(sizeof_bits_v<half_t>) / 4", f"cute::abs({a} - {b}) + 1", f"(({a} & 12) + 4)", f"(({a} | 1) + 1)", f"({a} - 1 + !{b})",
            f"(true && {a} > 4 ? 2 : 3)", f"cute::gcd({a}, {b})", f"(log_2(unsigned({a})) + 1)", f"int(cute::has_single_bit(unsigned({a}))) + 1",
            f"cute::round_up({a}, 4)", f"int(is_same_v<half_t, {rng.choice(('half_t', 'float'))}>) + {a}", f"cute::lcm({a}, 4)", f"size(Shape<Int<{a}>,_2>{{}})",
            f"get<{rng.choice((0, 1))}>(make_tuple(Int<{a}>{{}}, Int<{b}>{{}}))", f"decltype(Int<{a}>{{}} + Int<{b}>{{}})::value", f"C<{a}>::value",
        ))  # fmt: skip

    def make_code(self) -> None:
        rng = self.rng
        self.threads = 64
        for _ in range(rng.randint(1, 3)):
            getattr(self, f"declare_{self.one('traits', 'config', 'function', 'special', 'pack', 'enum', 'base', 'object')}")()
        for _ in range(rng.randint(2, 4)):
            getattr(self, f"state_{self.one('layout', 'branch', 'lambda', 'loop', 'generic', 'stage', 'pack', 'tensor', 'select', 'fold', 'tuple')}")()

    # declarations

    def declare_traits(self) -> None:
        rng, name = self.rng, self.name("Traits")
        a, b = self.static(1), self.static(1)
        element = self.one("half_t", "float", "int8_t")
        self.before.append(
            f"template <class Element_, int kM_, int kN_ = {b}, bool kFlag = {self.one('false', 'true')}> struct {name} {{\n"
            f"  using Element = Element_; static constexpr int kM = kM_; static constexpr int kN = kN_;\n"
            f"  static constexpr int kBlock = kFlag ? kM * 2 : kM; static constexpr bool Flag = kFlag;\n"
            f"  static constexpr int kPer = sizeof(cute::uint128_t) / sizeof(Element);\n"
            f"  static constexpr int kSwizzle = kN % 64 == 0 ? 3 : (kN % 32 == 0 ? 2 : 1);\n"
            f"  using Atom = decltype(composition(Swizzle<kSwizzle, 3, 3>{{}}, Layout<Shape<_8, Int<8 << kSwizzle>>, Stride<Int<8 << kSwizzle>, _1>>{{}}));\n"
            f"  using Plain = std::conditional_t<kFlag, Layout<Shape<Int<kM>, Int<kN>>, Stride<Int<kN>, _1>>, Layout<Shape<Int<kM>, Int<kN>>>>;\n"
            f"  struct Inner {{ static constexpr int kTwice = kBlock * 2; using Shape_ = Shape<Int<kTwice>, Int<kPer>>; }};\n"
            f"  static constexpr int area() {{ return kM * kN / {self.one('2', '1', 'kPer')}; }}\n"
            f"  template <int S> using Stages = decltype(tile_to_shape(Plain{{}}, Shape<Int<kM>, Int<kN>, Int<S>>{{}}));\n"
            f"  static constexpr auto shape() {{ return make_shape(Int<kM>{{}}, Int<kN>{{}}); }}\n}};"
        )
        more = rng.choice((f"{a}", f"{a}, {self.static(1)}", f"{a}, {self.static(1)}, {self.one('true', 'false')}"))
        alias = self.name("T")
        self.before.append(f"using {alias} = {name}<{element}, {more}>;")
        self.statics += [f"{alias}::{x}" for x in ("kM", "kN", "kBlock", "kPer", "kSwizzle", "Inner::kTwice")] + [f"{alias}::area()"]
        self.layouts += [f"typename {alias}::Plain{{}}", f"make_layout(typename {alias}::Inner::Shape_{{}})", f"typename {alias}::template Stages<{self.one('2', '3')}>{{}}",
                         f"typename {alias}::Atom{{}}", f"make_layout({alias}::shape())", f"make_layout({alias}::shape(), LayoutRight{{}})"]

    def declare_config(self) -> None:
        name, user = self.name("Config"), self.name("Use")
        self.before.append(
            f"struct {name} {{ int m = {self.static(1)}; int n = {self.static(1)}; bool pad = {self.one('true', 'false')}; int stages = 2;\n"
            f"  constexpr int bytes() const {{ return m * n * stages; }}\n"
            f"  constexpr {name} with_m(int v) const {{ {name} c = *this; c.m = v; return c; }}\n}};\n"
            f"template <{name} c> struct {user} {{ static constexpr int kM = c.m; static constexpr int kLd = c.n + (c.pad ? 8 : 0);\n"
            f"  using L = Layout<Shape<Int<c.m>, Int<c.n>, Int<c.stages>>, Stride<Int<kLd>, _1, Int<kLd * kM>>>; }};"
        )
        made = self.name("cfg")
        how = self.one(f"{name}{{}}", f"{name}{{{self.static(0)}, {self.static(0)}}}", f"{name}{{.n = {self.static(0)}, .stages = 3}}", f"{name}{{}}.with_m({self.static(0)})",
                       f"[] {{ {name} c; c.n = {self.static(0)}; c.pad = !c.pad; return c; }}()")
        self.before.append(f"inline constexpr {name} {made} = {how};")
        self.statics += [f"{made}.m", f"{made}.n", f"{made}.bytes()", f"{user}<{made}>::kLd", f"{made}.with_m(8).bytes()"]
        self.layouts += [f"typename {user}<{made}>::L{{}}", f"typename {user}<{name}{{.m = 16}}>::L{{}}"]

    def declare_function(self) -> None:
        name = self.name("calc")
        kind = self.rng.randrange(6)
        if kind == 0:
            self.before.append(f"constexpr int {name}(int a, int b = {self.static(0)}) {{ int r = 1; while (r < a && r < b * 4) r *= 2; return r; }}")
        elif kind == 1:
            self.before.append(f"constexpr int {name}(int a, int b = 3) {{ int r = 0; for (int i = 0; i < a; ++i) {{ if (i % b == 0) continue; r += i; if (r > 40) break; }} return r + 1; }}")
        elif kind == 2:
            self.before.append(f"constexpr int {name}(int a, int b = 2) {{ switch (a) {{ case 2: return 3; case 4: case 8: return b * 2; default: break; }} return a > 32 ? 32 : a; }}")
        elif kind == 3:
            self.before.append(f"template <class T> constexpr int {name}(T a, int b = 1) {{ if constexpr (sizeof(T) == 8) {{ return b; }} else {{ return int(a) + b; }} }}")
        elif kind == 4:
            self.before.append(f"constexpr int {name}(int a, int b = 5) {{ int best = 1, found[4] = {{1, 2, 4, 8}}; for (int f : found) {{ if (a % f == 0 && f <= b) best = f; }} return best * 2; }}")
        else:
            self.before.append(f"constexpr int {name}(int a, int b = 7) {{ return a <= 1 ? b : 1 + {name}(a / 2, b > 8 ? 8 : b); }}")
        self.statics += [f"{name}({self.static(0)})", f"{name}({self.static(0)}, {self.static(0)})"]

    def declare_special(self) -> None:
        name = self.name("Pick")
        self.before.append(
            f"template <class T, int N> struct {name} {{ static constexpr int value = N; using type = Int<N>; }};\n"
            f"template <int N> struct {name}<float, N> {{ static constexpr int value = N * 2; using type = Shape<Int<N>, _2>; }};\n"
            f"template <class T> struct {name}<T, 8> {{ static constexpr int value = 5; using type = Shape<_5>; }};\n"
            f"template <class T, int N> struct {name}<T*, N> {{ static constexpr int value = {name}<T, N>::value + 1; using type = Int<N + 1>; }};\n"
            f"template <class A, class B, int N> struct {name}<std::pair<A, B>, N> {{ static constexpr int value = {name}<A, N>::value * {name}<B, N>::value; using type = Shape<typename {name}<A, N>::type, typename {name}<B, N>::type>; }};\n"
            f"template <class T, int N> inline constexpr int {name}_v = {name}<T, N>::value;\n"
            f"template <class T, int N> using {name}_t = typename {name}<T, N>::type;"
        )
        for _ in range(2):
            kind, number = self.one("half_t", "float", "half_t*", "std::pair<half_t, float>", "float*", "std::pair<float*, int>"), self.one("4", "16", f"{self.static(1)} * 2 + 1")
            self.statics.append(f"({name}_v<{kind}, {number}>)")
            self.layouts.append(f"make_layout({name}_t<{kind}, {number}>{{}})")

    def declare_pack(self) -> None:
        name = self.name("List")
        self.before.append(
            f"template <int... Is> struct {name} {{ static constexpr int count = sizeof...(Is); static constexpr int sum = (Is + ... + 0); static constexpr int most = cute::max(Is...);\n"
            f"  static constexpr int product = (Is * ...); template <int I> static constexpr int at = get<I>(cute::make_tuple(Is...));\n"
            f"  using Shape_ = Shape<Int<Is>...>; using More = {name}<Is..., count>; template <int M> using Times = {name}<(Is * M)...>;\n"
            f"  static constexpr int nth(int i) {{ constexpr int all[] = {{Is...}}; return all[i]; }} }};"
        )
        args = ", ".join(self.static(0) for _ in range(3))
        alias = self.name("L")
        self.before.append(f"using {alias} = {name}<{args}>;")
        self.statics += [f"{alias}::count", f"{alias}::sum", f"{alias}::most", f"{alias}::template at<1>", f"{alias}::More::sum", f"{alias}::template Times<2>::product", f"{alias}::nth(2)"]
        self.layouts += [f"make_layout(typename {alias}::Shape_{{}})", f"make_layout(typename {alias}::template Times<2>::Shape_{{}}, GenRowMajor{{}})", f"make_layout(typename {alias}::More::Shape_{{}})"]

    def declare_enum(self) -> None:
        name = self.name("Mode")
        self.before.append(
            f"enum class {name} : int {{ A = {self.static(0)}, B, C = A + 8, D }};\n"
            f"template <{name} m> struct {name}Of {{ static constexpr int value = m == {name}::A ? 2 : m == {name}::B ? 4 : int(m); }};\n"
            f"constexpr int of_{name}({name} m) {{ switch (m) {{ case {name}::A: return 1; case {name}::B: return 6; default: return 3; }} }}"
        )
        for _ in range(2):
            self.statics += [f"{name}Of<{name}::{self.one('A', 'B', 'C', 'D')}>::value", f"of_{name}({name}::{self.one('A', 'B', 'C', 'D')})", f"static_cast<int>({name}::{self.one('B', 'D')})"]

    def declare_base(self) -> None:
        name = self.name("Base")
        self.before.append(
            f"template <class Derived> struct {name} {{ static constexpr int twice() {{ return Derived::own() * 2; }} static constexpr int kBase = 6;\n"
            f"  CUTE_HOST_DEVICE static auto layout() {{ return make_layout(Shape<Int<Derived::kW>, Int<kBase>>{{}}, {self.one('LayoutRight', 'LayoutLeft')}{{}}); }} }};\n"
            f"template <int N> struct {name}Leaf : {name}<{name}Leaf<N>> {{ using Super = {name}<{name}Leaf>; static constexpr int kW = N + Super::kBase; static constexpr int own() {{ return N + 1; }} using Super::twice; }};\n"
            f"struct {name}End : {name}Leaf<{self.static(0)}> {{ static constexpr int kBase = {name}Leaf::kW - 2; }};"
        )
        self.statics += [f"{name}Leaf<{self.static(0)}>::twice()", f"{name}End::twice()", f"{name}End::kBase", f"{name}End::Super::kBase"]
        self.layouts += [f"{name}End::layout()", f"{name}Leaf<3>::layout()"]

    def declare_object(self) -> None:
        name = self.name("Params")
        self.before.append(
            f"template <class L, class T = half_t> struct {name} {{ L layout; int ld; T const* p = nullptr; static constexpr int kRank = rank_v<L>;\n"
            f"  CUTE_HOST_DEVICE constexpr {name}(L l, int d) : layout(l), ld(d) {{}}\n"
            f"  CUTE_HOST_DEVICE auto strided() const {{ return make_layout(shape(layout), make_stride(ld, Int<1>{{}})); }}\n"
            f"  CUTE_HOST_DEVICE auto tile(int i) const {{ return local_tile(make_tensor(make_smem_ptr<half_t>(nullptr), strided()), Shape<_2, _4>{{}}, make_coord(i, _)); }}\n"
            f"  CUTE_HOST_DEVICE auto operator()(int i) const {{ return layout(i); }} }};\n"
            f"template <class L> {name}(L, int) -> {name}<L, float>;"
        )
        var = self.name("par")
        self.say(f"auto {var} = {self.one(name, f'{name}<decltype(make_layout(Shape<_8,_16>{{}})), half_t>')}(make_layout(Shape<_8,_16>{{}}), {self.one('n', '32', 'n * 2 + 1')});")
        self.layouts += [f"{var}.strided()", f"{var}.layout", f"{var}.tile({self.one('1', 'n % 2', 't % 4')}).layout()"]
        self.numbers += [f"{var}.ld", f"{var}({self.one('3', 'n % 8', 't')})"]

    # statements

    def number(self) -> str:
        a, b = self.rng.choice(self.numbers), self.rng.choice(self.numbers)
        return self.one(a, f"({a} % 8)", f"({a} + {self.static(1)})", f"({a} * 2 + {b} % 4)", f"({a} / 4)", f"cute::min({a}, {self.static(0)})", f"(({a} & 3) * {self.static(0)})", f"cute::max({a}, 3)")

    def layout(self) -> str:
        s = self.static
        return self.rng.choice((
            *self.layouts, f"Layout<Shape<Int<{s()}>, Int<{s()}>>>{{}}", f"make_layout(make_shape(Int<{s(1)}>{{}}, {self.number()}), make_stride(Int<1>{{}}, {self.number()}))",
            f"make_layout(Shape<Int<{s(1)}>, Shape<_2, Int<{s(1)}>>>{{}}, LayoutRight{{}})",
        ))  # fmt: skip

    def state_layout(self) -> None:
        name = self.let(self.layout(), "L")
        self.layouts.append(name)
        self.show("layout", name)
        self.show("value", f"Int<{self.static()}>{{}}")
        self.show("value", self.number())

    def state_branch(self) -> None:
        name, x = self.name("v"), self.name("x")
        self.say(f"int {x} = {self.number()};")
        cond = self.one(f"{self.static(1)} > 8", f"{self.static(0)} == 4", f"is_same_v<half_t, {self.one('half_t', 'float')}>", f"{self.static(1)} % 3 == 0", f"sizeof({self.one('half_t', 'float')}) == 2 && {self.static(0)} > 2")
        self.say(f"if constexpr ({cond}) {{ {x} += {self.static(1)}; }} else if constexpr ({self.static(0)} < 8) {{ {x} *= 3; }} else {{ {x} = n; }}")
        if self.maybe(0.5):
            self.say(f"if ({self.one('n > 64', 'n < 10', 't < 1000', 't < 5')}) {{ {x} += {self.static(0)}; }}")
        self.numbers.append(x)
        self.show("value", x)
        self.before.append(f"template <bool B> CUTE_HOST_DEVICE auto chosen_{name}() {{ if constexpr (B) {{ return {self._static_layout()}; }} else {{ return {self._static_layout()}; }} }}")
        self.show("layout", f"chosen_{name}<({cond})>()")

    def _static_layout(self) -> str:
        known = [x for x in self.layouts if not any(y in x for y in ("par", "L1", "n *")) and "::" in x]
        return self.rng.choice([*known, f"Layout<Shape<_2, Int<{self.rng.choice((3, 4, 5))}>>>{{}}", "make_layout(Int<7>{}, _2{})"])

    def state_lambda(self) -> None:
        f = self.name("f")
        kind = self.rng.randrange(5)
        if kind == 0:
            self.say(f"auto {f} = [&](auto i) {{ return make_layout(make_shape(Int<decltype(i)::value + 1>{{}}, Int<{self.static(0)}>{{}}), LayoutRight{{}}); }};")
            self.show("layout", f"{f}(Int<{self.static(0)}>{{}})")
        elif kind == 1:
            self.say(f"auto {f} = [k = {self.number()}](int a, int b = 2) {{ return k * a + b; }};".replace("int b = 2", "int b"))
            self.numbers.append(f"{f}({self.static(0)}, {self.number()})")
            self.show("value", self.numbers[-1])
        elif kind == 2:
            self.say(f"auto {f} = [&]<int N>(Int<N>) {{ if constexpr (N > {self.static(0)}) {{ return Int<N * 2>{{}}; }} else {{ return make_tuple(Int<N>{{}}, n); }} }};")
            self.show("layout", f"make_layout({f}(Int<{self.static(0)}>{{}}))")
            self.show("layout", f"make_layout({f}(_3{{}}))")
        elif kind == 3:
            x = self.name("x")
            self.say(f"int {x} = 0; auto {f} = [&](auto const& self, int d) -> void {{ if (d == 0) return; {x} += d; self(self, d - 1); }}; {f}({f}, {self.one('3', '4')});")
            self.numbers.append(x)
            self.show("value", x)
        else:
            self.say(f"constexpr auto {f} = [](int a) {{ int r = 0; for (int i = 0; i < a; ++i) r += i; return r + 1; }};")
            self.statics.append(f"{f}({self.rng.choice((2, 4, 5))})")
            self.show("value", f"Int<{self.statics[-1]}>{{}}")

    def state_loop(self) -> None:
        x = self.name("x")
        kind = self.rng.randrange(5)
        self.say(f"int {x} = {self.number()};")
        if kind == 0:
            self.say(f"for_each(make_int_sequence<{self.one('2', '3', '4')}>{{}}, [&](auto i) {{ if constexpr (i % 2 == 0) {{ {x} += i * {self.static(0)}; }} else {{ {x} -= {self.static(0)}; }} }});")
        elif kind == 1:
            self.say(f"CUTE_UNROLL for (int i = 0; i < {self.static(0)}; ++i) {{ {x} += {self.one('i', '2', 'i * i', 'i % 2')}; }}")
        elif kind == 2:
            self.say(f"for (int i = 0, j = {self.static(0)}; i < j; ++i, --j) {{ {x} += j - i; }}")
        elif kind == 3:
            self.say(f"for (int i = {self.static(0)}; i > 0; i /= 2) {{ {x} ^= i; }}")
        else:
            self.say(f"for (auto v : {{1, {self.static(0)}, 3}}) {{ {x} += v; }}")
        self.numbers.append(x)
        self.show("value", x)

    def state_generic(self) -> None:
        f = self.name("make")
        self.before.append(
            f"template <int N, class L, class... Rest> CUTE_HOST_DEVICE constexpr auto {f}(L const& l, Rest const&... rest) {{\n"
            f"  if constexpr (sizeof...(rest) == 0) {{ return composition(l, Int<cute::min(N, 2)>{{}}); }} else {{ return make_layout({f}<N>(l), {f}<N + 1>(rest...)); }} }}"
        )
        self.show("layout", f"{f}<{self.static(0)}>(Layout<Shape<_4, _8>>{{}})")
        self.show("layout", f"{f}<1>(Layout<_8, _{self.one('2', '4')}>{{}}, Layout<Shape<_4, _2>, Stride<_2, _1>>{{}}, Layout<_{self.one('4', '16')}>{{}})")

    def state_stage(self) -> None:
        kind, x = self.rng.randrange(2), self.name("st")
        if kind == 0:
            self.before.append(
                f"template <int S> struct State_{x} {{ int index = 0; int phase = 0; int count = 0;\n"
                "  CUTE_HOST_DEVICE void operator++() { ++index; ++count; if (index == S) { index = 0; phase ^= 1; } }\n"
                "  CUTE_HOST_DEVICE State_%s advance(int k) const { State_%s r = *this; for (int i = 0; i < k; ++i) ++r; return r; }\n"
                "  CUTE_HOST_DEVICE int parity() const { return phase & 1; } };" % (x, x)
            )
            self.say(f"State_{x}<{self.one('2', '3', '4')}> {x}; ++{x}; ++{x}; auto {x}b = {x}.advance({self.one('1', '3', '5')});")
            for member in ("index", "phase", "count", "parity()"):
                self.show("value", f"{x}.{member}")
                self.show("value", f"{x}b.{member}")
            self.numbers += [f"{x}.index", f"{x}b.count"]
        else:
            stages = self.rng.choice((2, 3, 4))
            self.say(f"int {x} = 0; int {x}w = {stages - 1}; for (int i = 0; i < {self.static(0)}; ++i) {{ {x}w = {x}; {x} = {self.one(f'({x} + 1) % {stages}', f'{x} == {stages - 1} ? 0 : {x} + 1', f'{x} ^ 1')}; }}")
            self.numbers += [x, f"{x}w"]
            self.show("value", x)
            self.show("value", f"{x}w")

    def state_pack(self) -> None:
        f = self.name("cat")
        self.before.append(f"template <class... Ts> CUTE_HOST_DEVICE auto {f}(Ts const&... ts) {{ return make_layout(make_shape((ts + Int<1>{{}})...), make_stride(Int<int(sizeof(Ts))>{{}}...)); }}")
        self.show("layout", f"{f}({self.number()}, Int<{self.static(0)}>{{}}, {self.static(0)})")

    def state_tensor(self) -> None:
        T = self.name("T")
        base = self.static(0)
        self.say(f"auto {T} = make_tensor(make_smem_ptr(s + {self.one('0', self.number(), f'{base} * 8')}), Layout<Shape<_32, Int<{base} * 8>>, Stride<Int<{base} * 8>, _1>>{{}});")
        self.show("seen", T)
        part = self.let(f"local_tile({T}, make_shape(Int<8>{{}}, Int<{base}>{{}}), make_coord({self.one('_', 'n % 4', 't % 4')}, {self.one('_', 'n % 8', '1')}))", "P")
        self.show("seen", part)
        self.numbers.append(f"int(size({part}))")
        f = self.name("view")
        self.before.append(f"template <class E, class L> CUTE_HOST_DEVICE auto {f}(Tensor<E, L> const& t, int at) {{ auto u = logical_divide(t, Shape<_4, _2>{{}}); return u(make_coord(_, at), make_coord({self.one('_', '0')}, _)); }}")
        self.show("seen", f"{f}({T}, {self.one('1', 'n % 4', 't % 8')})")

    def state_select(self) -> None:
        x = self.name("Sel")
        a, b = self.static(1), self.static(1)
        self.before.append(f"using {x} = {self.one('std', 'cute')}::conditional_t<({a} > {b}), Layout<Shape<_3, _4>>, Layout<Shape<_5, Int<{self.rng.choice((2, 6))}>>, Stride<_6, _1>>>;" if "f" not in a + b else f"using {x} = Layout<_3>;")
        self.show("layout", f"{x}{{}}")

    def state_fold(self) -> None:
        a, b, c = self.static(0), self.static(0), self.static(0)
        shape = f"make_shape({self.number()}, make_shape(Int<{a}>{{}}, Int<{b}>{{}}), Int<{c}>{{}})"
        self.show("value", self.one(f"fold({shape}, Int<1>{{}}, [](auto x, auto y) {{ return x + size(y); }})", f"size({shape})", f"size<1>({shape})", f"get<1,0>({shape})", f"rank({shape})"))
        self.show("layout", f"make_layout({self.one(f'transform({shape}, [](auto x) {{ return size(x) * Int<2>{{}}; }})', f'transform_leaf({shape}, [](auto x) {{ return x + Int<1>{{}}; }})', f'flatten({shape})', f'product_each({shape})', f'select<2,0>({shape})', f'take<1,3>({shape})', f'append<5>({shape}, Int<1>{{}})', f'replace<0>({shape}, Int<9>{{}})', f'reverse({shape})', f'wrap({shape})', f'group<0,2>({shape})', f'filter_tuple({shape}, [](auto x) {{ if constexpr (is_static<decltype(x)>::value) return cute::make_tuple(x); else return cute::tuple<>{{}}; }})', f'repeat<2>({shape})', f'zip({shape}, {shape})', f'transform_apply({shape}, [](auto x) {{ return size(x); }}, [](auto... y) {{ return make_shape(y...); }})')})")

    def state_tuple(self) -> None:
        x = self.name("tp")
        self.say(f"auto [{x}, {x}b, {x}c] = cute::make_tuple({self.number()}, Int<{self.static(0)}>{{}}, make_layout(Shape<_2, Int<{self.static(0)}>>{{}}));")
        self.show("value", x)
        self.show("value", f"{x}b")
        self.show("layout", f"{x}c")
        self.say(f"auto {x}d = {self.one('cute::make_tuple', 'make_coord', 'make_shape')}({self.number()}, {x}b); get<0>({x}d) = {self.number()}; get<0>({x}d) += 1;")
        self.show("value", f"get<0>({x}d)")
        self.numbers.append(x)
