"""Opens the coding agent that a configuration asks for."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import warploom.emulator
from warploom.core.errors import MissingToolError
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.evaluation.survey import nccl_version
from warploom.evaluation.transform_rule import TransformRule
from warploom.llm import LLMClient
from warploom.propose import Stage
from warploom.propose.agent import OWN, AgentProposer, AgentTask, outside_agent
from warploom.propose.agent.options import agent_command
from warploom.propose.agent.own import OwnAgent
from warploom.propose.agent.served import Wanted, open_service
from warploom.propose.agent.tools import Bench
from warploom.toolchain.nccl import get_nccl
from warploom.transform.config import TransformConfig
from warploom.workload.workload import Workload

SESSIONS = "agents"
"""The folder of a run that holds the sessions of agents."""


@contextmanager
def open_agent(
    config: TransformConfig, workload: Workload, folder: Path, calls: Path
) -> Generator[AgentProposer]:
    """Yield the agent's proposer; its sessions are kept in `folder`/agents.

    The calls of warploom's own agent are recorded in `calls`.
    """
    nccl = nccl_version(workload)
    options = config.agent
    place = folder / SESSIONS
    if options.agent != OWN:
        wanted = Wanted(options.budget, options.price, options.variables, options.uncapped)
        with open_service(wanted, agent_command(options)[1], calls) as service:
            agent = outside_agent(options, service)
            yield AgentProposer(agent, workload, nccl, place, options.limits)
        return
    model = config.model
    assert model is not None, "the configuration has checked this"

    def bench(task: AgentTask) -> Bench:
        def judge(program: Path, level: int) -> Evaluation:
            api = task.api if task.stage is Stage.DEVICE else None
            return evaluate(
                program, workload, level=level, rule=TransformRule(api, True), nccl=nccl,
                nvcc=config.nvcc, seeds=config.seeds, inputs=config.inputs,
                timings=config.timings, jobs=config.jobs,
            )  # fmt: skip

        return Bench(task.workspace, workload, judge, _headers(nccl))

    with LLMClient(model.models, model.budget, calls, settings=model.settings) as client:
        agent = OwnAgent(client, bench, model.max_output_tokens)
        yield AgentProposer(agent, workload, nccl, place, options.limits)


def _headers(nccl: str) -> Path:
    """Return the NCCL headers of this version, or the emulator's where they are not at hand."""
    try:
        return get_nccl(nccl).include
    except MissingToolError:
        return Path(warploom.emulator.__file__).parent / "include"
