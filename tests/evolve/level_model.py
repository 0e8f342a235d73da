"""A model that moves levers: what it says follows from what it is asked, so that runs repeat."""

import re

from warploom.core.ids import digest
from warploom.testing.wire import Asked, Reply

_PROGRAM = re.compile(r"<<<<BEGIN PROGRAM \w+>>>>\n(.*?)<<<<END PROGRAM", re.DOTALL)
_LEVER = re.compile(r"^int (\w+) = (\w+);$", re.MULTILINE)
_VALUES = {
    "blocks": ("1", "2", "4", "8", "16", "32"),
    "threads": ("32", "64", "128", "256"),
    "chunks": ("1", "2", "4", "8"),
    "unroll": ("1", "2", "4"),
}
TASKS = {
    "# Task: improve the program by edits": "diff",
    "# Task: write the program anew": "full",
    "# Task: another algorithm": "full",
    "# Task: another structure": "full",
    "# Task: other numbers": "full",
    "# Task: combine two programs": "llm_crossover",
    "# Task: repair one error": "fix",
    "# Task: is this a new idea?": "novelty",
    "# Task: what have we learnt?": "summary",
}


def prompt_of(asked: Asked) -> str:
    """Return the question of a request, in whichever wire format."""
    return max(_texts(asked.body), key=lambda text: text.count("\n") + 1000 * ("# Task" in text))


def task_of(asked: Asked) -> str:
    """Return what is asked for."""
    return TASKS[prompt_of(asked).splitlines()[0]]


def answer(asked: Asked) -> Reply:
    """Answer by what is asked; now and then with prose, a known program or one that breaks."""
    prompt, task = prompt_of(asked), task_of(asked)
    draw = int(digest((prompt,)), 16)
    if task == "novelty":
        return Reply(value={"differ": draw % 5 != 0, "why": "Only names differ."})
    if task == "summary":
        return Reply(value={
            "summary": "More blocks helped.", "scratchpad": "blocks=8 is good",
            "recommendations": ["Set chunks to 4.", "Set threads to 128."],
        })  # fmt: skip
    programs = _PROGRAM.findall(prompt)
    own = programs[-2] if task == "llm_crossover" else programs[-1]
    if draw % 11 == 0:
        return Reply("I would rather think about it.")
    if draw % 7 == 0:
        return Reply(f"Much better:\n\n```cuda\n{own}// faster now\n```\n")
    levels = dict(_LEVER.findall(own))
    lever = sorted(levels)[draw // 77 % len(levels)]
    others = [value for value in _VALUES[lever] if value != levels[lever]]
    value = others[draw // 1001 % len(others)]
    if task == "fix":
        lever, value = "unroll", "2"
    if task == "diff":
        edit = f"int {lever} = {levels[lever]};\n=======\nint {lever} = {value};"
        return Reply(f"One step.\n\n<<<<<<< SEARCH\n{edit}\n>>>>>>> REPLACE\n")
    text = re.sub(rf"int {lever} = \w+;", f"int {lever} = {value};", own)
    return Reply(f"As asked:\n\n```cuda\n{text}```\n")


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _texts(item)]
