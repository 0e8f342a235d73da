"""Host NCCL and MPI give what they document, and each defect is named with its kind and line."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.core.records import BuildSpec, Limits, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, build, run

PROGRAMS = Path(__file__).with_name("programs")
DEFECTS = PROGRAMS / "host_defects.cu"
SCHEDULES = [RunSpec(0, Timing.EAGER), RunSpec(0, Timing.LAZY), RunSpec(5, Timing.RANDOM)]
KINDS = {
    "wrong_size": "collective_mismatch",
    "duplicate_device": "duplicate_device",
    "send_send": "deadlock",
    "send_count": "collective_mismatch",
    "order": "collective_mismatch",
    "count": "collective_mismatch",
    "type": "collective_mismatch",
    "operation": "collective_mismatch",
    "root": "collective_mismatch",
    "missing_rank": "deadlock",
    "past_end": "out_of_bounds",
    "host_buffer": "device_dereference_host",
    "wrong_device": "launch_error",
    "peer": "peer_out_of_range",
    "early_read": "readback_before_sync",
    "reuse": "data_race",
    "destroyed": "use_after_destroy",
    "no_communicator": "use_after_destroy",
    "extra_end": "group_unclosed",
    "free_twice": "double_free",
    "mpi_order": "mpi_mismatch",
    "mpi_root": "mpi_mismatch",
    "mpi_size": "mpi_mismatch",
    "mpi_type": "mpi_mismatch",
    "mpi_gather_type": "mpi_mismatch",
    "mpi_count": "mpi_mismatch",
    "mpi_operation": "mpi_mismatch",
    "mpi_message_type": "mpi_mismatch",
    "mpi_scatter_truncation": "mpi_truncation",
    "mpi_truncation": "mpi_truncation",
    "mpi_send_send": "deadlock",
    "mpi_no_sender": "deadlock",
    "mpi_early": "readback_before_sync|data_race",
    "mpi_early_exchange": "readback_before_sync|data_race",
    "mpi_early_receive": "data_race",
    "mpi_aliased": "overlapping_buffers",
    "mpi_aliased_sum": "overlapping_buffers",
    "mpi_aliased_root": "overlapping_buffers",
    "mpi_aliased_blocks": "overlapping_buffers",
    "mpi_started": "mpi_mismatch",
    "mpi_not_persistent": "mpi_mismatch",
    "mpi_replaced_early": "readback_before_sync|data_race",
    "mpi_late": "mpi_mismatch",
}


@cache
def built(name: str) -> EmulatorBuild:
    return build(BuildSpec(PROGRAMS / name))


def emulate(name: str, schedule: RunSpec, *args: str, ranks: int = 4, **options) -> EmulatorRun:
    limits = Limits(seconds=30)
    return run(
        built(name), RunOptions(run=schedule, ranks=ranks, args=args, limits=limits, **options)
    )


def lines_of(defect: str) -> set[int]:
    return {
        number
        for number, line in enumerate(DEFECTS.read_text().splitlines(), 1)
        if defect in line.partition("// EXPECT ")[2].split()
    }


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
@pytest.mark.parametrize("ranks", [1, 2, 4, 5])
@pytest.mark.parametrize(
    "program",
    ["nccl_collectives.cu", "mpi_calls.cu", "mpi_shapes.cu", "mpi_operations.cu", "plain.c"],
)
def test_calls_do_what_they_document(program: str, ranks: int, schedule: RunSpec):
    outcome = emulate(program, schedule, ranks=ranks)
    assert outcome.stdout == ""
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
@pytest.mark.parametrize("ranks", [2, 5])
def test_one_process_drives_all_devices(ranks: int, schedule: RunSpec):
    outcome = emulate("nccl_single_process.cu", schedule, ranks=ranks, processes="single")
    assert outcome.stdout == ""
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.timing)
def test_no_finding_without_a_defect(schedule: RunSpec):
    assert emulate(DEFECTS.name, schedule).findings == ()


@pytest.mark.parametrize("defect", sorted(KINDS))
def test_defect_is_named_with_its_line(defect: str):
    expected, lines = set(KINDS[defect].split("|")), lines_of(defect)
    assert lines
    for schedule in SCHEDULES:
        outcome = emulate(DEFECTS.name, schedule, defect)
        errors = [f for f in outcome.findings if f.severity is Severity.ERROR]
        found = {(f.kind, f.line) for f in errors}
        assert any(kind in expected and line in lines for kind, line in found), (schedule, errors)
        assert {kind for kind, _ in found} <= {*expected, "exit_code"}, (schedule, errors)
        assert all(f.hint for f in errors)


def test_what_was_not_destroyed_is_a_warning():
    outcome = emulate(DEFECTS.name, SCHEDULES[0], "leak")
    assert {(f.kind, f.severity) for f in outcome.findings} == {("leak", Severity.WARNING)}
    assert outcome.verdict is Verdict.OK


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        ("send_send", ("ncclSend to rank", "no matching ncclRecv")),
        ("missing_rank", ("ncclAllReduce", "rank 0 has not started it")),
        ("mpi_no_sender", ("MPI_Recv", "from rank 0, tag 5")),
        ("count", ("4 ncclInt32", "8 ncclInt32", "on rank 0")),
    ],
)
def test_messages_say_who_waits_for_what(defect: str, words: tuple[str, ...]):
    outcome = emulate(DEFECTS.name, SCHEDULES[0], defect)
    text = " ".join(f.message for f in outcome.findings)
    assert all(word in text for word in words), text


@pytest.mark.parametrize("node_size", [1, 2, 4])
def test_each_process_sees_the_devices_of_its_machine(node_size: int):
    outcome = emulate("two_machines.cu", SCHEDULES[-1], str(node_size), node_size=node_size)
    assert outcome.verdict == Verdict.OK, outcome.stdout


@pytest.mark.parametrize("processes", [2, 3])
def test_several_devices_per_process(processes: int):
    outcome = emulate("several_devices.cu", SCHEDULES[-1], ranks=2 * processes, processes=processes)
    assert outcome.stdout == ""
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())
    assert sorted(outcome.exit_codes) == list(range(processes))


def test_processes_must_share_the_devices_out():
    with pytest.raises(BadInputError, match="divide the number of devices"):
        emulate("several_devices.cu", SCHEDULES[0], ranks=4, processes=3)
