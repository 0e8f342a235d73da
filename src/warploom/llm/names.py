"""Model strings: `PREFIX:MODEL`, or `PREFIX:MODEL@URL` for a server of one's own."""

import difflib
import shlex
from dataclasses import dataclass
from urllib.parse import urlsplit

from warploom.llm.errors import LLMModelError


@dataclass(frozen=True, slots=True)
class Provider:
    """Who answers: `keys` are the names that may hold its key, first the usual one.

    `settings` are other names that it needs. `prices` is its id in genai-prices, or empty. `page`
    is its page in docs/providers. `key_needed` is False for servers that often run without one.
    `chats` and `embeds` say what it is used for.
    """

    prefix: str
    title: str
    keys: tuple[str, ...]
    page: str
    prices: str = ""
    settings: tuple[str, ...] = ()
    key_needed: bool = True
    url: str = ""
    url_needed: bool = False
    chats: bool = True
    embeds: bool = False
    embeds_url: str = ""


PROVIDERS = {
    provider.prefix: provider
    for provider in (
        Provider("anthropic", "Anthropic", ("ANTHROPIC_API_KEY",), "anthropic", "anthropic"),
        Provider(
            "bedrock", "AWS Bedrock",
            ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
            "bedrock", "aws", ("AWS_REGION",), key_needed=False, embeds=True,
        ),
        Provider(
            "openai", "OpenAI (Responses)", ("OPENAI_API_KEY",), "openai", "openai", embeds=True,
            embeds_url="https://api.openai.com/v1",
        ),
        Provider("openai-chat", "OpenAI (chat)", ("OPENAI_API_KEY",), "openai", "openai"),
        Provider(
            "azure", "Azure OpenAI", ("AZURE_OPENAI_API_KEY",), "azure", "azure",
            ("AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"),
        ),
        Provider(
            "gemini", "Google Gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini", "google",
            embeds=True,
        ),
        Provider(
            "deepseek", "DeepSeek", ("DEEPSEEK_API_KEY",), "deepseek", "deepseek",
            url="https://api.deepseek.com",
        ),
        Provider(
            "openrouter", "OpenRouter", ("OPENROUTER_API_KEY",), "openrouter", "openrouter",
            url="https://openrouter.ai/api/v1",
        ),
        Provider(
            "openai-compatible", "OpenAI-compatible server", ("OPENAI_COMPATIBLE_API_KEY",),
            "openai-compatible", settings=("OPENAI_COMPATIBLE_BASE_URL",), key_needed=False,
            url_needed=True, embeds=True,
        ),
        Provider(
            "ollama", "Ollama", ("OLLAMA_API_KEY",), "openai-compatible",
            settings=("OLLAMA_BASE_URL",), key_needed=False, embeds=True,
            url="http://localhost:11434/v1",
        ),
        Provider("command", "A command of yours", (), "command", key_needed=False),
        Provider(
            "voyage", "Voyage (embeddings)", ("VOYAGE_API_KEY",), "voyage", "voyageai",
            url="https://api.voyageai.com/v1", chats=False, embeds=True,
        ),
    )
}  # fmt: skip
_ALIASES = {"google": "gemini", "google-gla": "gemini", "openai-responses": "openai"}
_URL_MARKS = ("@http://", "@https://")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model string; `url` is None where the provider's own is used."""

    provider: Provider
    model: str
    url: str | None

    @property
    def text(self) -> str:
        """The model string in its usual form."""
        at = "" if self.url is None else f"@{self.url}"
        return f"{self.provider.prefix}:{self.model}{at}"


def parse_model(text: str) -> ModelName:
    """Parse a model string.

    Raises:
        LLMModelError: the prefix is unknown, the model is missing, or the URL is not usable.
    """
    prefix, colon, rest = text.strip().partition(":")
    prefix = _ALIASES.get(prefix, prefix)
    if not colon or prefix not in PROVIDERS:
        raise LLMModelError(
            f"a model must be PREFIX:MODEL with a known prefix, got {text!r}", hint=_hint(prefix)
        )
    provider = PROVIDERS[prefix]
    model, url = rest, None
    if provider.prefix == "command":
        _require_words(rest)
        return ModelName(provider, rest.strip(), None)
    for mark in _URL_MARKS:
        if mark in rest:
            model, _, tail = rest.partition(mark)
            url = checked_url(mark[1:] + tail, text)
    if not model.strip():
        raise LLMModelError(f"a model must be PREFIX:MODEL, got no model in {text!r}")
    return ModelName(provider, model.strip(), url)


def _require_words(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        problem = f"the command of a model must be words, got {command!r}: {error}"
        raise LLMModelError(problem) from None
    if not words:
        raise LLMModelError(
            "a model must be command:TEMPLATE, got no command",
            hint="for example: --model 'command:claude -p --output-format json'",
        )


def checked_url(url: str, text: str) -> str:
    """Return an address without a trailing slash; `text` is where it stood.

    Raises:
        LLMModelError: it names no host, or holds a name or password.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise LLMModelError(f"the address in {text!r} names no host")
    if parts.username is not None or parts.password is not None:
        raise LLMModelError(
            f"an address must not hold a name or password, got one for {parts.hostname}",
            hint="put the key into the environment or .env",
        )
    return url.rstrip("/")


def _hint(prefix: str) -> str:
    close = difflib.get_close_matches(prefix, PROVIDERS, n=1)
    known = ", ".join(PROVIDERS)
    return (f"did you mean {close[0]}:? " if close else "") + f"prefixes: {known}"
