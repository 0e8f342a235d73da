"""Lines that are judged and not written, in answers of models and agents."""

from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.propose import Proposal, ProposalContext
from warploom.source import CUDAAnalyzer
from warploom.source.units import ONLY_HERE
from warploom.transform.config import TransformConfig
from warploom.transform.host_to_device import HostToDeviceTransformer, Task
from warploom.transform.own_lines import own_lines_problem, unwatched_kernels
from warploom.transform.seen_results import without_results_seen
from warploom.transform.state import unmarked
from warploom.workload.workload import Workload

FIRST = f"#include <vector>  {ONLY_HERE}\n"
GIVEN = f"""\
{FIRST}void step(int* x) {{
  send(x);
  read(x);  {ONLY_HERE}
}}
"""
COPIES = "\n".join(
    (
        "#include <nccl.h>",
        "__global__ void fill(float* x) { x[0] = 1; }",
        "__global__ void twice(float* x) { x[0] *= 2; }",
        "void step(float* x, ncclComm_t comm) {",
        "  fill<<<1, 1>>>(x);",
        "  ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, 0);",
        "}",
        "",
    )
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  send(x);\n", f"  send(x);\n  wait(x);  {ONLY_HERE}\n"),  # judged, and not written
        (f"  read(x);  {ONLY_HERE}\n", ""),
        ("  read(x);  ", "  read(x); wait(x);  "),
        ("#include <vector>", "// \\\n#include <vector>"),
        ("#include <vector>", "// \\ \n#include <vector>"),
        ("#include <vector>", "/* \\\n#include <vector>"),
        (
            f"#include <vector>  {ONLY_HERE}\n",
            f'auto t = R"(\n#include <vector>  {ONLY_HERE}\n)";\n',
        ),
        (FIRST, f"#define X 1 \\\n{FIRST}"),
    ],
)
def test_what_is_written_must_be_what_was_judged(old: str, new: str) -> None:
    assert own_lines_problem(GIVEN, GIVEN) == ""
    assert own_lines_problem(GIVEN, GIVEN.replace("send(x)", "put(x), wait(x)")) == ""
    assert GIVEN.count(old) == 1
    assert own_lines_problem(GIVEN, GIVEN.replace(old, new)) != ""


def test_lines_that_the_one_text_of_several_files_has_stay() -> None:
    defines = f"#define pack pack_of_2  {ONLY_HERE}\n"
    assert without_results_seen(GIVEN) == "void step(int* x) {\n  send(x);\n}\n"
    assert without_results_seen(defines + GIVEN, defines).startswith(defines)


def test_kernels_that_nothing_watches_are_named(tmp_path: Path) -> None:
    def told(text: str) -> str:
        path = tmp_path / "quiet.cu"
        path.write_text(text)
        return unwatched_kernels(CUDAAnalyzer(path).analyze())

    assert told(COPIES) == ""  # it shows in what is sent
    assert "twice at line 7" in told(COPIES.replace("\n}\n", "\n  twice<<<1, 1>>>(x);\n}\n"))
    other = "void more(float* x) { twice<<<1, 1>>>(x); }\nvoid step("
    assert "twice at line 4" in told(COPIES.replace("void step(", other))


def test_an_answer_with_lines_that_would_not_be_written_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "plain.cu"
    path.write_text(COPIES)
    workload = Workload.from_program(path)
    task = Task(COPIES, CUDAAnalyzer(path).analyze(), unmarked(workload, COPIES, tmp_path))

    class Agent:
        name = "agent"

        def propose(self, context: ProposalContext) -> Proposal | None:
            text = context.text.replace("(x);\n", f"(x);  {ONLY_HERE}\n")
            return (
                Proposal(text, "agent", "a line is there for the judge")
                if context.attempt == 1
                else None
            )

    transformer = HostToDeviceTransformer(TransformConfig(two_stage=False), proposer=Agent())
    [stage] = transformer.transform(task, Api.GIN)
    assert not stage.passed and stage.evaluation is None and ONLY_HERE in stage.problem
