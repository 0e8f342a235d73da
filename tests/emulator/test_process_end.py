"""What a program does at its end, and what it says in bytes that are no UTF-8."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import EmulatorRun, RunOptions, build, run

ENDS = """\
#include <cuda_runtime.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
__attribute__((destructor)) static void last() { puts("destructor"); }
__attribute__((destructor(200))) static void very_last() { puts("destructor 200"); }
struct Static { ~Static() { puts("static object"); } } object;
int main(int, char** argv) {
  cudaFree(nullptr);
  atexit([] { puts("atexit"); });
  setbuf(stdout, nullptr);
  if (!strcmp(argv[1], "exit")) exit(0);
  if (!strcmp(argv[1], "quick_exit")) quick_exit(0);
  if (!strcmp(argv[1], "_exit")) _exit(0);
  return 0;
}
"""
ALL = ["atexit", "static object", "destructor", "destructor 200"]


def ran(folder: Path, text: str, *args: str) -> EmulatorRun:
    source = folder / "program.cu"
    source.write_text(text)
    return run(build(BuildSpec(source)), RunOptions(ranks=1, args=args))


@pytest.mark.parametrize(
    ("way", "said"), [("return", ALL), ("exit", ALL), ("quick_exit", []), ("_exit", [])]
)
def test_functions_for_the_end_run_as_on_the_system(
    tmp_path: Path, way: str, said: list[str]
) -> None:
    done = ran(tmp_path, ENDS, way)
    assert done.state == "finished"
    assert done.stdout.split("\n")[:-1] == said


def test_a_constructor_that_ends_the_program(tmp_path: Path) -> None:
    text = ENDS.replace(
        "struct Static",
        "__attribute__((constructor)) static void first() { exit(0); }\nstruct Static",
    )
    done = ran(tmp_path, text, "return")
    assert (done.state, done.exit_codes) == ("finished", {0: 0})


def test_what_a_destructor_does_wrong_is_found(tmp_path: Path) -> None:
    text = ENDS.replace('puts("destructor 200")', "*(volatile char*)&cudaDeviceReset = 1")
    assert "emulator_access" in {item.kind for item in ran(tmp_path, text, "return").findings}


def test_an_assertion_in_another_encoding_is_told(tmp_path: Path) -> None:
    text = (
        "#include <cuda_runtime.h>\n#include <cassert>\n#include <cstring>\n"
        'int main() { cudaFree(nullptr); assert(!strcmp("gr\xfc\xdfe", "a")); }\n'
    )
    source = tmp_path / "program.cu"
    source.write_bytes(text.encode("latin-1"))
    done = run(build(BuildSpec(source)), RunOptions(ranks=1))
    found = next(item for item in done.findings if item.kind == "assertion")
    assert "gr\ufffd\ufffde" in found.message


def test_the_text_of_an_assertion_is_looked_at(tmp_path: Path) -> None:
    text = (
        "#include <cuda_runtime.h>\n#include <cassert>\n#include <cstring>\n"
        "#include <sys/mman.h>\nint main() {\n  cudaFree(nullptr);\n"
        "  char* page = (char*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE,\n"
        "                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
        '  __assert_fail((char*)memset(page, 97, 4096), "a.cu", 1, "main");\n}\n'
    )
    assert "emulator_access" in {item.kind for item in ran(tmp_path, text).findings}
