"""The sandbox hides, bounds and says what it is."""

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError
from warploom.core.process import Stop
from warploom.core.records import Limits
from warploom.toolchain.landlock import handled_rights, ruleset_attributes
from warploom.toolchain.sandbox import (
    Sandbox,
    SandboxKind,
    _why_no_landlock,
    find_sandbox,
    require_sandbox,
    run_sandboxed,
    sandbox_warning,
)
from warploom.toolchain.seccomp import Profile

WEAK = Sandbox(SandboxKind.LIMITS, reason="asked by a test")
LIMITS = Limits(seconds=20, memory_mb=1024, output_mb=1)


def available(kind: str) -> Sandbox:
    if kind == "limits":
        return WEAK
    if kind == "landlock":
        if why := _why_no_landlock():
            pytest.skip(why)
        return Sandbox(SandboxKind.LANDLOCK)
    found = find_sandbox()
    if found.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(found.reason)
    return found


@pytest.fixture(params=["bubblewrap", "landlock", "limits"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return available(request.param)


@pytest.fixture(params=["bubblewrap", "landlock"])
def strong(request: pytest.FixtureRequest) -> Sandbox:
    return available(request.param)


@pytest.fixture
def bubblewrap() -> Sandbox:
    return available("bubblewrap")


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
    result = shell(f"ls -A {Path.home()} | wc -l", strong).process
    assert result.stdout.strip() == b"0"


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/hostname", "/etc/ssl", "/root", "/var/log"])
def test_of_the_machine_only_a_list_is_seen(strong: Sandbox, path: str):
    if not Path(path).exists():
        pytest.skip("not on this machine")
    assert not shell(f"ls {path}/ || cat {path}", strong).process.ok


def test_users_are_made_up(bubblewrap: Sandbox):
    result = shell("id -u; id -G; wc -l < /etc/passwd; head -1 /proc/self/uid_map", bubblewrap)
    uid, groups, lines, *mapped = result.process.stdout.decode().split()
    assert (uid, groups, lines) == ("65534", "65534", "1")
    assert mapped[0] == "65534" and mapped[2] == "1"


def test_nobody_keeps_a_capability(strong: Sandbox):
    code = "import ctypes; ctypes.CDLL(None).prctl(24, 0) == 0 and exit(1)"
    result = python(code, strong)
    assert result.ok, result.log


def python(code: str, sandbox: Sandbox, **options):
    """Run some Python in the sandbox: the system's, or else ours, shown to it."""
    return run_sandboxed(
        [sys.executable, "-I", "-S", "-c", code], limits=LIMITS, sandbox=sandbox,
        readable=[Path(sys.prefix), Path(sys.base_prefix)], **options,
    ).process  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        "101, 16, 1, 0, 0", "310, 1, 0, 0, 0, 0, 0", "434, 1, 0", "438, 0, 0, 0", "250, 0, 0",
        "248, 0, 0, 0, 0, 0", "165, 0, 0, 0, 0, 0", "321, 0, 0, 0", "298, 0, 0, 0, 0, 0",
        "425, 1, 0", "323, 0", "272, 0x10000000", "308, 0, 0", "304, 0, 0, 0",
    ],
)  # fmt: skip
def test_calls_of_attackers_end_the_program(strong: Sandbox, call: str):
    result = python(f"import ctypes; ctypes.CDLL(None).syscall({call})", strong)
    assert result.signal == signal.SIGSYS, result.log


@pytest.mark.parametrize(
    "call",
    [
        "41, 1, 1, 0", "41, 2, 1, 0", "41, 10, 2, 0", "41, 16, 3, 0", "53, 2, 1, 0, 0",
        "29, 0, 4096, 0o1600", "64, 0, 1, 0o1600", "68, 0, 0o1600", "16, 0, 0x5412, 0",
        "56, 0x10000000, 0, 0, 0, 0", "302, 1, 7, 0, 0", "157, 4, 0, 0, 0, 0", "76, b'/tmp/x', 0",
    ],
)  # fmt: skip
def test_calls_off_the_list_are_refused(strong: Sandbox, call: str):
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
made = libc.syscall({call})
print(made, ctypes.get_errno())
"""
    result = python(code, strong)
    assert result.ok, result.log
    made, number = map(int, result.stdout.split())
    assert made == -1 and number in (errno.EPERM, errno.ENOTTY)


def test_a_program_makes_no_processes(strong: Sandbox):
    code = "import os\ntry:\n  os.fork()\nexcept PermissionError: print('refused')"
    assert b"refused" in python(code, strong, profile=Profile.PROGRAM).stdout


def test_a_program_signals_itself_only(strong: Sandbox):
    parent = os.getpid()
    code = f"import os\ntry:\n  os.kill({parent}, 0)\nexcept OSError: print('refused')\n"
    own = code + "os.kill(os.getpid(), 15)"
    result = python(own, strong, profile=Profile.PROGRAM)
    assert b"refused" in result.stdout or result.signal == signal.SIGTERM
    assert b"refused" in python(code, strong, profile=Profile.PROGRAM).stdout


def test_bound_files_tell_not_where_they_lie(strong: Sandbox, tmp_path: Path):
    secret = tmp_path / "cache" / "programs"
    secret.mkdir(parents=True)
    (secret / "program.so").write_text("content")
    (secret / "reference").write_text("answers")
    code = "cat $0; tr '\\0' ' ' </proc/$$/cmdline; cat /proc/1/cmdline /proc/self/mountinfo"
    result = run_sandboxed(
        ["/bin/sh", "-c", f"{code}; ls $(dirname $0); echo x > $0", secret / "program.so"],
        limits=LIMITS, sandbox=strong, bound={secret / "program.so": "program.so"},
    ).process  # fmt: skip
    assert b"content" in result.stdout and b"answers" not in result.stdout
    assert os.fsencode(secret) not in result.stdout
    assert (secret / "program.so").read_text() == "content"


def test_a_link_into_the_cache_cannot_be_moved_to_where_it_could_be_written(tmp_path: Path):
    strong = available("landlock")
    (tmp_path / "program.so").write_text("content")
    code = "mv $0 mine; ln $0 mine; cp $0 copy && echo x > copy && echo x > mine; echo x > $0"
    run_sandboxed(
        ["/bin/sh", "-c", code, tmp_path / "program.so"], limits=LIMITS, sandbox=strong,
        bound={tmp_path / "program.so": "program.so"},
    )  # fmt: skip
    assert (tmp_path / "program.so").read_text() == "content"


def test_disk_is_bounded_as_a_whole(sandbox: Sandbox):
    # Many files, each below the limit of one.
    code = "for i in $(seq 40); do head -c 40M /dev/zero > file$i || exit 1; done; sleep 5"
    result = shell(code, sandbox).process
    assert not result.ok
    assert result.stopped is Stop.DISK or b"No space" in result.stderr


def test_memory_files_count_as_memory(sandbox: Sandbox):
    code = """
import os, time
for i in range(40):
    f = os.memfd_create("x"); os.write(f, bytes(64 << 20))
time.sleep(5)
"""
    result = python(code, sandbox)
    assert result.stopped is Stop.MEMORY


def test_the_driver_cannot_be_read(strong: Sandbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_API_KEY", "hunter2")
    code = "cat /proc/*/environ /proc/*/mem; true"
    assert b"hunter2" not in shell(code, strong).process.stdout


def test_without_any_sandbox_strangers_need_a_word(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WARPLOOM_SANDBOX", "limits")
    find_sandbox.cache_clear()
    try:
        with pytest.raises(MissingToolError, match=r"a model(.|\n)*--unsafe"):
            require_sandbox("a model", unsafe=False)
        require_sandbox("a model", unsafe=True)
        assert "your files" in sandbox_warning()
    finally:
        find_sandbox.cache_clear()


_AS_NOBODY = """
import sys
from pathlib import Path
from warploom.core.records import Limits
from warploom.toolchain.sandbox import Sandbox, SandboxKind, find_sandbox, run_sandboxed
for sandbox in (find_sandbox(), Sandbox(SandboxKind.LANDLOCK)):
    code = f"cat {sys.argv[1]}/open; cat {sys.argv[1]}/given; echo a > b && cat b | cat"
    done = run_sandboxed(["/bin/bash", "-c", code], sandbox=sandbox,
        limits=Limits(seconds=20, memory_mb=512, output_mb=1),
        readable=[Path(sys.argv[1], "given")])
    print(sandbox.kind, done.process.stdout.decode().split())
"""


def test_an_ordinary_user_is_held_as_well():
    python3 = shutil.which("python3", path="/usr/bin")
    if os.geteuid() != 0 or python3 is None or shutil.which("setpriv") is None:
        pytest.skip("root alone can become another user")
    import warploom

    source = Path(warploom.__file__).parents[1]
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = Path(name)
        place.chmod(0o777)
        (place / "open").write_text("open")
        (place / "given").write_text("given ")
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python3, "-c",
             _AS_NOBODY, name],
            env={"PATH": os.defpath, "PYTHONPATH": str(source), "HOME": name},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    if "ModuleNotFoundError" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip(f"an ordinary user cannot read this checkout: {done.stderr[-200:]}")
    assert done.stdout.splitlines() == [
        f"{find_sandbox().kind} ['given', 'a']", "landlock ['given', 'a']",
    ], done.stderr  # fmt: skip


def test_rulesets_say_no_more_than_the_kernel_knows():
    sizes = [len(ruleset_attributes(version, network=False)) for version in range(1, 8)]
    assert sizes == [8, 8, 8, 16, 16, 24, 24]
    rights = [handled_rights(version).bit_length() for version in range(1, 8)]
    assert rights == [13, 14, 15, 15, 16, 16, 16]


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


def test_other_processes_are_not_seen(bubblewrap: Sandbox):
    assert not shell(f"kill -0 {os.getpid()}", bubblewrap).process.ok


def test_files_in_memory_are_bounded(bubblewrap: Sandbox):
    if not bubblewrap.sized:
        pytest.skip("this bubblewrap cannot bound a file system in memory")
    for place in ("/tmp", "/dev/shm"):
        result = shell(f"head -c 600M /dev/zero > {place}/big", bubblewrap).process
        assert not result.ok and b"No space" in result.stderr
