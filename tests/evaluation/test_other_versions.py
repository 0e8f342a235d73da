"""A program that would be right by the rules of another NCCL is told by which."""

from pathlib import Path

import pytest

from warploom.core.errors import SourceError
from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.other_versions import others
from warploom.evaluation.runs.plan import Effort

PROGRAMS = Path(__file__).parents[1] / "corpus" / "programs"


def test_the_nearest_versions_come_first() -> None:
    assert others("2.30.7") == ["2.31.2", "2.29.7", "2.32.3", "2.28.9"]
    assert others("2.28.9")[0] == "2.29.7"


def test_names_that_a_version_lacks() -> None:
    report = check(PROGRAMS / "gin_ring.cu", ranks=2, nccl="2.28.9", effort=Effort.QUICK)
    assert report.verdict is Verdict.UNSUPPORTED
    assert "with NCCL 2.30.7 it compiles: --nccl 2.30.7" in report.findings[0].finding.hint


def test_a_rule_that_a_version_has_not() -> None:
    program = PROGRAMS / "dev_lsa_allreduce_228.cu"
    defines = {"DEFECT_CLEARED_ON_229": ""}
    report = check(program, ranks=2, nccl="2.29.7", defines=defines, effort=Effort.QUICK)
    found = {item.finding.kind: item.finding for item in report.findings}
    assert "--nccl 2.28.9" in found["requirements_initializer"].hint


def test_what_no_version_cures_is_told_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    path.write_text(
        "#include <cuda_runtime.h>\n#include <nccl.h>\n"
        "int main() { ncclComm_t c; return ncclFrobnicate(c) + cudaDeviceSynchronize(); }\n"
    )
    report = check(path, ranks=2, effort=Effort.QUICK)
    assert "--nccl" not in report.findings[0].finding.hint
    path.write_text(
        "#include <cuda_runtime.h>\nint main() { return cudaDeviceSynchronize() + y; }\n"
    )
    with pytest.raises(SourceError) as error:
        check(path, ranks=2, effort=Effort.QUICK)
    assert "--nccl" not in error.value.hint
