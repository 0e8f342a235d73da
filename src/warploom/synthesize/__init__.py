"""The third agent: a prompt and a PyTorch reference become a verified kernel.

Five stages: the interview derives the specification from the reference itself, codegen writes a
kernel, correctness accepts it or not, performance searches for a quicker one, and polish exports.
Nothing but `reference` imports PyTorch, in a process of its own.
"""

from warploom.synthesize.config import Retries, SynthesisConfig
from warploom.synthesize.correctness import Trial, accept, prepare_trial
from warploom.synthesize.orchestrator import Orchestrator, Request, synthesize
from warploom.synthesize.records import (
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
from warploom.synthesize.result import SynthesisReport, SynthesisResult

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
