"""Reads and writes that a compiler's instrumentation may leave out, and calls into the C library."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import FREE, UNTRUSTED, headers, made, racy, then

_HOOKS, _LIBC = "access without a hook", "libc reads"


def _box(floats: int) -> str:
    return f"struct Box {{ float a[{floats}]; }};\n"


_WRITE = "hidden[f].a[0] = fmaxf(sum, 0.0f);"
_NOINLINE = "__device__ __noinline__ "
_BOX_FORMS: dict[str, tuple[int, str, str]] = {
    # name: (floats in the struct, helpers, how it is read)
    "byval_8": (2, _NOINLINE + "float takeOne(Box v) { return v.a[0]; }", "takeOne(hidden[f])"),
    "byval_24": (6, _NOINLINE + "float takeOne(Box v) { return v.a[0]; }", "takeOne(hidden[f])"),
    "byval_512": (128, _NOINLINE + "float takeOne(Box v) { return v.a[0]; }", "takeOne(hidden[f])"),
    "byval_two": (3, _NOINLINE + "float takeOne(int, Box v, Box w) { return v.a[0] + 0 * w.a[1]; }",
                  "takeOne(f, hidden[f], hidden[f])"),
    "byval_pointer": (8, _NOINLINE + "float takeOne(Box v) { return v.a[0]; }\n"
                      "__device__ inline float through(const Box& b) {"
                      " float (*volatile chosen)(Box) = takeOne; return chosen(b); }", "through(hidden[f])"),
    "byval_constructor": (6, "struct Use { float v; " + _NOINLINE + "Use(Box b) : v(b.a[0]) {} };",
                          "Use(hidden[f]).v"),
    "byval_operator": (6, _NOINLINE + "float operator*(float s, Box b) { return s * b.a[0]; }",
                       "1.0f * hidden[f]"),
    "byval_pack": (6, "template <class... T> " + _NOINLINE + "float takeOne(T... v) {"
                   " return (v.a[0] + ...); }", "takeOne(hidden[f])"),
    "byval_lambda": (6, "struct Call { template <class F> " + _NOINLINE +
                     "float operator()(F f, Box b) const { return f(b); } };",
                     "Call{}([](Box b) { return b.a[0]; }, hidden[f])"),
    "byval_method": (6, "struct Sum { float s; " + _NOINLINE + "void add(Box b) { s += b.a[0]; } };\n"
                     "__device__ inline float once(const Box& b) { Sum s{0}; s.add(b); return s.s; }",
                     "once(hidden[f])"),
    "return_value": (16, _NOINLINE + "Box give(const Box* p) { return *p; }", "give(&hidden[f]).a[0]"),
    "return_8": (2, _NOINLINE + "Box give(const Box* p) { return *p; }", "give(&hidden[f]).a[0]"),
    "thrown": (6, _NOINLINE + "float thrown(const Box& b) { try { throw b; } catch (Box c) {"
               " return c.a[0]; } }", "thrown(hidden[f])"),
    "capture": (32, "template <class F> " + _NOINLINE + "float callIt(F f) { return f(); }",
                "callIt([b = hidden[f]] { return b.a[0]; })"),
    "aggregate": (6, "struct Two { Box x, y; };\n" + _NOINLINE + "float takeOne(Two t) {"
                  " return t.x.a[0]; }", "takeOne(Two{hidden[f], hidden[f]})"),
    "binding": (4, _NOINLINE + "float takeOne(float x, Box) { return x; }\n"
                "__device__ inline float bound(const Box& b) { auto [a] = b; return a[0]; }",
                "bound(hidden[f])"),
    "conditional": (6, _NOINLINE + "float takeOne(Box v) { return v.a[0]; }",
                    "takeOne(f >= 0 ? hidden[f] : Box{})"),
    "initializer_list": (6, _NOINLINE + "float takeOne(std::initializer_list<Box> l) {"
                         " return l.begin()->a[0]; }", "takeOne({hidden[f]})"),
    "std_pair": (6, _NOINLINE + "float takeOne(std::pair<Box, int> p) { return p.first.a[0]; }",
                 "takeOne({hidden[f], 1})"),
    "union_member": (6, "union Either { Box b; int i; };\n" + _NOINLINE +
                     "float takeOne(Either e) { return e.b.a[0]; }",
                     "takeOne(reinterpret_cast<Either&>(hidden[f]))"),
    "base_class": (6, "struct Derived : Box { int more; };\n" + _NOINLINE +
                   "float takeOne(Derived d) { return d.a[0]; }", "takeOne(Derived{hidden[f], 1})"),
}  # fmt: skip

_SCALAR_FORMS: dict[str, tuple[str, str, str]] = {
    # name: (element, helpers, how it is read)
    "long_double": ("long double", _NOINLINE + "float takeOne(long double v) { return v; }",
                    "takeOne(hidden[f])"),
    "array_by_std": ("float", _NOINLINE + "float takeOne(std::vector<float> v) { return v[0]; }",
                     "takeOne(std::vector<float>(&hidden[f], &hidden[f] + 1))"),
    "memcpy_pointer": ("float", "__device__ inline float moved(const float* p) { float v;\n"
                       "  void* (*volatile move)(void*, const void*, size_t) = std::memcpy;\n"
                       "  move(&v, p, 4); return v; }", "moved(&hidden[f])"),
    "function_object": ("float", "__device__ inline float asked(const float* p) {\n"
                        "  std::map<int, float> m(reinterpret_cast<const std::pair<const int, float>*>("
                        "p - 1), reinterpret_cast<const std::pair<const int, float>*>(p + 1));\n"
                        "  return m.begin()->second; }", "asked(&hidden[f])"),
}  # fmt: skip

_BYTES = (
    _NOINLINE + "float peek(const float* q) {{ float v; char* o = reinterpret_cast<char*>(&v);\n"
    "  const char* p = reinterpret_cast<const char*>(q);\n  {}\n  return v; }}"
)
_LIBRARY: dict[str, str] = {
    "strncpy": "for (int i = 0; i < 4; ++i) strncpy(o + i, p + i, 1);",
    "memcmp": "for (int i = 0; i < 4; ++i) for (int c = 0; c < 256; ++c) {"
    " char b = static_cast<char>(c); if (memcmp(p + i, &b, 1) == 0) o[i] = b; }",
    "memchr": "for (int i = 0; i < 4; ++i) for (int c = 0; c < 256; ++c)"
    " if (memchr(p + i, c, 1)) o[i] = static_cast<char>(c);",
    "string": "std::string s(p, 4); for (int i = 0; i < 4; ++i) o[i] = s[i];",
    "sscanf": "char c[2] = {}; for (int i = 0; i < 4; ++i) { c[0] = 0;"
    ' sscanf(p + i, "%c", c); o[i] = c[0]; }',
    "strtol_text": 'char b[24]; for (int i = 0; i < 4; ++i) { sprintf(b, "%.1s", p + i); o[i] = b[0]; }',
    "qsort": "static const char* at; at = p; int order[4] = {0, 1, 2, 3};"
    " qsort(order, 4, 4, [](const void* a, const void* b) { return memcmp("
    "at + *static_cast<const int*>(a), at + *static_cast<const int*>(b), 0); }); memmove(o, p, 4);",
    "memccpy": "for (int i = 0; i < 4; ++i) memccpy(o + i, p + i, 0, 1);",
    "std_string_append": "std::string s; s.append(p, 4); s.copy(o, 4);",
    "char_traits": "std::char_traits<char>::copy(o, p, 4);",
}


def _boxes() -> list[Attack]:
    return [
        made(f"hook_{name}", _HOOKS, racy(_box(n) + text, read, "Box", _WRITE), UNTRUSTED)
        for name, (n, text, read) in _BOX_FORMS.items()
    ]


def _scalars() -> list[Attack]:
    return [
        made(f"hook_{name}", _HOOKS, racy(text, read, element), UNTRUSTED)
        for name, (element, text, read) in _SCALAR_FORMS.items()
    ]


def _writes() -> list[Attack]:
    """Unseen writes: the reads are plain."""
    value = "fmaxf(sum, 0.0f)"
    forms = {
        "write_return": ("Box", _box(6) + _NOINLINE + "Box put(float v) { return Box{{v}}; }",
                         f"hidden[f] = put({value});", "hidden[f].a[0]"),
        "write_placement": ("Box", _box(6) + "struct In : Box { " + _NOINLINE +
                            "In(float v) : Box{{v}} {} };", f"new (&hidden[f]) In({value});",
                            "hidden[f].a[0]"),
        "write_exchange": ("float", "", f"std::exchange(hidden[f], {value});", "hidden[f]"),
        "write_sprintf": ("float", _NOINLINE + "void poke(float* q, float v) { char b[2] = {};"
                          " for (int i = 0; i < 4; ++i) { b[0] = reinterpret_cast<char*>(&v)[i];"
                          " strncpy(reinterpret_cast<char*>(q) + i, b, 1); } }",
                          f"poke(&hidden[f], {value});", "hidden[f]"),
    }  # fmt: skip
    return [
        made(f"hook_{name}", _HOOKS, racy(text, read, element, write), UNTRUSTED)
        for name, (element, text, write, read) in forms.items()
    ]


def _free() -> list[Attack]:
    """Forms that need a header or an attribute that regions may not have."""
    forms = {
        "sse_load": ("immintrin.h", "float", "", "_mm_cvtss_f32(_mm_load_ss(&hidden[f]))"),
        "sse_unaligned": ("immintrin.h", "float4", "",
                          "_mm_cvtss_f32(_mm_loadu_ps(&hidden[f].x))"),
        "vector_size": ("cstring", "Quad", "typedef float Quad __attribute__((vector_size(16)));\n"
                        + _NOINLINE + "float takeOne(Quad q) { return q[0]; }", "takeOne(hidden[f])"),
        "complex": ("cstring", "Pair", "typedef _Complex float Pair;\n" + _NOINLINE +
                    "float takeOne(Pair q) { return __real__ q; }", "takeOne(hidden[f])"),
        "variadic": ("cstdarg", "Box", _box(6) + _NOINLINE + "float takeOne(int n, ...) { va_list l;"
                     " va_start(l, n); Box b = va_arg(l, Box); va_end(l); return b.a[0]; }",
                     "takeOne(1, hidden[f])"),
        "int128": ("cstring", "Wide", "typedef __int128 Wide;\n" + _NOINLINE + "float takeOne(Wide w) {"
                   " float v; memcpy(&v, &w, 4); return v; }", "takeOne(hidden[f])"),
        "coroutine_frame": ("functional", "Box", _box(6) + _NOINLINE + "float takeOne("
                            "const std::function<float(Box)>& f, const Box& b) { return f(b); }",
                            "takeOne([](Box b) { return b.a[0]; }, hidden[f])"),
        "asm_move": ("cstring", "float", "__host__ __device__ inline float moved(const float* p) {"
                     " float v; asm volatile(\"movss (%1), %0\" : \"=x\"(v) : \"r\"(p) : \"memory\");"
                     " return v; }", "moved(&hidden[f])"),
    }  # fmt: skip
    writes = {
        "Box": _WRITE,
        "float4": "hidden[f].x = fmaxf(sum, 0.0f);",
        "Quad": "hidden[f][0] = fmaxf(sum, 0.0f);",
        "Pair": "__real__ hidden[f] = fmaxf(sum, 0.0f);",
        "Wide": "reinterpret_cast<float&>(hidden[f]) = fmaxf(sum, 0.0f);",
    }
    plain = "hidden[f] = fmaxf(sum, 0.0f);"
    return [
        made(
            f"hook_{name}", _HOOKS,
            then(headers(header), racy(text, read, element, writes.get(element, plain))),
            (FREE,), free=True,
        )
        for name, (header, element, text, read) in forms.items()
    ]  # fmt: skip


def _library() -> list[Attack]:
    return [
        made(f"libc_{name}", _LIBC, racy(_BYTES.format(body), "peek(&hidden[f])"), UNTRUSTED)
        for name, body in _LIBRARY.items()
    ]


VARIANTS = (*_boxes(), *_scalars(), *_writes(), *_free(), *_library())
