"""Programs are built, cached by content, and refused with the right words."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, SourceError, ToolFailedError, UnsupportedError
from warploom.core.records import BuildSpec, Limits
from warploom.emulator import NotEmulatedError, build
from warploom.emulator.building import runtime_build
from warploom.emulator.building.diagnostics import (
    compile_failure,
    undefined_symbols,
    unsupported_name,
)
from warploom.emulator.building.elf import dynamic_symbols
from warploom.emulator.building.link import plain_name
from warploom.emulator.building.unit_flags import version_code
from warploom.emulator.running.run import run
from warploom.emulator.running.run_records import RunOptions

OK = "#include <cuda_runtime.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"


def test_a_build_has_an_entry_and_is_cached(programs):
    first = programs.build(OK + "// one")
    assert not first.cached and "warploom_main" in dynamic_symbols(first.library).exports
    again = programs.build(OK + "// one")
    assert again.cached and again.key == first.key and again.library == first.library


def test_the_key_is_the_content_not_the_place_or_the_time(programs, tmp_path: Path):
    programs.write("int u;\n", "one/u.h")
    one = programs.write('#include "u.h"\nint main() {}\n', "one/p.cu")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    time.sleep(0.01)
    (tmp_path / "two" / "u.h").touch()
    first = build(BuildSpec(one))
    second = build(BuildSpec(tmp_path / "two" / "p.cu"))
    assert second.cached and second.key == first.key
    assert second.files[1].path == tmp_path / "two" / "u.h"
    (tmp_path / "two" / "u.h").write_text("int v;\n")
    assert build(BuildSpec(tmp_path / "two" / "p.cu")).key != first.key


def test_macros_and_the_nccl_version_are_in_the_key(programs):
    keys = {
        programs.build(OK, **spec).key
        for spec in ({}, {"defines": {"N": "3"}}, {"defines": {"N": ""}}, {"nccl": "2.28.9"})
    }
    assert len(keys) == 4


def test_macros_arrive(programs):
    code = """#include <cuda_runtime.h>
int main() { printf("%d %s %d", N, TEXT, WARPLOOM_NCCL_VERSION);
#ifndef FLAG
#error no flag
#endif
}
"""
    built = programs.build(code, defines={"N": "3", "TEXT": '"a b"', "FLAG": ""}, nccl="2.30.7")
    assert run(built, RunOptions(ranks=1)).stdout == "3 a b 23007"
    with pytest.raises(BadInputError, match="macro's name"):
        programs.build(OK, defines={"a-b": "1"})
    with pytest.raises(BadInputError, match="must look like"):
        programs.build(OK, nccl="new")


DEPENDENT = """template <typename T> struct Cast {
  template <int N> __host__ __device__ static T go(T value) { return value + N; }
  template <int N> __host__ __device__ T add(T value) const { return value + N; }
};
template <typename T, int N> __host__ __device__ T both(T value) {
	const Cast<T> cast;  /* \u00e4 */ return Cast<T>::go<N>(value) * cast.add<N + 1>(value);
}
"""


def test_nvcc_wants_no_keyword_before_a_dependent_template(programs):
    programs.write(DEPENDENT, "cast.cuh")
    code = """#include <cuda_runtime.h>
#include "cast.cuh"
int main() { printf("%d", both<int, 3>(4) + both<int, 1>(0)); }
"""
    assert run(programs.build(code), RunOptions(ranks=1)).stdout == "58"


def test_a_name_that_is_no_template_gets_no_keyword(programs):
    code = "struct S { void f(); };\nint main() {\n  S s;\n  return s.f < 3;\n}\n"
    with pytest.raises(SourceError, match="invalid") as error:
        programs.build(code)
    assert error.value.line == 4
    code = """template <typename T> struct A { template <int N> static int f(); };
template <typename T> int g() { return A<T>::f<3>(); }
int main() { return g<int>() + nothing; }
"""
    with pytest.raises(SourceError, match="nothing") as error:
        programs.build(code)
    assert error.value.line == 3


def test_version_codes():
    assert [version_code(v) for v in ("2.28.9", "2.32.3", "2.30")] == [22809, 23203, 23000]


@pytest.mark.parametrize(
    "main",
    ["int main() {}", "int main(int argc, char** argv) { return argc - 2; }",
     "int main(int argc, const char* argv[]) { return argc - 2; }",
     "int main(int argc, char** argv, char** env) { return argc - 2 || *env; }",
     'extern "C" int main(int, char*[]) { return 0; }', "auto main() -> int { }"],
)  # fmt: skip
def test_every_form_of_main(programs, main: str):
    result = run(programs.build(f"#include <cuda_runtime.h>\n{main}\n"), RunOptions(args=("x",)))
    assert result.exit_codes == {0: 0, 1: 0, 2: 0, 3: 0}, result.findings


def test_no_main(programs):
    with pytest.raises(SourceError, match="function main") as caught:
        programs.build("int helper() { return 1; }\n")
    assert caught.value.file.endswith("prog.cu")


def test_further_sources_of_every_language(programs):
    programs.write("int from_c(int x) { int* p = 0; return x + (p == 0); }", "c.c")
    programs.write("int from_cpp() { return 2; }\n#ifdef __CUDACC__\n#error host\n#endif", "d.cpp")
    programs.write(
        "__global__ void k(int* p) { *p = 3; } int from_cu() { int v; k<<<1,1>>>(&v); return v; }",
        "e.cu",
    )
    code = """extern "C" int from_c(int); int from_cpp(); int from_cu();
int main() { return from_c(1) * 100 + from_cpp() * 10 + from_cu(); }"""
    spec = {"sources": tuple(programs.folder / n for n in ("c.c", "d.cpp", "e.cu"))}
    result = run(programs.build(code, **spec), RunOptions(ranks=1))
    assert result.exit_codes == {0: 223}
    # A change of one leaves the objects of the others.
    assert not programs.build(code + "\n", **spec).cached


def test_symbols_tell_what_is_used(programs):
    built = programs.build("""#include <mpi.h>
#include <nccl.h>
int main(int c, char** v) { int n; MPI_Init(&c, &v); return ncclCommCount(0, &n); }""")
    assert built.uses_mpi and built.uses_nccl and "MPI_Init" in built.imports
    assert not programs.build(OK).uses_mpi


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("cudaFooBar(1);", "cudaFooBar"),
        ("ncclFancy<int>(1);", "ncclFancy"),
        ("MPI_T_enum kind;", "MPI_T_enum"),
        ("__nv_frobnicate(1);", "__nv_frobnicate"),
        ("cub::DeviceScan::Sum();", "cub"),
        ("thrust::device_vector<int> v;", "thrust"),
        ("cudaDeviceProp p; p.clockRate = 1;", "cudaDeviceProp::clockRate"),
        ("cudaTextureObject_t t;", "cudaTextureObject_t"),
        ("cublasHandle_t h;", "cublasHandle_t"),
    ],
)
def test_what_is_not_emulated_is_named_with_its_line(programs, use: str, name: str):
    code = f"#include <cuda_runtime.h>\nint main() {{\n  {use}\n}}\n"
    with pytest.raises(UnsupportedError, match=f"{name} is not emulated") as caught:
        programs.build(code)
    assert caught.value.line == 3 and caught.value.file.endswith("prog.cu")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("header", ["cub/cub.cuh", "cublas_v2.h", "nvtx3/nvToolsExt.h"])
def test_headers_that_are_not_emulated(programs, header: str):
    with pytest.raises(UnsupportedError, match=f"<{header}> is not emulated"):
        programs.build(f"#include <{header}>\nint main() {{}}\n")


def test_every_name_is_listed_once(programs):
    code = """#include <cuda_runtime.h>
void f() { cudaOne(1); }
void g() { cudaTwo(1); cudaOne(1); }
int main() { MPI_Three(1); }
"""
    with pytest.raises(NotEmulatedError) as caught:
        programs.build(code)
    assert [(use.name, use.line) for use in caught.value.uses] == [
        ("cudaOne", 2), ("cudaTwo", 3), ("MPI_Three", 4),
    ]  # fmt: skip


def test_a_declared_function_that_the_runtime_lacks(programs):
    code = "#include <cuda_runtime.h>\nint main() {\n  return cudaDeclaredOnly(1);\n}\n"
    with pytest.raises(UnsupportedError, match="cudaDeclaredOnly is not emulated") as caught:
        programs.build(code)
    assert caught.value.line == 3


def test_a_users_undefined_function(programs):
    with pytest.raises(SourceError, match=r"must be defined.*helper") as caught:
        programs.build("int helper();\nint main() {\n  return helper(); }\n")
    assert caught.value.line == 3


@pytest.mark.parametrize("section", ["", "(.text+0x3e):"])
def test_linkers_place_what_is_undefined_in_two_forms(section: str):
    place = f"/wl-user/p.cu:3:{section} "
    log = f"ld: /tmp/p.o: in function `main':\n{place}undefined reference to `_Z6helperv'\n"
    assert list(undefined_symbols(log)) == [("_Z6helperv", ("/wl-user/p.cu", 3))]
    log = log.replace(place, f"/usr/bin/ld: {place}warning: ")
    assert list(undefined_symbols(log)) == [("_Z6helperv", ("/wl-user/p.cu", 3))]


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("int main() {\n  return undeclared_thing; }", 2, "undeclared_thing"),
        ("int main() { return 0 }", 1, "expected"),
        ("struct Mine { int a; };\nint main() { Mine m; return m.b; }", 2, "Mine"),
        ('#include "my_header.h"\nint main() {}', 1, "my_header.h"),
        ("#error custom words\nint main() {}", 1, "custom words"),
    ],
)
def test_the_users_own_errors(programs, code: str, line: int, words: str):
    with pytest.raises(SourceError, match=words) as caught:
        programs.build(code)
    assert caught.value.line == line and caught.value.exit_code == 2


def test_errors_in_included_files_name_them(programs):
    programs.write("#pragma once\n\nint f() { return oops; }\n", "inc/h.h")
    with pytest.raises(SourceError, match="oops") as caught:
        programs.build('#include "inc/h.h"\nint main() {}\n')
    assert caught.value.file == str(programs.folder / "inc" / "h.h") and caught.value.line == 3


def test_errors_in_templates_of_the_shims_name_the_users_line(programs):
    code = "#include <cuda_runtime.h>\nvoid k(int* p);\nint main() {\n  k<<<1, 1>>>(1.5);\n}\n"
    with pytest.raises(SourceError) as caught:
        programs.build(code)
    assert caught.value.line == 4


def test_ptx_is_unsupported(programs):
    code = """#include <cuda_runtime.h>
__global__ void k(unsigned* p) {
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(*p));
}
int main() { k<<<1, 1>>>(nullptr); }
"""
    with pytest.raises(UnsupportedError, match=r"inline PTX: movmatrix") as caught:
        programs.build(code)
    assert caught.value.line == 3


def test_a_failed_build_leaves_nothing(programs, fake_cache: Path):
    before = sorted((fake_cache / "programs").glob("*"))
    with pytest.raises(SourceError):
        programs.build("int main() { return never_seen_before; }")
    assert sorted((fake_cache / "programs").glob("*")) == before


def test_a_compile_without_end_is_stopped(programs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runtime_build, "COMPILE_LIMITS", Limits(seconds=3, memory_mb=4000))
    code = """constexpr long f(long n) { long s = 0;
  for (long i = 0; i < n; i++) s += i; return s; }
template <int N> struct S { static constexpr long v = f(200000 + N) + S<N - 1>::v; };
template <> struct S<0> { static constexpr long v = 0; };
int main() { return S<800>::v; }"""
    started = time.monotonic()
    with pytest.raises(SourceError, match="compiler was stopped: timeout"):
        programs.build(code)
    assert time.monotonic() - started < 20


def test_messages_of_both_compilers():
    assert unsupported_name("use of undeclared identifier 'cudaFoo'") == "cudaFoo"
    assert (
        unsupported_name("'cudaFoo' was not declared in this scope; did you mean 'x'?") == "cudaFoo"
    )
    assert unsupported_name("unknown type name 'ncclFoo_t'") == "ncclFoo_t"
    assert (
        unsupported_name("no member named 'BlockReduce' in namespace 'cub'") == "cub::BlockReduce"
    )
    assert unsupported_name("'cub/cub.cuh' file not found") == "<cub/cub.cuh>"
    assert unsupported_name("use of undeclared identifier 'my_value'") is None
    assert unsupported_name("'my.h' file not found") is None


def test_our_own_errors_are_not_blamed_on_the_user():
    error = compile_failure("/shim/x.h:3:1: error: expected ';'\n", lambda name: False, str)
    assert isinstance(error, ToolFailedError)


def test_a_c_file_is_c_unless_it_has_device_code(programs):
    programs.write(
        "#include <mpi.h>\n#include <nccl.h>\nint own(void) { int new = 5; return new; }", "c.c"
    )
    programs.write(
        "#include <cuda_runtime.h>\n__device__ int two() { return true ? 2 : 0; }\n"
        "int cuda() { return two(); }",
        "d.c",
    )
    code = 'extern "C" int own(void); int cuda(); int main() { return own() * 10 + cuda(); }'
    sources = tuple(programs.folder / name for name in ("c.c", "d.c"))
    assert run(programs.build(code, sources=sources), RunOptions(ranks=1)).exit_codes == {0: 52}


def test_the_program_itself_may_be_c(programs):
    code = "#include <mpi.h>\nint main(void) { int class = 7; return class; }"
    built = build(BuildSpec(programs.write(code, "m.c")))
    assert run(built, RunOptions(ranks=1)).exit_codes == {0: 7}


def test_a_call_that_c_does_not_know_is_refused_by_name(programs):
    file = programs.write("#include <mpi.h>\nint main(void) { return MPI_Frobnicate(); }", "m.c")
    with pytest.raises(UnsupportedError, match="MPI_Frobnicate is not emulated") as caught:
        build(BuildSpec(file))
    assert caught.value.line == 2


def test_odd_file_names(programs):
    programs.write("#define VALUE 7\n", 'the "odd" größe.h')
    programs.write('#include <the "odd" größe.h>\nint main() { return VALUE; }\n', "my prog.cu")
    spec = BuildSpec(programs.folder / "my prog.cu", include_dirs=(programs.folder,))
    assert run(build(spec), RunOptions(ranks=1)).exit_codes == {0: 7}


def test_ctrl_c_ends_a_compile(tmp_path: Path):
    """In the cache of all tests: another process would build the whole runtime in a new one."""
    slow = tmp_path / "slow.cu"
    slow.write_text(
        "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) s += i; return s; }\n"
        "template <int N> struct S { static constexpr long v = f(200000 + N) + S<N - 1>::v; };\n"
        "template <> struct S<0> { static constexpr long v = 0; };\n"
        "int main() { return S<850>::v; }\n"
    )
    code = f"""
from pathlib import Path
from warploom.core.records import BuildSpec
from warploom.emulator.building.build import _Builder
builder = _Builder(BuildSpec(Path({str(slow)!r})))
print("ready", flush=True)
try:
    builder.make(Path({str(tmp_path)!r}))
except KeyboardInterrupt:
    raise SystemExit(130)
"""
    ours = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert ours.stdout is not None and ours.stdout.readline() == b"ready\n"
    time.sleep(1.0)
    started = time.monotonic()
    ours.send_signal(signal.SIGINT)
    assert ours.wait(30) == 130 and time.monotonic() - started < 5
    ours.stdout.close()


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("_Z6helperv", "helper"), ("_ZN2ns1fEi", "f"), ("cudaFoo", "cudaFoo"), ("_ZNK1A3getEv", "get"),
     ("_Z", "_Z"), ("_Z3foo1X", "foo")],
)  # fmt: skip
def test_plain_names(symbol: str, name: str):
    assert plain_name(symbol) == name
