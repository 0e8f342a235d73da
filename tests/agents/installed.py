"""Installs the agents of the table from npm, each version once, into a folder of the tests' own."""

import fcntl
import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from warploom.toolchain.cache import cache_root
from warploom.toolchain.known_agents import KNOWN_AGENTS, KnownAgent, Package

_SECONDS = 900.0  # the largest package has 400 MB


def folder() -> Path:
    """Return where the packages are: `WARPLOOM_TEST_AGENTS`, or beside the cache."""
    root = cache_root()
    named = os.environ.get("WARPLOOM_TEST_AGENTS")
    return Path(named) if named else root.with_name(f"{root.name}-test-agents")


def bin_folders(agent: KnownAgent) -> list[str]:
    """Return the folders with the programs of an agent; skips the test where they cannot be had."""
    node = _node()
    if node < agent.node and agent.key not in _RUNS_ON_OLDER:
        pytest.skip(f"{agent.title} needs Node.js {agent.node}, here is {node}")
    packages = dict.fromkeys((agent.package, agent.acp_package))
    return [str(_installed(package)) for package in packages]


# Its packages name Node.js 22, and bring a program of their own that needs none.
_RUNS_ON_OLDER = ("claude",)


@functools.cache
def _node() -> int:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm and node are needed to install agents, and are not found")
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(told.strip().removeprefix("v").partition(".")[0])


@functools.cache
def _installed(package: Package) -> Path:
    place = folder() / f"{package.program}-{package.version}"
    programs = place / "node_modules" / ".bin"
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / f".{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _has(place, package):
            return programs
        shutil.rmtree(place, ignore_errors=True)
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), package.pinned],
            capture_output=True, text=True, timeout=_SECONDS,
        )  # fmt: skip
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        pytest.skip(f"npm cannot install {package.pinned}: {last}")
    return programs


def _has(place: Path, package: Package) -> bool:
    """Whether the package is there in the version that the table names."""
    told = place / "node_modules" / package.name / "package.json"
    try:
        version = json.loads(told.read_text())["version"]
    except (OSError, ValueError, KeyError):
        return False
    return version == package.version and (place / "node_modules/.bin" / package.program).exists()


def agents() -> list[str]:
    """Return the keys of all agents."""
    return list(KNOWN_AGENTS)
