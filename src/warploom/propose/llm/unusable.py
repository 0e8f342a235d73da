"""Replies that were paid for and hold nothing usable: what their author is told."""

from warploom.llm.errors import (
    LLMEmptyError,
    LLMError,
    LLMOutputError,
    LLMRefusalError,
    LLMTruncatedError,
)

UNUSABLE = (LLMTruncatedError, LLMEmptyError, LLMRefusalError, LLMOutputError)
"""Errors of a single reply: another question may be answered."""

_CURES = {
    LLMTruncatedError: "the reply was cut off at its limit of tokens: reply with SEARCH/REPLACE "
    "edits, or think and write less around the program",
    LLMEmptyError: "the reply was empty",
    LLMRefusalError: "the reply was refused by a content filter",
    LLMOutputError: "the reply did not have the form that was asked for",
}


def cure(error: LLMError) -> str:
    """Return what to tell the author of an unusable reply."""
    return next(said for kind, said in _CURES.items() if isinstance(error, kind))
