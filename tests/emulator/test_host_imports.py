"""Imports that follow pointers unseen are told from those that are looked at, or follow none."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator.build import build
from warploom.emulator.elf import dynamic_symbols
from warploom.emulator.host_imports import is_harmless, unknown_imports

PROGRAM = """
#include <cuda_runtime.h>
#include <iconv.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
int main(int argc, char** argv) {
  std::vector<double> v(argc * 100, 1.5);
  char text[64];
  snprintf(text, sizeof text, "%g %s", std::sin(v[0]), argv[0]);
  memcpy(text, argv[0], argc);
  int* device = nullptr;
  cudaMalloc(&device, 4);
  iconv_close(iconv_open(text, text));
  return text[0] == 1;
}
"""


def test_a_function_that_is_neither_known_nor_looked_at_is_named(tmp_path: Path) -> None:
    program = tmp_path / "imports.cu"
    program.write_text(PROGRAM)
    made = build(BuildSpec(program=program))
    assert {"memcpy", "snprintf"} <= made.imports, "as the program calls them"
    offered = dynamic_symbols(made.runtime).exports
    # What every program takes: the process library has streams of its own.
    program.write_text("int main() {}\n")
    always = build(BuildSpec(program=program)).imports
    assert unknown_imports(made.imports - always, offered) == ["iconv_close", "iconv_open"]


def test_strings_and_streams_are_no_harmless_objects() -> None:
    assert is_harmless("sincosf") is False and is_harmless("sinf")
    assert is_harmless("_Znwm") and is_harmless("_ZSt20__throw_length_errorPKc")
    assert not is_harmless("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm")
    assert not is_harmless("process_vm_writev")
