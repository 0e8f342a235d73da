"""Plays as another user, and in every combination of user and sandbox."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

USERS = ("root", "ordinary")
SANDBOXES = ("bubblewrap", "landlock", "limits")
_NOBODY = 65534


def as_user(user: str, arguments: list[str]) -> int | None:
    """Play as `user` in a process of its own; None where we are that user already.

    An ordinary user gets a writable cache of their own, which is thrown away with all else.
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
            Path(cache).mkdir(parents=True, exist_ok=True)
            os.chown(cache, _NOBODY, _NOBODY)
        for path in (folder, folder / "tmp"):
            os.chown(path, _NOBODY, _NOBODY)
        own = {"HOME": name, "TMPDIR": f"{name}/tmp", "WARPLOOM_CACHE": cache or f"{name}/cache"}
        command = [
            setpriv, f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--",
            sys.executable, "-m", "warploom.testing.attacks", *arguments,
        ]  # fmt: skip
        return subprocess.run(command, env={**os.environ, **own}, check=False, cwd=name).returncode


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
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
            worst = max(worst, done.returncode)
            if as_json:
                documents[f"{user}, {sandbox}"] = json.loads(done.stdout or "null")
            else:
                sys.stdout.write(done.stdout)
    if documents:
        sys.stdout.write(json.dumps(documents, indent=2) + "\n")
    return worst
