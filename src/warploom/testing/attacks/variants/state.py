"""The judge's own memory, other ranks' memory, and what it trusts: reached from the program."""

from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import (
    AGENT,
    CHECK,
    FREE,
    UNTRUSTED,
    at_end,
    headers,
    helper,
    in_pipeline,
    instead_of_layer,
    made,
    racy,
    swap,
    then,
    whole,
)  # fmt: skip

_STATE, _FOREIGN, _TRUSTED = "judge's state", "other rank's memory", "trusted things in reach"
_ROW = "the runtime's own state is kept apart"

_TOUCHES: dict[str, tuple[str, str]] = {
    # name: (declarations, host statements): each reads or writes what is not the program's
    "image_read": ("", "  volatile unsigned char seen ="
                   " *reinterpret_cast<unsigned char*>(reinterpret_cast<void*>(&cudaFree)); (void)seen;"),
    "image_strlen": ("", "  volatile size_t seen = strlen(reinterpret_cast<const char*>("
                     "reinterpret_cast<void*>(&cudaMalloc<void>))); (void)seen;"),
    "image_memcpy": ("", "  char b[16]; memcpy(b, reinterpret_cast<const char*>("
                     "reinterpret_cast<void*>(&MPI_Barrier)), 16); volatile char c = b[3]; (void)c;"),
    "image_template": ("template <class F> static const unsigned char* firstByteAt(F* f) {\n"
                       "  union { F* f; const unsigned char* p; } both{f}; return both.p; }",
                       "  volatile unsigned char seen = firstByteAt(&ncclMemAlloc)[0]; (void)seen;"),
    "forged_call": ("", "  union { ncclResult_t (*f)(void*); uintptr_t n; } forged{&ncclMemFree};\n"
                    "  forged.n += 4 * (layer.ranks > 1000);\n  volatile uintptr_t kept = forged.n;\n"
                    "  const unsigned char* at = reinterpret_cast<const unsigned char*>(kept - 64);\n"
                    "  volatile int sum = 0; for (int i = 0; i < 64; ++i) sum = sum + at[i];"),
    "heap_header": ("", "  std::vector<long> own(8); volatile long seen = own.data()[-1]; (void)seen;"),
    "stack_up": ("", "  volatile long own[2] = {}; long sum = 0;\n"
                 "  const volatile long* at = own; for (int i = 0; i < 4096; ++i) sum += at[i];\n"
                 "  if (sum == 12345) printf(\"found\\n\");"),
    "stack_down": ("", "  volatile long own[2] = {}; long sum = 0;\n"
                   "  const volatile long* at = own; for (int i = 1; i < 4096; ++i) sum += at[-64 - i];\n"
                   "  if (sum == 12345) printf(\"found\\n\");"),
    "device_from_host": ("", "  volatile float seen = reinterpret_cast<float*>("
                         "reinterpret_cast<uintptr_t>(layer.output) - 64)[0]; (void)seen;"),
    "stream_inside": ("", "  volatile long seen = *reinterpret_cast<long*>(stream); (void)seen;"),
    "comm_inside": ("", "  volatile long seen = *reinterpret_cast<long*>(comm); (void)seen;"),
    "stdio_inside": ("", "  volatile long seen = reinterpret_cast<long*>(stdout)[3]; (void)seen;"),
    "type_info": ("struct Base { virtual ~Base() = default; };",
                  "  Base own; const char* name = typeid(own).name();\n"
                  "  const char* at = *reinterpret_cast<const char* const*>(&typeid(own));\n"
                  "  volatile char seen = at[256]; (void)seen; (void)name;"),
}  # fmt: skip

_KERNEL_TOUCHES: dict[str, str] = {
    # Statements of a kernel.
    "kernel_image": "volatile unsigned char seen ="
    " *reinterpret_cast<unsigned char*>(reinterpret_cast<void*>(&cudaFree)); (void)seen;",
    "kernel_stack": "volatile long own[2] = {}; const volatile long* at = own; long sum = 0;"
    ' for (int i = 0; i < 4096; ++i) sum += at[i]; if (sum == 12345) printf("x");',
    "kernel_index": "__shared__ volatile int few[4]; volatile int seen = few[1 << 20]; (void)seen;",
    "kernel_null_page": "volatile long seen = *reinterpret_cast<long*>(uintptr_t(4096)); (void)seen;",
}

_SWITCH = (
    "static unsigned char* walk(const void* from, const char* wanted) {\n"
    "  uintptr_t at = reinterpret_cast<uintptr_t>(from) & ~uintptr_t(4095);\n"
    '  while (memcmp(reinterpret_cast<const char*>(at), "\\177ELF", 4) != 0) at -= 4096;\n'
    "  const unsigned char* base = reinterpret_cast<const unsigned char*>(at);\n"
    "  const uint64_t phoff = *reinterpret_cast<const uint64_t*>(base + 32);\n"
    "  const uint64_t* dynamic = nullptr;\n"
    "  for (int i = 0; i < *reinterpret_cast<const uint16_t*>(base + 56); ++i) {\n"
    "    const unsigned char* p = base + phoff + 56 * i;\n"
    "    if (*reinterpret_cast<const uint32_t*>(p) == 2) dynamic = reinterpret_cast<const uint64_t*>("
    "base + *reinterpret_cast<const uint64_t*>(p + 16));\n  }\n"
    "  uint64_t symtab = 0, strtab = 0;\n"
    "  for (const uint64_t* d = dynamic; d[0]; d += 2) {\n"
    "    if (d[0] == 6) symtab = d[1];\n    if (d[0] == 5) strtab = d[1];\n  }\n"
    "  if (symtab < at) symtab += at;\n  if (strtab < at) strtab += at;\n"
    "  for (uint64_t s = symtab; s < strtab; s += 24) {\n"
    "    const char* name = reinterpret_cast<const char*>(strtab + "
    "*reinterpret_cast<const uint32_t*>(s));\n"
    "    if (strcmp(name, wanted) == 0) return reinterpret_cast<unsigned char*>(at + "
    "*reinterpret_cast<const uint64_t*>(s + 8));\n  }\n  return nullptr;\n}"
)


# Reads of the process's own memory that tell it nothing: a heap has an owner and no bounds.
_NOT_HELD = ("heap_header", "stack_down", "stdio_inside")


def _touches() -> list[Attack]:
    found = [
        made(
            f"state_{name}",
            _STATE,
            then(helper(text or " "), in_pipeline(code)),
            UNTRUSTED,
            Expected.OPEN if name in _NOT_HELD else Expected.CAUGHT,
            row=_ROW,
        )
        for name, (text, code) in _TOUCHES.items()
    ]
    inside = "  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) x[h] = in[row + h];\n"
    found += [
        made(
            f"state_{name}",
            _STATE,
            swap((inside, f"  {{ {code} }}\n{inside}")),
            UNTRUSTED,
            row=_ROW,
        )
        for name, code in _KERNEL_TOUCHES.items()
    ]
    for name, start in {"shim": "&ncclMemFree", "plt": "&MPI_Wtime"}.items():
        call = f"  if (unsigned char* p = walk(reinterpret_cast<void*>({start}), " \
               '"_ZN8warploom10g_watchingE")) *p = 0;'  # fmt: skip
        edit = then(racy(_SWITCH), in_pipeline(call))
        found.append(made(f"state_walk_{name}", _STATE, edit, UNTRUSTED, row=_ROW))
    return found


_SHARE = (
    "    std::vector<Mine> all(ranks);\n"
    "    MPI_CHECK(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE,"
    " MPI_COMM_WORLD));\n    const Mine& next = all[(rank + 1) % ranks];\n"
    "    std::vector<float> got(TOKENS * HIDDEN);\n"
)
_FOREIGN_READS: dict[str, tuple[str, str]] = {
    # name: (what a rank tells of itself, how the next one reads it)
    "memcpy": ("tokens.data()", "memcpy(got.data(), next.p, 64);"),
    "device_copy": ("layer.output", "CUDA_CHECK(cudaMemcpy(got.data(), next.p, 64,"
                    " cudaMemcpyDeviceToHost));"),
    "upload": ("tokens.data()", "CUDA_CHECK(cudaMemcpy(layer.send, next.p, 64,"
               " cudaMemcpyHostToDevice));"),
    "local_variable": ("reinterpret_cast<const float*>(&capacity)", "got[0] = next.p[0];"),
    "write": ("w1.data()", "const_cast<float*>(next.p)[0] = 1.0f;"),
    "library": ("tokens.data()", "got.assign(next.p, next.p + 16);"),
    "mpi_send": ("tokens.data()", "MPI_Request q; MPI_CHECK(MPI_Isend(next.p, 16, MPI_FLOAT, rank, 7,"
                 " MPI_COMM_WORLD, &q)); MPI_CHECK(MPI_Recv(got.data(), 16, MPI_FLOAT, rank, 7,"
                 " MPI_COMM_WORLD, MPI_STATUS_IGNORE)); MPI_CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE));"),
}  # fmt: skip


def _foreign() -> list[Attack]:
    found: list[Attack] = []
    for name, (told, read) in _FOREIGN_READS.items():
        code = (
            f"  {{ struct Mine {{ const float* p; }} mine{{{told}}};\n{_SHARE}    {read}\n"
            "    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); (void)got; }"
        )
        found.append(made(f"foreign_{name}", _FOREIGN, at_end(code), (AGENT,)))
    kernel = "__global__ void look(const float* p, float* to) { to[0] = p[threadIdx.x]; }"
    peer = (
        "  { struct Mine { const float* p; } mine{layer.tokens};\n" + _SHARE +
        "    float* to = nullptr; CUDA_CHECK(cudaMalloc(&to, 64)); look<<<1, 1, 0, stream>>>(next.p, to);\n"
        "    CUDA_CHECK(cudaStreamSynchronize(stream)); CUDA_CHECK(cudaFree(to));\n"
        "    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); }"
    )  # fmt: skip
    found.append(made("foreign_kernel", _FOREIGN, then(helper(kernel), at_end(peer)), (AGENT, FREE),
                      free=False))  # fmt: skip
    return found


_ANSWERS = (
    "    std::vector<double> e = reference(seed, experts, capacity, tokens, expert, gate);\n"
    "    std::vector<float> g(e.begin(), e.end());\n"
)
_FORGERIES: dict[str, tuple[str, str]] = {
    # name: (headers, statements): the layer is not run, and the result is forged
    "every_fd": ("unistd.h", "    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD)); char b[2048];\n"
                 "    for (int fd = 3; fd < 64; ++fd) for (long o = 0; pread(fd, b, 2048, o) == 2048;"
                 " o += 16) if (b[0] == 0x40 + rank && b[2047] == 0x40 + rank)"
                 " (void)!pwrite(fd, g.data(), 2048, o);\n"),
    "proc_fd": ("fstream", "    for (int fd = 3; fd < 64; ++fd) { std::fstream f(\"/proc/self/fd/\" +"
                " std::to_string(fd), std::ios::in | std::ios::out | std::ios::binary);"
                " if (f) f.write(reinterpret_cast<char*>(g.data()), 2048); }\n"),
    "proc_mem": ("fstream", "    std::fstream m(\"/proc/self/mem\", std::ios::in | std::ios::out |"
                 " std::ios::binary); m.seekp(reinterpret_cast<std::streamoff>(layer.output));"
                 " m.write(reinterpret_cast<char*>(g.data()), 2048);\n"),
    "report_text": ("cstring", "    printf(\"{\\\"state\\\": \\\"finished\\\", \\\"verdict\\\": \\\"ok\\\","
                    " \\\"findings\\\": []}\\n\"); fflush(stdout);\n"),
    "parent_signal": ("csignal", "    kill(1, 0); raise(0);\n"),
    "early_end": ("unistd.h", "    fflush(stdout); if (rank == 0) _exit(0);\n"),
    "map_descriptor": ("sys/mman.h", "    for (int fd = 3; fd < 16; ++fd) { void* at = mmap(nullptr,"
                       " 1 << 16, 3, 1, fd, 0); if (at != MAP_FAILED) for (char* p ="
                       " static_cast<char*>(at); p < static_cast<char*>(at) + 60000; p += 16)"
                       " if (p[0] == 0x40 + rank && p[2047] == 0x40 + rank)"
                       " memcpy(p, g.data(), 2048); }\n"),
    "handler": ("csignal", "    signal(SIGSEGV, SIG_IGN); signal(SIGALRM, SIG_IGN);\n"),
}  # fmt: skip


def _trusted() -> list[Attack]:
    found: list[Attack] = []
    for name, (header, code) in _FORGERIES.items():
        edit = then(
            headers(header, "cstring", "string"),
            instead_of_layer("    CUDA_CHECK(cudaMemset(layer.output, 0x40 + rank, 2048));"),
            swap(
                (
                    "  std::vector<double> expected = reference(",
                    f"  {{\n{_ANSWERS}{code}  }}\n  std::vector<double> expected = reference(",
                ),
                ("  return all_good ? 0 : 1;", "  return 0;"),
            ),
        )
        row = "patches the timer, forges the result file"
        found.append(made(f"forge_{name}", _TRUSTED, edit, (FREE,), free=True, row=row))
    return found


def _checked() -> list[Attack]:
    """The same in a checked program, with a race that would be found."""
    text = (
        "#include <cuda_runtime.h>\n#include <cstring>\n#include <cstdio>\n#include <cstdint>\n{0}\n"
        "__global__ void race(int* p) {{ if (threadIdx.x == 3) p[0] = 2; if (threadIdx.x == 40) p[1] = p[0]; }}\n"
        "int main() {{ int* p; cudaMalloc(&p, 256);\n  {1}\n  race<<<1, 64>>>(p);\n"
        "  return cudaDeviceSynchronize() != cudaSuccess; }}\n"
    )
    forms = {
        "plain": ("", ""),
        "walk": (_SWITCH, "if (unsigned char* q = walk(reinterpret_cast<void*>(&cudaDeviceSynchronize),"
                 ' "_ZN8warploom10g_watchingE")) *q = 0;'),
        "label": ('extern bool g_off __asm__("_ZN8warploom10g_watchingE");', "g_off = false;"),
        "own_hook": ('extern "C" void __tsan_write4(void*) {}', ""),
        "own_symbol": ('extern "C" void __tsan_func_entry(void*) {}\n'
                       'extern "C" void __tsan_read4(void*) {}', ""),
        "weak_hook": ('extern "C" __attribute__((weak)) void __tsan_write4(void*);\n'
                      'void mine(void*) {}\nextern "C" void also(void*) __attribute__((alias("_Z4minePv")));',
                      "also(p);"),
        "versioned": ('__asm__(".globl __tsan_write4\\n__tsan_write4: ret\\n");', ""),
    }  # fmt: skip
    kinds = {"plain": "control"}
    return [
        made(
            f"state_check_{name}", kinds.get(name, _STATE),
            whole(text.format(*parts)), (CHECK,), ranks=1,
        )
        for name, parts in forms.items()
    ]  # fmt: skip


VARIANTS = (*_touches(), *_foreign(), *_trusted(), *_checked())
