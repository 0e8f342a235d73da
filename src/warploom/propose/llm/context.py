"""What a model is told of a program, within a budget of tokens: what matters most comes first."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from warploom.core.errors import BadInputError
from warploom.core.records import Api
from warploom.propose.llm.nccl_api import device_api
from warploom.propose.llm.prompts import quoted, section, without_folders
from warploom.propose.protocol import ProposalContext, Trial

BYTES_PER_TOKEN = 3
"""Code takes about 3.3 bytes a token with the tokenizers in use; less is the safe side."""

_API_SHARE = 0.35  # of the budget, at most
_FINDINGS_BYTES = 6000  # of the raw report of one attempt
_OLDER_BYTES = 600  # of each attempt before the last


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known besides the program.

    `ranks` and `lsa_size` are the workload's; `nccl` is the version whose headers count.
    `directives` are choices that are made already, by name; `hardware` describes the machine to
    write for; `refusals` say why the rules could not do it.
    """

    nccl: str
    ranks: int
    lsa_size: int | None = None
    directives: tuple[tuple[str, str], ...] = ()
    hardware: str = ""
    refusals: tuple[str, ...] = ()


@dataclass(slots=True)
class SectionBudget:
    """Bytes that are left of a prompt."""

    left: int
    dropped: list[str] = field(default_factory=list[str])

    def take(self, title: str, body: str, *, must: bool = False) -> str:
        """Return a section if it fits, else "" and its title among those that were dropped."""
        text = section(title, body)
        size = len(text.encode())
        if size > self.left and not must:
            self.dropped.append(title)
            return ""
        self.left -= size
        return text + "\n" if text else ""


def facts_text(context: ProposalContext, facts: Facts, tokens: int) -> str:
    """Return the sections about the program and what it may use.

    The program itself is always there. The rest follows by worth: the machine, the API's
    declarations, the analysis, a reference program; what does not fit is left out and named.

    Raises:
        BadInputError: not even the program fits, or it is not UTF-8.
    """
    budget = SectionBudget(tokens * BYTES_PER_TOKEN)
    program = context.base or context.text
    size = _size(program, context.analysis.file)
    if size > budget.left:
        raise BadInputError(
            f"the program has {len(program)} characters, which does not fit into {tokens} tokens",
            hint="raise the tokens of a prompt, or split the program",
        )
    shown = budget.take("The program", quoted("PROGRAM", program), must=True)
    if context.trials and context.trials[-1].text:  # it is shown too, in trial_text
        budget.left -= len(context.trials[-1].text.encode())
    parts = [budget.take("Where it runs", _machine(facts), must=True)]
    parts.append(budget.take("Chosen already", _directives(facts)))
    parts.append(budget.take("Why rules could not do it", listed(facts.refusals)))
    most = min(int(tokens * BYTES_PER_TOKEN * _API_SHARE), max(0, budget.left))
    api = device_api(facts.nccl, context.api, most_bytes=most)
    parts.append(budget.take(f"The API: declarations of {api.origin}", quoted("API", api.text)))
    analysis = quoted("ANALYSIS", without_folders(context.analysis.format_for_llm()))
    parts.append(budget.take("What an analysis says of the host-driven program", analysis))
    parts.append(budget.take("A program that does it right", reference(context.api)))
    if budget.dropped:
        parts.append(f"(Left out for length: {', '.join(budget.dropped)}.)\n\n")
    return "".join(parts) + shown


def _size(program: str, file: str) -> int:
    """Return the bytes of a program; raise BadInputError where a model could not be shown it."""
    try:
        return len(program.encode())
    except UnicodeEncodeError as error:
        raise BadInputError(
            "a program for a language model must be UTF-8, but holds other bytes",
            file=file,
            line=program.count("\n", 0, error.start) + 1,
            hint="convert it, or use --proposer rules",
        ) from None


def reference(api: Api) -> str:
    """Return a verified program that communicates by `api`, quoted."""
    path = files("warploom.propose.llm").joinpath("references", f"{api}_allgather.cu")
    return quoted("REFERENCE", path.read_text(encoding="utf-8"))


def trial_text(trials: Sequence[Trial]) -> str:
    """Return what came of the attempts before: the last in full, those before it in short."""
    if not trials:
        return ""
    last = trials[-1]
    parts = [section("Attempts before the last", _older(trials[:-1]))]
    if last.text:
        parts.append(section(f"Attempt {last.number}: its program", quoted("PROGRAM", last.text)))
    parts.append(section(f"Attempt {last.number}: what came of it", last.failure))
    raw = cut(last.report, _FINDINGS_BYTES)
    parts.append(section("The judge's report, raw", quoted("REPORT", raw) if raw.strip() else ""))
    parts.append(section("A rerun that waits after every launch says", last.diagnosis))
    words = quoted("EXPLANATION", last.words) if last.words.strip() else ""
    parts.append(section("What a reader of that report says", words))
    return "\n".join(part for part in parts if part)


def _older(trials: Sequence[Trial]) -> str:
    return listed([f"attempt {t.number}: {cut(t.failure, _OLDER_BYTES)}" for t in trials])


def _machine(facts: Facts) -> str:
    together = facts.lsa_size or facts.ranks
    lines = [
        f"{facts.ranks} ranks, one GPU each; {together} of them share memory (LSA team). The "
        "program must also be right for other numbers of ranks.",
        f"NCCL {facts.nccl}: its rules hold, and only what its headers declare exists.",
    ]
    return "\n".join([*lines, facts.hardware]).strip()


def _directives(facts: Facts) -> str:
    return listed([f"{name}: {value}" for name, value in facts.directives])


def listed(items: Sequence[str]) -> str:
    """Return `items` as a list, one line each."""
    return "\n".join(f"- {item}" for item in items)


def cut(text: str, most_bytes: int) -> str:
    """Return a text of at most `most_bytes` bytes, and a line that says so where it was cut."""
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= most_bytes:
        return text
    return data[:most_bytes].decode("utf-8", "ignore") + "\n(cut here for length)\n"
