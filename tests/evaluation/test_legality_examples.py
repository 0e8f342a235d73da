"""Level 0 on real programs: their own regions are legal, honest edits too, and scopes are right."""

from pathlib import Path

import pytest

from warploom.evaluation.legality.check import refusals
from warploom.evaluation.legality.scopes import declarations
from warploom.evaluation.legality.tokens import scan
from warploom.source import CUDAAnalyzer
from warploom.source.markers import insert_evolve_markers
from warploom.source.regions import Program

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/*.cu"))


def marked(path: Path) -> Program:
    text = path.read_text()
    return Program(insert_evolve_markers(text, CUDAAnalyzer(path).analyze()), path)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_examples_are_legal_in_their_own_frame(path: Path) -> None:
    trusted = marked(path)
    assert trusted.regions
    assert refusals(trusted, trusted) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_honest_edits_of_examples_are_legal(path: Path) -> None:
    trusted = marked(path)
    bodies = [
        trusted.body(region)
        .replace("int h = threadIdx.x", "int h = static_cast<int>(threadIdx.x)")
        .replace(", 32, 0, stream>>>", ", 64, 0, stream>>>")
        .replace("float sum = 0.0f;", "float sum = 0.0f;\n#pragma unroll\n")
        + "\n// a remark: exit(1), system(), #include <fstream>\n"
        for region in trusted.regions
    ]
    candidate = trusted.with_bodies(bodies)
    assert candidate.text != trusted.text
    assert refusals(candidate, trusted) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_attack_in_any_region_of_an_example_is_found(path: Path) -> None:
    trusted = marked(path)
    for number, region in enumerate(trusted.regions):
        bodies = [trusted.body(other) for other in trusted.regions]
        bodies[number] += "\n#define free(p) system(p)\n"
        found = refusals(trusted.with_bodies(bodies), trusted)
        assert [item.kind for item in found] == ["forbidden_call"], region
        assert found[0].line > region.first_line


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_scopes_agree_with_the_analyzer(path: Path) -> None:
    report = CUDAAnalyzer(path).analyze()
    ours = {
        (item.name, item.line)
        for item in declarations(scan(path.read_text()).tokens)
        if item.kind == "function"
    }
    theirs = {(function.name, function.line) for function in report.functions}
    assert {name for name, _ in theirs} <= {name for name, _ in ours}
    assert "main" in {name for name, _ in ours}
