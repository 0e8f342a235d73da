"""Embeddings: vectors of texts, for novelty and near programs; recorded and capped as calls."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.llm.choice import RoundRobin
from warploom.llm.errors import LLMReplayError, LLMServerError
from warploom.llm.hashing import hash_vectors
from warploom.llm.keys import Keys
from warploom.llm.ledger import Ledger, Spent
from warploom.llm.recorder import Call, Recorder, call_name
from warploom.llm.records import Budget, LLMRequest, LLMSettings
from warploom.llm.sender import Sender, missing_package
from warploom.llm.transport import Exchange, Said, Transport

HASHING = "hashing"
_BATCH = 64  # texts in one call; every provider takes at least 96


class EmbeddingClient:
    """Turns texts into vectors of length 1.

    `model` is `hashing` (offline, the default), or a model string of a provider that has
    embeddings: `openai:text-embedding-3-small`, `gemini:gemini-embedding-001`,
    `bedrock:amazon.titan-embed-text-v2:0`, `voyage:voyage-code-3`,
    `openai-compatible:MODEL@URL`. Calls are recorded in `records_dir`, a folder of its own, and
    served from there when the same texts come again; `hashing` records nothing.
    """

    def __init__(
        self,
        model: str | Transport = HASHING,
        budget: Budget | None = None,
        records_dir: Path | None = None,
        *,
        settings: LLMSettings | None = None,
        keys: Keys | None = None,
        replay_only: bool = False,
    ) -> None:
        self._model = model if isinstance(model, str) else model.name
        self._settings = settings or LLMSettings()
        self._keys = keys or Keys.load()
        self._replay_only = replay_only
        self._runner: asyncio.Runner | None = None
        self._sender: Sender | None = None
        if self._model == HASHING:
            return
        self._recorder = Recorder(records_dir or Path("embeddings"))
        self._ledger = Ledger(budget or Budget())
        if not replay_only:
            self._recorder.open()
        try:
            self._ledger.restore(*self._recorder.spent())
        except BadInputError:
            self._recorder.close()
            raise
        self._sender = Sender(
            [model],
            RoundRobin(),
            self._settings,
            self._keys,
            self._ledger,
            self._recorder,
            opener=_open,
        )

    @property
    def model(self) -> str:
        """The model string."""
        return self._model

    @property
    def spent(self) -> Spent:
        """What was paid for, in earlier processes too."""
        return Spent() if self._sender is None else self._ledger.spent

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text: shape (len(texts), dimensions), float32, length 1.

        Raises:
            LLMError: the vectors could not be had; the class and the hint say why and what to do.
        """
        if self._sender is None:
            return hash_vectors(texts)
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        clean = [self._keys.redact(text) for text in texts]
        size = 1 if self._model.startswith("bedrock:") else _BATCH  # it sends one at a time
        batches = [clean[at : at + size] for at in range(0, len(clean), size)]
        calls = [await self._call(self._sender, batch) for batch in batches]
        rows = np.concatenate([_rows(call, len(b)) for call, b in zip(calls, batches, strict=True)])
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)

    def embed_blocking(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Do what `embed` does, and wait for it; for code without an event loop."""
        return self._loop().run(self.embed(texts))

    async def aclose(self) -> None:
        """Close connections and release the folder."""
        if self._sender is not None:
            await self._sender.close()
            self._recorder.close()

    def close(self) -> None:
        """Do what `aclose` does; for code without an event loop."""
        self._loop().run(self.aclose())
        self._loop().close()
        self._runner = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _loop(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner

    async def _call(self, sender: Sender, batch: Sequence[str]) -> Call:
        call_id = call_name("embed", digest((self._model, *batch)))
        recorded = self._recorder.load(call_id)
        if recorded is not None:
            return recorded
        if self._replay_only:
            raise LLMReplayError(
                f"the record holds no embedding {call_id}", hint="run without replay to send it"
            )
        request = LLMRequest("embed", "", "", call_id, model=self._model)
        exchange = Exchange(
            system="",
            turns=tuple(Said(text) for text in batch),
            max_output_tokens=0,
            timeout_s=self._settings.timeout_s,
        )
        return await sender.send(request, exchange, call_id)


def _open(name: str, keys: Keys, settings: LLMSettings) -> Transport:
    try:  # loads the provider's SDK, only to really send
        from warploom.llm.embedders import open_embedder
    except ModuleNotFoundError as error:
        raise missing_package(name, error) from None
    return open_embedder(name, keys, settings)


def _rows(call: Call, count: int) -> NDArray[np.float32]:
    rows = np.asarray(json.loads(call.delivery.text), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
        raise LLMServerError(
            f"{call.model} sent vectors of shape {rows.shape} for {count} texts",
            hint="use another model for embeddings",
            call_id=call.call_id,
        )
    return rows
