"""Rules of SARIF: what a kind of finding is, and its page, for those who look at results."""

import re
from urllib.parse import quote

from warploom.core.finding_pages import page_of, section
from warploom.core.records import Json, Severity
from warploom.reports.queries.clean import clean

HOME = "https://github.com/warploom/warploom"
_DOCS = f"{HOME}/blob/main/docs"
_MARKS = re.compile(r"[`*_]{1,2}(?=\S)|(?<=\S)[`*]{1,2}|\[([^\]]*)\]\([^)]*\)")
_MOST_SHORT = 1000
_WITHOUT_A_PAGE = {
    "build": "The program does not compile, so that nothing of it could be run.",
    "program-deadlock": "The program came to a point where no rank could go on.",
    "program-failed": "The program ended with an exit code of its own that is not 0, or crashed.",
    "unsupported": "The program uses something that is not emulated: it was not judged.",
}


def rule_of(kind: str, severity: str) -> dict[str, Json]:
    """Return the rule of a kind of finding, with its page where it has one."""
    name = clean(kind)
    page = page_of(kind)
    text = " ".join(section(page, "").split("\n\n")[0].split())
    known = _WITHOUT_A_PAGE.get(kind, f"A finding of the kind {_words(name)}.")
    plain = _plain(text) if text else known
    where = f"{_DOCS}/findings/{quote(name, safe='')}.md" if page else f"{_DOCS}/findings.md"
    level = "error" if severity == Severity.ERROR else "warning"
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in _words(name).split()) or name,
        "shortDescription": {"text": _words(name)},
        "fullDescription": {"text": plain[:_MOST_SHORT]},
        "help": {
            "text": f"{plain} See {where}",
            "markdown": page or f"{plain} See [the list of kinds]({where}).",
        },
        "helpUri": where,
        "defaultConfiguration": {"level": level},
        "properties": {
            "precision": "high",
            "problem.severity": level,
            "tags": ["correctness", "cuda", "nccl"],
        },
    }


def _words(name: str) -> str:
    return name.replace("_", " ").replace("-", " ")


def _plain(text: str) -> str:
    """Return a paragraph of Markdown without its marks."""
    return _MARKS.sub(lambda found: found.group(1) or "", text)
