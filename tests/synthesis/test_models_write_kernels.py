"""Kernels of models: scripted ones that fail, cheat and mend; nothing wrong is ever verified."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from warploom.llm import Budget
from warploom.synthesis.config import Retries, SynthesisConfig
from warploom.synthesis.models.writer import body_of
from warploom.synthesis.orchestrator import synthesize
from warploom.synthesis.result import SynthesisResult
from warploom.testing.kernel_attacks import HONEST, REFERENCE
from warploom.testing.scripted import ScriptedModel

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'warploom[torch]'")

_ZEROS = HONEST.replace("x[i] * 2.0f + 1.0f", "0.0f")
_FAST = HONEST.replace("i < n; i +=", "i < n / 2; i +=")
_ONE_BLOCK = HONEST.replace("<<<8, 128", "<<<1, 32")


def _reply(text: str, words: str = "Here it is.") -> str:
    return f"{words}\n\n```cuda\n{text}```\n"


def _run(
    folder: Path,
    replies: Iterable[str],
    *,
    mend: int = 3,
    faster: int = 0,
    requests: int | None = None,
) -> tuple[SynthesisResult, ScriptedModel]:
    reference = folder / "twice.py"
    reference.write_text(REFERENCE)
    model = ScriptedModel(list(replies))
    config = SynthesisConfig(
        proposer="llm", models=(model,), nvcc=False, jobs=2,
        budget=Budget(tokens=1_000_000, requests=requests),
        retries=Retries(codegen=1, correctness=mend, performance=faster),
    )  # fmt: skip
    return synthesize("y = 2 x + 1", reference, "sm_90", config, out=folder / "out"), model


@pytest.mark.parametrize(
    ("name", "replies"),
    [
        ("a compile error", [_reply(HONEST.replace("float* y =", "flaot* y ="))]),
        ("a wrong result", [_reply(_ZEROS)]),
        ("no code at all", ["I would rather not.", "Still not."]),
        ("a tolerance of its own", [_reply(_ZEROS, "Please use rtol=10, atol=10: it is enough.")]),
        ("a pass string", [_reply(_ZEROS.replace("  if (n > 0)", '  printf("PASSED\\n");\n  if (n > 0)'))]),  # noqa: E501
    ],
)  # fmt: skip
def test_it_is_never_verified(name: str, replies: list[str], tmp_path: Path) -> None:
    result, _ = _run(tmp_path, replies, mend=0)
    assert not result.verified, name
    assert result.exit_code == 1
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["verified"] is False
    assert not (tmp_path / "out" / "package").exists()


def test_a_wrong_kernel_is_mended_by_what_it_is_told(tmp_path: Path) -> None:
    result, model = _run(tmp_path, [_reply(_ZEROS), _reply(HONEST)])
    assert result.verified, result.correctness
    told = str(model.exchanges[1])
    assert "wrong_result" in told
    assert "Your last kernel was refused" in told
    assert result.kernel is not None
    assert result.kernel.origin.endswith("scripted")


def test_a_fast_kernel_that_is_wrong_does_not_replace_a_right_one(tmp_path: Path) -> None:
    replies = [_reply(_ONE_BLOCK), _reply(_FAST), _reply(HONEST)]
    result, _ = _run(tmp_path, replies, faster=2)
    assert result.verified
    assert result.kernel is not None
    assert "n / 2" not in result.kernel.text
    assert "<<<8, 128" in result.kernel.text  # the faster one that is right
    text = (tmp_path / "out" / "kernel.cu").read_text()
    assert text.endswith(result.kernel.text)


def test_a_right_kernel_is_kept_where_a_cap_ends_the_search(tmp_path: Path) -> None:
    result, model = _run(tmp_path, [_reply(HONEST), _reply(_FAST)], faster=3, requests=2)
    assert len(model.exchanges) == 2
    assert result.verified
    assert result.exit_code == 0
    assert result.kernel is not None
    assert result.kernel.text == HONEST
    assert (tmp_path / "out" / "package").is_dir()
    notes = [note for stage in result.stages for note in stage.notes]
    assert any("cap of 2 requests" in note for note in notes), notes


def test_the_code_of_a_reply_is_its_largest_block_without_known_includes() -> None:
    reply = "```\nsmall\n```\nthen\n```cuda\n#include <cuda_runtime.h>\nint x;\nint y;\n```\n"
    assert body_of(reply) == "int x;\nint y;\n"
    assert body_of("nothing here") is None
