"""Reads a provider's reply as it comes: server-sent events, of a size that we hold."""

import re
from collections.abc import Iterator

_REPLY_BYTES = 64 << 20
_LINE_END = re.compile(r"\r\n|\n|\r")


class TooLargeError(Exception):
    """A reply is larger than we hold."""


def cut_events(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut a stream after each empty line."""
    rest = b""
    for chunk in chunks:
        rest += chunk
        while True:
            ends = [
                at + len(mark) for mark in (b"\n\n", b"\r\n\r\n") if (at := rest.find(mark)) >= 0
            ]
            if not ends:
                break
            yield rest[: min(ends)]
            rest = rest[min(ends) :]
    if rest:
        yield rest


def data_of(event: str) -> str:
    """Return the data of an event, which may stand on several lines."""
    lines = _LINE_END.split(event)
    return "\n".join(line.removeprefix("data:") for line in lines if line.startswith("data:"))


def limited(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Pass chunks on.

    Raises:
        TooLargeError: they are more than we hold.
    """
    seen = 0
    for chunk in chunks:
        seen += len(chunk)
        if seen > _REPLY_BYTES:
            raise TooLargeError(f"the reply holds more than {_REPLY_BYTES >> 20} MiB")
        yield chunk


def as_chunk(data: bytes) -> bytes:
    """Return a chunk of a chunked body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
