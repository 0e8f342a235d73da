"""A chain of calls, each made of the reply before, for the crash test to kill."""

from pathlib import Path

from warploom.llm import Budget, LLMClient, LLMRequest
from warploom.llm.keys import Keys

STEPS = 6


def run_chain(model: str, key: str, folder: str) -> None:
    """Ask `STEPS` times and write the last reply to `result.txt`."""
    text, keys = "", Keys({"OPENAI_API_KEY": key})
    with LLMClient([model], Budget(dollars=50), Path(folder) / "llm", keys=keys) as client:
        for step in range(STEPS):
            request = LLMRequest("rewrite", "s", f"step {step} after {text!r}", f"step-{step}")
            text = client.ask_blocking(request).text
    (Path(folder) / "result.txt").write_text(text)
