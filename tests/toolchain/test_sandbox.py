"""The sandbox hides, bounds and says what it is."""

import os
import signal
import socket
import sys
import textwrap
from pathlib import Path

import pytest

from warploom.core.process import Stop
from warploom.core.records import Limits
from warploom.toolchain.sandbox import Sandbox, SandboxKind, find_sandbox, run_sandboxed

WEAK = Sandbox(SandboxKind.LIMITS, reason="asked by a test")
LIMITS = Limits(seconds=20, memory_mb=1024, output_mb=1)


@pytest.fixture(params=["bubblewrap", "limits"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "limits":
        return WEAK
    found = find_sandbox()
    if found.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(found.reason)
    return found


@pytest.fixture
def strong() -> Sandbox:
    found = find_sandbox()
    if found.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(found.reason)
    return found


def shell(code: str, sandbox: Sandbox, **options):
    return run_sandboxed(
        ["/bin/bash", "-c", textwrap.dedent(code)], limits=LIMITS, sandbox=sandbox, **options
    )


def test_it_says_how_it_confined(sandbox: Sandbox):
    result = shell("exit 7", sandbox)
    assert result.kind is sandbox.kind and result.process.exit_code == 7


def test_signals_come_through(sandbox: Sandbox):
    assert shell("kill -SEGV $$", sandbox).process.signal == signal.SIGSEGV


def test_environment_is_not_ours(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_API_KEY", "hunter2")
    out = shell("env", sandbox, environment={"GIVEN": "yes"}).process.stdout
    assert b"hunter2" not in out and b"GIVEN=yes" in out


def test_working_directory_is_empty_and_writable_and_thrown_away(sandbox: Sandbox):
    result = shell("ls -A; pwd; echo x > file && cat file", sandbox).process
    where, content = result.stdout.decode().split()
    assert content == "x" and not Path(where).exists()


def test_channels_come_through(sandbox: Sandbox, tmp_path: Path):
    reader, writer = os.pipe()
    os.write(writer, b"key=value\n")
    os.close(writer)
    with (tmp_path / "data").open("wb") as file:
        result = shell(
            "cat <&3 >&4; echo bytes >&5",
            sandbox,
            channels=[4],
            descriptors={3: reader, 5: file.fileno()},
        )
    os.close(reader)
    assert result.process.channels[4] == b"key=value\n"
    assert (tmp_path / "data").read_bytes() == b"bytes\n"


def test_memory_is_bounded(sandbox: Sandbox):
    code = "blocks = [bytearray(64 << 20) for _ in range(1600)]"
    result = run_sandboxed(
        [sys.executable, "-I", "-c", code],
        limits=Limits(seconds=60, memory_mb=400, output_mb=1),
        readable=[Path(sys.prefix), Path(sys.base_prefix)],
        sandbox=sandbox,
    ).process
    assert result.stopped is Stop.MEMORY and result.memory_mb < 4000


def test_time_is_bounded_and_nothing_survives(sandbox: Sandbox):
    result = run_sandboxed(
        ["/bin/bash", "-c", "setsid sleep 987654 & while :; do :; done"],
        limits=Limits(seconds=1, memory_mb=1024, output_mb=1),
        sandbox=sandbox,
    ).process
    assert result.stopped is Stop.TIMEOUT
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                assert b"987654" not in (entry / "cmdline").read_bytes()
            except OSError:
                continue


def test_home_is_hidden(strong: Sandbox):
    home = Path.home()
    result = shell(f"ls -A {home} | wc -l", strong).process
    assert result.stdout.strip() == b"0"


def test_root_is_read_only(strong: Sandbox):
    assert not shell("echo x > /usr/warploom-test", strong).process.ok
    assert not Path("/usr/warploom-test").exists()


def test_files_of_the_machines_tmp_are_hidden_but_for_named_ones(strong: Sandbox, tmp_path: Path):
    (tmp_path / "file").write_text("content")
    assert not shell(f"cat {tmp_path}/file", strong).process.ok
    assert shell(f"cat {tmp_path}/file", strong, readable=[tmp_path]).process.stdout == b"content"
    assert not shell(f"echo x > {tmp_path}/file", strong, readable=[tmp_path]).process.ok


def test_there_is_no_network(strong: Sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        weak = shell(f"exec 9<>/dev/tcp/127.0.0.1/{port}", WEAK).process
        confined = shell(f"exec 9<>/dev/tcp/127.0.0.1/{port}", strong).process
    assert weak.ok and not confined.ok


def test_other_processes_are_not_seen(strong: Sandbox):
    assert not shell(f"kill -0 {os.getpid()}", strong).process.ok


def test_files_in_memory_are_bounded(strong: Sandbox):
    if not strong.sized:
        pytest.skip("this bubblewrap cannot bound a file system in memory")
    for place in ("/tmp", "/dev/shm"):
        result = shell(f"head -c 600M /dev/zero > {place}/big", strong).process
        assert not result.ok and b"No space" in result.stderr
