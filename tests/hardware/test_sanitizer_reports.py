"""compute-sanitizer's words, captured on an H200, become findings of the user's lines."""

from pathlib import Path

import pytest

from warploom.core.records import Finding, Severity, SourceLocation
from warploom.hardware.sanitizer import findings_in, split_reports

CAPTURED = Path(__file__).parent / "captured"


def user_file(name: str) -> str | None:
    """Know one file of the user's."""
    return "/user/defects.cu" if Path(name).name == "defects.cu" else None


def address(offset: int) -> SourceLocation | None:
    """Know one place of the user's."""
    return SourceLocation("/user/defects.cu", 56, "main") if offset == 0x9342 else None


def read(name: str) -> tuple[tuple[Finding, ...], int, bool]:
    """Return what one captured log says."""
    text = (CAPTURED / f"{name}.txt").read_text().replace("in defects\n", "in program\n")
    return findings_in(name.partition("_")[0], text, 1, user_file, address)


@pytest.mark.parametrize(
    ("name", "kind", "line", "kernel"),
    [
        ("memcheck_past_end", "out_of_bounds", 8, "past_end"),
        ("memcheck_shared_past_end", "out_of_bounds", 12, "shared_past_end"),
        ("memcheck_misaligned", "misaligned", 35, "misaligned"),
        ("initcheck_unset", "uninitialized_read", 21, "unset"),
    ],
)
def test_a_bad_access_names_kind_line_kernel_and_thread(
    name: str, kind: str, line: int, kernel: str
) -> None:
    findings, _, complete = read(name)
    first = findings[0]
    assert complete
    assert (first.kind, first.file, first.line) == (kind, "/user/defects.cu", line)
    assert first.kernel == kernel
    assert first.rank == 1
    assert first.severity is Severity.ERROR
    assert first.thread is not None and first.block == (0, 0, 0)
    assert "0x" not in first.message  # equal reports of two runs must be equal


def test_a_race_has_two_places() -> None:
    (race,), foreign, complete = read("racecheck_race")
    assert (race.kind, race.line, foreign, complete) == ("shared_memory_race", 17, 0, True)
    assert race.other is not None and race.other.line == 18


def test_a_call_that_fails_is_the_users_where_the_user_made_it() -> None:
    (error,), foreign, _ = read("memcheck_bad_launch")
    assert (error.kind, error.line, foreign) == ("api_error", 56, 0)
    assert "cudaLaunchKernel" in error.message


def test_a_call_that_a_library_made_is_foreign() -> None:
    text = (
        (CAPTURED / "memcheck_bad_launch.txt").read_text().replace("in defects", "in libnccl.so.2")
    )
    findings, foreign, complete = findings_in("memcheck", text, 0, user_file, address)
    assert (findings, foreign, complete) == ((), 1, True)


def test_a_leak_is_a_warning_at_the_allocation() -> None:
    text = (CAPTURED / "memcheck_leak.txt").read_text().replace("in defects\n", "in program\n")
    place = SourceLocation("/user/defects.cu", 41, "main")
    findings, _, _ = findings_in("memcheck", text, 0, user_file, lambda _: place)
    assert [(f.kind, f.severity, f.line) for f in findings] == [("leak", Severity.WARNING, 41)] * 2


def test_silence_counts_only_with_a_summary() -> None:
    clean, _, complete = read("memcheck_none")
    assert clean == () and complete
    reports, cut = split_reports("========= COMPUTE-SANITIZER\nhello\n")
    assert reports == () and not cut


def test_a_race_in_a_librarys_kernel_is_foreign() -> None:
    text = (CAPTURED / "racecheck_race.txt").read_text().replace("defects.cu", "elsewhere.h")
    findings, foreign, _ = findings_in("racecheck", text, 0, user_file, address)
    assert (findings, foreign) == ((), 1)
