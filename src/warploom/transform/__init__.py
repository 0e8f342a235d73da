"""The fast path: a host-driven program becomes a verified device-initiated one, in stages."""

from warploom.transform.config import TransformConfig
from warploom.transform.host_to_device import HostToDeviceTransformer
from warploom.transform.pipeline import PreTransformPipeline
from warploom.transform.records import PipelineResult, PipelineStepResult, StageResult, StepStatus
from warploom.transform.state import unmarked

__all__ = [
    "HostToDeviceTransformer",
    "PipelineResult",
    "PipelineStepResult",
    "PreTransformPipeline",
    "StageResult",
    "StepStatus",
    "TransformConfig",
    "unmarked",
]
