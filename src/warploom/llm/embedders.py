"""Embedding models of providers, as transports: texts go in as turns, vectors come out as JSON."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic_ai.embeddings import EmbeddingModel
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior

from warploom.llm.errors import LLMModelError
from warploom.llm.failures import (
    from_api,
    from_connection,
    from_missing_key,
    from_nonsense,
    from_status,
    from_unexpected,
)
from warploom.llm.keys import Keys
from warploom.llm.limits import ReplyTooLargeError, http_client
from warploom.llm.names import ModelName, parse_model
from warploom.llm.open import find_key
from warploom.llm.records import LLMSettings, Usage
from warploom.llm.transport import Delivery, Exchange, Said

_NONSENSE = (ValueError, TypeError, AttributeError, LookupError, AssertionError)


@dataclass(frozen=True, slots=True)
class _Vectors:
    rows: Sequence[Sequence[float]]
    tokens: int


_Ask = Callable[[list[str]], Awaitable[_Vectors]]


class Embedder:
    """One embedding model; sends texts once."""

    def __init__(
        self,
        name: str,
        ask: _Ask,
        close: Callable[[], Awaitable[None]],
        failures: tuple[type[Exception], ...],
        keyless: tuple[type[Exception], ...] = (),
    ) -> None:
        self._name = name
        self._ask = ask
        self._close = close
        self._failures = (httpx2.HTTPError, ReplyTooLargeError, *failures)
        self._keyless = keyless

    @property
    def name(self) -> str:
        """The model string."""
        return self._name

    async def send(self, exchange: Exchange) -> Delivery:
        """Send once; see `Transport.send`. The text of the delivery is a JSON list of vectors."""
        texts = [turn.text for turn in exchange.turns if isinstance(turn, Said)]
        try:
            vectors = await self._ask(texts)
            rows = [[float(value) for value in row] for row in vectors.rows]
        except ModelAPIError as error:
            raise from_api(error, self._name) from error
        except UnexpectedModelBehavior as error:
            raise from_unexpected(error, self._name) from error
        except self._keyless as error:
            raise from_missing_key(error, self._name) from error
        except self._failures as error:
            raise from_connection(error, self._name) from error
        except _NONSENSE as error:
            raise from_nonsense(error, self._name) from error
        return Delivery(json.dumps(rows), Usage(input=vectors.tokens), model=self._name)

    async def close(self) -> None:
        """Close connections."""
        await self._close()


def open_embedder(name: str, keys: Keys, settings: LLMSettings) -> Embedder:
    """Return the embedding model of a model string; nothing is sent.

    Raises:
        LLMModelError: the string is malformed, or the provider has no embeddings.
        LLMKeyError: the provider needs a key, and there is none.
        MissingToolError: the provider's SDK is not installed.
    """
    wanted = parse_model(name)
    if not wanted.provider.embeds:
        raise LLMModelError(
            f"{wanted.provider.title} has no embeddings that warploom can use, got {name!r}",
            hint="use openai:, gemini:, bedrock:, voyage:, a compatible server, or hashing",
        )
    key = find_key(wanted, keys)
    if wanted.provider.prefix == "bedrock":
        return _bedrock(name, wanted, keys, settings)
    url = keys.address(wanted) or wanted.provider.embeds_url
    http = http_client(settings.reply_bytes, settings.timeout_s)
    if wanted.provider.prefix == "gemini":
        return _gemini(name, wanted, key, http)
    return Embedder(name, _Plain(name, wanted, url, key, http), http.aclose, ())


def _asks(model: EmbeddingModel) -> _Ask:
    async def ask(texts: list[str]) -> _Vectors:
        result = await model.embed(texts, input_type="document")
        return _Vectors(result.embeddings, result.usage.input_tokens)

    return ask


def _gemini(name: str, wanted: ModelName, key: str, http: httpx2.AsyncClient) -> Embedder:
    from google.genai.errors import APIError
    from pydantic_ai.embeddings.google import GoogleEmbeddingModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=key, base_url=wanted.url, http_client=http)
    model = GoogleEmbeddingModel(wanted.model, provider=provider)
    return Embedder(name, _asks(model), http.aclose, (APIError,))


def _bedrock(name: str, wanted: ModelName, keys: Keys, settings: LLMSettings) -> Embedder:
    from pydantic_ai.embeddings.bedrock import BedrockEmbeddingModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    from warploom.llm.aws import bedrock_client, bedrock_errors

    client = bedrock_client(wanted, keys, settings)
    model = BedrockEmbeddingModel(wanted.model, provider=BedrockProvider(bedrock_client=client))
    failure, keyless = bedrock_errors()

    async def close() -> None:
        client.close()

    return Embedder(name, _asks(model), close, (failure,), (keyless,))


class _Plain:
    """`POST .../embeddings`, as OpenAI, Voyage and compatible servers take it; needs no SDK."""

    def __init__(
        self, name: str, wanted: ModelName, url: str, key: str, http: httpx2.AsyncClient
    ) -> None:
        self._name = name
        self._url = f"{url}/embeddings"
        self._body: dict[str, Any] = {"model": wanted.model}
        if wanted.provider.prefix == "voyage":
            self._body["input_type"] = "document"
        self._headers = {"authorization": f"Bearer {key}"}
        self._http = http

    async def __call__(self, texts: list[str]) -> _Vectors:
        body = {**self._body, "input": texts}
        reply = await self._http.post(self._url, json=body, headers=self._headers)
        if reply.status_code >= 400:
            told = reply.headers.get("retry-after", "")
            wait = float(told) if told.replace(".", "", 1).isdigit() else None
            raise from_status(reply.status_code, reply.text, wait, self._name)
        data: dict[str, Any] = reply.json()
        rows = sorted(data["data"], key=lambda item: item["index"])
        tokens = int(data.get("usage", {}).get("total_tokens", 0))
        return _Vectors([row["embedding"] for row in rows], tokens)
