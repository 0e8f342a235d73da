"""Embeddings: offline ones that mean something, and those of providers over the wire."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.llm import Budget, EmbeddingClient, LLMSettings
from warploom.llm.embed import HASHING
from warploom.llm.errors import (
    LLMBudgetError,
    LLMError,
    LLMKeyError,
    LLMModelError,
    LLMReplayError,
    LLMServerError,
)
from warploom.llm.hashing import hash_vectors
from warploom.llm.keys import Keys
from warploom.testing.loopback import EMBEDDERS, LoopbackServer
from warploom.testing.wire import Raw, Reply, Status

ADD = "__global__ void add(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] += 1.0f; }"
REDUCE = "__device__ float warp_sum(float v) { return __shfl_xor_sync(~0u, v, 1) + v; }"


def test_hashing_is_the_same_in_another_process() -> None:
    code = "import sys; from warploom.llm.hashing import hash_vectors as h; "
    code += "print(h([sys.argv[1]]).tobytes().hex())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, ADD],
            capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed, **ENV},
        )  # fmt: skip
        assert done.stdout.strip() == hash_vectors([ADD]).tobytes().hex()


ENV = {"PYTHONPATH": ":".join(sys.path)}


def test_near_programs_are_near() -> None:
    renamed = ADD.replace("add", "plus").replace("1.0f", "2.0f")
    one, near, far = hash_vectors([ADD, renamed, REDUCE])
    assert one @ near > 0.7 > 0.4 > one @ far
    spaced = "// a comment\n" + ADD.replace(" ", "\n  ") + "/* more */"
    assert np.array_equal(hash_vectors([spaced]), hash_vectors([ADD]))


@given(st.lists(st.text(), max_size=5), st.integers(1, 300))
def test_any_text_has_a_vector_of_length_one_or_zero(texts: list[str], dimensions: int) -> None:
    rows = hash_vectors(texts, dimensions)
    assert rows.shape == (len(texts), dimensions) and rows.dtype == np.float32
    for length in np.linalg.norm(rows, axis=1):
        assert length == pytest.approx(1, abs=1e-5) or length == 0


def test_the_default_needs_nothing_and_writes_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddingClient() as client:
        assert client.model == HASHING and client.embed_blocking([ADD]).shape == (1, 256)
        assert client.spent.requests == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prefix", EMBEDDERS)
def test_a_provider(prefix: str, tmp_path: Path) -> None:
    texts = [ADD, REDUCE, ADD * 2]
    busy = Status(429, retry_after=0.01)
    with LoopbackServer([busy, *[Reply(input_tokens=70)] * 3]) as server:
        model, quick = server.embedder(prefix), LLMSettings(backoff_s=0.01)
        budget = Budget(tokens=100_000, dollars=1)
        with EmbeddingClient(model, budget, tmp_path, settings=quick, keys=server.keys()) as client:
            rows = client.embed_blocking(texts)
            spent = client.spent
        with EmbeddingClient(model, budget, tmp_path, keys=server.keys()) as client:
            assert np.array_equal(client.embed_blocking(texts), rows) and client.spent == spent
        with (
            EmbeddingClient(model, None, tmp_path, keys=Keys({}), replay_only=True) as client,
            pytest.raises(LLMReplayError),
        ):
            client.embed_blocking(["new"])
    assert rows.shape == (3, 8) and np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3))
    assert not np.allclose(rows[0], rows[1])
    assert spent.usage.output == 0
    if prefix == "gemini":  # it counts nothing, so the bound counts
        assert spent.usage.input > server.billed().input
    else:
        assert spent.usage.input == server.billed().input
    if prefix != "openai-compatible":
        assert spent.dollars > 0


def refused(model: str, folder: Path, keys, **budget) -> LLMError:
    settings = LLMSettings(attempts=1, backoff_s=0.01)
    capped = Budget(**{"tokens": 10_000, **budget})
    with (
        EmbeddingClient(model, capped, folder, settings=settings, keys=keys) as client,
        pytest.raises(LLMError) as caught,
    ):
        client.embed_blocking(["x" * 100])
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("prefix", EMBEDDERS)
def test_what_goes_wrong(prefix: str, tmp_path: Path) -> None:
    with LoopbackServer([Raw('{"data": [{"index": 0, "embedding": ["a"]}]}')]) as server:
        model = server.embedder(prefix)
        assert isinstance(refused(model, tmp_path, server.keys()), LLMServerError)
        assert isinstance(refused(model, tmp_path / "b", server.keys(), tokens=9), LLMBudgetError)
        if prefix != "bedrock":
            wrong = server.keys("sk-wrong-0123456789")
            assert isinstance(refused(model, tmp_path / "c", wrong), LLMKeyError)


def test_a_provider_without_embeddings(tmp_path: Path) -> None:
    with LoopbackServer([]) as server:
        error = refused("anthropic:claude", tmp_path, server.keys())
    assert isinstance(error, LLMModelError) and "voyage:" in error.hint
