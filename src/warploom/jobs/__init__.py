"""Where work is done: in this process, or in worker processes of this machine."""

from warploom.jobs.inline import InlineJobs
from warploom.jobs.local import LocalJobs
from warploom.jobs.protocol import Done, Jobs, WorkerDiedError

__all__ = ["Done", "InlineJobs", "Jobs", "LocalJobs", "WorkerDiedError"]
