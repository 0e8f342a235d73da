"""Launches as editors leave them: `k << <grid, block>> >(x)` for `k<<<grid, block>>>(x)`.

nvcc takes two adjacent chevrons and a third one after blanks or a comment, on either side. The
text is changed to the plain form in the same length, so that all offsets and lines stay.
"""

import re

from warploom.source.token_patterns import CHAR, COMMENT, NAME, NUMBER, RAW, STRING

_SPACED = re.compile(rb"<<\s+<|>>\s+>|(?:<<|>>)\s*/[/*]")
_GAP = rb"(?:\s|//[^\n]*\n|/\*.*?\*/)+"
_OPERATOR = re.compile(rb"\boperator\s*\Z")  # `operator<< <>` is no launch
_PIECE = re.compile(
    rf"{COMMENT}|{RAW}|{STRING}|{CHAR}|{NUMBER}|{NAME}".encode()
    + rb"|(?P<open><<(?P<open_gap>"
    + _GAP
    + rb")?<(?!<))"
    rb"|(?P<close>>>(?P<close_gap>" + _GAP + rb")?>)|(?P<bracket>[()\[\]{};])",
    re.DOTALL,
)


def joined_chevrons(text: bytes) -> bytes:
    """Return `text` with the three chevrons of each launch side by side."""
    if not _SPACED.search(text):
        return text
    joined = bytearray(text)
    launches: list[int] = []  # how many brackets were open inside of each
    for match in _PIECE.finditer(text):
        if match["open"] and not _OPERATOR.search(text[max(0, match.start() - 80) : match.start()]):
            launches.append(0)
            _join(joined, match, "open")
        elif launches and match["close"] and launches[-1] == 0:
            launches.pop()
            _join(joined, match, "close")
        elif launches and match["bracket"]:
            launches[-1] += {b"(": 1, b"[": 1, b"{": 1, b";": 0}.get(match["bracket"], -1)
            if launches[-1] < 0 or (match["bracket"] == b";" and launches[-1] == 0):
                launches.pop()  # it was no launch
    return bytes(joined)


def _join(joined: bytearray, match: re.Match[bytes], group: str) -> None:
    gap = match[f"{group}_gap"]
    if gap:
        start = match.start(group)
        joined[start : match.end(group)] = match[group][:2] + match[group][-1:] + gap
