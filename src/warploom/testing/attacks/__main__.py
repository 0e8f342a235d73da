"""The command `python -m warploom.testing.attacks`."""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from warploom.testing.attacks.log import Log
from warploom.testing.attacks.manifest import chosen, every_attack
from warploom.testing.attacks.matrix import INTERRUPTED, SANDBOXES, USERS, as_user, play_matrix
from warploom.testing.attacks.play import Settings, play, shared_cache, tell
from warploom.testing.attacks.record import BAD, Attack, Mode, Played
from warploom.testing.attacks.table import summary, table


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.attacks")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="attacks whose name holds this, or of this class",
    )
    parser.add_argument(
        "--mode", action="append", default=[], type=Mode, choices=list(Mode), help="only this mode"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--table", action="store_true", help="print Markdown for docs/security.md")
    parser.add_argument("--list", action="store_true", help="print the attacks and play none")
    parser.add_argument("--log", type=Path, help="write each play here; go on where it ends")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once [cores]")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each command [300]")
    parser.add_argument("--nvcc", action="store_true", help="let nvcc take part where it is found")
    parser.add_argument("--user", choices=USERS, default="", help="who plays [whoever calls]")
    parser.add_argument("--sandbox", choices=SANDBOXES, default="", help="[the strongest here]")
    parser.add_argument(
        "--part", default="0/1", help="I/N: every N-th play from the I-th on [0/1, all]"
    )
    parser.add_argument("--matrix", action="store_true", help="both users, each sandbox")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play attacks; returns 0 if none fooled the judge and no honest program was accused."""
    options = _options(arguments)
    if options.matrix:
        return play_matrix(list(arguments if arguments is not None else sys.argv[1:]))
    code = as_user(
        options.user, list(arguments if arguments is not None else sys.argv[1:]), options.log
    )
    if code is not None:
        return code
    plays = chosen(every_attack(), options.only, options.mode)
    part, parts = (int(number) for number in options.part.split("/"))
    plays = plays[part::parts]
    if options.list:
        for attack, mode in plays:
            sys.stdout.write(f"{attack.name:32} {mode:12} {attack.expected:8} {attack.kind}\n")
        return 0
    if not plays:
        sys.stderr.write("no attack is called so; --list names them\n")
        return 2
    if options.sandbox:
        os.environ["WARPLOOM_SANDBOX"] = options.sandbox
    user = "root" if os.geteuid() == 0 else "ordinary"
    setting = f"{user}, {options.sandbox or 'strongest sandbox'}"
    with shared_cache() as environment:
        settings = Settings(
            options.seconds, options.nvcc, environment, setting, beside=options.jobs - 1
        )
        try:
            played = _play_all(plays, settings, options.jobs, Log(options.log, setting))
        except KeyboardInterrupt:
            sys.stderr.write(_how_to_go_on(options.log))
            return INTERRUPTED
    if options.json:
        document = {"summary": summary(played), "plays": [item.to_json() for item in played]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        sys.stdout.write(table(played, markdown=options.table))
    return 1 if any(item.outcome in BAD for item in played) else 0


def _play_all(
    plays: Sequence[tuple[Attack, Mode]], settings: Settings, jobs: int, log: Log
) -> list[Played]:
    lock = threading.Lock()

    def one(pair: tuple[Attack, Mode]) -> Played:
        earlier = log.earlier(*pair)
        if earlier is not None:
            return earlier
        played = play(*pair, settings)
        if settings.cancel.is_set():  # it may have been cut off
            return played
        log.add(pair[0], played)
        with lock:
            sys.stderr.write(f"{tell(played)}  {played.seconds:.0f} s\n")
        return played

    with ThreadPoolExecutor(jobs) as pool:
        try:
            return list(pool.map(one, plays))
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all ends soon
            settings.cancel.set()
            pool.shutdown(cancel_futures=True)
            raise


def _how_to_go_on(log: Path | None) -> str:
    if log is None:
        return "interrupted; with --log FILE, the same command goes on where it was\n"
    return f"interrupted; the same command goes on where it was: {log} holds the plays so far\n"


if __name__ == "__main__":
    sys.exit(main())
