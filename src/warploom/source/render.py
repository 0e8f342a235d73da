"""The report as text."""

from warploom.source.records import ReportData


def render_report(report: ReportData) -> str:
    """Return the report as compact text, one line per fact."""
    return f"{report.file}: {len(report.collectives)} NCCL data calls\n"
