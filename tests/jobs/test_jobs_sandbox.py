"""A candidate that is judged in a job of Slurm sees no files, keys or network of its user's."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits
from warploom.emulator import RunOptions, build, run
from warploom.jobs import JobConfig, Task
from warploom.jobs.slurm import SlurmEngine
from warploom.testing.engines import SECRETS, collect
from warploom.testing.services import Slurm
from warploom.toolchain.sandbox import SandboxKind, find_sandbox

SPY = r"""
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

extern char** environ;

static void read_it(const char* name, const char* path) {
    char text[4096];
    int file = open(path, O_RDONLY);
    long size = file < 0 ? -1 : read(file, text, sizeof text);
    printf("%s %s\n", name, size > 0 ? "read" : "not read");
    if (size > 0) fwrite(text, 1, size, stdout);
}

int main(int count, char** words) {
    printf("begins\n");
    for (char** one = environ; *one; ++one) printf("variable %s\n", *one);
    for (int at = 2; at < count; ++at) read_it(words[at], words[at]);
    char parent[64];
    snprintf(parent, sizeof parent, "/proc/%d/environ", getppid());
    read_it("parent", parent);
    fflush(stdout);
    int line = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(atoi(words[1]));
    inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
    bool reached = line >= 0 && connect(line, (sockaddr*)&there, sizeof there) == 0;
    printf("network %s\n", reached ? "reached" : "not reached");
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Spies:
    """Runs a program as candidates are run, and returns what it printed."""

    program: Path
    words: tuple[str, ...]

    def __call__(self) -> object:
        options = RunOptions(ranks=1, args=self.words, limits=Limits(seconds=60.0))
        found = run(build(BuildSpec(self.program)), options)
        return found.stdout, f"{found.state}: {found.stderr}"


def test_a_candidate_in_a_job_sees_nothing_of_its_user(
    slurm_cluster: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_sandbox().kind is SandboxKind.LIMITS:
        pytest.skip(f"no sandbox here: {find_sandbox().reason}")
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    program = tmp_path / "spy.cu"
    program.write_text(SPY)
    secret = Path.home() / f".warploom-file-{os.getpid()}"
    run_folder = tmp_path / "jobs" / "programs.db"
    engine = SlurmEngine(JobConfig(engine="slurm"), 1, tmp_path / "jobs")
    with socket.create_server(("127.0.0.1", 0)) as server:
        try:
            for path in (secret, run_folder):
                path.write_text("canary-in-a-file\n")
            # Of the job's user: readable and reached, were there no sandbox.
            files = (str(secret), str(run_folder), os.environ["SLURM_CONF"])
            words = (str(server.getsockname()[1]), *files)
            engine.submit(Task(1, Spies(program, words)))
            done = collect(engine, 1, 300.0)[1]
        finally:
            secret.unlink(missing_ok=True)
            engine.close()
    assert done.error is None
    said, state = done.value
    assert "begins" in said, (said, state)
    assert [f"{name} not read" in said for name in (*files, "parent")] == [True] * 4, said
    assert "network reached" not in said
    assert [value for value in (*SECRETS.values(), "canary") if value in said] == []
    assert "SLURM_JOB" not in said
