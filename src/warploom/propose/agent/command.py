"""An outside agent by a command template, such as `claude -p {prompt}`."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.core.errors import BadInputError
from warploom.core.process import ProcessResult, Stop, run_process
from warploom.core.records import Limits
from warploom.llm.told import told_cost
from warploom.propose.agent.complaint import first_complaint
from warploom.propose.agent.served import Service, serving
from warploom.propose.agent.session import AgentReport, AgentTask, Ended, split_command
from warploom.toolchain.confine import confined
from warploom.toolchain.known_agents import find_known

PLACEHOLDERS = ("{prompt}", "{prompt_file}", "{folder}", "{program}")
_MEMORY_MB = 8192
_OUTPUT_MB = 64
_SUMMARY = 600
_PROMPT_FILE = "WARPLOOM_TASK.md"


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """Runs a command once per session; what it prints is kept and not believed.

    Attributes:
        template: words with placeholders: `{prompt}` the task's text, `{prompt_file}` a file that
            holds it, `{folder}` the copy of the workload, `{program}` the file to change.
        variables: names of our environment variables that the command gets.
        clean: no state or variables of known agents (for tests).
        service: who serves its model; None: it asks its provider itself.
    """

    template: tuple[str, ...]
    variables: tuple[str, ...] = ()
    clean: bool = False
    service: Service | None = None

    @classmethod
    def parse(cls, text: str, variables: Sequence[str] = ()) -> "CommandAgent":
        """Read a template as a shell would split it.

        Raises:
            BadInputError: it is no command, or it does not pass the task on.
        """
        words = split_command(text)
        if not any(mark in word for word in words for mark in ("{prompt}", "{prompt_file}")):
            raise BadInputError(
                f"the agent's command must hold {{prompt}} or {{prompt_file}}, got {text!r}",
                hint="for example: --agent 'command:claude -p {prompt}'",
            )
        return cls(words, tuple(variables))

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return f"agent:{self.template[0].rsplit('/', 1)[-1]}"

    def work(self, task: AgentTask) -> AgentReport:
        """Run the command in the workspace, to its end or the time limit."""
        space = task.workspace
        prompt_file = space.folder / _PROMPT_FILE
        prompt_file.write_text(task.instruction, encoding="utf-8")
        values = {
            "{prompt}": task.instruction,
            "{prompt_file}": str(prompt_file),
            "{folder}": str(space.folder),
            "{program}": str(space.program),
        }
        with serving(self.service, task, task.limits.steps) as session:
            template = session.pointed(_with_budget(self.template, task, self.service))
            with confined(
                [_filled(word, values) for word in template], space.folder,
                variables=self.variables, clean=self.clean, route=session.settings,
                keys=space.keys,
            ) as held:  # fmt: skip
                result = run_process(
                    held.command,
                    limits=Limits(task.limits.seconds, _MEMORY_MB, _OUTPUT_MB),
                    environment=held.environment,
                    folder=space.folder,
                    cancel=session.over,
                )
        (task.log / "output.txt").write_text(result.log, encoding="utf-8")
        ended, why = _ended(result)
        said = result.stdout.decode(errors="replace").strip()
        report = AgentReport(
            ended, said[-_SUMMARY:], 1, told_cost(said), result.seconds, (why,) if why else ()
        )
        return session.reported(report)


def _with_budget(
    template: tuple[str, ...], task: AgentTask, service: Service | None
) -> tuple[str, ...]:
    """Return a command with its own limit of dollars, where it asks its provider itself."""
    known, dollars = find_known(template), task.limits.dollars
    if service is not None or known is None or not known.budget or dollars is None:
        return template
    at = next(n for n, word in enumerate(template) if find_known([word])) + 1
    return (*template[:at], known.budget, f"{dollars:g}", *template[at:])


def _filled(word: str, values: dict[str, str]) -> str:
    """Replace each placeholder once; what is put in is not looked at again."""
    parts: list[str] = []
    at = 0
    while at < len(word):
        mark = next((m for m in PLACEHOLDERS if word.startswith(m, at)), None)
        parts.append(values[mark] if mark else word[at])
        at += len(mark) if mark else 1
    return "".join(parts)


def _ended(result: ProcessResult) -> tuple[Ended, str]:
    if result.stopped is Stop.TIMEOUT:
        return Ended.TIME, f"ended after {result.seconds:.0f} s, its limit"
    if result.stopped is not None:
        return Ended.FAILED, f"ended by us: {result.stopped}"
    if result.ok:
        return Ended.DONE, ""
    how = f"signal {result.signal}" if result.signal else f"exit code {result.exit_code}"
    said = first_complaint(
        *(part.decode(errors="replace") for part in (result.stderr, result.stdout))
    )
    return Ended.FAILED, f"the command ended with {how}: {said}"
