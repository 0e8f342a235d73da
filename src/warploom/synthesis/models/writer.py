"""Asks models for kernels: the first of them, and a stronger one once its share is spent."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from warploom.llm import LLMClient, LLMRequest
from warploom.llm.transport import Transport
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.correctness.frame import without_includes
from warploom.synthesis.models.prompts import (
    ANSWER,
    SYSTEM,
    faster_text,
    repair_text,
    task_text,
)
from warploom.synthesis.records import CorrectnessReport, KernelSpec, PerformanceReport
from warploom.toolchain.sandbox import require_sandbox

_BLOCK = re.compile(r"```(?:cuda|cpp|c\+\+|cu)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_SHARE = 2  # requests of a stage that a model gets before the next one is asked


@dataclass(frozen=True, slots=True)
class WrittenKernel:
    """A model's reply: the text of its code block, None where it has none."""

    body: str | None
    model: str
    dollars: float


class ModelWriter:
    """Writes kernels by models; use it as a context manager."""

    def __init__(
        self, spec: KernelSpec, reference: Path, config: SynthesisConfig, folder: Path
    ) -> None:
        require_sandbox("a language model", unsafe=config.unsafe)
        self._task = task_text(spec, reference.read_text(encoding="utf-8"))
        groups = {"": config.models, **config.stage_models}
        every: list[str | Transport] = []
        for model in (model for group in groups.values() for model in group):
            every += [] if any(model is known or model == known for known in every) else [model]
        self._client = LLMClient(every, config.budget, folder, settings=config.settings)
        self._asked = {
            stage: [self._client.models[every.index(model)] for model in group]
            for stage, group in groups.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def first(self, attempt: int) -> WrittenKernel:
        """Ask for a kernel."""
        return self._ask("codegen", attempt, "")

    def mended(self, attempt: int, body: str, report: CorrectnessReport) -> WrittenKernel:
        """Ask for a kernel that does not do wrong what `body` did."""
        return self._ask("correctness", attempt, repair_text(body, report))

    def faster(self, attempt: int, body: str, report: PerformanceReport) -> WrittenKernel:
        """Ask for a kernel that is faster than `body`."""
        return self._ask("performance", attempt, faster_text(body, report))

    def _ask(self, stage: str, attempt: int, more: str) -> WrittenKernel:
        models = self._asked.get(stage, self._asked[""])
        request = LLMRequest(
            purpose=f"kernel-{stage}",
            system=SYSTEM,
            prompt="\n\n".join(part for part in (self._task, more, ANSWER) if part),
            key=f"{stage}-{attempt}",
            model=models[min(attempt // _SHARE, len(models) - 1)],
        )
        reply = self._client.ask_blocking(request)
        return WrittenKernel(body_of(reply.text), reply.model, reply.cost_usd or 0.0)


def body_of(reply: str) -> str | None:
    """Return the code of a reply, without the includes that are there anyway; None without one."""
    blocks = _BLOCK.findall(reply)
    if not blocks:
        return None
    return without_includes(max(blocks, key=len))
