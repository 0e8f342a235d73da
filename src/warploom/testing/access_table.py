"""The ways in which C++ reads and writes memory, as text: what the test of access hooks is made of.

A form is a statement or two about `p`, a pointer to an object of type T in memory that two threads
share. A reading form ends in a value; a writing form changes `*p`. `FN` stands for the attribute
that inlines a helper or keeps it out of line, `HD` for where helpers exist.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """One way to touch memory.

    `helper` are declarations, templates over T mostly. `reads` and `writes` say what it does to
    `*p`. `host_only` forms need what device code has not, such as exceptions.
    """

    name: str
    body: str
    helper: str = ""
    reads: bool = True
    writes: bool = False
    host_only: bool = False


def _read(name: str, body: str, helper: str = "", *, host_only: bool = False) -> Form:
    return Form(name, body, helper, True, False, host_only)


def _write(name: str, body: str, helper: str = "", *, host_only: bool = False) -> Form:
    return Form(f"put_{name}", body + " return 0;", helper, False, True, host_only)


def _both(name: str, body: str, helper: str = "") -> Form:
    return Form(f"do_{name}", body, helper, True, True)


_TAKES = "template <class T> FN int takes(T v) { return keep(v); }"
_GIVES = "template <class T> FN T gives(const T* p) { return *p; }"
_MAKES = "template <class T> FN T makes(int v) { T t{}; t.a[0] = Elem(v); return t; }"
_TWO = "template <class T> struct Two { T x; T y; };"
_CALL = "template <class F> FN int calls(F f) { return f(); }"

READS = (
    _read("copy", "T v = *p; return keep(v);"),
    _read("assign", "T v{}; v = *p; return keep(v);"),
    _read("member", "return int(p->a[0]);"),
    _read("last_member", "return int(p->a[kCount - 1]);"),
    _read("method", "return p->first();"),
    _read("index_operator", "return int((*p)[0]);"),
    _read("pointer_to_member", "auto m = &T::a; return int((p->*m)[0]);"),
    _read("by_value", "return takes(*p);", _TAKES),
    _read("by_value_second", "return takes2(1, *p, T{});",
          "template <class T> FN int takes2(int n, T v, T w) { return n + keep(v) + keep(w); }"),
    _read("by_value_many", "return takes4(*p, *p, *p, *p);",
          "template <class T> FN int takes4(T a, T b, T c, T d) {"
          " return keep(a) + keep(b) + keep(c) + keep(d); }"),
    _read("by_value_method", "Sum s{}; s.add(*p); return s.n;",
          "struct Sum { int n; template <class T> FN void add(T v) { n += keep(v); } };"),
    _read("by_value_static", "return Static<T>::of(*p);",
          "template <class T> struct Static { FN static int of(T v) { return keep(v); } };"),
    _read("by_value_constructor", "return Made<T>(*p).n;",
          "template <class T> struct Made { int n; FN explicit Made(T v) : n(keep(v)) {} };"),
    _read("by_value_operator", "return Left{1} + *p;",
          "struct Left { int n; };\n"
          "template <class T> FN int operator+(Left l, T v) { return l.n + keep(v); }"),
    _read("by_value_conversion", "return from(*p);",
          "template <class T> struct Conv { int n; FN Conv(T v) : n(keep(v)) {} };\n"
          "template <class T> FN int from_(Conv<T> c) { return c.n; }\n"
          "template <class T> FN int from(const T& v) { return from_<T>(v); }"),
    _read("by_value_pointer", "int (*volatile f)(T) = takes<T>; return f(*p);", _TAKES),
    _read("by_value_member_pointer", "Sum s{}; void (Sum::*f)(T) = &Sum::template add<T>;"
          " (s.*f)(*p); return s.n;",
          "struct Sum { int n; template <class T> FN void add(T v) { n += keep(v); } };"),
    _read("by_value_lambda", "auto f = [](T v) { return keep(v); }; return applies(f, *p);",
          "template <class F, class T> FN int applies(F f, const T& v) { return f(v); }"),
    _read("by_value_generic", "return applies([](auto v) { return keep(v); }, *p);",
          "template <class F, class T> FN int applies(F f, T v) { return f(v); }"),
    _read("by_value_pack", "return sums(*p, *p);",
          "template <class... T> FN int sums(T... v) { return (keep(v) + ...); }"),
    _read("by_value_base", "return takes(static_cast<const T&>(*reinterpret_cast<const Derived<T>*>(p)));",
          _TAKES + "\ntemplate <class T> struct Derived : T { int more; };"),
    _read("by_value_nested", "return takes(reinterpret_cast<const Two<T>&>(*p));",
          _TWO + "\ntemplate <class T> HD int keep(const Two<T>& t) { return keep(t.x); }\n"
          "template <class T> FN int takes(T v) { return keep(v); }"),
    _read("by_value_conditional", "T other{}; return takes(p->alive() ? *p : other);", _TAKES),
    _read("by_value_comma", "int n = 0; return takes((++n, *p));", _TAKES),
    _read("by_value_array", "return takes(reinterpret_cast<const std::array<T, 2>&>(*p));",
          "template <class T> FN int takes(std::array<T, 2> v) { return keep(v[0]); }"),
    _read("by_value_pair", "return takes(std::pair<T, int>(*p, 1));",
          "template <class T> FN int takes(std::pair<T, int> v) { return keep(v.first); }"),
    _read("by_value_tuple", "return takes(std::tuple<T, int>(*p, 1));",
          "template <class T> FN int takes(std::tuple<T, int> v) { return keep(std::get<0>(v)); }"),
    _read("by_value_optional", "return takes(std::optional<T>(*p));",
          "template <class T> FN int takes(std::optional<T> v) { return v ? keep(*v) : 0; }"),
    _read("by_value_copying", "return takes(reinterpret_cast<const Copying<T>&>(*p));",
          "template <class T> struct Copying { T t; Copying() = default;"
          " FN Copying(const Copying& o) : t(o.t) {} };\n"
          "template <class T> FN int takes(Copying<T> v) { return keep(v.t); }"),
    _read("return_value", "return keep(gives(p));", _GIVES),
    _read("return_member", "return keep(Box<T>{*p}.get());",
          "template <class T> struct Box { T t; FN T get() const { return t; } };"),
    _read("return_reference", "return keep(refers(p));",
          "template <class T> FN const T& refers(const T* p) { return *p; }"),
    _read("reference", "const T& r = *p; T v = r; return keep(v);"),
    _read("rvalue", "T v = std::move(*p); return keep(v);"),
    _read("conditional", "T other{}; T v = p->alive() ? *p : other; return keep(v);"),
    _read("memcpy_fixed", "T v; std::memcpy(&v, p, sizeof v); return keep(v);"),
    _read("memcpy_variable", "T v{}; std::memcpy(&v, p, many(sizeof v)); return keep(v);"),
    _read("memmove_fixed", "T v; std::memmove(&v, p, sizeof v); return keep(v);"),
    _read("memmove_variable", "T v{}; std::memmove(&v, p, many(sizeof v)); return keep(v);"),
    _read("builtin_memcpy", "T v; __builtin_memcpy(&v, p, sizeof v); return keep(v);"),
    _read("std_copy", "T v; std::copy(p, p + 1, &v); return keep(v);"),
    _read("std_copy_bytes", "T v; std::copy_n(reinterpret_cast<const char*>(p), sizeof v,"
          " reinterpret_cast<char*>(&v)); return keep(v);"),
    _read("aggregate", "Two<T> w{*p, *p}; return keep(w.x) + keep(w.y);", _TWO),
    _read("designated", "Two<T> w{.x = *p, .y = {}}; return keep(w.x);", _TWO),
    _read("aggregate_passed", "return takes2(Two<T>{*p, *p});",
          _TWO + "\ntemplate <class T> FN int takes2(Two<T> v) { return keep(v.x) + keep(v.y); }"),
    _read("struct_of_array", "Row<T> w = reinterpret_cast<const Row<T>&>(*p); return keep(w.t[1]);",
          "template <class T> struct Row { T t[2]; };"),
    _read("union", "Either<T> u; u.t = *p; return keep(u.t);",
          "template <class T> union Either { T t; unsigned char b; HD Either() : b(0) {} };"),
    _read("structured_binding", "auto [x, n] = Held<T>{*p, 1}; return keep(x) + n;",
          "template <class T> struct Held { T t; int n; };"),
    _read("range_for", "int n = 0; for (T v : Range<const T>{p, p + 2}) n += keep(v); return n;",
          "template <class T> struct Range { T* b; T* e; HD T* begin() const { return b; }"
          " HD T* end() const { return e; } };"),
    _read("lambda_capture", "return calls([v = *p] { return keep(v); });", _CALL),
    _read("lambda_copies", "const T& r = *p; return calls([r] { return keep(r); });", _CALL),
    _read("initializer_list", "return lists({*p, *p});",
          "template <class T> FN int lists_(const T* b, size_t n) { return keep(b[n - 1]); }\n"
          "template <class T> FN int lists(std::initializer_list<T> l) {"
          " return lists_(l.begin(), l.size()); }\n"),
    _read("placement_copy", "alignas(T) unsigned char b[sizeof(T)]; T* v = new (b) T(*p);"
          " return keep(*v);"),
    _read("bit_cast", "return keep(std::bit_cast<Other<sizeof(T)>>(*p));",
          "template <size_t N> struct Other { unsigned char a[N]; };\n"
          "template <size_t N> HD int keep(const Other<N>& v) { return v.a[0] + v.a[N - 1]; }"),
    _read("bytes", "int n = 0; for (size_t i = 0; i < sizeof(T); ++i)"
          " n += reinterpret_cast<const unsigned char*>(p)[i]; return n;"),
    _read("pointer_walk", "int n = 0; const auto* e = p->a; for (int i = 0; i < kCount; ++i)"
          " n += int(*e++); return n;"),
    _read("accumulate", "return int(std::accumulate(p->a, p->a + kCount, Elem(0)));"),
    _read("maximum", "return int(*std::max_element(p->a, p->a + kCount));"),
    _read("compare", "T v{}; return p->same(v) ? 1 : 2;"),
    _read("variadic", "return variadic(1, *p);",
          "FN_PLAIN int variadic(int n, ...) { va_list l; va_start(l, n); T_ v = va_arg(l, T_);"
          " va_end(l); return keep(v); }", host_only=True),
    _read("throw", "try { throw *p; } catch (const T& v) { return keep(v); }", host_only=True),
    _read("std_function", "std::function<int(T)> f = [](T v) { return keep(v); }; return f(*p);",
          host_only=True),
    _read("std_vector", "std::vector<T> v(p, p + 1); return keep(v[0]);", host_only=True),
    _read("vector_push", "std::vector<T> v; v.push_back(*p); return keep(v[0]);", host_only=True),
    _read("heap_copy", "T* v = new T(*p); int n = keep(*v); delete v; return n;", host_only=True),
    _read("std_any", "std::map<int, T> m; m.emplace(1, *p); return keep(m.at(1));", host_only=True),
    _read("std_string", "std::string s(reinterpret_cast<const char*>(p), sizeof(T));"
          " return s[0] + s[sizeof(T) - 1];", host_only=True),
)  # fmt: skip

WRITES = (
    _write("assign", "T v{}; v.a[0] = Elem(3); *p = v;"),
    _write("member", "p->a[0] = Elem(3);"),
    _write("zero", "*p = T{};"),
    _write("braces", "*p = {};"),
    _write("reference", "T& r = *p; r.a[0] = Elem(2); r.a[kCount - 1] = Elem(2);"),
    _write("pointer_to_member", "auto m = &T::a; (p->*m)[0] = Elem(1);"),
    _write("method", "p->set(Elem(4));"),
    _write("return_value", "*p = makes<T>(5);", _MAKES),
    _write("return_constructs", "new (p) T(makes<T>(5));", _MAKES),
    _write("placement", "new (p) T{};"),
    _write("construct_at", "T v{}; std::construct_at(p, v);"),
    _write("out_parameter", "fills(p);", "template <class T> FN void fills(T* p) { *p = T{}; }"),
    _write("out_reference", "fills(*p);", "template <class T> FN void fills(T& r) { r = T{}; }"),
    _write("memcpy_fixed", "T v{}; std::memcpy(p, &v, sizeof v);"),
    _write("memcpy_variable", "T v{}; std::memcpy(p, &v, many(sizeof v));"),
    _write("memmove_fixed", "T v{}; std::memmove(p, &v, sizeof v);"),
    _write("memset_fixed", "std::memset(p, 1, sizeof(T));"),
    _write("memset_variable", "std::memset(p, 1, many(sizeof(T)));"),
    _write("builtin_memset", "__builtin_memset(p, 1, sizeof(T));"),
    _write("std_copy", "T v{}; std::copy(&v, &v + 1, p);"),
    _write("std_fill", "std::fill(p, p + 1, T{});"),
    _write("fill_elements", "std::fill(p->a, p->a + kCount, Elem(7));"),
    _write("generate", "Elem n = 0; std::generate(p->a, p->a + kCount, [&] { return n; });"),
    _write("struct_of_array", "Row<T> w{}; reinterpret_cast<Row<T>&>(*p) = w;",
           "template <class T> struct Row { T t[2]; };"),
    _write("union", "reinterpret_cast<Either<T>*>(p)->t = T{};",
           "template <class T> union Either { T t; unsigned char b; };"),
    _write("conditional", "T other{}; (p != nullptr ? *p : other) = T{};"),
    _write("comma", "int n = 0; (++n, *p) = T{};"),
    _write("chained", "T v{}; T w; w = *p = v; (void)w;"),
    _write("tie", "T v{}; std::tie(*p, std::ignore) = std::make_tuple(v, 1);"),
    _write("binding", "auto& [e] = p->a1(); e = Elem(1);"),
    _write("range_for", "for (auto& e : p->a) e = Elem(2);"),
    _write("bytes", "for (size_t i = 0; i < sizeof(T); ++i) reinterpret_cast<unsigned char*>(p)[i] = 1;"),
    _write("user_assignment", "reinterpret_cast<Assigning<T>&>(*p) = Assigning<T>{};",
           "template <class T> struct Assigning { T t{}; Assigning() = default;"
           " FN Assigning& operator=(const Assigning& o) { t = o.t; return *this; } };"),
    _write("lambda", "*p = [] { T v{}; v.a[0] = Elem(1); return v; }();"),
    _write("std_array", "reinterpret_cast<std::array<T, 2>&>(*p).fill(T{});"),
    _write("bit_cast", "Other<sizeof(T)> o{}; *p = std::bit_cast<T>(o);",
           "template <size_t N> struct Other { unsigned char a[N]; };"),
    _both("swap", "T v{}; std::swap(*p, v); return keep(v);"),
    _both("exchange", "return keep(std::exchange(*p, T{}));"),
    _both("compound", "p->a[0] += Elem(1); return 0;"),
    _both("increment", "++p->a[0]; return 0;"),
    _both("subtract", "p->a[kCount - 1] -= Elem(1); return 0;"),
    _both("reverse", "std::reverse(p->a, p->a + kCount); p->a[0] = Elem(1); return 0;"),
    _both("copy_to_itself", "*p = T(*p); p->a[0] = Elem(p->a[0] + 1); return 0;"),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*READS, *WRITES)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type of its own, and how it is read and written: `x` is the object, `v` an int."""

    name: str
    type: str
    read: str
    write: str
    host_only: bool = False
    before: str = ""


SCALARS = (
    Scalar("bool", "bool", "x ? 1 : 0", "x = v > 0"),
    Scalar("short", "short", "x", "x = short(v)"),
    Scalar("long", "long long", "int(x)", "x = v"),
    Scalar("double", "double", "int(x)", "x = v"),
    Scalar("half_word", "unsigned short", "x", "x = v"),
    Scalar("long_double", "long double", "int(x)", "x = v", host_only=True),
    Scalar("int128", "__int128", "int(x)", "x = v"),
    Scalar("complex_float", "CF", "int(__real__ x + __imag__ x)", "x = CF(v)",
           before="typedef _Complex float CF;"),
    Scalar("complex_double", "CD", "int(__real__ x + __imag__ x)", "x = CD(v)",
           before="typedef _Complex double CD;"),
    Scalar("std_complex", "std::complex<float>", "int(x.real() + x.imag())",
           "x = std::complex<float>(v, v)"),
    Scalar("vector16", "V16", "x[0] + x[3]", "x = V16{v, v, v, v}",
           before="typedef int V16 __attribute__((vector_size(16)));"),
    Scalar("vector16_part", "W16", "x[2]", "x[2] = v",
           before="typedef int W16 __attribute__((vector_size(16)));"),
    Scalar("float4", "float4", "int(x.x + x.w)", "x = make_float4(v, v, v, v)"),
    Scalar("int2", "int2", "x.x + x.y", "x = make_int2(v, v)"),
    Scalar("uchar4", "uchar4", "x.x + x.w", "x = make_uchar4(v, v, v, v)"),
    Scalar("bit_field", "Bits", "x.b", "x.b = v & 15", before="struct Bits { unsigned a : 5, b : 9, c : 18; };"),
    Scalar("bit_field_wide", "Wide", "int(x.b)", "x.b = v",
           before="struct Wide { unsigned long long a : 21, b : 40; };"),
    Scalar("enum", "Level", "int(x)", "x = Level(v)", before="enum class Level : unsigned char { k };"),
    Scalar("pointer", "void*", "x != nullptr", "x = &where", before="__device__ int where;"),
    Scalar("packed", "Packed", "x.n", "x.n = v",
           before="struct __attribute__((packed)) Packed { char c; int n; };"),
    Scalar("aligned", "Aligned", "x.n", "x = Aligned{v}", before="struct alignas(32) Aligned { int n; };"),
    Scalar("virtual_call", "Shape", "x.area()", "x.n = v; new (&x) Shape(v)",
           before="struct Shape { int n; Shape() : n(0) {} Shape(int v) : n(v) {} virtual int area() const"
           " { return n; } };", host_only=True),
    Scalar("sse_ss", "float", "int(_mm_cvtss_f32(_mm_load_ss(&x)))", "_mm_store_ss(&x, _mm_set_ss(v))",
           host_only=True),
    Scalar("sse_ps", "F16", "int(_mm_cvtss_f32(_mm_load_ps(x.f)))", "_mm_store_ps(x.f, _mm_set1_ps(v))",
           before="struct alignas(16) F16 { float f[4]; };", host_only=True),
    Scalar("sse_unaligned", "F17", "int(_mm_cvtss_f32(_mm_loadu_ps(x.f)))",
           "_mm_storeu_ps(x.f, _mm_set1_ps(v))", before="struct F17 { float f[4]; };", host_only=True),
    Scalar("sse_integer", "I16", "_mm_cvtsi128_si32(_mm_load_si128(reinterpret_cast<__m128i*>(x.i)))",
           "_mm_store_si128(reinterpret_cast<__m128i*>(x.i), _mm_set1_epi32(v))",
           before="struct alignas(16) I16 { int i[4]; };", host_only=True),
    Scalar("sse_low", "D8", "int(_mm_cvtsd_f64(_mm_load_sd(&x.d)))", "_mm_storel_pd(&x.d, _mm_set1_pd(v))",
           before="struct D8 { double d; };", host_only=True),
    Scalar("sse_operand", "F18", "int(_mm_cvtss_f32(_mm_add_ps(_mm_set1_ps(1), *reinterpret_cast<__m128*>"
           "(x.f))))", "*reinterpret_cast<__m128*>(x.f) = _mm_set1_ps(v)",
           before="struct alignas(16) F18 { float f[4]; };", host_only=True),
    Scalar("sse_stream", "F19", "int(x.f[0])", "_mm_stream_ps(x.f, _mm_set1_ps(v))",
           before="struct alignas(16) F19 { float f[4]; };", host_only=True),
    Scalar("stream_integer", "int", "x", "_mm_stream_si32(&x, v)", host_only=True),
    Scalar("byte_swap", "int", "__builtin_bswap32(x)", "x = __builtin_bswap32(v)"),
)  # fmt: skip
"""`volatile` and atomics are left out: for those a race is no defect, or another kind of one."""
