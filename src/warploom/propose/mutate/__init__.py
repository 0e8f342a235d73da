"""Structured mutations: single steps in the design space of a transformed program, by rule.

A **lever** is one thing that a program leaves open, such as the number of blocks of a transfer. It
has a current value in the text, and other values that can be set: each is a `Mutation`, from text
to text. A mutation promises no gain and no proof: the evaluator judges what it makes. A **recipe**
is a set of them that is known to pay.
"""

from warploom.propose.mutate.levers import apply, directives, mutations
from warploom.propose.mutate.recipes import recipes
from warploom.propose.mutate.records import Lever, Mutation, MutationError
from warploom.propose.mutate.shaped_like import shaped_like

__all__ = [
    "Lever",
    "Mutation",
    "MutationError",
    "apply",
    "directives",
    "mutations",
    "recipes",
    "shaped_like",
]
