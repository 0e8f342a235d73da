"""The cache of an agent's session: what the user's holds, under another key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warploom.toolchain import cache as cache_module
from warploom.toolchain import seal as seal_module
from warploom.toolchain.agent_places import agent_environment, make_state, usable_home
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.confine import confined
from warploom.toolchain.known_agents import KNOWN_AGENTS
from warploom.toolchain.private_cache import private_folder, seed_cache
from warploom.toolchain.sandbox import SandboxKind, find_sandbox
from warploom.toolchain.seal import KEY, PRIVATE, is_sound


def make(folder: Path) -> None:
    """Fill an entry: a small file, and one that is large enough not to be read again."""
    (folder / "small").write_text("ours")
    (folder / "large").write_bytes(b"x" * (5 << 20))


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, with a runtime and a program."""
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "ours"))
    seal_module._key.cache_clear()
    cached_folder("runtime", "one", make)
    cached_folder("programs", "two", make)
    return tmp_path / "ours"


def test_a_session_finds_what_the_user_has_and_cannot_seal_for_them(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    seed_cache(theirs)
    assert (theirs / PRIVATE / KEY).read_bytes() != (ours / PRIVATE / KEY).read_bytes()
    assert not is_sound(theirs / "runtime" / "one", "runtime/one", ours)
    monkeypatch.setenv("WARPLOOM_CACHE", str(theirs))
    seal_module._key.cache_clear()

    def never(_: Path) -> None:
        raise AssertionError("made again")

    folder, known = cached_folder("runtime", "one", never)
    assert known and (folder / "small").read_text() == "ours"
    assert not (theirs / "programs").exists()
    (folder / "small").write_text("changed by the agent")
    assert (ours / "runtime" / "one" / "small").read_text() == "ours"


def test_what_somebody_changed_is_not_handed_on(ours: Path, tmp_path: Path) -> None:
    (ours / "runtime" / "one" / "small").write_text("not ours")
    seed_cache(tmp_path / "theirs")
    assert not (tmp_path / "theirs" / "runtime" / "one").exists()


def test_a_session_leaves_nothing(ours: Path) -> None:
    with private_folder() as folder:
        seed_cache(folder / "cache")
        assert ours not in folder.parents
    assert not folder.exists()


PROBE = """
import json, os, pathlib, sys
from warploom.toolchain import cache, seal
def never(folder): raise AssertionError("made again")
def new(folder): (folder / "x").write_text("y")
kept = [cache.cached_folder("runtime", "one", never)[1]]
kept.append(cache.cached_folder("runtime", "new", new)[1])
key = seal.key_file(cache.cache_root()).read_bytes().hex()
os.environ.pop("WARPLOOM_CACHE")
seal._key.cache_clear()
kept.append(cache.cached_folder("runtime", "one", never)[1])  # a server without our environment
places = {}
for place in sys.argv[1:]:
    try:
        places[place] = pathlib.Path(place).read_bytes().hex()
    except OSError as error:
        places[place] = error.strerror
print(json.dumps([kept, key, places]))
"""


@pytest.mark.parametrize("kept_before", [True, False])
def test_in_its_sandbox_an_agent_has_a_cache_and_never_our_key(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_before: bool
) -> None:
    if find_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"bubblewrap is needed: {find_sandbox().reason}")
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    state = home / ".local" / "state" / "warploom"
    if kept_before:
        state.mkdir(parents=True)
        (state / KEY).write_text("the key of the default cache")
    monkeypatch.setenv("HOME", str(home))
    secret = (ours / PRIVATE / KEY).read_bytes().hex()
    places = [str(ours / PRIVATE / KEY), str(state / KEY)]
    with confined([sys.executable, "-c", PROBE, *places], work, clean=True) as held:
        done = subprocess.run(
            held.command, env=held.environment, cwd=work, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    kept, key, seen = json.loads(done.stdout)
    assert kept == [True, False, True]
    assert secret not in done.stdout and key != secret
    # The places hold the session's own key, or nothing.
    assert set(seen.values()) <= {key, "No such file or directory"}
    assert not (ours / "runtime" / "new").exists()
    assert is_sound(ours / "runtime" / "one", "runtime/one", ours)


@pytest.mark.parametrize("key", KNOWN_AGENTS)
def test_a_home_that_was_never_used_gets_the_state_of_an_agent(key: str, tmp_path: Path) -> None:
    known = KNOWN_AGENTS[key]
    made = make_state(known, tmp_path / "home", {})
    assert [path.relative_to(tmp_path / "home") for path in made] == [Path(n) for n in known.state]
    for path in made:
        assert path.is_dir() or json.loads(path.read_text()) == {}


def test_state_that_a_variable_moves_is_found_there(tmp_path: Path) -> None:
    moved = {"CODEX_HOME": str(tmp_path / "c"), "GEMINI_CLI_HOME": str(tmp_path / "g")}
    assert make_state(KNOWN_AGENTS["codex"], tmp_path, moved) == [tmp_path / "c"]
    assert make_state(KNOWN_AGENTS["gemini"], tmp_path, moved) == [tmp_path / "g" / ".gemini"]
    config = {"XDG_CONFIG_HOME": str(tmp_path / "x")}
    assert tmp_path / "x" / "opencode" in make_state(KNOWN_AGENTS["opencode"], tmp_path, config)


def test_certificates_and_proxies_are_passed_and_loopback_is_spared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "NODE_EXTRA_CA_CERTS": "/etc/own.pem", "SSL_CERT_FILE": "/etc/own.pem",
        "https_proxy": "http://proxy:8080", "NO_PROXY": "intranet", "OPENAI_API_KEY": "k",
        "SOME_SECRET": "hunter2",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    passed = agent_environment(KNOWN_AGENTS["codex"], ("EXTRA",), tmp_path, tmp_path)
    assert passed["NODE_EXTRA_CA_CERTS"] == passed["SSL_CERT_FILE"] == "/etc/own.pem"
    assert passed["https_proxy"] == "http://proxy:8080" and passed["OPENAI_API_KEY"] == "k"
    assert passed["NO_PROXY"].split(",") == ["intranet", "127.0.0.1", "localhost"]
    assert "SOME_SECRET" not in passed
    assert str(Path(sys.executable).parent) in passed["PATH"].split(os.pathsep)
    assert Path(passed["npm_config_cache"]).is_dir()


def test_a_user_without_a_home_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/nonexistent")
    home = usable_home(tmp_path)
    assert home == tmp_path / "home" and os.access(home, os.W_OK)


def test_folders_of_killed_sessions_are_removed(ours: Path) -> None:
    with private_folder() as folder:
        old = folder.parent / "session-old"
        old.mkdir()
        os.utime(old, (0, 0))
    with private_folder():
        assert not old.exists()
    assert cache_module.cache_root() == ours
