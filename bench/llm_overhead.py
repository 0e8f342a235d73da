"""What our layer adds to a call of a language model.

Three ways to make the same call against a server on 127.0.0.1 that answers at once, side by side:
the provider's SDK alone, through pydantic-ai, and through warploom (which reserves, records, costs
and settles). The fourth way serves the call from its record. The last row is what this disk takes
to force one file of a record's size to it, twice, as each record is. The prompt has about 20 kB.

    python bench/llm_overhead.py [--json] [--repeats 50]
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from common import arguments, show
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from warploom.llm import Budget, LLMClient, LLMRequest
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Reply

PROMPT = "__global__ void add(float* x) { x[threadIdx.x] += 1.0f; }\n" * 350
REPLY = PROMPT[:8000]
WAYS = ("SDK alone", "pydantic-ai", "warploom", "warploom, from the record")


async def measure(repeats: int, folder: Path) -> dict[str, list[float]]:
    """Return the milliseconds of each call, by way; the ways take turns."""
    with LoopbackServer(lambda _: Reply(REPLY)) as server:
        name = server.model("openai-chat")
        model, url = name.removeprefix("openai-chat:").split("@")
        sdk = AsyncOpenAI(api_key=KEY, base_url=url, max_retries=0)
        plain = OpenAIChatModel(model, provider=OpenAIProvider(api_key=KEY, base_url=url))
        message = ModelRequest.user_text_prompt(PROMPT)
        async with LLMClient([name], Budget(dollars=1000), folder, keys=server.keys()) as client:

            def ours(n: int) -> Awaitable[object]:
                return client.ask(LLMRequest("bench", "", PROMPT, f"call-{n}"))

            def alone(_: int) -> Awaitable[object]:
                chat = [{"role": "user", "content": PROMPT}]
                return sdk.chat.completions.create(model=model, messages=chat)

            def through(_: int) -> Awaitable[object]:
                return plain.request([message], None, ModelRequestParameters())

            ways: tuple[Callable[[int], Awaitable[object]], ...] = (alone, through, ours, ours)
            times: dict[str, list[float]] = {way: [] for way in WAYS}
            for n in range(repeats + 3):  # the first three warm up
                for way, call in zip(WAYS, ways, strict=True):
                    started = time.perf_counter()
                    await call(n)
                    if n >= 3:
                        times[way].append((time.perf_counter() - started) * 1e3)
        await sdk.close()
        return times


def forced(folder: Path, repeats: int) -> list[float]:
    """Return the milliseconds of forcing two files of 30 kB to the disk."""
    times: list[float] = []
    for n in range(repeats):
        started = time.perf_counter()
        for half in "ab":
            with (folder / f"{n}{half}").open("w") as file:
                file.write("x" * 30_000)
                file.flush()
                os.fsync(file.fileno())
        times.append((time.perf_counter() - started) * 1e3)
    return times


def main() -> None:
    """Measure, and print medians."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=50, help="calls of each way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = asyncio.run(measure(options.repeats, Path(folder) / "calls"))
        times["the disk alone"] = forced(Path(folder), options.repeats)
    base = statistics.median(times[WAYS[0]])
    rows = [
        {
            "way": way,
            "median ms": statistics.median(values),
            "minus SDK ms": statistics.median(values) - base,
            "of SDK": statistics.median(values) / base,
        }
        for way, values in times.items()
    ]
    show(rows, options.json, f"one call, 20 kB prompt, 8 kB reply, {options.repeats} calls each")


if __name__ == "__main__":
    main()
