"""The client: one question in, one recorded, costed, judged-by-nobody-yet reply out."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Never, Self

from pydantic import BaseModel, ValidationError

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.records import Json
from warploom.llm.choice import ModelChoice, RoundRobin
from warploom.llm.errors import (
    LLMEmptyError,
    LLMOutputError,
    LLMRefusalError,
    LLMReplayError,
    LLMTruncatedError,
)
from warploom.llm.keys import Keys
from warploom.llm.ledger import Ledger, Spent
from warploom.llm.names import parse_model
from warploom.llm.recorder import Call, Recorder, call_name
from warploom.llm.records import Budget, LLMReply, LLMRequest, LLMSettings, Tool, Usage
from warploom.llm.sender import Sender
from warploom.llm.transport import (
    Delivery,
    Exchange,
    Repair,
    Results,
    Said,
    ToolCall,
    ToolResult,
    Transport,
    Turn,
)

_NO_EMPTIES = 0  # part of the names of recorded calls, from when empty replies were asked for anew


@dataclass(slots=True)
class _Talk:
    """The calls of one request until now."""

    request: LLMRequest
    turns: list[Turn]
    calls: list[Call] = field(default_factory=list[Call])
    fresh: int = 0
    repairs: int = 0


class LLMClient:
    """Asks language models; records, costs and caps every call.

    `models` are model strings such as `anthropic:claude-sonnet-5-5` (docs/providers), or objects
    that answer (`warploom.testing.scripted`); `choice` picks one for each call. `records_dir` is a
    folder of the run: a call that it holds is served from there, so that a repeated run pays for
    nothing twice. With `replay_only` nothing is ever sent and no key is needed.

    Use it in `async with` or `with`, or call `close` at the end. `ask` may be called concurrently.

    Raises:
        LLMModelError: a model string is malformed, or the address of its server is missing.
        BadInputError: another process uses the folder, or its records were changed.
    """

    def __init__(
        self,
        models: Sequence[str | Transport],
        budget: Budget,
        records_dir: Path,
        *,
        settings: LLMSettings | None = None,
        choice: ModelChoice | None = None,
        keys: Keys | None = None,
        replay_only: bool = False,
    ) -> None:
        if not models:
            raise BadInputError("an LLMClient needs at least one model, got none")
        self._keys = keys or Keys.load()
        self._settings = settings or LLMSettings()
        self._replay_only = replay_only
        for model in (*models, *self._settings.fallbacks):
            if isinstance(model, str) and not replay_only:
                self._keys.address(parse_model(model))
        self._recorder = Recorder(records_dir)
        self._ledger = Ledger(budget)
        if not replay_only:
            self._recorder.open()
        try:
            self._ledger.restore(*self._recorder.spent())
            self._sender = Sender(
                models,
                choice or RoundRobin(),
                self._settings,
                self._keys,
                self._ledger,
                self._recorder,
            )
        except BadInputError:  # a changed record or state
            self._recorder.close()
            raise
        self._busy: set[str] = set()
        self._runner: asyncio.Runner | None = None

    @property
    def spent(self) -> Spent:
        """What the run has paid for, in earlier processes too."""
        return self._ledger.spent

    @property
    def models(self) -> tuple[str, ...]:
        """The model strings to choose from."""
        return self._sender.names

    async def ask(self, request: LLMRequest) -> LLMReply:
        """Ask, and return the reply; from the record where this call was paid for already.

        With tools or a typed output one request can take several calls, each recorded.

        Raises:
            LLMError: the reply could not be had; the class and the hint say why and what to do.
            BadInputError: a request with the same key and content is under way.
        """
        clean = _redacted(request, self._keys)
        if clean.key in self._busy:
            raise BadInputError(
                f"a request with the key {clean.key!r} is under way",
                hint="give each request of a run a key of its own",
            )
        self._busy.add(clean.key)
        try:
            return await self._converse(clean)
        finally:
            self._busy.discard(clean.key)

    def ask_blocking(self, request: LLMRequest) -> LLMReply:
        """Do what `ask` does, and wait for it; for code without an event loop.

        Raises:
            LLMError: as `ask`.
            BadInputError: called from within an event loop.
        """
        if _in_event_loop():
            raise BadInputError(
                "ask_blocking was called from within an event loop", hint="await ask(...) there"
            )
        return self._loop().run(self.ask(request))

    def reward(self, reply: LLMReply, gain: float) -> None:
        """Tell the choice of models what came of a reply.

        `gain` is how much it improved on the best before, in units of the score; 0 or less is no
        improvement. Telling it twice of the same call counts once.
        """
        self._sender.reward(reply.call_id, reply.model, gain, reply.cost_usd)

    async def aclose(self) -> None:
        """Close connections and release the folder."""
        await self._sender.close()
        self._recorder.close()

    def close(self) -> None:
        """Do what `aclose` does; for code without an event loop."""
        self._loop().run(self.aclose())
        self._loop().close()
        self._runner = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _loop(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner

    async def _converse(self, request: LLMRequest) -> LLMReply:
        talk = _Talk(request, [Said(request.prompt)])
        while True:
            call = await self._call(talk)
            talk.calls.append(call)
            delivery = call.delivery
            _check_finish(call, request)
            if delivery.tool_calls:
                _check_turns(talk, call)
                talk.turns += [delivery, await self._run_tools(call, request.tools)]
            elif not (delivery.text.strip() or delivery.output):
                _refuse_empty(talk, call)
            elif request.output is None:
                return _reply(talk, None)
            else:
                output = self._parsed(talk, call, request.output)
                if output is not None:
                    return _reply(talk, output)

    async def _call(self, talk: _Talk) -> Call:
        request = talk.request
        content = json.dumps([_asked(request), [_seen(turn) for turn in talk.turns], _NO_EMPTIES])
        call_id = call_name(f"{request.key}-{len(talk.calls) + 1}", content)
        recorded = self._recorder.load(call_id)
        if recorded is not None:
            return recorded
        if self._replay_only:
            raise LLMReplayError(
                f"the record holds no call {call_id} ({request.purpose}, key {request.key!r})",
                hint="the request differs from the recorded one; run without replay to send it",
            )
        exchange = Exchange(
            system=request.system,
            turns=tuple(talk.turns),
            max_output_tokens=request.max_output_tokens,
            timeout_s=request.timeout_s or self._settings.timeout_s,
            output=request.output,
            tools=request.tools,
            stream=self._settings.stream,
            cache=self._settings.cache,
        )
        talk.fresh += 1
        return await self._sender.send(request, exchange, call_id)

    async def _run_tools(self, call: Call, tools: Sequence[Tool]) -> Results:
        """Run what a reply asks for; after a replayed one, only what has effects."""
        known = {tool.name: tool for tool in tools}
        kept = self._recorder.load_results(call.call_id)
        results: list[ToolResult] = []
        for wanted in call.delivery.tool_calls:
            tool = known.get(wanted.name)
            if kept is None or (tool is not None and tool.effects):
                text = self._keys.redact(await _run_tool(tool, wanted, known))
                results.append(ToolResult(wanted.id, wanted.name, text))
        if kept is not None:
            return Results(kept)
        self._recorder.keep_results(call.call_id, tuple(results))
        return Results(tuple(results))

    def _parsed(self, talk: _Talk, call: Call, kind: type[BaseModel]) -> BaseModel | None:
        text = call.delivery.output or _json_part(call.delivery.text)
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'reply'}: {item['msg']}"
                for item in error.errors(include_url=False, include_input=False)[:10]
            )
        if talk.repairs >= self._settings.repairs:
            raise LLMOutputError(
                f"the reply of {call.model} does not fit {kind.__name__}: {problems}",
                hint="use a model that supports structured output; the replies are in the record",
                call_id=call.call_id,
            )
        talk.repairs += 1
        talk.turns += [call.delivery, Repair(f"The reply does not fit the schema: {problems}")]
        return None


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _refuse_empty(talk: _Talk, call: Call) -> Never:
    """End a request whose reply was empty: to ask the same again would be to pay for it twice."""
    raise LLMEmptyError(
        f"{call.model} sent an empty reply ({talk.request.key})",
        hint="use another model, or shorten the prompt",
        call_id=call.call_id,
    )


async def _run_tool(tool: Tool | None, wanted: ToolCall, known: Mapping[str, Tool]) -> str:
    if tool is None:
        return f"error: there is no tool {wanted.name!r}; there are {', '.join(known) or 'none'}"
    try:
        values = tool.arguments.model_validate_json(wanted.arguments or "{}")
    except ValidationError as error:
        return f"error: the arguments do not fit: {error.errors(include_url=False)[:5]}"
    try:
        return await tool.run(values)
    except BadInputError as error:  # the model's input, so it is told
        return f"error: {error}"


def _check_finish(call: Call, request: LLMRequest) -> None:
    delivery = call.delivery
    if delivery.finish == "length":
        raise LLMTruncatedError(
            f"the reply of {call.model} ended at its limit of {request.max_output_tokens} tokens "
            f"({request.key})",
            hint="raise max_output_tokens (reasoning counts), or ask for a smaller change",
            call_id=call.call_id,
        )
    if delivery.finish == "content_filter":
        raise LLMRefusalError(
            f"{call.model} refused to answer ({request.key})",
            hint="use another model; the record holds what it said",
            call_id=call.call_id,
        )


def _check_turns(talk: _Talk, call: Call) -> None:
    request = talk.request
    if len(talk.calls) - talk.repairs >= request.max_turns:
        raise LLMOutputError(
            f"{call.model} was still calling tools after {request.max_turns} turns ({request.key})",
            hint="raise max_turns, or ask for less in one request",
            call_id=call.call_id,
        )


def _reply(talk: _Talk, output: BaseModel | None) -> LLMReply:
    last = talk.calls[-1]
    costs = [call.cost_usd for call in talk.calls]
    known = [cost for cost in costs if cost is not None]
    return LLMReply(
        text=last.delivery.text,
        output=output,
        model=last.model,
        usage=sum((call.delivery.usage for call in talk.calls), Usage()),
        cost_usd=float(sum(known)) if len(known) == len(costs) else None,
        latency_s=sum(call.latency_s for call in talk.calls),
        call_id=last.call_id,
        replayed=talk.fresh == 0,
        calls=len(talk.calls),
    )


def _redacted(request: LLMRequest, keys: Keys) -> LLMRequest:
    """Return the request without any key that slipped into its text."""
    system, prompt = keys.redact(request.system), keys.redact(request.prompt)
    if (system, prompt) == (request.system, request.prompt):
        return request
    return replace(request, system=system, prompt=prompt)


def _asked(request: LLMRequest) -> Json:
    """Return what makes two requests the same: all that the model sees, and who is asked."""
    output = request.output
    return {
        "system": digest((request.system,)),
        "output": None if output is None else output.model_json_schema(),
        "tools": [
            [tool.name, tool.description, tool.arguments.model_json_schema()]
            for tool in request.tools
        ],
        "max_output_tokens": request.max_output_tokens,
        "model": request.model,
    }


def _seen(turn: Turn) -> Json:
    match turn:
        case Said(text) | Repair(text):
            return [type(turn).__name__, text]
        case Results(results):
            return ["Results", *[[item.id, item.name, item.text] for item in results]]
        case Delivery():
            calls: list[Json] = [[c.id, c.name, c.arguments] for c in turn.tool_calls]
            return ["Delivery", turn.text, turn.output, calls]


def _json_part(text: str) -> str:
    """Return the JSON object within prose or a fence, as models without typed output send it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text
