"""The rules proposer: a compiler-like rewriter from host-driven to device-initiated programs."""

from warploom.propose.rules.lexing import is_mentioned
from warploom.propose.rules.places import with_header
from warploom.propose.rules.plain import PLAIN
from warploom.propose.rules.prelude import SHARED_HEADER
from warploom.propose.rules.proposer import RulesProposer
from warploom.propose.rules.rewriter import REWRITTEN, TALKING, Rewrite, RewritePlan, rewrite

__all__ = [
    "PLAIN",
    "REWRITTEN",
    "SHARED_HEADER",
    "TALKING",
    "Rewrite",
    "RewritePlan",
    "RulesProposer",
    "is_mentioned",
    "rewrite",
    "with_header",
]
