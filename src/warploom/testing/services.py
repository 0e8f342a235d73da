"""Real services for tests and benchmarks, each private to a folder: PostgreSQL, Slurm, Ray.

They need the programs of Debian's `postgresql`, `slurm-wlm` and `munge`, and leave nothing behind.
"""

import glob
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.usage import process_tree

_PATIENCE = 60.0  # seconds for a service to answer
_SETTLES = 30.0  # seconds for Slurm's nodes to become idle when they have nothing to do
_DAEMONS = ("munged", "slurmctld", "slurmd")
_COMMANDS = ("sbatch", "squeue", "scancel", "sinfo", "srun", "scontrol")


class ServiceError(Exception):
    """A service is not installed here, or does not come up; the message says why."""


def free_port() -> int:
    """Return a port of this machine that nobody listens on.

    It is below those that the system gives to clients: else one that tries to reach a server that
    is away could be given the server's port, and reach itself.
    """
    while True:
        port = random.randrange(20_000, 32_000)  # noqa: S311 - no secret
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def until(
    ready: Callable[[], bool],
    what: str,
    seconds: float = _PATIENCE,
    seen: Callable[[], str] = str,
) -> None:
    """Wait until something is ready; where it is not, `seen` says what there is instead.

    Raises:
        ServiceError: it is not, after some seconds.
    """
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            told = seen()
            raise ServiceError(f"{what} after {seconds:.0f} s{f': {told}' if told else ''}")
        time.sleep(0.1)


# --- PostgreSQL ---


@dataclass(slots=True)
class Postgres:
    """A PostgreSQL server, which can be stopped and started as machines are."""

    folder: Path
    programs: Path
    port: int
    user: str
    _databases: list[str] = field(default_factory=list[str])

    def url(self, database: str) -> str:
        """Return the SQLAlchemy URL of a database, made when it is first asked for."""
        if database not in self._databases:
            self._run(
                "createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, database
            )
            self._databases.append(database)
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' "
            "-c fsync=off"  # its process may crash, not the machine
        )
        self._run(
            "pg_ctl", "-D", str(self.folder), "-w", "-l", str(self.folder / "log"),
            "-o", options, "start",
        )  # fmt: skip

    def stop(self, how: str = "immediate") -> None:
        """Stop the server: `immediate` is as a crash, `fast` closes connections."""
        self._run("pg_ctl", "-D", str(self.folder), "-w", "-m", how, "stop")

    def _run(self, program: str, *words: str) -> None:
        _checked([str(self.programs / program), *words], self._identity())

    def _identity(self) -> str | None:
        return self.user if os.getuid() == 0 else None


@contextmanager
def postgres() -> Generator[Postgres]:
    """Run a PostgreSQL server in a folder of its own; as an ordinary user, if we are root.

    Raises:
        ServiceError: PostgreSQL is not installed, or does not start.
    """
    known = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))  # noqa: PTH207
    found = shutil.which("initdb") or (known[-1] if known else None)
    if found is None:
        raise ServiceError("there is no initdb: apt-get install postgresql")
    root = os.getuid() == 0
    user = "postgres" if root else pwd.getpwuid(os.getuid()).pw_name
    with tempfile.TemporaryDirectory(prefix="warploom-postgres-") as name:
        if root:
            shutil.chown(name, user)
        programs = Path(os.path.realpath(found)).parent
        server = Postgres(Path(name) / "data", programs, free_port(), user)
        identity = user if root else None
        _checked(
            [found, "-D", str(server.folder), "-A", "trust", "-U", user, "--no-sync"], identity
        )
        server.start()
        try:
            yield server
        finally:
            command = [str(programs / "pg_ctl"), "-D", str(server.folder), "-m", "immediate", "-w"]
            subprocess.run(_as([*command, "stop"], identity), capture_output=True, check=False)


def _as(command: list[str], user: str | None) -> list[str]:
    return command if user is None else ["setpriv", f"--reuid={user}", "--regid", user,
                                         "--init-groups", "--reset-env", *command]  # fmt: skip


def _checked(command: list[str], user: str | None) -> None:
    # Servers keep what they inherit: their output goes to files, or nobody would see an end of it.
    done = subprocess.run(
        _as(command, user), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/",
        check=False, text=True, timeout=_PATIENCE,
    )  # fmt: skip
    if done.returncode != 0:
        raise ServiceError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")


# --- Slurm ---


@dataclass(slots=True)
class Slurm:
    """A Slurm cluster whose nodes are all this machine. `environment` is what its commands need."""

    folder: Path
    nodes: tuple[str, ...]
    environment: dict[str, str]
    daemons: dict[str, "subprocess.Popen[bytes]"] = field(
        default_factory=dict[str, "subprocess.Popen[bytes]"]
    )

    def run(self, *command: str) -> str:
        """Return what a command of Slurm prints."""
        return subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True,
            check=False, timeout=_PATIENCE,
        ).stdout  # fmt: skip

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a daemon in the foreground, in a session of its own."""
        with (self.folder / f"{name}.out").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
            )  # fmt: skip

    def start_controller(self, *words: str) -> None:
        """Start the controller, and wait until it answers; `-c` has it forget all jobs."""
        self.start("slurmctld", ["slurmctld", "-D", "-f", str(self.folder / "slurm.conf"), *words])
        until(lambda: "PARTITION" in self.run("sinfo"), "slurmctld does not answer")

    def start_node(self, node: str) -> None:
        """Start a node's daemon."""
        self.start(node, ["slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf")])

    def restart_controller(self) -> None:
        """Stop the controller as it should be, so that it writes all down, and start it."""
        self.end("slurmctld", signal.SIGTERM)
        self.start_controller()

    def until_idle(self, seconds: float = _PATIENCE) -> None:
        """Wait until all nodes are there and have nothing to do; those that were down come back."""

        def idle() -> bool:
            states = self.run("sinfo", "-h", "-N", "-o", "%T").split()
            for node, state in zip(self.nodes, states, strict=False):
                if state.startswith(("down", "drain")):
                    self.run("scontrol", "update", f"nodename={node}", "state=resume")
            return states.count("idle") == len(self.nodes)

        until(idle, "not all nodes are idle", seconds, self.seen)

    def seen(self) -> str:
        """Return what Slurm says of its nodes and of the jobs that have not ended."""
        nodes = self.run("sinfo", "-h", "-N", "-o", "%N is %T (%E)").splitlines()
        jobs = self.run("squeue", "-h", "-r", "-o", "job %i is %T %N (%r)").splitlines()
        return "; ".join((*nodes, *jobs)) or "it does not answer"

    def make_idle(self) -> None:
        """End all jobs; where nodes are not idle then, start the cluster anew, without its past."""
        self.end_jobs()
        try:
            until(lambda: not self.run("squeue", "-h"), "jobs do not end", _SETTLES, self.seen)
            self.until_idle(_SETTLES)
        except ServiceError as error:
            sys.stderr.write(f"Slurm is started anew: {error}\n")
            for name in ("slurmctld", *self.nodes):
                if name in self.daemons:
                    self.end(name)
            self.start_controller("-c")
            for node in self.nodes:
                self.start_node(node)
            self.until_idle()

    def end_jobs(self) -> None:
        """Cancel all jobs."""
        self.run("scancel", "--full", f"--user={pwd.getpwuid(os.getuid()).pw_name}")

    def end(self, name: str, how: int = signal.SIGKILL) -> None:
        """End a daemon."""
        daemon = self.daemons.pop(name)
        daemon.send_signal(how)
        daemon.wait(_PATIENCE)


@contextmanager
def slurm(folder: Path, nodes: int = 1, *, cpus: int = 4, gpus: int = 2) -> Generator[Slurm]:
    """Run a Slurm cluster of some nodes with `gpus` fake GPUs (device files) each.

    Its commands find it by SLURM_CONF, which is set while it runs.

    Raises:
        ServiceError: Slurm is not installed, we are not root, or it does not start.
    """
    missing = [name for name in (*_DAEMONS, *_COMMANDS) if shutil.which(name) is None]
    if missing:
        raise ServiceError(f"there is no {', '.join(missing)}: apt-get install slurm-wlm munge")
    if os.getuid() != 0:
        raise ServiceError("Slurm's daemons need root")
    names = tuple(f"n{at}" for at in range(1, nodes + 1))
    cluster = Slurm(folder, names, {"SLURM_CONF": str(folder / "slurm.conf")})
    _configure(cluster, cpus, gpus)
    before = os.environ.get("SLURM_CONF")
    os.environ |= cluster.environment
    try:
        _start_munge(cluster)
        cluster.start_controller()
        for node in names:
            cluster.start_node(node)
        cluster.until_idle()
        yield cluster
    finally:
        cluster.end_jobs()
        time.sleep(0.5)
        for name in reversed(tuple(cluster.daemons)):
            cluster.end(name, signal.SIGTERM if name == "munged" else signal.SIGKILL)
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before


def _configure(cluster: Slurm, cpus: int, gpus: int) -> None:
    folder, names = cluster.folder, cluster.nodes
    for name in ("state", *names):
        (folder / name).mkdir()
    device = 10, 200  # a major and minor number that nobody opens
    for at in range(gpus):
        os.mknod(folder / f"gpu{at}", 0o020666, os.makedev(*device))
    (folder / "gres.conf").write_text(
        f"Name=gpu Type=fake File={folder}/gpu[0-{gpus - 1}]\n" if gpus else ""
    )
    lines = [
        f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs={cpus} "
        f"RealMemory=8000 {f'Gres=gpu:fake:{gpus}' if gpus else ''}"
        for name in names
    ]
    (folder / "slurm.conf").write_text("\n".join([*_settings(folder), *lines, _partition(names)]))


def _settings(folder: Path) -> list[str]:
    return [
        "ClusterName=warploom", "SlurmctldHost=localhost(127.0.0.1)",
        f"SlurmctldPort={free_port()}", "SlurmUser=root", "SlurmdUser=root",
        f"AuthInfo=socket={folder}/munge.socket", f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/%n", f"TmpFS={folder}/%n",  # of its own: PMIx has files there
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/%n.pid", f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/%n.log", "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none", "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU", "ReturnToService=2", "GresTypes=gpu",
        "MpiDefault=none", "SlurmdParameters=config_overrides", "MinJobAge=60",
        "SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=1",
        "SlurmdTimeout=30", "InactiveLimit=0", "KillWait=2", "JobRequeue=0",
    ]  # fmt: skip


def _partition(names: Sequence[str]) -> str:
    return f"PartitionName=debug Nodes={','.join(names)} Default=YES MaxTime=INFINITE State=UP\n"


def _start_munge(cluster: Slurm) -> None:
    folder = cluster.folder
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    cluster.start("munged", [
        "munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
        f"--key-file={key}", f"--log-file={folder}/munge.log", f"--pid-file={folder}/munge.pid",
        f"--seed-file={folder}/munge.seed",
    ])  # fmt: skip
    until((folder / "munge.socket").exists, "munged does not answer")


# --- Ray ---


@dataclass(slots=True)
class RayCluster:
    """A Ray cluster on this machine: a head, and nodes that can be added."""

    address: str
    program: str
    nodes: list["subprocess.Popen[bytes]"] = field(default_factory=list["subprocess.Popen[bytes]"])

    def start(self, *words: str) -> None:
        """Start a node in a session of its own."""
        command = [self.program, "start", "--block", "--disable-usage-stats", *words]
        node = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.nodes.append(node)

    def add_node(self, cpus: int) -> None:
        """Add a node."""
        self.start(f"--address={self.address}", f"--num-cpus={cpus}")

    def answers(self) -> bool:
        """Whether the head listens, and has a node."""
        status = [self.program, "status", f"--address={self.address}"]
        done = subprocess.run(status, capture_output=True, check=False, timeout=_PATIENCE)
        return done.returncode == 0

    def end(self) -> None:
        """End all nodes, and what they have started: nothing else of Ray's on this machine."""
        for node in reversed(self.nodes):
            pids = process_tree(node.pid)
            node.kill()
            node.wait()
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.nodes.clear()


@contextmanager
def ray_cluster(cpus: int) -> Generator[RayCluster]:
    """Run a Ray cluster of one node.

    Raises:
        ServiceError: Ray is not installed, or does not start.
    """
    program = Path(sys.executable).with_name("ray")
    if not program.is_file():
        raise ServiceError("Ray is not installed: pip install 'warploom[ray]'")
    port = free_port()
    cluster = RayCluster(f"127.0.0.1:{port}", str(program))
    try:
        cluster.start(
            "--head", f"--port={port}", "--node-ip-address=127.0.0.1", f"--num-cpus={cpus}",
            "--include-dashboard=false", "--object-store-memory=100000000",
        )  # fmt: skip
        until(cluster.answers, "Ray does not answer")
        yield cluster
    finally:
        cluster.end()
