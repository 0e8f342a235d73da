"""The process runner: limits hold, and nothing is left behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from warploom.core import process
from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.core.process import (
    Stop,
    default_environment,
    run_process,
    run_tool,
    use_supervisor,
)
from warploom.core.records import Limits
from warploom.toolchain.quick_supervisor import build_supervisor


@pytest.fixture(autouse=True, params=["compiled", "interpreted"])
def supervisor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every test holds for both supervisors; what a test starts uses the same one."""
    before = list(process._quick_supervisor)
    chosen = build_supervisor() if request.param == "compiled" else None
    use_supervisor(chosen)
    yield "" if chosen is None else str(chosen)
    process._quick_supervisor[:] = before


def python(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


def is_gone(pid: int) -> bool:
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.02)
    return False


def test_exit_code_and_both_outputs():
    result = run_process(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (result.exit_code, result.signal, result.stopped) == (3, None, None)
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert not result.ok and not result.truncated


def test_a_file_that_was_just_written_runs(tmp_path: Path):
    """A child of another thread's may hold it open for a moment."""
    program = tmp_path / "echo"
    shutil.copy("/bin/echo", program)
    held = program.open("ab")
    closing = threading.Timer(0.2, held.close)
    closing.start()
    assert run_process([program, "ran"]).stdout == b"ran\n"
    closing.join()


def test_a_signal_is_told_apart_from_an_exit_code():
    result = run_process(["sh", "-c", "kill -SEGV $$"])
    assert (result.exit_code, result.signal) == (None, signal.SIGSEGV)


def test_standard_input_is_empty():
    assert run_process(["cat"], limits=Limits(seconds=10)).ok


def test_only_the_given_environment_arrives(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_API_KEY", "hunter2")
    assert b"hunter2" not in run_process(["env"]).stdout
    assert set(default_environment()) <= {"PATH", "LANG", "LC_ALL", "TMPDIR", "TZ"}
    given = run_process(["/usr/bin/env"], environment={"A": "1"}).stdout.decode().split()
    assert "A=1" in given and not any(line.startswith("PATH=") for line in given)


def test_a_missing_program_is_named():
    with pytest.raises(MissingToolError, match="no-such-program"):
        run_process(["no-such-program"])


def test_endless_loop_is_stopped():
    result = run_process(python("while True: pass"), limits=Limits(seconds=0.5))
    assert result.stopped is Stop.TIMEOUT and result.exit_code is None
    assert result.seconds < 3


def test_a_program_that_ignores_signals_is_stopped():
    code = """
        import signal, time
        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
        time.sleep(60)
    """
    assert run_process(python(code), limits=Limits(seconds=0.5)).seconds < 3


def test_endless_output_is_stopped_and_cut():
    result = run_process(["yes"], limits=Limits(seconds=20, output_mb=1))
    assert result.stopped is Stop.OUTPUT and result.truncated
    assert len(result.stdout) == 1 << 20


def test_output_limit_counts_both_streams():
    code = "import sys; sys.stdout.write('a' * 700_000); sys.stderr.write('b' * 700_000)"
    result = run_process(python(code), limits=Limits(output_mb=1))
    assert result.truncated and len(result.stdout) + len(result.stderr) == 1 << 20


def test_100_gb_are_not_given():
    code = """
        blocks = []
        for _ in range(100 * 16):
            blocks.append(bytearray(64 << 20))
    """
    result = run_process(python(code), limits=Limits(seconds=60, memory_mb=400))
    assert result.stopped is Stop.MEMORY
    assert 400 < result.memory_mb < 4000 and result.memory_limit_mb == 400


def test_memory_is_counted_over_all_processes():
    code = """
        import os, time
        for _ in range(4):
            if os.fork() == 0:
                block = bytearray(60 << 20)
                time.sleep(60)
        time.sleep(60)
    """
    result = run_process(python(code), limits=Limits(seconds=30, memory_mb=200))
    assert result.stopped is Stop.MEMORY


def test_the_limit_never_exceeds_the_machine():
    assert run_process(["true"], limits=Limits(memory_mb=1 << 40)).memory_limit_mb < 1 << 30


def test_orphans_in_other_sessions_are_killed(tmp_path: Path):
    note = tmp_path / "pid"
    code = f"""
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open({str(note)!r}, "w").write(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        while not os.path.exists({str(note)!r}) or not open({str(note)!r}).read(): time.sleep(0.01)
    """
    assert run_process(python(code), limits=Limits(seconds=20)).ok
    assert is_gone(int(note.read_text()))


def test_too_many_processes_are_stopped():
    code = """
        import os, time
        for _ in range(700):
            if os.fork() == 0: time.sleep(600)
        time.sleep(600)
    """
    result = run_process(python(code), limits=Limits(seconds=30, memory_mb=1 << 20))
    assert result.stopped in (Stop.PROCESSES, None)
    assert result.stopped or b"BlockingIOError" in result.stderr


def test_the_tree_dies_with_us(tmp_path: Path, supervisor: str):
    note = tmp_path / "pid"
    code = f"""
        from pathlib import Path
        from warploom.core.process import run_process, use_supervisor
        use_supervisor(Path({supervisor!r}) if {supervisor!r} else None)
        run_process(["sh", "-c", "sleep 600 & echo $! > {note}; wait"])
    """
    ours = subprocess.Popen(python(code))
    while not note.exists() or not note.read_text():
        time.sleep(0.02)
    ours.kill()
    ours.wait()
    assert is_gone(int(note.read_text()))


def test_ctrl_c_kills_the_tree(tmp_path: Path, supervisor: str):
    note = tmp_path / "pid"
    code = f"""
        from pathlib import Path
        from warploom.core.process import run_process, use_supervisor
        use_supervisor(Path({supervisor!r}) if {supervisor!r} else None)
        try:
            run_process(["sh", "-c", "sleep 600 & echo $! > {note}; wait"])
        except KeyboardInterrupt:
            raise SystemExit(130)
    """
    ours = subprocess.Popen(python(code))
    while not note.exists() or not note.read_text():
        time.sleep(0.02)
    ours.send_signal(signal.SIGINT)
    assert ours.wait(10) == 130
    assert is_gone(int(note.read_text()))


def test_cancel_from_another_thread():
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    result = run_process(["sleep", "60"], cancel=cancel)
    assert result.stopped is Stop.CANCELLED and result.seconds < 3


def test_channels_and_descriptors_arrive_under_their_numbers(tmp_path: Path):
    reader, writer = os.pipe()
    os.write(writer, b"configuration")
    os.close(writer)
    data = tmp_path / "data"
    with data.open("wb") as file:
        result = run_process(
            ["bash", "-c", "cat <&3 >&4; echo to-file >&5;"],
            channels=[4],
            descriptors={3: reader, 5: file.fileno()},
        )
    os.close(reader)
    assert result.channels == {4: b"configuration"}
    assert data.read_bytes() == b"to-file\n"


def test_no_descriptor_of_ours_leaks(tmp_path: Path):
    with (tmp_path / "secret").open("w"):
        listed = run_process(["ls", "-l", "/proc/self/fd"]).stdout.decode()
    assert "secret" not in listed


def test_no_descriptor_or_zombie_is_left_here():
    run_process(["true"])
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    before, others = len(list(Path("/proc/self/fd").iterdir())), listed.read_text().split()
    for _ in range(5):
        run_process(["sh", "-c", "sleep 60 & exit 1"], channels=[4])
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert set(listed.read_text().split()) <= set(others)


def test_largest_file_is_limited(tmp_path: Path):
    result = run_process(
        ["dd", "if=/dev/zero", "of=big", "bs=1M", "count=4"], folder=tmp_path, file_mb=1
    )
    assert not result.ok and (tmp_path / "big").stat().st_size <= 1 << 20


def test_signals_and_limits_are_the_same_below_both_supervisors():
    shown = run_process(
        ["sh", "-c", "grep Sig /proc/self/status; ulimit -c; ulimit -f"], file_mb=3
    ).stdout
    ignored = re.search(rb"SigIgn:\s*(\w+)", shown)
    blocked = re.search(rb"SigBlk:\s*(\w+)", shown)
    assert ignored and blocked and int(blocked[1], 16) == 0
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # errors of calls, not the end
        assert int(ignored[1], 16) >> (number - 1) & 1
    assert not int(ignored[1], 16) >> (signal.SIGCHLD - 1) & 1
    assert shown.splitlines()[-2:] == [b"0", b"6144"]


def test_the_supervisor_cannot_be_read_by_its_command(supervisor: str):
    """Asked as nobody: root may read all."""
    if not supervisor or os.geteuid() != 0:
        pytest.skip("an interpreter in a private folder cannot be started as nobody")
    with Path(supervisor).open("rb") as program:
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
        watch = [f"/proc/self/fd/{program.fileno()}", str(os.getpid()), *["0"] * 3, *[""] * 3]
        for whose, readable in (("$$", True), ("$PPID", False)):
            looked = subprocess.run(
                [*nobody, *watch, "/bin/sh", "-c", f"cat /proc/{whose}/environ"],
                pass_fds=[program.fileno()],
                capture_output=True,
                check=False,
            )
            assert (looked.returncode == 0) is readable, looked.stderr
            assert readable or b"Permission denied" in looked.stderr


def test_a_program_that_cannot_start_says_why(tmp_path: Path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    result = run_process([broken])
    assert result.exit_code == 127 and b"cannot run" in result.stderr


def test_a_supervisor_that_is_gone_is_made_up_for(tmp_path: Path):
    use_supervisor(tmp_path / "cleared")
    assert run_process(["true"]).ok


def test_run_tool_carries_the_log():
    with pytest.raises(ToolFailedError, match=r"sh must succeed.*exit code 4(.|\n)*broken here"):
        run_tool(["sh", "-c", "echo broken here; exit 4"])
