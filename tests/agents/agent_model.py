"""A scripted model for real agents: it uses the tools that an agent offers, one after the other.

It knows nothing of what was said before: how many of its calls were answered tells it where it is.
So an agent that is started anew is served as well.
"""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from warploom.testing.loopback import Every, LoopbackServer
from warploom.testing.wire import Asked, Hang, Reply, Step, WireCall

SHELLS = (
    "Bash",
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "local_shell",
)
SAYS = "I have replaced the collective by a kernel."


@dataclass
class AgentModel:
    """Calls tools in turn, then ends.

    Attributes:
        shell: commands for the agent's shell, in order.
        tools: names of warploom's MCP tools to call first, with their arguments.
        hangs: wait instead of ending the first session.
    """

    shell: tuple[str, ...] = ()
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    hangs: bool = False
    ends: int = 0
    seen: list[str] = field(default_factory=list)
    offered: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, asked: Asked) -> Step:
        """Answer one request."""
        tools = offered(asked.body)
        shell = next((name for name in tools if name in SHELLS), None)
        if shell is None:  # a title, a summary, a question of the agent's own
            return Reply(fitting(asked.body))
        with self.lock:
            self.offered |= set(tools)
            self.seen.append(asked.text)
        plan = [*self._asked_of_warploom(tools, asked.text)]
        plan += [WireCall(shell, shell_arguments(shell, command)) for command in self.shell]
        done = answered(asked.body)
        if done < len(plan):
            return Reply("Next.", calls=(plan[done],))
        with self.lock:
            self.ends += 1
        return Hang(600) if self.hangs else Reply(SAYS)

    def _asked_of_warploom(self, tools: list[str], text: str) -> Iterator[WireCall]:
        """Yield the calls of warploom's tools, where the agent offers them."""
        names = [name for name, _ in self.tools]
        deferred = [f"mcp__warploom__{name}" for name in names]
        if "ToolSearch" in tools and all(name in text for name in deferred):
            yield WireCall("ToolSearch", {"query": f"select:{','.join(deferred)}"})
            tools = [*tools, *deferred]
        for name, arguments in self.tools:
            full = next((t for t in tools if "warploom" in t and t.endswith(name)), None)
            if full is not None:
                space, _, inner = full.rpartition(" ")
                yield WireCall(inner, arguments, space)

    def transcript(self) -> str:
        """Return the end of the last conversation, for a failed test to show."""
        return self.seen[-1][-3000:] if self.seen else "the agent never asked its model"

    def called(self, tool: str) -> bool:
        """Whether a warploom tool was called and answered."""
        return bool(self.answer_to(tool))

    def answer_to(self, tool: str) -> str:
        """Return the last conversation from the call of a tool on, "" where it was not called."""
        text = self.seen[-1] if self.seen else ""
        called = re.search(rf'"name": "[^"]*{tool}"', text)
        return text[called.start() :] if called else ""


@dataclass
class LoopingModel:
    """Calls the agent's shell for ever; a prompt has a token for each five bytes."""

    def __call__(self, asked: Asked) -> Step:
        """Answer one request."""
        tokens = self.count(asked.body)
        shell = next((name for name in offered(asked.body) if name in SHELLS), None)
        if shell is None:
            return Reply(fitting(asked.body), input_tokens=tokens, output_tokens=20)
        again = WireCall(shell, shell_arguments(shell, "true"))
        return Reply("Again.", calls=(again,), input_tokens=tokens, output_tokens=200)

    def count(self, body: object) -> int:
        """Return the tokens of a prompt, as a request to count them is answered too."""
        return len(json.dumps(body)) // 5


def fitting(body: dict[str, Any]) -> str:
    """Return a text, or the JSON that Gemini CLI asks for to choose between its models."""
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema") or {}
    fields = schema.get("properties") or {}
    values = {"STRING": "ok", "INTEGER": 1, "NUMBER": 1, "BOOLEAN": True, "ARRAY": [], "OBJECT": {}}
    found = {
        name: (item.get("enum") or [values[item["type"].upper()]])[0]
        for name, item in fields.items()
    }
    return json.dumps(found) if found else "ok"


def shell_arguments(tool: str, command: str) -> dict[str, Any]:
    """Return the arguments by which a shell tool takes a command."""
    if tool == "exec_command":
        return {"cmd": command, "yield_time_ms": 120_000}
    if tool == "shell":
        return {"command": ["bash", "-lc", command], "timeout_ms": 120_000}
    if tool in ("bash", "Bash", "run_shell_command"):
        return {"command": command, "description": "work on the program"}
    return {"command": command}


def offered(body: dict[str, Any]) -> list[str]:
    """Return the names of the tools that a request offers, behind their namespace if any."""
    names: list[str] = []
    for tool in body.get("tools") or ():
        names += [item["name"] for item in tool.get("functionDeclarations") or ()]
        names += [tool["name"]] if isinstance(tool.get("name"), str) else []
        names += [f"{tool['name']} {item['name']}" for item in tool.get("tools") or ()]
        names += [tool["function"]["name"]] if "function" in tool else []
    return names


def answered(body: dict[str, Any]) -> int:
    """Count the tool calls that the conversation has answers to."""
    text = json.dumps(body)
    marks = ('"type": "tool_result"', '"type": "function_call_output"', '"functionResponse"',
             '"role": "tool"')  # fmt: skip
    return max(text.count(mark) for mark in marks)


def serve(model: AgentModel) -> LoopbackServer:
    """Return a server that lets this model answer; not started yet."""
    return LoopbackServer(model, models=Every())
