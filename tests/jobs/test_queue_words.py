"""What is told of jobs that wait in Slurm's queue."""

from warploom.jobs.squeue import JobState, waiting_for

LIMIT = JobState("PENDING", reason="PartitionTimeLimit")


def test_jobs_that_all_wait_are_told_with_the_reason() -> None:
    assert waiting_for([LIMIT]) == "1 job waits in Slurm's queue: PartitionTimeLimit"
    others = [LIMIT, JobState("PENDING", reason="Priority"), LIMIT, JobState("CONFIGURING")]
    said = "all 4 jobs wait in Slurm's queue: PartitionTimeLimit, Priority"
    assert waiting_for(others) == said


def test_nothing_is_told_where_work_goes_on() -> None:
    assert waiting_for([]) == waiting_for([None]) == ""
    assert waiting_for([LIMIT, JobState("RUNNING", "n1")]) == ""
