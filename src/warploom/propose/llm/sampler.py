"""`PromptSampler`: the prompt by which a model is asked to change a program of a search."""

from dataclasses import dataclass
from random import Random

from warploom.core.errors import BadInputError
from warploom.core.records import Api
from warploom.propose.llm.answers import CUDA, EDITS, EITHER, WHOLE, in_language
from warploom.propose.llm.context import BYTES_PER_TOKEN, SectionBudget
from warploom.propose.llm.nccl_api import device_api
from warploom.propose.llm.prompts import quoted, render, section
from warploom.propose.llm.protocols import PROTOCOL
from warploom.propose.llm.shown import Shown, judgment, record
from warploom.source.any_language import has_markers

KINDS = ("diff", "full", "llm_crossover", "fix")
"""What a model may be asked for: edits, a whole program, two programs joined, one error mended."""

_STYLES = ("full", "full_fresh", "full_structure", "full_tuning")
_OPEN_STYLES = ("full", "full_fresh")  # where the program need not be CUDA
_API_SHARE = 0.3  # of the budget, at most
_HELD = (
    "Change only what stands between EVOLVE-BLOCK-START and EVOLVE-BLOCK-END: the rest is the "
    "frame, which stays as it is."
)
_FREE = "What the program reads, computes, checks and reports must stay."


@dataclass(frozen=True, slots=True)
class SearchFacts:
    """What all prompts of a search say besides programs.

    `machine` describes where the program runs, `task` what it is for. `nccl` is the version whose
    device API is shown, "" where none is. `language` is the word for fences. `timed` says that
    programs are ranked by their time, else by a score. `tokens` is how long a prompt may be, by an
    estimate of three bytes a token.
    """

    machine: str = ""
    task: str = ""
    nccl: str = ""
    language: str = CUDA
    timed: bool = True
    tokens: int = 48_000


@dataclass(frozen=True, slots=True)
class Material:
    """What one prompt is made of.

    `partner` is the other program of a crossover. `inspirations` are programs that did well;
    `history` is what came of earlier changes of the parent. `task` is that of the parent's island,
    `advice` what a summary recommends. `api` is what the parent's ranks communicate by.
    """

    parent: Shown
    partner: Shown | None = None
    inspirations: tuple[Shown, ...] = ()
    history: tuple[Shown, ...] = ()
    task: str = ""
    advice: str = ""
    api: Api | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: `name` is its template's."""

    name: str
    system: str
    text: str


class PromptSampler:
    """Makes prompts for the kinds `diff`, `full` (in several styles), `llm_crossover` and `fix`.

    The program is always shown whole. The rest follows by worth and what does not fit is left out
    and named: what the judge said of it, the task, the machine, advice, other programs, the API.
    """

    def __init__(self, facts: SearchFacts) -> None:
        self._facts = facts

    def sample(self, kind: str, material: Material, rng: Random) -> Prompt:
        """Return a prompt; `rng` draws the style of a whole program.

        Raises:
            BadInputError: the kind is none of `KINDS`, a crossover has no partner, or the program
                does not fit.
        """
        name = self._template(kind, rng)
        held = has_markers(material.parent.text)
        fields = {
            "scope": _HELD if held else _FREE,
            "facts": self._facts_text(material),
            "history": self._history(material),
            "answer": self._answer(kind),
        }
        if kind != "fix":
            fields["goal"] = self._goal()
        if kind == "llm_crossover":
            fields["second"] = _second(material)
        system = render("system" if self._facts.nccl else "system_open")
        return Prompt(name, system, render(name, **fields))

    def _template(self, kind: str, rng: Random) -> str:
        if kind not in KINDS:
            raise BadInputError(f"a prompt's kind must be one of {', '.join(KINDS)}, got {kind!r}")
        if kind == "full":
            return rng.choice(_STYLES if self._facts.nccl else _OPEN_STYLES)
        return "crossover" if kind == "llm_crossover" else kind

    def _goal(self) -> str:
        return "faster, with the same results" if self._facts.timed else "a higher score"

    def _answer(self, kind: str) -> str:
        chosen = {"diff": EDITS, "fix": EITHER}.get(kind, WHOLE)
        return in_language(chosen, self._facts.language)

    def _facts_text(self, material: Material) -> str:
        facts, parent = self._facts, material.parent
        _require_text(parent.text)
        budget = SectionBudget(facts.tokens * BYTES_PER_TOKEN)
        shown = section(f"The program ({parent.name})", quoted("PROGRAM", parent.text))
        other = "" if material.partner is None else material.partner.text
        budget.left -= len(shown.encode()) + len(other.encode())
        if budget.left < 0:
            raise BadInputError(
                f"a program of {len(parent.text)} characters does not fit into a prompt of "
                f"{facts.tokens} tokens",
                hint="raise models.context_tokens",
            )
        parts = [
            budget.take("What the judge says of it", judgment(parent)),
            budget.take("The task", "\n\n".join(t for t in (facts.task, material.task) if t)),
            budget.take("What a look at the whole search recommends", material.advice),
            budget.take("Where it runs", facts.machine),
        ]
        if material.api is not None and facts.nccl:
            parts.append(budget.take("What holds", PROTOCOL[material.api]))
        parts += [
            budget.take(f"Another that did well: {one.name}",
                        f"{judgment(one)}\n\n{quoted('PROGRAM', one.text)}")
            for one in material.inspirations
        ]  # fmt: skip
        if material.api is not None and facts.nccl:
            most = min(int(facts.tokens * BYTES_PER_TOKEN * _API_SHARE), max(0, budget.left))
            api = device_api(facts.nccl, material.api, most_bytes=most)
            title = f"The API: declarations of {api.origin}"
            parts.append(budget.take(title, quoted("API", api.text)))
        if budget.dropped:
            parts.append(f"(Left out for length: {', '.join(budget.dropped)}.)\n\n")
        return "".join(parts) + shown

    def _history(self, material: Material) -> str:
        return section("What came of earlier changes of this program", record(material.history))


def _second(material: Material) -> str:
    partner = material.partner
    if partner is None:
        raise BadInputError("a crossover needs a second program, got none")
    body = f"{judgment(partner)}\n\n{quoted('PROGRAM', partner.text)}"
    return section(f"The second program ({partner.name})", body)


def _require_text(program: str) -> None:
    """Raise BadInputError where a model could not be shown a program."""
    try:
        program.encode()
    except UnicodeEncodeError as error:
        raise BadInputError(
            "a program for a language model must be UTF-8, but holds other bytes",
            line=program.count("\n", 0, error.start) + 1,
            hint="convert it, or leave models.names empty",
        ) from None
