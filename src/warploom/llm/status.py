"""What `warploom doctor` says of language models: providers, keys, prices. Nothing is sent."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from warploom.llm.keys import Keys
from warploom.llm.names import PROVIDERS, Provider

_SDKS = {"anthropic": "anthropic", "bedrock": "boto3", "gemini": "google.genai"}
_WITHOUT = {"voyage"}  # spoken to over plain HTTP
_ALONE = {"command"}  # needs no package of Python


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One provider, by its prefix in model strings.

    `key` is the name under which a key was found, never its value; None is none. `package` is the
    package that its calls need and that is missing, or None. `prices` counts the models whose
    price is known. `ready` says that a call could be sent.
    """

    prefix: str
    title: str
    key: str | None
    key_needed: bool
    keys: tuple[str, ...]
    package: str | None
    prices: int
    page: str
    ready: bool


@dataclass(frozen=True, slots=True)
class ModelsReport:
    """All providers, and the version of the table of prices (None where it is not installed)."""

    providers: tuple[ProviderState, ...]
    price_table: str | None


def examine_models(keys: Keys) -> ModelsReport:
    """Look at the environment, `.env` and the installed packages."""
    counts = _price_counts()
    states = tuple(_state(item, keys, counts) for item in PROVIDERS.values())
    return ModelsReport(states, _version("genai-prices"))


def _state(provider: Provider, keys: Keys, counts: dict[str, int]) -> ProviderState:
    key = next((name for name in provider.keys if keys.get(name)), None)
    package = _missing_package(provider)
    return ProviderState(
        prefix=provider.prefix,
        title=provider.title,
        key=key,
        key_needed=provider.key_needed,
        keys=provider.keys,
        package=package,
        prices=counts.get(provider.prices, 0),
        page=f"docs/providers/{provider.page}.md",
        ready=package is None and (key is not None or not provider.key_needed),
    )


def _missing_package(provider: Provider) -> str | None:
    if provider.prefix in _ALONE:
        return None
    needed = ["httpx2", "pydantic_ai"]
    if provider.prefix not in _WITHOUT:
        needed.append(_SDKS.get(provider.prefix, "openai"))
    return next((name for name in needed if not _installed(name)), None)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent package
        return False


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _price_counts() -> dict[str, int]:
    """Return how many models of each provider have a price in the installed table."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ModuleNotFoundError:
        return {}
    return {provider.id: len(provider.models) for provider in get_snapshot().providers}
