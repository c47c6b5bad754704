"""What the random programs are made of: types with state, and helpers by value, reference and pointer."""

TYPES = """
struct Counter {
  int at = 0; int phase = 0;
  CUTE_HOST_DEVICE void advance(int by) { at += by; }
  CUTE_HOST_DEVICE Counter& operator++() { ++at; if (at == 4) { at = 0; phase ^= 1; } return *this; }
  CUTE_HOST_DEVICE Counter operator++(int) { Counter old = *this; ++*this; return old; }
  CUTE_HOST_DEVICE Counter& operator+=(int by) { at += by; return *this; }
  CUTE_HOST_DEVICE int index() const { return at; }
  CUTE_HOST_DEVICE int& get() { return at; }
  CUTE_HOST_DEVICE void reset() { *this = Counter{}; }
};
struct Base { int low = 2; CUTE_HOST_DEVICE void lift() { low += 8; } };
struct Derived : Base {
  int high = low * 4; Counter inner; int more[3] = {1, 2, 3};
  CUTE_HOST_DEVICE void both(int by) { lift(); high += by; inner.advance(by); this->more[1] = by; }
  CUTE_HOST_DEVICE int total() const { return low + high + inner.index(); }
};
struct Given {
  int a, b;
  CUTE_HOST_DEVICE Given(int x, int y = 3) : a(x), b(y) { if (a > b) { a = b; } }
  CUTE_HOST_DEVICE void swap_them() { int t = a; a = b; b = t; }
};
struct Holder { int& ref; CUTE_HOST_DEVICE void set(int v) { ref = v; } };
struct Pair { int first = 1; int second = 2; };
union Either { int whole; int same; };
template <int N> struct Steps { static constexpr int value = N + Steps<N - 1>::value; };
template <> struct Steps<0> { static constexpr int value = 0; };
template <class T> CUTE_HOST_DEVICE void bump(T& t, int by) { t += by; }
CUTE_HOST_DEVICE void take(int v, int& out) { v += 1; out = v * 2; }
CUTE_HOST_DEVICE void through(int* p, int v) { *p = v; }
CUTE_HOST_DEVICE int& pick(int& a, int& b, bool first) { return first ? a : b; }
CUTE_HOST_DEVICE int pure(int a, int b = 8) { if (a < b) return a + b; return a - b; }
CUTE_HOST_DEVICE void by_value(Counter c) { c.advance(8); ++c; }
CUTE_HOST_DEVICE void by_reference(Counter& c) { c.advance(8); }
CUTE_HOST_DEVICE Counter made(int at) { Counter c; c.at = at; return c; }
CUTE_HOST_DEVICE Counter& same(Counter& c) { return c; }
template <int N> CUTE_HOST_DEVICE void recurse(int& x) { if constexpr (N > 0) { x += N; recurse<N - 1>(x); } }
CUTE_HOST_DEVICE void descend(int depth, int& x) { if (depth <= 0) return; x += 8; descend(depth - 1, x); }
template <class... Ts> CUTE_HOST_DEVICE void each(int by, Ts&... ts) { ((ts += by), ...); }
template <class F> CUTE_HOST_DEVICE void call(F&& f) { f(); }
template <class F> CUTE_HOST_DEVICE void twice(F f) { f(); f(); }
template <class F, class T> CUTE_HOST_DEVICE int with(F const& f, T t) { return f(t); }
template <class A, class B> CUTE_HOST_DEVICE int either(A const& a, B const&) { return a; }
CUTE_HOST_DEVICE void early(int& x, int c) { if (c > 2) { x = 16; return; } x += 8; if (c == 1) return; x += 1; }
template <class T> CUTE_HOST_DEVICE void shift(T& t, int by) { t.data() = t.data() + by; }
template <class T> CUTE_HOST_DEVICE auto moved(T t, int by) { t.data() = t.data() + by; return t; }
struct Outer {
  struct Inner { int v = 3; CUTE_HOST_DEVICE void up(int b) { v += b; } };
  Inner in; mutable int seen_times = 0; static constexpr int Fixed = 8;
  CUTE_HOST_DEVICE int look() const { ++seen_times; return in.v; }
};
struct Stat {
  static inline int kept = 5; int own = 2;
  CUTE_HOST_DEVICE void put(int v) { kept = v; own += v; }
};
struct Low {
  int a = 1;
  CUTE_HOST_DEVICE Low(int v) : a(v) {}
  CUTE_HOST_DEVICE Low() { a = 7; }
  CUTE_HOST_DEVICE void twice() { a *= 2; }
};
struct High : Low { using Lower = Low; int b; CUTE_HOST_DEVICE High(int v) : Lower(v + 1), b(v) {} };
struct Plain : Low { int k = 2; };
struct Held { Low low; Low other{5}; };
struct Twice {
  int a, b;
  CUTE_HOST_DEVICE Twice(int x, int y) : a(x), b(y) {}
  CUTE_HOST_DEVICE Twice(int x) : Twice(x, 9) { a += 1; }
  CUTE_HOST_DEVICE Twice() : Twice(4) {}
};
struct Copied {
  int v = 1;
  CUTE_HOST_DEVICE Copied() {}
  CUTE_HOST_DEVICE Copied(Copied const& o) : v(o.v + 1) {}
  CUTE_HOST_DEVICE Copied& operator=(Copied const& o) { v = o.v + 10; return *this; }
};
struct Dest { int& r; int by = 9; CUTE_HOST_DEVICE Dest(int& x) : r(x) {} CUTE_HOST_DEVICE ~Dest() { r = by; } };
struct Self { int v = 1; Self* next = nullptr; CUTE_HOST_DEVICE Self* me() { return this; } };
struct Node { Counter* c; int* q; CUTE_HOST_DEVICE void go() { c->at += 1; *q = 4; } };
struct Conv { int v = 4; CUTE_HOST_DEVICE operator int() const { return v; } };
struct Acc {
  int t = 0;
  CUTE_HOST_DEVICE int operator()(int b) { t += b; return t; }
  CUTE_HOST_DEVICE int& operator[](int) { return t; }
};
enum Color { Red = 3, Blue = 5 };
enum class Kind : uint8_t { A = 1, B = 250 };
CUTE_HOST_DEVICE void leave_early(int& x, int n) { Dest d(x); x = 1; if (n > 2) return; x = 2; d.by = 5; }
CUTE_HOST_DEVICE int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); }
CUTE_HOST_DEVICE int counted() { static int c = 3; c += 1; return c; }
CUTE_HOST_DEVICE void inc_all(int (&a)[3]) { for (int& e : a) e += 1; }
CUTE_HOST_DEVICE void set_at(Counter* p, int v) { p->at = v; }
CUTE_HOST_DEVICE void leap(int& x, int n) { x = 1; if (n > 2) goto out; x = 2; out: x += 1; }
inline void thrower(int& x, int n) { x = 4; if (n > 2) throw 1; x = 6; }
struct Kept { int* p; CUTE_HOST_DEVICE void set(int v) { *p = v; } };
struct Hand {
  int* p[2];
  CUTE_HOST_DEVICE void put(int i, int* q) { p[i] = q; }
  CUTE_HOST_DEVICE void set(int i, int v) { *p[i] = v; }
};
union Either2 { int* p; long l; };
struct Aim { int* p; };
struct Numbers { int c[2] = {1, 2}; };
struct Ring { int v = 1; Ring* next = nullptr; };
static int* global_pointer;
static Kept global_kept;
CUTE_HOST_DEVICE void remember(int* p) { global_pointer = p; }
CUTE_HOST_DEVICE void write_remembered(int v) { *global_pointer = v; }
CUTE_HOST_DEVICE void aim(int** p, int* to) { *p = to; }
template <class T, class U> CUTE_HOST_DEVICE void become(T&& t, U u) { t = u; }
template <class T> CUTE_HOST_DEVICE T&& fwd(T&& t) { return static_cast<T&&>(t); }
"""
