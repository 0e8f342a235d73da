"""Language models as proposers: prompts, context, replies."""

from warploom.propose.llm.context import Facts
from warploom.propose.llm.options import ModelOptions
from warploom.propose.llm.proposer import LLMProposer

__all__ = ["Facts", "LLMProposer", "ModelOptions"]
