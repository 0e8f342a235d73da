"""Models of all providers, on pydantic-ai. Loaded only when a call is really sent."""

import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from warploom.core.records import Json
from warploom.llm.failures import (
    from_api,
    from_broken_reply,
    from_connection,
    from_missing_key,
    from_nonsense,
    from_unexpected,
    from_usage,
)
from warploom.llm.keys import Keys
from warploom.llm.names import parse_model
from warploom.llm.open import Opened, open_sdk
from warploom.llm.records import LLMSettings, Usage
from warploom.llm.transport import Delivery, Exchange, Repair, Results, Said, ToolCall, Turn

_OUTPUT_TOOL = "final_result"
_NONSENSE = (ValueError, TypeError, AttributeError, LookupError, AssertionError)


class ProviderModel:
    """One model of a provider; sends an exchange once, without retries of the SDK's own."""

    def __init__(self, name: str, opened: Opened) -> None:
        self._name = name
        self._opened = opened

    @property
    def name(self) -> str:
        """The model string."""
        return self._name

    async def send(self, exchange: Exchange) -> Delivery:
        """Send once; see `Transport.send`."""
        try:
            delivery = _delivery(await self._respond(exchange))
        except ModelAPIError as error:
            raise from_api(error, self._name) from error
        except UnexpectedModelBehavior as error:
            raise from_unexpected(error, self._name) from error
        except UserError as error:
            raise from_usage(error, self._name) from error
        except self._opened.keyless as error:
            raise from_missing_key(error, self._name) from error
        except self._opened.failures as error:
            raise from_connection(error, self._name) from error
        except _NONSENSE as error:  # what the SDKs raise for a reply of another shape
            raise from_nonsense(error, self._name) from error
        if delivery.finish == "error":
            raise from_broken_reply(self._name)
        return delivery

    async def close(self) -> None:
        """Close connections."""
        await self._opened.close()

    async def _respond(self, exchange: Exchange) -> ModelResponse:
        model, settings = self._opened.model, self._settings(exchange)
        messages, parameters = _messages(exchange), _parameters(exchange)
        if not exchange.stream:
            return await model.request(messages, settings, parameters)
        async with model.request_stream(messages, settings, parameters) as stream:
            async for _ in stream:
                pass
            return stream.get()

    def _settings(self, exchange: Exchange) -> ModelSettings:
        settings = ModelSettings(
            max_tokens=exchange.max_output_tokens, framing_announcement="never"
        )
        if self._opened.takes_timeout:
            settings["timeout"] = exchange.timeout_s
            settings["max_retries"] = 0
        if exchange.cache:
            settings["cache"] = True
        return settings


def open_model(name: str, keys: Keys, settings: LLMSettings) -> ProviderModel:
    """Return the model of a model string; nothing is sent.

    Raises:
        LLMModelError: the string is malformed.
        LLMKeyError: its provider needs a key or setting, and there is none.
        MissingToolError: its provider's SDK is not installed.
    """
    return ProviderModel(name, open_sdk(parse_model(name), keys, settings))


def _parameters(exchange: Exchange) -> ModelRequestParameters:
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.arguments.model_json_schema(),
            )
            for tool in exchange.tools
        ],
        instruction_parts=[InstructionPart(content=exchange.system)] if exchange.system else None,
    )
    kind = exchange.output
    if kind is not None:
        schema = kind.model_json_schema()
        parameters.output_mode = "auto"
        parameters.allow_text_output = False
        parameters.output_object = OutputObjectDefinition(json_schema=schema, name=kind.__name__)
        parameters.output_tools = [
            ToolDefinition(
                name=_OUTPUT_TOOL,
                description="The final reply.",
                parameters_json_schema=schema,
                kind="output",
            )
        ]
    return parameters


def _messages(exchange: Exchange) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    before: Turn | None = None
    for turn in exchange.turns:
        match turn:
            case Said(text):
                messages.append(_request([UserPromptPart(text)], exchange))
            case Repair(text):
                messages.append(_request(_repair(text, before), exchange))
            case Results(results):
                parts: list[ModelRequestPart] = [
                    ToolReturnPart(item.name, item.text, item.id) for item in results
                ]
                messages.append(_request(parts, exchange))
            case Delivery():
                messages.append(_response(turn))
        before = turn
    return messages


def _request(parts: Sequence[ModelRequestPart], exchange: Exchange) -> ModelRequest:
    return ModelRequest(parts=list(parts), instructions=exchange.system or None)


def _repair(text: str, before: Turn | None) -> list[ModelRequestPart]:
    """Return the answer to a reply that was not accepted; every tool call in it needs one."""
    calls = _response(before).parts if isinstance(before, Delivery) else ()
    returns: list[ModelRequestPart] = [
        ToolReturnPart(part.tool_name, text, part.tool_call_id)
        for part in calls
        if isinstance(part, ToolCallPart)
    ]
    return returns or [UserPromptPart(text)]


def _response(delivery: Delivery) -> ModelResponse:
    """Return the provider's own reply from its record."""
    if delivery.raw is None:  # of a scripted model
        return ModelResponse(parts=[TextPart(delivery.text or delivery.output or "")])
    message = ModelMessagesTypeAdapter.validate_python([delivery.raw])[0]
    assert isinstance(message, ModelResponse)
    return message


def _delivery(response: ModelResponse) -> Delivery:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls: list[ToolCall] = []
    output: str | None = None
    for part in response.parts:
        if not isinstance(part, ToolCallPart):
            continue
        arguments = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
        if part.tool_name == _OUTPUT_TOOL:
            output = output or arguments
        else:
            calls.append(ToolCall(part.tool_call_id, part.tool_name, arguments))
    used = response.usage
    return Delivery(
        text=text,
        usage=Usage(
            used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens
        ),
        finish=response.finish_reason or "stop",
        output=output,
        tool_calls=() if output is not None else tuple(calls),
        model=response.model_name or "",
        raw=_raw(response),
    )


def _raw(response: ModelResponse) -> Json:
    dumped = cast("list[Any]", ModelMessagesTypeAdapter.dump_python([response], mode="json"))
    return dumped[0]
