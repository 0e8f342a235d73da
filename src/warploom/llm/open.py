"""Opens the SDK of a provider for one model. Each SDK is imported only where it is used."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model

from warploom.core.errors import MissingToolError
from warploom.llm.errors import LLMKeyError, LLMModelError
from warploom.llm.keys import Keys
from warploom.llm.limits import ReplyTooLargeError, http_client
from warploom.llm.names import ModelName
from warploom.llm.records import LLMSettings


@dataclass(frozen=True, slots=True)
class Opened:
    """A model of an SDK, and how to close it.

    `takes_timeout` says that the SDK takes a time-out and a number of retries for each request.
    `failures` are what it raises when a call breaks in a way that pydantic-ai does not sort, and
    `keyless` what it raises when it finds no key.
    """

    model: Model
    close: Callable[[], Awaitable[None]]
    takes_timeout: bool = True
    failures: tuple[type[Exception], ...] = ()
    keyless: tuple[type[Exception], ...] = ()


def open_sdk(name: ModelName, keys: Keys, settings: LLMSettings) -> Opened:
    """Return the model of `name`; nothing is sent.

    Raises:
        LLMModelError: the provider has embeddings only.
        LLMKeyError: the provider needs a key or setting, and there is none.
        MissingToolError: its SDK is not installed.
    """
    if not name.provider.chats:
        raise LLMModelError(
            f"{name.provider.title} answers no questions, got {name.text}",
            hint="use it for embeddings only",
        )
    key = find_key(name, keys)
    try:
        if name.provider.prefix == "bedrock":
            return _bedrock(name, keys, settings)
        http = http_client(settings.reply_bytes, settings.timeout_s)
        make = _MAKERS.get(name.provider.prefix, _openai_compatible)
        model = make(_Wanted(name, key, keys, http))
        failures = _sdk_errors(name.provider.prefix)
    except ImportError as error:
        raise MissingToolError(
            f"{name.provider.title} needs the package {error.name or error}",
            hint="pip install 'warploom[llm]'",
        ) from None
    except UserError as error:
        raise LLMKeyError(
            f"{name.text} cannot be used: {keys.redact(str(error))}",
            hint=f"see docs/providers/{name.provider.page}.md",
        ) from None
    takes_timeout = name.provider.prefix != "gemini"
    return Opened(model, http.aclose, takes_timeout=takes_timeout, failures=failures)


def find_key(name: ModelName, keys: Keys) -> str:
    """Return the provider's key, or "none" where none is needed.

    Raises:
        LLMKeyError: there is none, and one is needed.
    """
    for key_name in name.provider.keys:
        key = keys.get(key_name)
        if key is not None:
            return key
    if name.provider.key_needed:
        raise LLMKeyError(
            f"{name.text} needs a key, and there is none",
            hint=f"set {' or '.join(name.provider.keys)} in the environment or in .env "
            f"(docs/providers/{name.provider.page}.md)",
        )
    return "none"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a maker gets: the model, its key, where other settings are, and the HTTP client."""

    name: ModelName
    key: str
    keys: Keys
    http: httpx2.AsyncClient


def _anthropic(wanted: _Wanted) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(
        api_key=wanted.key, base_url=wanted.name.url, http_client=wanted.http
    )
    return AnthropicModel(wanted.name.model, provider=provider)


def _openai(wanted: _Wanted) -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=wanted.name.url, api_key=wanted.key, http_client=wanted.http)
    return OpenAIResponsesModel(wanted.name.model, provider=provider)


def _openai_chat(wanted: _Wanted) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=wanted.name.url, api_key=wanted.key, http_client=wanted.http)
    return OpenAIChatModel(wanted.name.model, provider=provider)


def _openai_compatible(wanted: _Wanted) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider(
        wanted.name.provider.prefix,
        base_url=wanted.keys.address(wanted.name) or "",
        api_key=wanted.key,
        http_client=wanted.http,
    )
    return OpenAIChatModel(wanted.name.model, provider=provider)


def _azure(wanted: _Wanted) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    provider = AzureProvider(
        azure_endpoint=wanted.name.url or wanted.keys.get("AZURE_OPENAI_ENDPOINT"),
        api_version=wanted.keys.get("OPENAI_API_VERSION"),
        api_key=wanted.key,
        http_client=wanted.http,
    )
    return OpenAIChatModel(wanted.name.model, provider=provider)


def _gemini(wanted: _Wanted) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=wanted.key, base_url=wanted.name.url, http_client=wanted.http)
    return GoogleModel(wanted.name.model, provider=provider)


def _deepseek(wanted: _Wanted) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.deepseek import DeepSeekProvider

    url = wanted.name.url or wanted.name.provider.url
    client = AsyncOpenAI(base_url=url, api_key=wanted.key, http_client=wanted.http)
    provider = DeepSeekProvider(openai_client=client)
    return OpenAIChatModel(wanted.name.model, provider=provider)


def _openrouter(wanted: _Wanted) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    url = wanted.name.url or wanted.name.provider.url
    client = AsyncOpenAI(base_url=url, api_key=wanted.key, http_client=wanted.http)
    provider = OpenRouterProvider(openai_client=client)
    return OpenRouterModel(wanted.name.model, provider=provider)


def _bedrock(name: ModelName, keys: Keys, settings: LLMSettings) -> Opened:
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    from warploom.llm.aws import bedrock_client, bedrock_errors

    client = bedrock_client(name, keys, settings)
    model = BedrockConverseModel(name.model, provider=BedrockProvider(bedrock_client=client))

    async def close() -> None:
        client.close()

    failure, keyless = bedrock_errors()
    return Opened(model, close, takes_timeout=False, failures=(failure,), keyless=(keyless,))


def _sdk_errors(prefix: str) -> tuple[type[Exception], ...]:
    """Return what the SDK behind a prefix raises."""
    if prefix == "gemini":
        from google.genai.errors import APIError as SdkError
    elif prefix == "anthropic":
        from anthropic import AnthropicError as SdkError
    else:
        from openai import OpenAIError as SdkError
    return (SdkError, httpx2.HTTPError, ReplyTooLargeError)


_MAKERS = {
    "anthropic": _anthropic,
    "openai": _openai,
    "openai-chat": _openai_chat,
    "azure": _azure,
    "gemini": _gemini,
    "deepseek": _deepseek,
    "openrouter": _openrouter,
}
