"""Keys from the environment and .env, what doctor says of them, and life without the extra."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.core.errors import BadInputError
from warploom.llm.keys import Keys
from warploom.llm.names import PROVIDERS
from warploom.llm.status import examine_models

SECRET = "sk-very-secret-0123456789"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No keys in the environment, and an empty current folder."""
    for provider in PROVIDERS.values():
        for name in provider.keys:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dotenv_file(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / ".env").write_text(
        f"# keys\nexport ANTHROPIC_API_KEY='{SECRET}'\nOPENAI_API_KEY = abcdefgh # mine\n"
        "not a line of ours\nEMPTY=\n"
    )
    keys = Keys.load()
    assert keys.get("ANTHROPIC_API_KEY") == SECRET and keys.get("OPENAI_API_KEY") == "abcdefgh"
    assert keys.get("EMPTY") is None and keys.get("MISSING") is None
    assert "ANTHROPIC_API_KEY" not in os.environ  # no program that we start inherits it
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    assert Keys.load().get("OPENAI_API_KEY") == "from-the-environment"
    assert SECRET not in repr(keys) and keys.redact(f"<{SECRET}>") == "<[key]>"


def test_a_dotenv_line_that_is_meant_for_us_and_wrong(bare: Path) -> None:
    (bare / ".env").write_text(f"A=1\nOPENAI_API_KEY {SECRET}\n")
    with pytest.raises(BadInputError, match=r"\.env:2: a line must be NAME=value") as caught:
        Keys.load()
    assert SECRET not in str(caught.value)


def test_short_values_and_other_names_are_not_blotted_out() -> None:
    keys = Keys(
        {"OPENAI_API_KEY": "ollama", "MAX_TOKENS": "1000000000", "DB_PASSWORD": "hunter2hunter2"}
    )
    assert keys.redact("ollama 1000000000 hunter2hunter2") == "ollama 1000000000 [key]"


def test_doctor_names_keys_and_prices_but_no_value(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    main(["doctor", "--json"])
    text = capsys.readouterr().out
    models = json.loads(text)["models"]
    states = {state["prefix"]: state for state in models["providers"]}
    assert states["anthropic"]["key"] == "ANTHROPIC_API_KEY" and states["anthropic"]["ready"]
    assert states["openai"]["key"] is None and not states["openai"]["ready"]
    assert states["ollama"]["ready"] and states["ollama"]["prices"] == 0
    assert states["openai"]["prices"] > 50 and models["price_table"]
    main(["doctor"])
    shown = capsys.readouterr().out
    assert "anthropic: key in ANTHROPIC_API_KEY" in shown
    assert "openai: no key: set OPENAI_API_KEY" in shown
    assert SECRET not in text + shown


def test_every_provider_has_a_page_that_names_its_key_and_prefix() -> None:
    for state in examine_models(Keys({})).providers:
        page = (DOCS.parent / state.page).read_text()
        assert f"`{state.prefix}:" in page or f"{state.prefix}:" in page, state.prefix
        assert not state.keys or state.keys[0] in page, state.prefix


WITHOUT = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pydantic_ai", "genai_prices", "openai", "httpx2", "anthropic"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone())
from pathlib import Path
from warploom.core.errors import MissingToolError
from warploom.llm import Budget, EmbeddingClient, LLMClient, LLMRequest, LLMSettings, Price
from warploom.testing.scripted import ScriptedModel
folder, request = Path(sys.argv[1]), LLMRequest("rewrite", "s", "p", "k")
with LLMClient([ScriptedModel(["hi"])], Budget(tokens=10**6), folder) as client:
    assert client.ask_blocking(request).text == "hi"
with LLMClient(["openai:gpt-5"], Budget(), folder, replay_only=True) as client:
    assert client.ask_blocking(request).replayed
assert EmbeddingClient().embed_blocking(["x"]).shape == (1, 256)
for budget in (Budget(dollars=1), Budget(tokens=10**6)):
    try:
        with LLMClient(["openai:gpt-5"], budget, folder / "b") as client:
            client.ask_blocking(request)
    except MissingToolError as error:
        assert error.exit_code == 3, error
        print(error)
"""


def test_without_the_extra(tmp_path: Path) -> None:
    """Scripted models, replay and offline embeddings work; a real call says what to install."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install 'warploom[llm]'") == 2
