"""Language models as proposers: prompts, context, replies; judges of novelty; summaries."""

from warploom.propose.llm.context import Facts
from warploom.propose.llm.novelty import NoveltyJudge
from warploom.propose.llm.options import ModelOptions
from warploom.propose.llm.proposer import LLMProposer
from warploom.propose.llm.sampler import PromptSampler
from warploom.propose.llm.summary import MetaSummarizer

__all__ = [
    "Facts",
    "LLMProposer",
    "MetaSummarizer",
    "ModelOptions",
    "NoveltyJudge",
    "PromptSampler",
]
