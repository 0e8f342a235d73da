"""Where an agent finds and keeps its things: home, state, certificates, npm's cache, the network.

What it needs is made before it starts: in its sandbox it could not make it itself.
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from warploom.core.process import ALLOWED_ENVIRONMENT
from warploom.toolchain.known_agents import KnownAgent
from warploom.toolchain.private_cache import agents_root

_CERTIFICATES = (
    "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE", "CODEX_CA_CERTIFICATE", "npm_config_cafile",
)  # fmt: skip
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_FOLDERS = {
    ".config": "XDG_CONFIG_HOME",
    ".cache": "XDG_CACHE_HOME",
    ".local/share": "XDG_DATA_HOME",
    ".local/state": "XDG_STATE_HOME",
}
_PASSED = frozenset(
    (
        *ALLOWED_ENVIRONMENT, "HOME", "USER", "LOGNAME", "SHELL", "TERM", "npm_config_registry",
        *_CERTIFICATES, *_FOLDERS.values(), *_PROXIES, *(name.lower() for name in _PROXIES),
    )
)  # fmt: skip
_LOOPBACK = ("127.0.0.1", "localhost")
TEMPORARY = Path("/tmp")  # noqa: S108 - private in an agent's sandbox


def usable_home(private: Path) -> Path:
    """Return the user's home, or one in `private` where the user has none that can be written."""
    home = Path.home()
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
    if os.access(home, os.W_OK):
        return home
    own = private / "home"
    own.mkdir(exist_ok=True)
    return own


def agent_environment(
    known: KnownAgent | None, variables: Iterable[str], home: Path, private: Path
) -> dict[str, str]:
    """Return the whole environment of an agent.

    Ours is cut to what every program needs, certificates and proxies, what the agent's maker
    documents, and `variables`. The cache that it names is in `private`.
    """
    prefixes = () if known is None else known.variables
    named = frozenset(variables)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED or name in named or name.startswith(prefixes or ("\0",))
    }
    # So that the agent's shell finds `warploom` where nobody has activated our environment.
    path = [environment.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    environment.update(
        HOME=str(home),
        PATH=os.pathsep.join(path),
        WARPLOOM_CACHE=str(private / "cache"),
        npm_config_cache=str(npm_cache(private)),
    )
    for name, value in () if known is None else known.environment.items():
        environment.setdefault(name, value)
    _spare_loopback(environment)
    return environment


def _spare_loopback(environment: dict[str, str]) -> None:
    """Keep a proxy away from this machine's own addresses, where a model may be served."""
    if not any(name.upper() in _PROXIES for name in environment):
        return
    for name in ("NO_PROXY", "no_proxy"):
        given = [item for item in environment.get(name, "").split(",") if item]
        if "*" not in given:
            environment[name] = ",".join(dict.fromkeys((*given, *_LOOPBACK)))


def npm_cache(private: Path) -> Path:
    """Return where `npx` keeps what it downloads for agents: not the user's own cache."""
    place = agents_root() / "npm"
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        return place
    own = private / "npm"
    own.mkdir(exist_ok=True)  # the sandbox binds it, and cannot bind what is not there
    return own


def make_state(known: KnownAgent | None, home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the files and folders of an agent's state, made where they are not there yet."""
    if known is None:
        return []
    made: list[Path] = []
    for path in _state(known, home, environment):
        with contextlib.suppress(OSError):
            if path.suffix != ".json":
                path.mkdir(parents=True, exist_ok=True)
            elif not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("{}\n", encoding="utf-8")
        if os.access(path, os.W_OK):
            made.append(path)
    return made


def _state(known: KnownAgent, home: Path, environment: Mapping[str, str]) -> list[Path]:
    moved = environment.get(known.state_variable or "\0")
    if moved:
        place = Path(moved)
        # Gemini CLI's variable names a home; those of the others name the folder itself.
        return [place / known.state[0]] if known.state_variable.endswith("_CLI_HOME") else [place]
    return [_below(home, name, environment) for name in known.state]


def _below(home: Path, name: str, environment: Mapping[str, str]) -> Path:
    for folder, variable in _FOLDERS.items():
        if name.startswith(f"{folder}/") and environment.get(variable):
            return Path(environment[variable], name[len(folder) + 1 :])
    return home / name


def needed_below_tmp(words: Sequence[str], environment: Mapping[str, str]) -> list[Path]:
    """Return what an agent needs to read of `/tmp`, which is private in its sandbox.

    That is where somebody put a program, an environment of Python, certificates, or a file that
    the command's `words` name.
    """
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    places += [Path(entry) for entry in sys.path if entry.startswith("/")]
    places += [Path(environment["HOME"]), _root_of(words[0])]
    places += [Path(word) for word in words[1:] if word.startswith("/tmp/")]  # noqa: S108
    places += [_root_of(str(Path(name, "."))) for name in environment["PATH"].split(os.pathsep)]
    places += [
        Path(item)
        for name in _CERTIFICATES
        for item in environment.get(name, "").split(os.pathsep)
        if item
    ]
    found = {
        path: None
        for place in places
        for path in (place, Path(os.path.realpath(place)))
        if path.is_relative_to(TEMPORARY) and path != TEMPORARY and _exists(path)
    }
    return sorted(found, key=lambda path: len(path.parts))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a task's text that looks like a path, and is too long for one
        return False


def _root_of(program: str) -> Path:
    """Return the folder that a program's own files are in: that of `node_modules`, or of `bin`."""
    folder = Path(os.path.realpath(program))
    if not os.path.isdir(folder):  # noqa: PTH112 - a folder of somebody else's is no error
        folder = folder.parent
    parts = folder.parts
    if "node_modules" in parts:
        return Path(*parts[: parts.index("node_modules") + 1])
    return folder.parent if folder.parent != TEMPORARY else folder
