"""Suites of references: the internal one, KernelBench's folders, and any folder of references."""

from warploom.synthesis.suite.runner import TaskOutcome, run_suite, table_text
from warploom.synthesis.suite.tasks_of import SuiteTask, files_left_out, find_suite

__all__ = ["SuiteTask", "TaskOutcome", "files_left_out", "find_suite", "run_suite", "table_text"]
