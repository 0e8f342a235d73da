"""Coding agents as proposers: our own, outside ones over ACP, or any command.

Each works on a copy of the workload, under limits; only the program that it leaves is taken, and
judged like any other candidate.
"""

from warploom.propose.agent.options import OWN, AgentOptions, outside_agent
from warploom.propose.agent.proposer import AgentProposer
from warploom.propose.agent.session import Agent, AgentLimits, AgentReport, AgentTask, Ended

__all__ = [
    "OWN",
    "Agent",
    "AgentLimits",
    "AgentOptions",
    "AgentProposer",
    "AgentReport",
    "AgentTask",
    "Ended",
    "outside_agent",
]
