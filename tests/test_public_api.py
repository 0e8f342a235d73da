"""The public names: these, all of them importable, each loaded only when used."""

import pickle
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import warploom

NAMES = [
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


def test_the_names_are_pinned() -> None:
    assert sorted(warploom.__all__) == sorted(NAMES)
    assert set(NAMES) <= set(dir(warploom))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(warploom, name)
    assert value.__doc__
    assert callable(value)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = warploom.evalute
    with pytest.raises(AttributeError):
        _ = warploom.evaluation.nonsense


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_same_after_its_home_was_imported(name: str) -> None:
    value = getattr(warploom, name)
    import_module(value.__module__)
    assert getattr(warploom, name) is value
    assert not isinstance(value, ModuleType)
    assert pickle.loads(pickle.dumps(value)) == value


def test_importing_warploom_loads_nothing_else() -> None:
    code = (
        "import sys, warploom; "
        "print([m for m in sys.modules if m.startswith('warploom.')]); "
        "import warploom.cli; "
        "print({'numpy', 'typer', 'tree_sitter'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nset()\n"
