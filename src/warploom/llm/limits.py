"""HTTP clients that refuse a reply without end."""

from collections.abc import AsyncIterator

import httpx2


class ReplyTooLargeError(Exception):
    """A reply holds more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the reply holds more than {limit} bytes")
        self.limit = limit


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > self._limit:
                raise ReplyTooLargeError(self._limit)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(limit: int, timeout_s: float) -> httpx2.AsyncClient:
    """Return a client whose replies hold at most `limit` bytes; connecting takes at most 10 s.

    Replies are asked for uncompressed, so that the limit is on what is held in memory too.
    """

    async def count(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, limit)

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout_s, connect=min(10.0, timeout_s)),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [count]},
        follow_redirects=False,
    )
