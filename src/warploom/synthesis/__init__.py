"""The third agent: a prompt and a PyTorch reference become a verified kernel.

Five stages: the interview derives the specification from the reference itself, codegen writes a
kernel, correctness accepts it or not, performance searches for a quicker one, and polish exports.
Nothing but `reference` imports PyTorch, in a process of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.synthesis.asking import Request
    from warploom.synthesis.config import (
        Retries,
        SynthesisConfig,
    )
    from warploom.synthesis.correctness import (
        Trial,
        accept,
        prepare_trial,
    )
    from warploom.synthesis.orchestrator import (
        Orchestrator,
        synthesize,
    )
    from warploom.synthesis.records import (
        TARGETS,
        CorrectnessReport,
        KernelArtifact,
        KernelSpec,
        OptimizationPriority,
        PerformanceReport,
        PrecisionTolerance,
        Stage,
        StageTrace,
        TensorArg,
    )
    from warploom.synthesis.result import (
        SynthesisReport,
        SynthesisResult,
    )

__all__ = [
    "TARGETS",
    "CorrectnessReport",
    "KernelArtifact",
    "KernelSpec",
    "OptimizationPriority",
    "Orchestrator",
    "PerformanceReport",
    "PrecisionTolerance",
    "Request",
    "Retries",
    "Stage",
    "StageTrace",
    "SynthesisConfig",
    "SynthesisReport",
    "SynthesisResult",
    "TensorArg",
    "Trial",
    "accept",
    "prepare_trial",
    "synthesize",
]

_HOMES = {
    "CorrectnessReport": "records",
    "KernelArtifact": "records",
    "KernelSpec": "records",
    "OptimizationPriority": "records",
    "Orchestrator": "orchestrator",
    "PerformanceReport": "records",
    "PrecisionTolerance": "records",
    "Request": "asking",
    "Retries": "config",
    "Stage": "records",
    "StageTrace": "records",
    "SynthesisConfig": "config",
    "SynthesisReport": "result",
    "SynthesisResult": "result",
    "TARGETS": "records",
    "TensorArg": "records",
    "Trial": "correctness",
    "accept": "correctness",
    "prepare_trial": "correctness",
    "synthesize": "orchestrator",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
