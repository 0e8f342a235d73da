"""Level 0 on what `transform` makes: its regions are legal, and so are edits of generated code."""

from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.evaluation.legality.check import refusals
from warploom.propose import Stage
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer
from warploom.source.markers import insert_evolve_markers
from warploom.source.regions import Program

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/*.cu"))


def generated(path: Path, api: Api, folder: Path) -> Program:
    """Return the device-initiated program with its markers, as the pipeline makes it."""
    marked = folder / path.name
    marked.write_text(insert_evolve_markers(path.read_text(), CUDAAnalyzer(path).analyze()))
    plan = RewritePlan(api, Stage.DEVICE, markers=True)
    text = rewrite(marked.read_text(), CUDAAnalyzer(marked).analyze(), plan).text
    return Program(text, path)


@pytest.mark.parametrize("api", list(Api))
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_generated_regions_are_legal_and_may_be_edited(
    path: Path, api: Api, tmp_path: Path
) -> None:
    trusted = generated(path, api, tmp_path)
    assert "communication" in [region.name for region in trusted.regions]
    assert refusals(trusted, trusted) == []
    bodies = [
        trusted.body(region)
        .replace(" int peer", " const int peer")
        .replace("threadIdx.x;", "threadIdx.x + 0;")
        .replace("wire, gin,", "wire, gin, ")
        .replace(", stream);", ", stream );")
        for region in trusted.regions
    ]
    edited = trusted.with_bodies(bodies)
    assert edited.text != trusted.text
    assert refusals(edited, trusted) == []


@pytest.mark.parametrize("api", list(Api))
def test_the_evaluators_own_namespace_stays_closed(api: Api, tmp_path: Path) -> None:
    trusted = generated(EXAMPLES / "moe" / "moe.cu", api, tmp_path)
    names = [region.name for region in trusted.regions]
    bodies = [trusted.body(region) for region in trusted.regions]
    bodies[names.index("pipeline")] += "  warploom::report_readback(nullptr, 0);\n"
    found = refusals(trusted.with_bodies(bodies), trusted)
    assert [item.kind for item in found] == ["reserved_name"]
