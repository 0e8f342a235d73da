"""The built object's imports: a hidden call shows there."""

import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import build
from warploom.emulator.building.elf import dynamic_symbols
from warploom.emulator.building.runtime_build import build_runtime
from warploom.evaluation.legality.imports import import_findings
from warploom.evaluation.legality.object_rules import init_findings, runs_by_itself
from warploom.toolchain.compilers import find_compiler


@pytest.fixture(scope="module")
def offered() -> frozenset[str]:
    return dynamic_symbols(build_runtime(find_compiler())).exports


def built(folder: Path, name: str, code: str) -> frozenset[str]:
    source = folder / f"{name}.cpp"
    source.write_text(code)
    library = folder / f"{name}.so"
    flags = ["-shared", "-fPIC", "-O1", "-U_FORTIFY_SOURCE"]
    subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
    return dynamic_symbols(library).imports


def test_hidden_calls_are_found_in_the_object(tmp_path: Path, offered: frozenset[str]) -> None:
    honest = built(
        tmp_path,
        "honest",
        '#include <cstdio>\n#include <cmath>\nextern "C" int run(double x)'
        '{ return printf("%f", std::sin(x)); }',
    )
    sneaky = built(
        tmp_path,
        "sneaky",
        "#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n#include <fstream>\n"
        'extern "C" int run(double) { auto f = &__CONCAT(wri, te); std::ofstream out("x");\n'
        'out << 1; return f(4, "x", 1) + system("ls") + printf("x"); }',
    )
    assert {"printf", "sin"} <= honest
    found = [f.message for f in import_findings(sneaky, honest, "c.cu", offered)]
    assert any(" write," in text for text in found)
    assert any(" system," in text for text in found)
    assert any("basic_ofstream" in text for text in found)
    assert not any(" printf," in text for text in found)
    assert import_findings(honest, honest, "c.cu", offered) == []
    assert import_findings(honest, sneaky, "c.cu", offered) == []


def test_what_a_library_writes_unseen_is_not_allowed(
    tmp_path: Path, offered: frozenset[str]
) -> None:
    plain = 'extern "C" int run(char* to) { return to[0]; }'
    strings = (
        '#include <string>\nextern "C" int run(std::string* to) { to->append("x", 1); return 0; }'
    )
    honest, candidate = built(tmp_path, "honest", plain), built(tmp_path, "strings", strings)
    found = [f.message for f in import_findings(candidate, honest, "c.cu", offered)]
    assert found and all("basic_string" in text and "no check sees" in text for text in found)
    assert import_findings(candidate, candidate, "c.cu", offered) == []


@pytest.mark.parametrize(
    ("added", "runs"),
    [
        ("__device__ int counter;", False),
        ("namespace { __constant__ float table[4]; }", False),
        ("int start(); int value = start(); int start() { return 3; }", True),
    ],
)
def test_code_before_main_is_found_and_device_variables_are_none(
    tmp_path: Path, added: str, runs: bool
) -> None:
    text = (
        "#include <cuda_runtime.h>\n{}\n__global__ void k() {{}}\nint main() {{ k<<<1, 1>>>(); }}\n"
    )
    inits: list[frozenset[str]] = []
    for name, part in (("trusted", ""), ("candidate", added)):
        source = tmp_path / f"{name}.cu"
        source.write_text(text.format(part))
        inits.append(runs_by_itself(build(BuildSpec(source)).guard))
    assert bool(init_findings(inits[1], inits[0], "candidate.cu")) is runs


def test_names_of_newer_headers_are_plain_names(offered: frozenset[str]) -> None:
    allowed = {"__isoc23_strtol", "__isoc23_sscanf", "__isoc99_sscanf"}
    assert import_findings(allowed, set(), "c.cu", offered) == []
    found = import_findings({"__isoc23_fscanf", "pidfd_spawnp"}, set(), "c.cu", offered)
    assert [f.message.split()[4].rstrip(",") for f in found] == ["__isoc23_fscanf", "pidfd_spawnp"]


def test_calls_that_level_0_refuses_are_refused_in_the_object(offered: frozenset[str]) -> None:
    calls = {"cudaHostRegister", "cudaEventElapsedTime", "cudaMalloc"}
    found = import_findings(calls, set(), "program.cu", offered)
    assert [f.message.split()[4] for f in found] == ["cudaEventElapsedTime,", "cudaHostRegister,"]
    assert import_findings(calls, calls, "program.cu", offered) == []
