"""What can go wrong with a language model; each error's hint is its cure.

LLMError
├── LLMKeyError         no key, or the provider refuses it            exit code 3
├── LLMModelError       the model string is wrong or unknown          exit code 2
├── LLMRequestError     the provider refuses the request              exit code 2
├── LLMPriceError       no price is known, and no cap in tokens set   exit code 2
├── LLMBudgetError      the next call would cross a cap               exit code 1
├── LLMOverloadedError  overloaded or rate-limited, after all retries exit code 3
├── LLMTimeoutError     no reply in time                              exit code 3
├── LLMServerError      unreachable, broke, or sent nonsense          exit code 3
├── LLMTruncatedError   the reply ended at its limit of tokens        exit code 1
├── LLMEmptyError       the reply holds nothing                       exit code 1
├── LLMRefusalError     the provider's content filter ended the reply exit code 1
├── LLMOutputError      the reply does not fit the asked-for type     exit code 1
└── LLMReplayError      replaying, and the record does not hold this  exit code 2
"""

from warploom.core.errors import WarploomError


class LLMError(WarploomError):
    """Base of all errors of language models.

    `call_id` names the recorded call that was paid for, or is empty where nothing was delivered.
    """

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", call_id: str = "") -> None:
        super().__init__(message, hint=hint)
        self.call_id = call_id


class LLMKeyError(LLMError):
    """There is no key, or the provider does not accept it."""


class LLMModelError(LLMError):
    """The model string is malformed, or the provider does not know the model."""

    exit_code = 2


class LLMRequestError(LLMError):
    """The provider refuses the request itself: too long, or a feature that the model lacks."""

    exit_code = 2


class LLMPriceError(LLMError):
    """No price is known for the model, and no cap in tokens bounds what it may use."""

    exit_code = 2


class LLMBudgetError(LLMError):
    """The next call could cross a cap, so it was not sent; or the time of the run is used up."""

    exit_code = 1


class LLMOverloadedError(LLMError):
    """The provider was overloaded or limited our rate, in every attempt."""


class LLMTimeoutError(LLMError):
    """No whole reply within the time limit; it may have been billed."""


class LLMServerError(LLMError):
    """The provider cannot be reached, broke, or sent what is not a reply."""


class LLMTruncatedError(LLMError):
    """The reply ended at the limit of its tokens; it was paid for and is in the record."""

    exit_code = 1


class LLMEmptyError(LLMError):
    """The reply holds neither text nor a tool call."""

    exit_code = 1


class LLMRefusalError(LLMError):
    """The provider's content filter, or the model itself, refused."""

    exit_code = 1


class LLMOutputError(LLMError):
    """The reply does not fit the type that was asked for, also after it was told why."""

    exit_code = 1


class LLMReplayError(LLMError):
    """The run is replayed only, and the record does not hold this call."""

    exit_code = 2
