"""Proposers: given what is known of a program, they propose another one."""

from warploom.propose.protocol import Proposal, ProposalContext, Proposer, Stage, Trial

__all__ = ["Proposal", "ProposalContext", "Proposer", "Stage", "Trial"]
