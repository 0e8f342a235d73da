"""Plays as another user, and in every combination of user and sandbox."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from warploom.testing.attacks.log import prepare

USERS = ("root", "ordinary")
SANDBOXES = ("bubblewrap", "landlock", "limits")
INTERRUPTED = 130
"""The exit code of a player that was interrupted, as of a shell's command."""
_NOBODY = 65534


def as_user(user: str, arguments: list[str], log: Path | None) -> int | None:
    """Play as `user` in a process of its own; None where we are that user already.

    An ordinary user gets a writable cache of their own, which is thrown away with all else, and
    may write to `log`.
    """
    root = os.geteuid() == 0
    if not user or (user == "root") == root:
        return None
    if not root:
        sys.stderr.write("--user root: only root can play as root\n")
        return 2
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        sys.stderr.write("--user ordinary needs setpriv (util-linux)\n")
        return 3
    with tempfile.TemporaryDirectory(prefix="warploom-user-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        cache = os.environ.get("WARPLOOM_ATTACK_CACHE")
        if cache:  # a cache of that user's from an earlier play, to save the build of the runtime
            for path in (cache, f"{cache}-state"):
                Path(path).mkdir(parents=True, exist_ok=True)
                os.chown(path, _NOBODY, _NOBODY)
        scratch = folder / "tmp"
        for path in (folder, scratch):
            os.chown(path, _NOBODY, _NOBODY)
        own = {"HOME": name, "TMPDIR": str(scratch)}
        own["WARPLOOM_CACHE"] = cache or str(folder / "cache")
        own["XDG_STATE_HOME"] = f"{cache}-state" if cache else str(folder / "state")
        become = [setpriv, f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--"]
        python = _reachable_python(become)
        if python is None:
            sys.stderr.write("--user ordinary needs a Python that this user can run\n")
            return 3
        own["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        command = [*become, python, "-m", "warploom.testing.attacks", *arguments]
        if log is not None:  # the player's folder is another one
            prepare(log, _NOBODY)
            command += ["--log", str(log.absolute())]
        return _player(command, environment={**os.environ, **own}, folder=name).returncode


def _player(
    command: list[str],
    *,
    environment: dict[str, str] | None = None,
    folder: str | None = None,
    stdout: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a player to its end; one that is interrupted ends its plays and says how to go on."""
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=stdout, text=True) as player:
        try:
            output, _ = player.communicate()
        except KeyboardInterrupt:
            player.send_signal(signal.SIGINT)  # a terminal has told it, others may have not
            output, _ = player.communicate()
        return subprocess.CompletedProcess(command, player.returncode, output)


def _reachable_python(become: list[str]) -> str | None:
    """Return a Python of our version that the other user can run: ours may lie in root's home."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    usual = shutil.which(name, path="/usr/local/bin:/usr/bin")
    for python in (sys.executable, usual):
        if python is None:
            continue
        tried = [*become, python, "-c", "import sys; print(sys.executable)"]
        done = subprocess.run(tried, check=False, capture_output=True, text=True, cwd="/")
        if done.returncode == 0 and done.stdout.strip() and _is_real(done.stdout.strip(), become):
            return python
    return None


def _is_real(python: str, become: list[str]) -> bool:
    """Whether the other user can run what `python` is a link to."""
    done = subprocess.run([*become, "test", "-x", python], check=False, cwd="/")
    return done.returncode == 0


def play_matrix(arguments: list[str]) -> int:
    """Play all that is asked for as root and as an ordinary user, in each kind of sandbox.

    Returns the worst exit code; every table is printed under its setting.
    """
    words = [word for word in arguments if word != "--matrix"]
    users = USERS if os.geteuid() == 0 else ("ordinary",)
    worst = 0
    documents: dict[str, object] = {}
    for user in users:
        for sandbox in ("bubblewrap", "landlock"):
            command = [sys.executable, "-m", "warploom.testing.attacks", *words]
            command += ["--user", user, "--sandbox", sandbox]
            as_json = "--json" in words
            if not as_json:
                sys.stdout.write(f"== {user}, {sandbox}\n")
                sys.stdout.flush()
            done = _player(command, stdout=subprocess.PIPE)
            if done.returncode == INTERRUPTED:
                return INTERRUPTED
            worst = max(worst, done.returncode)
            if as_json:
                documents[f"{user}, {sandbox}"] = json.loads(done.stdout or "null")
            else:
                sys.stdout.write(done.stdout)
    if documents:
        sys.stdout.write(json.dumps(documents, indent=2) + "\n")
    return worst
