"""warploom turns slow, host-driven CUDA into fast, verified CUDA.

The names below are the public API; everything else may change. Each is loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.core.records import Finding
    from warploom.evaluation.cascade import evaluate
    from warploom.evaluation.check import CheckReport, check
    from warploom.evaluation.records import Evaluation
    from warploom.evolve import EvolutionConfig, EvolutionRunner
    from warploom.jobs import Engine, JobConfig, JobScheduler
    from warploom.llm import EmbeddingClient, LLMClient
    from warploom.propose.llm import MetaSummarizer, NoveltyJudge, PromptSampler
    from warploom.source import AnalysisReport, CUDAAnalyzer
    from warploom.source.markers import insert_evolve_markers
    from warploom.source.patches import PatchResult, apply_diff_patch, apply_full_patch
    from warploom.source.regions import Program
    from warploom.store import DatabaseConfig, ProgramDatabase
    from warploom.synthesis import (
        CorrectnessReport,
        KernelArtifact,
        KernelSpec,
        OptimizationPriority,
        Orchestrator,
        PerformanceReport,
        PrecisionTolerance,
        StageTrace,
        SynthesisConfig,
        SynthesisReport,
        SynthesisResult,
        TensorArg,
        synthesize,
    )
    from warploom.transform import (
        HostToDeviceTransformer,
        PipelineStepResult,
        PreTransformPipeline,
        TransformConfig,
    )
    from warploom.workload.workload import Workload

__all__ = [
    "AnalysisReport",
    "CUDAAnalyzer",
    "CheckReport",
    "CorrectnessReport",
    "DatabaseConfig",
    "EmbeddingClient",
    "Engine",
    "Evaluation",
    "EvolutionConfig",
    "EvolutionRunner",
    "Finding",
    "HostToDeviceTransformer",
    "JobConfig",
    "JobScheduler",
    "KernelArtifact",
    "KernelSpec",
    "LLMClient",
    "MetaSummarizer",
    "NoveltyJudge",
    "OptimizationPriority",
    "Orchestrator",
    "PatchResult",
    "PerformanceReport",
    "PipelineStepResult",
    "PreTransformPipeline",
    "PrecisionTolerance",
    "Program",
    "ProgramDatabase",
    "PromptSampler",
    "StageTrace",
    "SynthesisConfig",
    "SynthesisReport",
    "SynthesisResult",
    "TensorArg",
    "TransformConfig",
    "Workload",
    "apply_diff_patch",
    "apply_full_patch",
    "check",
    "evaluate",
    "insert_evolve_markers",
    "synthesize",
]

_HOMES = {
    "AnalysisReport": "warploom.source",
    "CUDAAnalyzer": "warploom.source",
    "CheckReport": "warploom.evaluation.check",
    "CorrectnessReport": "warploom.synthesis",
    "DatabaseConfig": "warploom.store",
    "EmbeddingClient": "warploom.llm",
    "Engine": "warploom.jobs",
    "Evaluation": "warploom.evaluation.records",
    "EvolutionConfig": "warploom.evolve",
    "EvolutionRunner": "warploom.evolve",
    "Finding": "warploom.core.records",
    "HostToDeviceTransformer": "warploom.transform",
    "JobConfig": "warploom.jobs",
    "JobScheduler": "warploom.jobs",
    "KernelArtifact": "warploom.synthesis",
    "KernelSpec": "warploom.synthesis",
    "LLMClient": "warploom.llm",
    "MetaSummarizer": "warploom.propose.llm",
    "NoveltyJudge": "warploom.propose.llm",
    "OptimizationPriority": "warploom.synthesis",
    "Orchestrator": "warploom.synthesis",
    "PatchResult": "warploom.source.patches",
    "PerformanceReport": "warploom.synthesis",
    "PipelineStepResult": "warploom.transform",
    "PreTransformPipeline": "warploom.transform",
    "PrecisionTolerance": "warploom.synthesis",
    "Program": "warploom.source.regions",
    "ProgramDatabase": "warploom.store",
    "PromptSampler": "warploom.propose.llm",
    "StageTrace": "warploom.synthesis",
    "SynthesisConfig": "warploom.synthesis",
    "SynthesisReport": "warploom.synthesis",
    "SynthesisResult": "warploom.synthesis",
    "TensorArg": "warploom.synthesis",
    "TransformConfig": "warploom.transform",
    "Workload": "warploom.workload.workload",
    "apply_diff_patch": "warploom.source.patches",
    "apply_full_patch": "warploom.source.patches",
    "check": "warploom.evaluation.check",
    "evaluate": "warploom.evaluation.cascade",
    "insert_evolve_markers": "warploom.source.markers",
    "synthesize": "warploom.synthesis.orchestrator",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("warploom.core.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
