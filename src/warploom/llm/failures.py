"""What a provider's failure means: which error, whether to try again, whether it may be billed."""

from typing import cast

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)

from warploom.llm.errors import (
    LLMError,
    LLMKeyError,
    LLMModelError,
    LLMOverloadedError,
    LLMRefusalError,
    LLMRequestError,
    LLMServerError,
    LLMTimeoutError,
)
from warploom.llm.limits import ReplyTooLargeError
from warploom.llm.names import parse_model
from warploom.llm.transport import AttemptError

_TOLD = 400  # characters of a provider's own words to show


def from_api(error: ModelAPIError, model: str) -> AttemptError:
    """Return the failure of a request that the provider or the connection ended."""
    large = _too_large(error)
    if large is not None:
        return AttemptError(_beyond_limit(large, model), again=False, maybe_billed=True)
    said = _said(error)
    match error:
        case ModelAuthenticationError():
            return AttemptError(_key_error(model, said), again=False)
        case ModelNotFoundError():
            return AttemptError(_model_error(model, said), again=False)
        case ModelContextWindowExceededError():
            hint = "shorten the prompt, or use a model with a larger context window"
            problem = f"the prompt is too long for {model}: {said}"
            return AttemptError(LLMRequestError(problem, hint=hint), again=False)
        case ModelQuotaExceededError():
            hint = "add credit to the account, or use another provider"
            problem = f"the account of {model} has no quota or credit left: {said}"
            return AttemptError(LLMOverloadedError(problem, hint=hint), again=False)
        case ModelRateLimitError() | ModelUnavailableError():
            return AttemptError(_overloaded(model, said), again=True, retry_after=error.retry_after)
        case ModelTimeoutError() | ModelRequestTimeout():
            hint = "raise timeout_s, or use another model"
            problem = f"{model} did not answer in time: {said}"
            return AttemptError(LLMTimeoutError(problem, hint=hint), again=True, maybe_billed=True)
        case ModelConnectionError():
            sent = error.phase not in ("pool", "connect")
            return AttemptError(_unreachable(model, said), again=True, maybe_billed=sent)
        case ModelServerError():
            hint = "try later, or use another model"
            problem = f"the server of {model} failed: {said}"
            return AttemptError(
                LLMServerError(problem, hint=hint), again=True, retry_after=error.retry_after
            )
        case ModelRequestRejectedError():
            hint = "the provider's words say which part of the request it does not take"
            problem = f"{model} refuses the request: {said}"
            return AttemptError(LLMRequestError(problem, hint=hint), again=False)
        case _:
            problem = f"{model} failed: {said}"
            server = LLMServerError(problem, hint="try later, or use another model")
            return AttemptError(server, again=True, maybe_billed=True)


def from_unexpected(error: UnexpectedModelBehavior, model: str) -> AttemptError:
    """Return the failure of a reply that cannot be read, or that a filter stopped."""
    if isinstance(error, ContentFilterError):
        hint = "use another model"
        problem = f"the content filter of {model} stopped the reply: {_short(str(error))}"
        return AttemptError(LLMRefusalError(problem, hint=hint), again=False, maybe_billed=True)
    return from_nonsense(error, model)


def from_nonsense(error: Exception, model: str) -> AttemptError:
    """Return the failure of a reply that is not of the provider's wire format."""
    large = _too_large(error)
    if large is not None:
        return AttemptError(_beyond_limit(large, model), again=False, maybe_billed=True)
    hint = "check that the address is the provider's API (such as .../v1), or try later"
    problem = f"{model} sent what is not a reply: {type(error).__name__}: {_short(str(error))}"
    return AttemptError(LLMServerError(problem, hint=hint), again=True, maybe_billed=True)


def from_status(status: int, body: str, retry_after: float | None, model: str) -> AttemptError:
    """Return the failure of a plain HTTP request by its status."""
    said = f"HTTP {status}: {_short(body)}"
    if status in (401, 403):
        return AttemptError(_key_error(model, said), again=False)
    if status == 404:
        return AttemptError(_model_error(model, said), again=False)
    if status in (408, 429, 503, 529):
        return AttemptError(_overloaded(model, said), again=True, retry_after=retry_after)
    if status >= 500:
        problem = f"the server of {model} failed: {said}"
        server = LLMServerError(problem, hint="try later, or use another model")
        return AttemptError(server, again=True, retry_after=retry_after)
    hint = "the provider's words say which part of the request it does not take"
    refused = LLMRequestError(f"{model} refuses the request: {said}", hint=hint)
    return AttemptError(refused, again=False)


def from_connection(error: Exception, model: str) -> AttemptError:
    """Return the failure of a call that broke within the SDK or on the network."""
    large = _too_large(error)
    if large is not None:
        return AttemptError(_beyond_limit(large, model), again=False, maybe_billed=True)
    said = f"{type(error).__name__}: {_short(str(error))}"
    return AttemptError(_unreachable(model, said), again=True, maybe_billed=True)


def from_broken_reply(model: str) -> AttemptError:
    """Return the failure of a reply that the provider ended with an error."""
    problem = f"{model} ended its reply with an error"
    server = LLMServerError(problem, hint="try later, or use another model")
    return AttemptError(server, again=True, maybe_billed=True)


def from_missing_key(error: Exception, model: str) -> AttemptError:
    """Return the failure of a call for which the SDK found no key."""
    return AttemptError(_key_error(model, _short(str(error))), again=False)


def from_usage(error: UserError, model: str) -> AttemptError:
    """Return the failure of a request that the model cannot take at all."""
    problem = f"{model} cannot take the request: {_short(str(error))}"
    return AttemptError(LLMRequestError(problem, hint="use another model"), again=False)


def _beyond_limit(error: ReplyTooLargeError, model: str) -> LLMServerError:
    return LLMServerError(
        f"{model} sent more than {error.limit} bytes for one reply",
        hint="raise reply_bytes if that is what you want, or use another server",
    )


def _key_error(model: str, said: str) -> LLMError:
    names = " or ".join(parse_model(model).provider.keys)
    return LLMKeyError(
        f"the provider of {model} does not accept the key: {said}",
        hint=f"set {names} in the environment or .env to a key that may use this model",
    )


def _model_error(model: str, said: str) -> LLMError:
    page = parse_model(model).provider.page
    return LLMModelError(
        f"the provider does not know {model}: {said}",
        hint=f"check the name of the model (and the address, where one is given): "
        f"docs/providers/{page}.md",
    )


def _overloaded(model: str, said: str) -> LLMError:
    return LLMOverloadedError(
        f"{model} is overloaded or limits our rate: {said}",
        hint="try later, lower concurrency, or name fallbacks",
    )


def _unreachable(model: str, said: str) -> LLMError:
    return LLMServerError(
        f"the connection to {model} failed: {said}",
        hint="check the network, the address and the proxy; is the server running?",
    )


def _too_large(error: BaseException | None) -> ReplyTooLargeError | None:
    while error is not None:
        if isinstance(error, ReplyTooLargeError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _said(error: ModelAPIError) -> str:
    """Return the provider's own words, with the HTTP status."""
    words = _words(error.body)
    text = _short(str(error) if words is None else words)
    return f"HTTP {error.status_code}: {text}" if isinstance(error, ModelHTTPError) else text


def _words(body: object) -> str | None:
    """Return the message within an error's body: `message`, or `error.message`."""
    if not isinstance(body, dict):
        return None
    fields = cast("dict[str, object]", body)
    words = fields.get("message")
    return words if isinstance(words, str) else _words(fields.get("error"))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TOLD else text[:_TOLD] + "..."
