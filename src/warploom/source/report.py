"""The analyzer's report, with the questions that other layers ask of it."""

from dataclasses import dataclass

from warploom.source.records import ReportData
from warploom.source.render import render_report


@dataclass(frozen=True, slots=True)
class AnalysisReport(ReportData):
    """What is known of a program; `to_json` turns it into plain values."""

    def has_host_communication(self) -> bool:
        """Tell whether the host calls NCCL to move data."""
        return bool(self.collectives)

    def has_device_communication(self) -> bool:
        """Tell whether a kernel or device function uses the NCCL device API."""
        return any(function.device_api for function in self.functions)

    def format_for_llm(self) -> str:
        """Return all of this as compact text, with lines, for a reader without the source."""
        return render_report(self)
