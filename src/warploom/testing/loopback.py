"""A model server on 127.0.0.1 that speaks the providers' wire formats, driven by a script.

    with LoopbackServer([Reply("hello"), Status(429, retry_after=1), Reply("again")]) as server:
        client = LLMClient([server.model("anthropic")], budget, folder, keys=server.keys())

It is real HTTP, so the providers' SDKs run as they do in earnest. A key other than `KEY` is
answered with 401, a model other than `models` with 404, without a step of the script.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import unquote, urlsplit

from warploom.llm.keys import Keys
from warploom.llm.names import PROVIDERS
from warploom.testing.wire import (
    OUTPUT_TOOL,
    Answer,
    Asked,
    Counts,
    Drop,
    Hang,
    Huge,
    JsonObject,
    Raw,
    Reply,
    Status,
    Step,
    Wire,
    answer,
)
from warploom.testing.wire_anthropic import Messages
from warploom.testing.wire_embeddings import Embeddings, GeminiEmbeddings, TitanEmbeddings
from warploom.testing.wire_openai import Chat, Responses
from warploom.testing.wire_others import Converse, Gemini

KEY = "sk-loopback-0123456789abcdef"
MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openai": "gpt-5-mini",
    "openai-chat": "gpt-4.1-mini",
    "azure": "gpt-4.1-mini",
    "gemini": "gemini-2.5-flash",
    "deepseek": "deepseek-chat",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "openai-compatible": "qwen3-coder",
    "ollama": "qwen3-coder",
}
EMBEDDERS = {
    "openai": "text-embedding-3-small",
    "gemini": "gemini-embedding-001",
    "bedrock": "amazon.titan-embed-text-v2:0",
    "voyage": "voyage-3",
    "openai-compatible": "nomic-embed-text",
}
_COUNTS = ("/messages/count_tokens", "/responses/input_tokens", ":countTokens")
_AWS_ID = "AKIALOOPBACK00000000"
_ROOTS = {"anthropic": "", "bedrock": "", "gemini": "", "azure": ""}


class Every(frozenset[str]):
    """Holds every name: `models` of a server whose clients choose models themselves."""

    def __contains__(self, _: object) -> bool:
        return True


class LoopbackServer:
    """Serves a script, or a function of each request, until it is closed.

    `asked` are the requests that took a step, in order; `delivered` the counts of tokens of each
    reply that was sent whole: what a real provider would bill. `counter` says how many tokens a
    request to count tokens has; without it there is no such path. With `keyless` any key will do,
    as for a server of one's own.
    """

    def __init__(
        self,
        script: Iterable[Step] | Callable[[Asked], Step],
        *,
        models: Iterable[str] = (*MODELS.values(), *EMBEDDERS.values()),
        counter: Callable[[JsonObject], object] | None = None,
        keyless: bool = False,
    ) -> None:
        self.counter = counter
        self._keyless = keyless
        self.asked: list[Asked] = []
        self.delivered: list[Counts] = []
        self._script = script if callable(script) else None
        self._steps: Iterator[Step] = iter(()) if callable(script) else iter(script)
        self._models = models if isinstance(models, frozenset) else frozenset(models)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def address(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def model(self, prefix: str) -> str:
        """Return a model string of a provider that is answered from here."""
        root = _ROOTS.get(prefix, "/v1")
        return f"{prefix}:{MODELS[prefix]}@{self.address}{root}"

    def embedder(self, prefix: str) -> str:
        """Return a model string for embeddings that is answered from here."""
        root = _ROOTS.get(prefix, "/v1")
        return f"{prefix}:{EMBEDDERS[prefix]}@{self.address}{root}"

    def keys(self, key: str = KEY) -> Keys:
        """Return keys for all providers."""
        named = {name: key for provider in PROVIDERS.values() for name in provider.keys}
        del named["AWS_PROFILE"], named["AWS_BEARER_TOKEN_BEDROCK"]  # a bearer wants HTTPS
        others = {
            "AWS_ACCESS_KEY_ID": _AWS_ID,
            "AWS_SECRET_ACCESS_KEY": key,
            "AWS_REGION": "us-east-1",
            "OPENAI_API_VERSION": "2024-10-21",
        }
        return Keys({**named, **others})

    def billed(self) -> Counts:
        """Add up what was delivered."""
        with self._lock:
            done = tuple(self.delivered)
        return Counts(
            sum(item.input for item in done),
            sum(item.output for item in done),
            sum(item.cached for item in done),
            sum(item.cache_write for item in done),
        )

    def close(self) -> None:
        """Stop; connections that hang are ended."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def take(self, path: str, model: str, body: JsonObject, headers: Any) -> tuple[Asked, Step]:
        """Return the request with its number, and the step that answers it."""
        told = {name.lower(): value for name, value in headers.items()}
        with self._lock:
            asked = Asked(len(self.asked) + 1, path, model, body, told)
            if not (self._keyless or _authorized(told)):
                given = " ".join(sorted(_given(told)))  # told back, as some servers do
                return asked, Status(401, f"Incorrect API key provided: {given}")
            if model not in self._models:
                return asked, Status(404, f"The model `{model}` does not exist")
            self.asked.append(asked)
            step = self._script(asked) if self._script else next(self._steps, None)
        return asked, step or Status(400, f"the script has no step {asked.number}")

    def deliver(self, counts: Counts) -> None:
        """Note that a reply was sent whole."""
        with self._lock:
            self.delivered.append(counts)

    def wait(self, seconds: float) -> None:
        """Wait, but not beyond the server's end."""
        self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: LoopbackServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer one request."""
        owner = cast("_Server", self.server).owner
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = cast("JsonObject", json.loads(raw or b"{}"))
        path = urlsplit(self.path).path
        if owner.counter is not None and path.endswith(_COUNTS):
            told = {name.lower(): value for name, value in self.headers.items()}
            tokens = owner.counter(body)
            name = "totalTokens" if path.endswith(":countTokens") else "input_tokens"
            found = json.dumps({name: tokens}).encode()
            self._send(200 if _authorized(told) else 401, found, "application/json")
            return
        wire, model = _route(path, body)
        if wire is None:
            self._send(404, b'{"error": {"message": "no such path"}}', "application/json")
            return
        asked, step = owner.take(self.path, model, body, self.headers)
        if isinstance(step, Reply | Huge):
            self._reply(owner, wire, asked, step)
        else:
            self._fail(owner, wire, asked, step)

    def _reply(self, owner: LoopbackServer, wire: Wire, asked: Asked, step: Reply | Huge) -> None:
        reply = Reply("x" * step.bytes_) if isinstance(step, Huge) else step
        if reply.delay:
            time.sleep(reply.delay)
        ready = answer(asked, reply, _tools(asked.body))
        if wire.streams(asked):
            self._stream(wire, ready)
        else:
            body = json.dumps(wire.whole(ready)).encode()
            told = str(ready.counts.input)
            counted = isinstance(wire, TitanEmbeddings)  # whose counts are in a header
            headers = {"x-amzn-bedrock-input-token-count": told} if counted else {}
            self._send(200, body, "application/json", headers)
        owner.deliver(ready.counts)

    def _fail(
        self, owner: LoopbackServer, wire: Wire, asked: Asked, step: Status | Hang | Drop | Raw
    ) -> None:
        match step:
            case Raw(body, code, kind):
                self._send(code, body.encode(), kind)
            case Hang(seconds):
                if wire.streams(asked):
                    self._start_stream()
                    self._first_event(wire, asked)
                owner.wait(seconds)
                self.close_connection = True
            case Drop():
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "100000")
                self.end_headers()
                self.wfile.write(b'{"id": "cut ')
                self.close_connection = True
            case Status(in_stream=True):
                self._start_stream()
                self._first_event(wire, asked)
                self._event("error", wire.error(step))
                self._chunk(b"")
            case Status(code, retry_after=retry_after):
                wait = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
                body = json.dumps(wire.error(step)).encode()
                self._send(code, body, "application/json", wait)

    def _stream(self, wire: Wire, ready: Answer) -> None:
        self._start_stream()
        for name, data in wire.events(ready):
            self._event(name, data)
        if isinstance(wire, Chat):
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _start_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _first_event(self, wire: Wire, asked: Asked) -> None:
        for name, data in wire.events(answer(asked, Reply("never"), ())):
            self._event(name, data)
            return

    def _event(self, name: str, data: JsonObject) -> None:
        head = f"event: {name}\n" if name else ""
        self._chunk(f"{head}data: {json.dumps(data)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _send(
        self, code: int, body: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _route(path: str, body: JsonObject) -> tuple[Wire | None, str]:
    """Return the wire format of a path, and the model that is asked for."""
    steps = [unquote(step) for step in path.strip("/").split("/")]
    model = str(body.get("model", ""))
    if path.endswith("/chat/completions"):
        in_path = steps[steps.index("deployments") + 1] if "deployments" in steps else ""
        return Chat(), in_path or model
    if path.endswith("/responses"):
        return Responses(), model
    if path.endswith("/messages"):
        return Messages(), model
    if steps[-1].endswith((":generateContent", ":streamGenerateContent")):
        return Gemini(), steps[-1].rpartition(":")[0]
    if steps[0] == "model" and steps[-1] == "converse":
        return Converse(), steps[1]
    if path.endswith("/embeddings"):
        return Embeddings(), model
    if steps[-1].endswith(":batchEmbedContents"):
        return GeminiEmbeddings(), steps[-1].rpartition(":")[0]
    if steps[0] == "model" and steps[-1] == "invoke":
        return TitanEmbeddings(), steps[1]
    return None, model


def _given(headers: dict[str, str]) -> set[str]:
    """Return the keys of a request, wherever a provider's SDK puts them."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    named = (headers.get(name, "") for name in ("x-api-key", "api-key", "x-goog-api-key"))
    return {key for key in (bearer, *named) if key}


def _authorized(headers: dict[str, str]) -> bool:
    return KEY in _given(headers) or f"Credential={_AWS_ID}/" in headers.get("authorization", "")


def _tools(body: JsonObject) -> tuple[str, ...]:
    """Return the names of the tools that a request offers, in any wire format."""
    return (OUTPUT_TOOL,) if f'"{OUTPUT_TOOL}"' in json.dumps(body.get("tools") or body) else ()
