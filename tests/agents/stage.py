"""Runs `warploom transform --proposer agent` with a real agent whose model is scripted."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from agent_model import serve
from installed import bin_folders

from warploom.testing.loopback import KEY, LoopbackServer
from warploom.toolchain.cache import cache_root
from warploom.toolchain.known_agents import KNOWN_AGENTS, KnownAgent
from warploom.toolchain.sandbox import SandboxKind, find_sandbox

sys.path.append(str(Path(__file__).parents[1] / "transform"))

from llm_script import right, write_workload

SECONDS = 600.0
NOBODY = 65534
_DROP = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all",
)  # fmt: skip
# Models that each agent runs its own shell tool with: the default of Codex writes JavaScript.
_MODELS = {"codex": ("-c", 'model="gpt-5-mini"')}


def words_of(agent: KnownAgent, kind: str) -> str:
    """Return `--agent` as the docs have it, with a model where the tests need another one."""
    given = agent.template if kind == "command" else agent.acp_template
    program, _, rest = given.partition(" ")
    chosen = " ".join(f"'{word}'" for word in _MODELS.get(agent.key, ()))
    return " ".join(part for part in (program, chosen, rest) if part)


@dataclass
class Stage:
    """One run of one agent, in a folder of its own."""

    agent: KnownAgent
    kind: str
    sandbox: str
    user: str
    folder: Path
    programs: list[str]

    def environment(self, server: LoopbackServer) -> dict[str, str]:
        """Return the user's environment: keys and addresses of providers, a home never used."""
        asked = {} if self.sandbox == "bubblewrap" else {"WARPLOOM_SANDBOX": "landlock"}
        return {
            # As in an environment that this user has activated, whatever the one who tests has.
            "PATH": os.pathsep.join(
                [str(Path(self.python).parent), *self.programs, os.environ["PATH"]]
            ),
            "HOME": str(self.folder / "home"),
            "LC_ALL": "C.UTF-8",
            "WARPLOOM_CACHE": str(self.cache),
            "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.address,
            "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{server.address}/v1",
            "GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.address,
            **asked,
        }  # fmt: skip

    @property
    def python(self) -> str:
        """The interpreter: root's own may lie in a private folder, so nobody has another one."""
        return sys.executable if self.user == "root" else str(self.folder / "venv/bin/python")

    @property
    def cache(self) -> Path:
        """The user's cache; nobody's is a copy of ours."""
        return cache_root() if self.user == "root" else self.folder / "cache"

    def start(self, server: LoopbackServer, *more: str) -> subprocess.Popen[str]:
        """Start a transform, or go on with one."""
        command = [self.python, "-m", "warploom.cli", "transform", *more]
        return subprocess.Popen(
            [*(_DROP if self.user != "root" else []), *command], cwd=self.folder,
            env=self.environment(server), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def words(self, cap: str = "5", price: str = "1,1") -> list[str]:
        """Return the words of a new transform: the cap in dollars, and the price of all models."""
        agent = words_of(self.agent, self.kind)
        return [
            "work", "--proposer", "agent", "--agent", agent, "--out", "out", "--one-stage",
            "--no-nvcc", "--no-markers", "--no-warmup", "--api", "gin", "--attempts", "1",
            "--max-cost", cap, "--price", price,
        ]  # fmt: skip

    def warploom_check(self, command: str) -> str:
        """Return a command of warploom's by its path: a login shell has a PATH of its own."""
        return command.replace("warploom", str(Path(self.python).with_name("warploom")), 1)

    def left(self, name: str) -> str:
        """Return a file that the agent left in its copy of the work."""
        files = sorted((self.folder / "out.run" / "agents").glob(f"*/work/{name}"))
        return files[0].read_text() if files else ""


@contextmanager
def staged(key: str, kind: str, sandbox: str, user: str) -> Iterator[Stage]:
    """Yield a stage; skips where this machine lacks what it needs."""
    agent = KNOWN_AGENTS[key]
    if sandbox == "bubblewrap" and find_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"bubblewrap is needed: {find_sandbox().reason}")
    if kind == "acp":
        pytest.importorskip("acp", reason="the extra [agents] is not installed")
    if user != "root":
        _require_nobody()
    programs = bin_folders(agent)
    # Not pytest's folder: nobody else can look into that.
    folder = Path(tempfile.mkdtemp(prefix="agent-", dir="/var/tmp"))
    try:
        write_workload(folder / "work")
        (folder / "work" / "right.txt").write_text(right())
        (folder / "home").mkdir()
        stage = Stage(agent, kind, sandbox, user, folder, programs)
        if user != "root":
            folder.chmod(0o755)
            _make_environment(folder / "venv")
            shutil.copytree(cache_root(), stage.cache, ignore=shutil.ignore_patterns("programs"))
            _give_away(folder)
        yield stage
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _require_nobody() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can start a process as nobody")


def _make_environment(folder: Path) -> None:
    """Make an environment of the system's Python that has all that ours has."""
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    system = shutil.which(own, path="/usr/bin:/usr/local/bin")
    if system is None:
        pytest.skip(f"a {own} that everybody may start is needed in /usr/bin")
    made = subprocess.run([system, "-m", "venv", "--without-pip", str(folder)], capture_output=True)
    if made.returncode != 0:
        pytest.skip(f"{system} cannot make an environment")
    ours = [entry for entry in sys.path if Path(entry).name in ("site-packages", "src")]
    (folder / "lib" / own / "site-packages" / "ours.pth").write_text("\n".join(ours) + "\n")
    program = folder / "bin" / "warploom"
    program.write_text(
        f"#!{folder}/bin/python\nimport sys\nfrom warploom.cli import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    done = subprocess.run(
        [*_DROP, str(folder / "bin/python"), "-c", "import warploom.cli.app, acp, mcp"],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"nobody cannot use our packages: {done.stderr.strip()[-200:]}")


def _give_away(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Let a process end; returns its exit code and all that it printed."""
    try:
        printed, said = process.communicate(timeout=SECONDS)
    finally:
        end(process)
    return process.returncode, printed + said


def end(process: subprocess.Popen[str]) -> None:
    """Kill what is left of a process."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for(what: str, done: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait until `done()`; fails with `what` where it takes too long."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


__all__ = ["Stage", "end", "finished", "serve", "staged", "wait_for", "words_of"]
