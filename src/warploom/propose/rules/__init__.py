"""The rules proposer: a compiler-like rewriter from host-driven to device-initiated programs."""

from warploom.propose.rules.proposer import RulesProposer
from warploom.propose.rules.rewriter import Rewrite, RewritePlan, rewrite

__all__ = ["Rewrite", "RewritePlan", "RulesProposer", "rewrite"]
