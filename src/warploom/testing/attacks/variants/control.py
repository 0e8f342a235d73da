"""Where control goes, and what the C++ library does for the program: forged pointers and objects.

Each of these makes a library or the program itself go where no function begins, or has a library
read or write what is not the program's. They are checked programs: none needs a race to win.
"""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import CHECK, made, whole

CONTROL = "where control goes"
_HEAD = """\
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <unordered_map>
long found;
static void chosen(void*) { found = 1; }
static int plain(int x) { return x + 1; }
struct Note { long words[4]; ~Note() {} };
struct Virtual { virtual int value() { return 1; } virtual ~Virtual() {} };
struct Cell { long color; Cell *parent, *left, *right; };
__attribute__((noinline)) void put(long* at, int place, long value) { at[place] = value; }
// Memory of the emulator: what it gives as a stream is an object of its own.
static char* runtime() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  return reinterpret_cast<char*>(stream);
}
template <class T> static T forged(T from, long distance) {
  volatile long number;
  memcpy(const_cast<long*>(&number), &from, sizeof from);
  number = number + distance;
  long plain_number = number;
  memcpy(&from, &plain_number, sizeof from);
  return from;
}
"""

HEADER_WORDS = {"destructor": -13, "unexpected": -12, "terminate": -11, "type": -14, "count": -16}
"""Words of the header in front of an exception, by what libstdc++ keeps there."""

ESCAPES: dict[str, tuple[str, str]] = {
    # name: (declarations, statements)
    "pointer": ("", "found = forged(&plain, 1)(1);"),
    "member": ("struct M { int f(int x) { return x; } };",
               "M m; int (M::*f)(int) = &M::f; long w[2]; memcpy(w, &f, 16); w[0] += 1;"
               " memcpy(&f, w, 16); found = (m.*f)(1);"),
    "table": ("", "auto* v = new Virtual; long t[4]; for (long& w : t) w = (long)forged(&plain, 1);"
              " long* at = t; memcpy((void*)v, &at, 8); Virtual* volatile p = v; p->value();"),
    "table_library": ("", "auto* v = new Virtual; long t[4]; for (long& w : t) w = (long)&std::abort + 2;"
                      " long* at = t; memcpy((void*)v, &at, 8); Virtual* volatile p = v; p->value();"),
    "data": ("", "int* d; cudaMalloc(&d, 64); int (*f)(int); memcpy(&f, &d, 8);"
             " int (*volatile g)(int) = f; g(1);"),
    "wrapped": ("", "std::function<int(int)> f = plain; long w[4]; memcpy(w, &f, 32); w[3] += 1;"
                " memcpy((void*)&f, w, 32); found = f(2);"),
    "unnamed": ("extern \"C\" void* __real_dlsym(void*, const char*) __asm__(\"warploom_library\");"
                "extern \"C\" void* library(const char*) __asm__(\"warploom_library\");",
                "auto* f = (unsigned (*)(unsigned))library(\"sleep\"); f(0);"),
    "qsort": ("", "int v[3] = {3, 1, 2}; auto* f = forged(+[](const void* a, const void* b)"
              " { return *(int*)a - *(int*)b; }, 1); qsort(v, 3, 4, f);"),
    "at_exit": ("", "atexit(forged(+[] { found = 1; }, 1));"),
    "host_function": ("", "cudaLaunchHostFunc(nullptr, forged(&chosen, 1), nullptr);"
                      " cudaDeviceSynchronize();"),
    "constant": ("static char* const g_inside = (char*)&plain + 1; char* const* volatile g_kept ="
                 " &g_inside;", "found = (long)*g_kept;"),
    **{f"header_{name}": ("", "try { throw Note{{1, 2, 3, 4}}; } catch (Note& n) {"
                          f" put(n.words, {word}, (long)&chosen); }}")
       for name, word in HEADER_WORDS.items()},
    "header_of_library": ("", "try { throw std::out_of_range(std::string(50, 'x')); }"
                          " catch (std::exception& e) { put((long*)&e, -13, (long)&chosen); }"),
    "message_of_library": ("", "try { std::string(\"x\").at(4); } catch (std::exception& e) {"
                           " put((long*)&e, 1, (long)runtime() + 24); }"),
    "begin_catch": ("extern \"C\" void* begin(void*) __asm__(\"__cxa_begin_catch\");"
                    "extern \"C\" void end() __asm__(\"__cxa_end_catch\");",
                    "static long h[32]; h[2] = (long)&typeid(int); h[3] = (long)&chosen;"
                    " begin(&h[12]); end();"),
    "throw_object": ("extern \"C\" void raise_it(void*, const void*, void (*)(void*))"
                     " __asm__(\"__cxa_throw\");",
                     "static long h[32]; try { raise_it(&h[16], &typeid(int), nullptr); }"
                     " catch (int) {}"),
    "throw_type": ("extern \"C\" void raise_it(void*, const void*, void (*)(void*))"
                   " __asm__(\"__cxa_throw\");"
                   "extern \"C\" void* room(unsigned long) __asm__(\"__cxa_allocate_exception\");",
                   "static long t[4]; memcpy(t, &typeid(int), 16); static long v[8];"
                   " for (long& w : v) w = (long)forged(&plain, 1); t[0] = (long)v;"
                   " try { raise_it(room(8), t, nullptr); } catch (int) {}"),
    "throw_destructor": ("extern \"C\" void raise_it(void*, const void*, void (*)(void*))"
                         " __asm__(\"__cxa_throw\");"
                         "extern \"C\" void* room(unsigned long) __asm__(\"__cxa_allocate_exception\");",
                         "try { raise_it(room(8), &typeid(int), forged(&chosen, 1)); }"
                         " catch (int) {}"),
    "kept": ("", "std::exception_ptr p; static long h[64]; void* at = &h[32]; memcpy((void*)&p, &at, 8);"
             " std::exception_ptr q = p; q = nullptr;"),
    "rethrown": ("", "std::exception_ptr p; static long h[64]; void* at = &h[32];"
                 " memcpy((void*)&p, &at, 8); try { std::rethrow_exception(p); } catch (...) {}"),
    "terminate": ("", "std::set_terminate(forged(+[] { found = 1; }, 1));"),
    "map_next": ("", "static Cell c; c.right = (Cell*)runtime(); std::map<int, int>::iterator it;"
                 " Cell* at = &c; memcpy((void*)&it, &at, 8); ++it; memcpy(&found, &it, 8);"),
    "map_previous": ("", "static Cell c; c.left = (Cell*)runtime(); c.color = 1;"
                     " std::map<int, int>::iterator it; Cell* at = &c; memcpy((void*)&it, &at, 8);"
                     " --it; memcpy(&found, &it, 8);"),
    "map_erase": ("", "std::map<int, int> m{{1, 1}, {2, 2}, {3, 3}}; auto it = m.find(2); Cell* at;"
                  " memcpy(&at, &it, 8); at->right = (Cell*)runtime(); m.erase(it);"),
    "set_insert": (
        "",
        "std::_Rb_tree_node_base header{}, fresh{}; auto* above ="
        " (std::_Rb_tree_node_base*)runtime(); header._M_parent = &fresh;"
        " std::_Rb_tree_insert_and_rebalance(true, &fresh, above, header);",
    ),
    "list_hook": ("", "static char* n[3] = {runtime(), runtime(), nullptr}; std::list<int> l;"
                  " std::list<int>::iterator it; char** at = n; memcpy((void*)&it, &at, 8);"
                  " l.insert(it, 5);"),
    "list_splice": ("", "static char* n[3] = {runtime(), runtime(), nullptr}; std::list<int> l, k{1};"
                    " std::list<int>::iterator it; char** at = n; memcpy((void*)&it, &at, 8);"
                    " l.splice(it, k);"),
    "hash_bytes": ("", "found = (long)std::_Hash_bytes(runtime(), 16, 1);"),
    "rehash_policy": ("", "auto* p = (std::__detail::_Prime_rehash_policy*)runtime();"
                      " found = (long)p->_M_next_bkt(100);"),
    "message": ("", "try { std::__throw_logic_error(runtime()); } catch (std::exception& e)"
                " { found = e.what()[0]; }"),
    "message_format": ("", "try { std::__throw_out_of_range_fmt(\"%s\", runtime()); }"
                       " catch (std::exception& e) { found = e.what()[0]; }"),
    "stream": ("", "static long f[64]; FILE* s = (FILE*)f; f[0] = 0x800; f[4] = f[5] = (long)runtime();"
               " f[6] = f[5] + 64; fputc('x', s);"),
    "guard": ("extern \"C\" void release(void*) __asm__(\"__cxa_guard_release\");",
              "release(runtime());"),
    "library_table": ("", "try { std::string(\"x\").at(4); } catch (std::exception& e) {"
                      " long t; memcpy(&t, (void*)&e, 8); put((long*)(t & ~4095L) + 0, 0, 1); }"),
}  # fmt: skip


def program(names: tuple[str, ...]) -> str:
    """Return a program that makes the escape that its argument names; with one, it needs none."""
    parts = [_HEAD, *dict.fromkeys(ESCAPES[name][0] + "\n" for name in names if ESCAPES[name][0])]
    parts += [f"static void run_{name}() {{\n  {ESCAPES[name][1]}\n}}\n" for name in names]
    parts.append("int main(int argc, char** argv) {\n  (void)argc, (void)argv;\n")
    if len(names) == 1:
        parts.append(f"  run_{names[0]}();\n")
    else:
        parts += [
            f'  if (argc > 1 && !strcmp(argv[1], "{name}")) run_{name}();\n' for name in names
        ]
    return "".join([*parts, "  return cudaDeviceSynchronize() != cudaSuccess;\n}\n"])


VARIANTS: tuple[Attack, ...] = tuple(
    made(f"control_{name}", CONTROL, whole(program((name,))), (CHECK,), ranks=1) for name in ESCAPES
)
