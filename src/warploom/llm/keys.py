"""API keys: from the environment or a `.env` file, and out of everything that we write."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

from warploom.core.errors import BadInputError
from warploom.llm.errors import LLMModelError
from warploom.llm.names import PROVIDERS, ModelName, checked_url
from warploom.llm.transport import Delivery

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")
_SECRET = re.compile(r"(_KEY|TOKEN|SECRET|PASSWORD)$")
_OURS = re.compile("|".join(name for item in PROVIDERS.values() for name in item.keys))
# The characters of keys as JSON may escape them; none has to be.
_ESCAPED = re.compile(r"\\u00(2[bdef]|3[0-9d]|[46][1-9a-f]|[57][0-9a]|5f)", re.IGNORECASE)
_SHORTEST = 8  # a shorter value is no key, and would blot out ordinary words


class Keys:
    """Named values for providers; the environment goes before the file.

    Nothing is put into `os.environ`, so that no program that we start inherits a key from `.env`.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        secret = {v for name, v in values.items() if _SECRET.search(name) and len(v) >= _SHORTEST}
        self._secrets = sorted(secret, key=len, reverse=True)

    @classmethod
    def load(cls, dotenv: Path | None = None) -> Self:
        """Read the environment and `dotenv` (`.env` in the current folder, where there is one).

        Raises:
            BadInputError: the file cannot be read, or a line that names a provider's key is not
                `NAME=value`. Other lines that are not are somebody else's.
        """
        path = dotenv or Path(".env")
        values = _read(path) if dotenv is not None or path.is_file() else {}
        return cls({**values, **os.environ})

    def get(self, name: str) -> str | None:
        """Return the value of a name, or None where it is missing or empty."""
        return self._values.get(name, "").strip() or None

    def address(self, name: ModelName) -> str | None:
        """Return where to reach a model, or None for the provider's own address in its SDK.

        The model string's address goes first, then a setting such as `OLLAMA_BASE_URL`.

        Raises:
            LLMModelError: the provider has no address of its own, and none is given.
        """
        provider = name.provider
        setting = next((item for item in provider.settings if item.endswith("_BASE_URL")), "")
        given = self.get(setting) if name.url is None else None
        if given is not None:
            return checked_url(given, setting)
        if name.url is None and provider.url_needed:
            raise LLMModelError(
                f"{provider.prefix} needs the address of the server, got {name.text!r}",
                hint=f"write {name.text}@http://localhost:8000/v1, or set {setting}",
            )
        return name.url or provider.url or None

    def redact(self, text: str) -> str:
        """Return `text` with every known key replaced by `[key]`, escaped as in JSON or not."""
        if "\\u00" in text:
            plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
            text = plain if any(secret in plain for secret in self._secrets) else text
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "[key]")
        return text

    def redact_delivery(self, delivery: Delivery) -> Delivery:
        """Return what a provider sent, with every known key replaced."""
        if not self._secrets:
            return delivery
        calls = tuple(
            replace(call, arguments=self.redact(call.arguments)) for call in delivery.tool_calls
        )
        raw = json.dumps(delivery.raw)
        clean = self.redact(raw)
        return replace(
            delivery,
            text=self.redact(delivery.text),
            output=None if delivery.output is None else self.redact(delivery.output),
            tool_calls=calls,
            raw=delivery.raw if clean == raw else json.loads(clean),
        )

    def __repr__(self) -> str:
        return f"Keys({len(self._secrets)} secrets)"


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"cannot be read: {error}", file=str(path)) from None
    values: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None and not _OURS.search(line):
            continue
        if match is None:
            raise BadInputError("a line must be NAME=value", file=str(path), line=number)
        values[match[1]] = _unquoted(match[2])
    return values


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text.split(" #", 1)[0].rstrip()
