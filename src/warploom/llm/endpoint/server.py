"""The endpoint that an agent asks for its model: HTTP on 127.0.0.1, at a random port.

It forwards to the provider with the user's key, which the agent never sees: it shows a key of its
own, made for one session. Replies are passed on as they come, event by event.
"""

import hmac
import json
import ssl
import threading
from collections.abc import Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, urlsplit

from warploom.core.errors import WarploomError
from warploom.llm.endpoint.counts import count_call, counted_tokens
from warploom.llm.endpoint.events import TooLargeError, as_chunk, cut_events, data_of, limited
from warploom.llm.endpoint.fields import JsonObject, checked_model
from warploom.llm.endpoint.meter import Admitted, Meter, Question, Tally
from warploom.llm.endpoint.reading import (
    passed_on,
    passed_query,
    read_length,
    read_object,
    shown_key,
    written,
)
from warploom.llm.endpoint.upstream import Upstream
from warploom.llm.endpoint.wires import Generate, Route, Wire, find_route, find_wire
from warploom.llm.errors import LLMBudgetError
from warploom.llm.keys import Keys
from warploom.llm.records import Usage

if TYPE_CHECKING:
    import httpx2

_BODY_BYTES = 64 << 20
_TOLD = 300  # characters of a provider's error that we repeat
_PASSED_BACK = ("content-type", "retry-after", "request-id", "x-request-id")
_CONNECT_S, _READ_S, _COUNT_S = 20.0, 600.0, 30.0


class Door(ThreadingHTTPServer):
    """Serves one session of an agent, from its making until `close`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, key: str, upstreams: Mapping[str, Upstream], meter: Meter, tally: Tally, keys: Keys
    ) -> None:
        import httpx2

        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = key
        self.upstreams = upstreams
        self.meter = meter
        self.tally = tally
        self.keys = keys
        self.closed = threading.Event()
        self.client = httpx2.Client(
            timeout=httpx2.Timeout(_READ_S, connect=_CONNECT_S),
            verify=_certificates(),
            headers={"accept-encoding": "identity"},
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=None),
        )
        self.failures: tuple[type[Exception], ...] = (httpx2.HTTPError,)
        self.unsent: tuple[type[Exception], ...] = (
            httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol,
            httpx2.InvalidURL, httpx2.ProxyError, httpx2.LocalProtocolError,
        )  # fmt: skip

    @property
    def address(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        """Stop serving; calls that are under way are ended and charged at their most."""
        self.closed.set()  # for connections that an agent keeps open
        self.shutdown()
        self.server_close()
        self.meter.abandon(self.tally)
        self.client.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that went away is no error of ours."""


@cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted certificates: reading them takes half a second."""
    import httpx2

    return httpx2.create_ssl_context()


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection of an agent."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: standard error is the user's."""

    @property
    def _door(self) -> Door:
        return cast("Door", self.server)

    def do_GET(self) -> None:
        """Nothing is served by GET: no list of models, no upgrade to another protocol."""
        self._serve("GET")

    def do_HEAD(self) -> None:
        """Answer a look whether somebody is here."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Forward a call."""
        self._serve("POST")

    def _serve(self, method: str) -> None:
        try:
            parts = urlsplit(self.path)
        except ValueError:
            self.close_connection = True
            self._refuse(find_wire(""), 400, "the address is none", "invalid_request_error")
            return
        wire = find_wire(parts.path)
        body = self._read_body(wire)
        if body is None:
            return
        if self._door.closed.is_set():
            self.close_connection = True
            self._refuse(wire, 503, "the session has ended", "api_error")
            return
        given = shown_key(self.headers, parts.query)
        if not hmac.compare_digest(given.encode(), self._door.key.encode()):
            self._refuse(wire, 401, "this key does not open this endpoint", "authentication_error")
            return
        self._serve_call(method, parts, wire, body)

    def _serve_call(self, method: str, parts: SplitResult, wire: Wire, body: bytes) -> None:
        route = find_route(method, parts.path)
        if route is None:
            told = f"{method} {parts.path} is not served here: calls of models only"
            self._refuse(wire, 404, told, "not_found_error")
            return
        provider = route.wire.provider.removesuffix("-chat")
        upstream = self._door.upstreams.get(provider)
        if upstream is None:
            told = f"there is no key for {provider}: set one, and start anew"
            self._refuse(route.wire, 404, told, "not_found_error")
            return
        try:
            self._forward(route, upstream, read_object(body), parts.query)
        except LLMBudgetError as error:
            told = f"warploom: {error.message}. Stop now: further calls are refused too."
            self._refuse(route.wire, 400, told, "invalid_request_error")
        except WarploomError as error:
            told = f"warploom: {error.message}" + (f" ({error.hint})" if error.hint else "")
            self._refuse(route.wire, 400, told, "invalid_request_error")

    def _read_body(self, wire: Wire) -> bytes | None:
        length = read_length(self.headers)
        if length is None or length > _BODY_BYTES:
            told = f"a body must be plain, with its length, and at most {_BODY_BYTES >> 20} MiB"
            self.close_connection = True
            status = 400 if length is None else 413
            self._refuse(wire, status, told, "request_too_large")
            return None
        body = self.rfile.read(length)
        if len(body) < length:  # the agent went away
            self.close_connection = True
            return None
        return body

    def _forward(self, route: Route, upstream: Upstream, body: JsonObject, query: str) -> None:
        headers = {**passed_on(self.headers), **upstream.headers}
        url = upstream.url(route.path) + passed_query(query)
        if not route.paid:
            self._relay_free(route.wire, url, headers, body)
            return
        named = route.model or body.get("model")
        model = checked_model(named, text_only=isinstance(route.wire, Generate))
        question = self._door.meter.read(route.wire, model, body)
        if self._door.meter.wants_count(question):
            self._count(question, route.path, upstream, headers)
        call = self._door.meter.admit(question, self._door.tally)
        _Relay(self, call).run(url, headers)

    def _relay_free(self, wire: Wire, url: str, headers: dict[str, str], body: JsonObject) -> None:
        try:
            response = self._door.client.post(url, content=written(body), headers=headers)
        except self._door.failures as error:
            self._refuse(wire, 502, self._redacted(error), "api_error")
            return
        self.send_whole(response.status_code, response.content, response.headers)

    def _count(
        self, question: Question, path: str, upstream: Upstream, headers: dict[str, str]
    ) -> None:
        """Have a prompt counted; where that fails, its bytes go on to bound it."""
        counting = count_call(question.wire, path, question.model, question.body)
        if counting is None:
            return
        try:
            reply = self._door.client.post(
                upstream.url(counting.path), content=written(counting.body), headers=headers,
                timeout=_COUNT_S,
            )  # fmt: skip
        except self._door.failures:
            return
        tokens = counted_tokens(reply.text) if reply.status_code == 200 else None
        if tokens is not None:
            self._door.meter.learn(question, tokens, counting.fields)

    def _redacted(self, error: Exception) -> str:
        return self._door.keys.redact(f"the provider cannot be reached: {error}")

    def _refuse(self, wire: Wire, status: int, message: str, kind: str) -> None:
        body = json.dumps(wire.error(message, kind)).encode()
        self.send_whole(status, body, {"content-type": "application/json"})

    def send_whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a whole reply, without the user's key where a provider told it back."""
        text = self._door.keys.redact(body.decode(errors="replace")).encode()
        self.send_response(status)
        for name in _PASSED_BACK:
            if name in headers:
                self.send_header(name, headers[name])
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class _Relay:
    """Sends one admitted call, passes the reply on, and settles the call exactly once."""

    def __init__(self, handler: _Handler, call: Admitted) -> None:
        self._handler = handler
        self._door = cast("Door", handler.server)
        self._call = call
        self._wire = call.question.wire
        self._usage = Usage()
        self._final = False
        self._reply: list[str] = []
        self._billed = True
        self._settled = False

    def run(self, url: str, headers: dict[str, str]) -> None:
        """Send the call; whatever happens, it is settled, held or released."""
        started = False
        try:
            data = written(self._call.body)
            with self._door.client.stream("POST", url, content=data, headers=headers) as response:
                started = True
                self._pass_on(response)
        except self._door.unsent as error:
            self._billed = False
            self._fail(502, error)
        except (*self._door.failures, TooLargeError) as error:
            if started:  # the agent sees a reply that ends early
                self._handler.close_connection = True
            else:
                self._fail(502, error)
        except OSError:  # the agent went away
            self._handler.close_connection = True
        finally:
            self._end()

    def _pass_on(self, response: "httpx2.Response") -> None:
        if response.status_code >= 400:
            self._billed = response.status_code in (408, 504)
            body = response.read()
            self._tell_problem(response.status_code, body.decode(errors="replace"))
            self._end()
            self._handler.send_whole(response.status_code, body, response.headers)
        elif "text/event-stream" in response.headers.get("content-type", ""):
            self._stream(response)
        else:
            body = b"".join(limited(response.iter_bytes()))
            self._note(body.decode(errors="replace"))
            self._settle()
            self._handler.send_whole(response.status_code, body, response.headers)

    def _stream(self, response: "httpx2.Response") -> None:
        handler = self._handler
        handler.send_response(response.status_code)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("cache-control", "no-cache")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for event in cut_events(limited(response.iter_bytes())):
            text = event.decode(errors="replace")
            self._note(data_of(text))
            handler.wfile.write(as_chunk(self._door.keys.redact(text).encode()))
            handler.wfile.flush()
        self._settle()
        handler.wfile.write(as_chunk(b""))

    def _note(self, text: str) -> None:
        """Read what a reply or an event says of its usage; a later event adds to an earlier."""
        self._reply.append(text.strip())
        try:
            value = json.loads(text)
        except ValueError:  # the end mark of a stream, or no reply of this format
            return
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            told = self._wire.used(cast("JsonObject", item)) if isinstance(item, dict) else None
            if told is not None:
                before, found = self._usage, told.usage
                self._usage = Usage(
                    max(before.input, found.input), max(before.output, found.output),
                    max(before.cached, found.cached), max(before.cache_write, found.cache_write),
                )  # fmt: skip
                self._final |= told.final

    def _settle(self) -> None:
        self._settled = True
        usage = self._usage if self._final else None
        self._door.meter.settle(self._call, usage, "\n".join(self._reply))

    def _tell_problem(self, status: int, told: str) -> None:
        tally = self._call.tally
        words = self._door.keys.redact(" ".join(told.split()))[:_TOLD]
        tally.problem = tally.problem or f"the provider answered {status}: {words}"

    def _end(self) -> None:
        if self._settled:
            return
        self._settled = True
        if self._billed:
            self._door.meter.hold(self._call)
        else:
            self._door.meter.release(self._call)

    def _fail(self, status: int, error: Exception) -> None:
        told = self._door.keys.redact(f"the provider cannot be reached: {error}")
        self._call.tally.problem = self._call.tally.problem or told
        body = json.dumps(self._wire.error(told, "api_error")).encode()
        self._end()
        self._handler.send_whole(status, body, {"content-type": "application/json"})
