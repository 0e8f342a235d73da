"""Where work is done: in this process, in processes of this machine, or by a cluster."""

from warploom.jobs.config import JobConfig
from warploom.jobs.inline import InlineEngine
from warploom.jobs.local import LocalEngine
from warploom.jobs.opening import Place, open_engine
from warploom.jobs.protocol import Done, Engine, Loss, Task, Work, WorkLostError
from warploom.jobs.scheduler import JobScheduler

__all__ = [
    "Done",
    "Engine",
    "InlineEngine",
    "JobConfig",
    "JobScheduler",
    "LocalEngine",
    "Loss",
    "Place",
    "Task",
    "Work",
    "WorkLostError",
    "open_engine",
]
