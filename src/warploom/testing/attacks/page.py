"""The command `python -m warploom.testing.attacks.page`: the documentation's tables, from logs.

It writes docs/attacks.md, a row for each program, and the summary in docs/security.md between two
marks. Plays of a text that is another one by now are left out; of several plays of one text in one
mode and setting the latest counts.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.testing.attacks.log import judge_digest, play_digest
from warploom.testing.attacks.manifest import every_attack
from warploom.testing.attacks.record import (
    ROOT,
    Answer,
    Attack,
    Expected,
    Mode,
    Outcome,
    Played,
    outcome_of,
)

BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"
_MODES = (Mode.CHECK, Mode.EVAL_FREE, Mode.EVAL_FRAMED, Mode.AGENT, Mode.RULES)
_WORDS = 90


@dataclass(frozen=True, slots=True)
class Logged:
    """A play of a log, and the state of the judge that it was of."""

    played: Played
    judge: str


def read_logs(paths: Iterable[Path], attacks: Sequence[Attack]) -> list[Logged]:
    """Return the latest play of each attack, mode and setting; of texts as they are today."""
    by_name = {attack.name: attack for attack in attacks}
    found: dict[tuple[str, str, str], Logged] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                item = json.loads(line)
            except ValueError:  # cut off when the player was killed
                continue
            play = item["play"]
            judge, _, digest = str(item["key"]).partition("/")
            attack, mode, setting = by_name.get(play["name"]), Mode(play["mode"]), play["setting"]
            if attack is None or digest != play_digest(attack, mode, setting):
                continue
            answer = Answer(**play["answer"])
            played = Played(
                attack.name, attack.kind, mode, attack.expected,
                outcome_of(attack.expected, answer), answer, float(play["seconds"]), setting,
            )  # fmt: skip
            found[attack.name, mode, setting] = Logged(played, judge)
    return list(found.values())


def summary_text(plays: Sequence[Logged], attacks: Sequence[Attack]) -> str:
    """Return what stands in docs/security.md: counts by setting and by class."""
    lines = ["| setting | judge | plays | of | " + " | ".join(map(str, Outcome)) + " |"]
    lines.append("|---|---" + "|--:" * (2 + len(Outcome)) + "|")
    total = sum(len(attack.modes) for attack in attacks)
    by_setting: dict[tuple[str, str], list[Logged]] = defaultdict(list)
    for item in plays:
        by_setting[item.played.setting, item.judge].append(item)
    for (setting, judge), some in sorted(by_setting.items()):
        counts = " | ".join(_count(some, outcome) for outcome in Outcome)
        lines.append(f"| {setting} | `{judge}` | {len(some)} | {total} | {counts} |")
    lines += ["", "| class | programs | plays | what caught them, most often first |"]
    lines.append("|---|--:|--:|---|")
    by_kind: dict[str, list[Logged]] = defaultdict(list)
    for item in plays:
        by_kind[item.played.kind].append(item)
    for kind, some in sorted(by_kind.items()):
        programs = len({item.played.name for item in some})
        lines.append(f"| {kind} | {programs} | {len(some)} | {_by_what(some)} |")
    bad = [item for item in plays if item.played.outcome in _TOLD]
    if bad:
        lines += ["", "Not as they should be:", ""]
        lines += sorted({f"- {_told(item.played)}" for item in bad})
    return "\n".join(lines) + "\n"


_TOLD = (Outcome.FOOLED, Outcome.ACCUSED, Outcome.ERROR)


def _told(played: Played) -> str:
    answer = played.answer
    said = answer.problem or (answer.leaked and f"leaked to {answer.leaked}") or answer.mechanism
    words = f"{played.outcome}: `{played.name}` ({played.mode}; {played.setting}) {_cell(said)}"
    return words.rstrip()


def _count(plays: Sequence[Logged], outcome: Outcome) -> str:
    return str(sum(item.played.outcome is outcome for item in plays) or "")


def _by_what(plays: Sequence[Logged]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for item in plays:
        counts[_what(item.played)] += 1
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    more = f", {len(ordered) - 6} more" if len(ordered) > 6 else ""
    return ", ".join(f"{what} {count}" for what, count in ordered[:6]) + more


def page_text(plays: Sequence[Logged]) -> str:
    """Return docs/attacks.md: each program, and what caught it in each mode."""
    lines = [
        "# The attack suite, program by program",
        "",
        "`python -m warploom.testing.attacks.page LOG` writes this page from a log of plays; what",
        "the outcomes mean, and how to play, is in [security.md](security.md#the-attack-suite). A",
        "cell names what spoke first, and the level of the cascade that it spoke at; several where",
        "users or sandboxes differ. `1.00x`: it passed as right, and was so many times as fast as",
        "the honest program (up to 1.03 is no gain).",
    ]  # fmt: skip
    by_kind: dict[str, dict[str, list[Logged]]] = defaultdict(lambda: defaultdict(list))
    for item in plays:
        by_kind[item.played.kind][item.played.name].append(item)
    for kind, programs in sorted(by_kind.items()):
        modes = [m for m in _MODES if any(p.played.mode is m for x in programs.values() for p in x)]
        lines += ["", f"## {kind[0].upper()}{kind[1:]}", ""]
        lines.append("| program | expected | " + " | ".join(modes) + " |")
        lines.append("|---" * (2 + len(modes)) + "|")
        for name, some in sorted(programs.items()):
            expected = some[0].played.expected
            cells = " | ".join(_cells(some, mode) for mode in modes)
            lines.append(f"| `{name}` | {_expected(expected)} | {cells} |")
    return "\n".join(lines) + "\n"


def _expected(expected: Expected) -> str:
    return "passes" if expected is Expected.OK else str(expected)


def _cells(plays: Sequence[Logged], mode: Mode) -> str:
    texts = {_what(item.played) for item in plays if item.played.mode is mode}
    return " / ".join(sorted(texts))


def _what(played: Played) -> str:
    answer = played.answer
    if played.outcome in _TOLD:
        return f"**{played.outcome}**"
    if answer.mechanism:
        level = answer.stage.split(" ")[0]
        return f"`{answer.mechanism}`" + (f" ({level})" if level.isdigit() else "")
    if played.expected is Expected.OK or answer.speedup is None:
        return "no leak" if played.expected is Expected.NO_LEAK else "passed"
    return f"{answer.speedup:.2f}x" if played.outcome is Outcome.CAUGHT else str(played.outcome)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:_WORDS]


def put_between(text: str, new: str) -> str:
    """Return `text` with `new` between the two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{BEGIN} and {END} are not both there")
    return f"{before}{BEGIN}\n\n{new}\n{END}{after}"


def compact(paths: Iterable[Path]) -> list[Mapping[str, object]]:
    """Return the lines of logs without the words of findings: what tables need, and resuming."""
    found: dict[str, Mapping[str, object]] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                item = json.loads(line)
            except ValueError:
                continue
            answer = {k: v for k, v in item["play"]["answer"].items() if v and k != "message"}
            answer["passed"] = item["play"]["answer"]["passed"]
            item["play"]["answer"] = answer
            item["play"]["seconds"] = round(float(item["play"]["seconds"]), 1)
            found[item["key"]] = item
    return list(found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables; returns 1 where a play ended as it should not."""
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.attacks.page")
    parser.add_argument("logs", nargs="*", type=Path, help="what --log wrote, older ones first")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of both pages")
    parser.add_argument("--compact", type=Path, help="also write a shorter log that does the same")
    parser.add_argument("--judge", action="store_true", help="print this tree's digest alone")
    options = parser.parse_args(arguments)
    if options.judge:
        sys.stdout.write(judge_digest() + "\n")
        return 0
    attacks = every_attack()
    plays = read_logs(options.logs, attacks)
    if not plays:
        sys.stderr.write("no play of a text of today is in these logs\n")
        return 2
    security = options.docs / "security.md"
    text = put_between(security.read_text(encoding="utf-8"), summary_text(plays, attacks))
    security.write_text(text, encoding="utf-8")
    (options.docs / "attacks.md").write_text(page_text(plays), encoding="utf-8")
    if options.compact:
        lines = (json.dumps(item, separators=(",", ":")) for item in compact(options.logs))
        options.compact.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 1 if any(item.played.outcome in _TOLD for item in plays) else 0


if __name__ == "__main__":
    sys.exit(main())
