"""Imports that follow pointers unseen are told from those that are looked at, or follow none."""

import ctypes
from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator.building.build import build
from warploom.emulator.building.elf import defined_symbols, dynamic_symbols
from warploom.emulator.building.host_imports import (
    BY_HEADERS,
    TABLE,
    Held,
    classify,
    is_harmless,
    unknown_imports,
)
from warploom.emulator.building.process_library import process_objects
from warploom.emulator.building.runtime_build import build_runtime
from warploom.evaluation.legality.allowed_names import HOST_C
from warploom.toolchain.compilers import find_compiler

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
    assert unknown_imports(made.imports, offered) == ["iconv_close", "iconv_open"]
    # What the process library takes for itself is none of the program's to call or to go to.
    assert "gethostbyname_r" in made.denied
    assert not made.denied & made.imports


def test_each_import_that_is_allowed_has_a_class() -> None:
    libraries = ctypes.CDLL(None), ctypes.CDLL("libm.so.6")
    real = [name for name in HOST_C | BY_HEADERS if any(hasattr(one, name) for one in libraries)]
    assert len(real) > 200
    assert [name for name in sorted(real) if classify(name) is None] == []


def test_what_is_said_to_be_looked_at_is_looked_at() -> None:
    offered = dynamic_symbols(build_runtime(find_compiler())).exports
    names = {n for entry in TABLE if entry.held is Held.LOOKED_AT for n in entry.names}
    assert sorted(n for n in names if n not in offered and f"__wrap_{n}" not in offered) == []
    assert {"__wrap___cxa_throw", "__wrap__ZSt11_Hash_bytesPKvmm"} <= offered


def test_a_stream_may_be_forged_though_its_characters_are_looked_at() -> None:
    offered = dynamic_symbols(build_runtime(find_compiler())).exports
    assert "__wrap__ZNSo5writeEPKcl" in offered
    assert unknown_imports({"_ZNSo5writeEPKcl", "write"}, offered) == ["_ZNSo5writeEPKcl"]


def test_what_walks_over_nodes_is_defined_in_each_program() -> None:
    defined = frozenset[str]().union(*map(defined_symbols, process_objects(find_compiler())))
    wanted = {
        "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
        "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
        "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
        "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
        "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
        "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
    }
    assert wanted <= defined
    for name in wanted:
        entry = classify(name)
        assert entry is not None and entry.held is Held.HOOKED


def test_strings_and_streams_are_no_harmless_objects() -> None:
    assert is_harmless("sincosf") is False and is_harmless("sinf")
    assert is_harmless("_Znwm") and is_harmless("_ZSt17__throw_bad_allocv")
    assert not is_harmless("_ZSt20__throw_length_errorPKc"), "it reads a text"
    assert not is_harmless("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm")
    assert not is_harmless("process_vm_writev")


def test_names_of_a_standards_year_are_plain_names() -> None:
    """Headers of glibc 2.38 and later call these functions so."""
    offered = dynamic_symbols(build_runtime(find_compiler())).exports
    kinds = ("l", "ul", "ll", "ull", "imax", "umax")
    names = {f"__isoc23_{text}{kind}" for text in ("strto", "wcsto") for kind in kinds}
    names |= {f"__isoc{year}_{how}scanf" for year in (99, 23) for how in ("", "f", "s", "v", "vs")}
    assert unknown_imports(names, offered) == []
    entry = classify("__isoc23_strtol")
    assert entry is not None and entry is classify("strtol")
    assert is_harmless("stdc_leading_zeros_ui") and not is_harmless("__isoc23_strtol")


def test_hardened_names_are_taken_with_the_plain_ones() -> None:
    """Ubuntu's C++ library opens folders by __openat_2, not by openat."""
    offered = dynamic_symbols(build_runtime(find_compiler())).exports
    library = ctypes.CDLL(None)
    hardened = {f"__{name}{end}" for name in offered for end in ("_chk", "_2")}
    real = {name for name in hardened if not name.startswith("____") and hasattr(library, name)}
    assert {"__openat_2", "__read_chk", "__realpath_chk"} <= real
    assert sorted(real - offered) == []
