"""Where calls go on to: the providers' addresses, and the user's keys for them."""

from dataclasses import dataclass

from warploom.llm.keys import Keys
from warploom.llm.names import checked_url


@dataclass(frozen=True, slots=True)
class _Provider:
    """A provider's address, the setting that moves it, and the names that may hold its key.

    `bearers` are names of keys that are sent as a bearer, whatever the provider's own header is.
    """

    address: str
    setting: str
    keys: tuple[str, ...]
    header: str
    bearers: tuple[str, ...] = ()


_OPENAI = _Provider(
    "https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY", "CODEX_API_KEY"),
    "authorization",
)  # fmt: skip
_PROVIDERS = {
    "anthropic": _Provider(
        "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",), "x-api-key",
        ("ANTHROPIC_AUTH_TOKEN",),
    ),
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "gemini": _Provider(
        "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "x-goog-api-key",
    ),
}  # fmt: skip

ROUTES = ("anthropic", "openai", "gemini")
"""What an endpoint can serve; `openai` has the Responses and the chat format."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider's address and the headers that carry the user's key."""

    address: str
    headers: dict[str, str]

    def url(self, path: str) -> str:
        """Return where a path of ours is there."""
        bare = path.startswith("/messages") and not self.address.endswith("/v1")
        return self.address + ("/v1" if bare else "") + path


def key_names(route: str) -> tuple[str, ...]:
    """Return the names that may hold the key of a route."""
    provider = _PROVIDERS[route]
    return (*provider.keys, *provider.bearers)


def find_upstream(route: str, keys: Keys) -> Upstream | None:
    """Return where the calls of a route go, or None where there is no key for it.

    Raises:
        LLMModelError: the setting that moves the provider's address holds no address.
    """
    provider = _PROVIDERS[route]
    given = keys.get(provider.setting)
    address = provider.address if given is None else checked_url(given, provider.setting)
    for name in key_names(route):
        key = keys.get(name)
        if key is not None:
            bearer = provider.header == "authorization" or name in provider.bearers
            header = "authorization" if bearer else provider.header
            return Upstream(address, {header: f"Bearer {key}" if bearer else key})
    return None
