"""Confines a coding agent: it may write to its copy of the work and to its own state, no more.

An agent needs its network and its login, so it gets neither the sandbox of candidates nor its
protection. What it leaves is judged in that sandbox, from a clean copy.
"""

import contextlib
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.toolchain.agent_places import (
    agent_environment,
    make_state,
    needed_below_tmp,
    usable_home,
)
from warploom.toolchain.agent_route import secret_files, served_environment
from warploom.toolchain.cache import cache_root
from warploom.toolchain.known_agents import KNOWN_AGENTS, EndpointSettings, find_known
from warploom.toolchain.private_cache import default_roots, private_folder, seed_cache
from warploom.toolchain.sandbox import SandboxKind, find_sandbox
from warploom.toolchain.seal import PRIVATE, key_places

PROGRAMS = (
    *dict.fromkeys(
        package.program
        for agent in KNOWN_AGENTS.values()
        for package in (agent.package, agent.acp_package)
    ),
    "npx",
)
"""Programs that are agents, speak ACP for one, or fetch one that does (docs/agents)."""


def find_agents() -> dict[str, str | None]:
    """Return where the programs of known agents are, None for those that are not here."""
    return {name: shutil.which(name) for name in PROGRAMS}


@dataclass(frozen=True, slots=True)
class Confinement:
    """A command line that is confined, its environment, and how strongly it is held."""

    command: tuple[str, ...]
    environment: dict[str, str]
    kind: SandboxKind


@contextmanager
def confined(
    command: Sequence[str],
    folder: Path,
    *,
    variables: Sequence[str] = (),
    clean: bool = False,
    route: EndpointSettings | None = None,
    keys: Sequence[Path] = (),
) -> Generator[Confinement]:
    """Yield `command` confined to `folder`, for as long as it runs.

    With bubblewrap the whole file system can be read, and only `folder`, a private `/tmp`, the
    state of a known agent and npm's cache for agents can be written. Without it the command only
    gets its environment cut. In both cases `warploom` works there on a cache of the session's own.

    Args:
        command: program and arguments.
        folder: where the agent works; its working directory.
        variables: names of further variables of ours that it gets.
        clean: give it no state to write and no variables but those named: for agents in tests.
        route: what points it at an endpoint of ours: it gets no key, login or state of the user's.
        keys: further files that may hold a key: with bubblewrap they read as empty.

    Raises:
        MissingToolError: the program is not on this machine.
    """
    program = shutil.which(command[0])
    if program is None:
        raise MissingToolError(
            f"the agent's program {command[0]} must be on this machine, but is not found",
            hint="install it, or give its full path; `warploom doctor` says which agents are here",
        )
    known = None if clean else find_known(command)
    with private_folder() as private:
        seed_cache(private / "cache")
        home = usable_home(private)
        environment = agent_environment(known, variables, home, private)
        if route is not None:
            environment = served_environment(
                environment, known, route, variables, private / "state"
            )
        state = make_state(known, home, environment)
        words = (program, *command[1:])
        sandbox = find_sandbox()
        if sandbox.kind is not SandboxKind.BUBBLEWRAP:
            # Landlock has no private /tmp, and cannot keep a file from a folder that may be read.
            yield Confinement(words, environment, SandboxKind.LIMITS)
            return
        writable = [folder, private, *state, Path(environment["npm_config_cache"])]
        wrapped = [
            sandbox.program, "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
            "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",  # noqa: S108
            *_mounts("--ro-bind", needed_below_tmp(words, environment)),
            *_over_ours(private / "cache"),
            *_mounts("--bind", writable),
            *(() if route is None else _hidden([*secret_files(home), *keys], private)),
            "--chdir", str(folder), "--", *words,
        ]  # fmt: skip
        environment["TMPDIR"] = "/tmp"  # noqa: S108
        yield Confinement(tuple(wrapped), environment, sandbox.kind)


def _mounts(how: str, paths: Sequence[Path]) -> list[str]:
    return [word for path in paths for word in (how, str(path), str(path))]


def _hidden(paths: Sequence[Path], private: Path) -> list[str]:
    """Return mounts that lay an empty file over each; a device would make readers fail."""
    empty = private / "empty"
    empty.touch()
    return [word for path in paths for word in ("--ro-bind", str(empty), str(path))]


def _over_ours(cache: Path) -> list[str]:
    """Return mounts that lay the session's cache and key over all places where ours may be.

    An agent that held our key could seal what it makes up. And a tool server that the agent starts
    without its own environment, as some do, finds the session's cache all the same.
    """
    state = Path.home() / ".local" / "state" / "warploom"
    places = dict.fromkeys((cache_root(), *default_roots()), cache)
    places.update(dict.fromkeys((key_places(cache_root())[0], state), cache / PRIVATE))
    mounts: list[str] = []
    for place, what in places.items():
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if place.is_dir():
            mounts += ["--bind", str(what), str(place)]
    return mounts
