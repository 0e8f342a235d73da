"""Content digests and run ids."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a 32-digit hexadecimal digest of `parts`, each length-prefixed (SHA-256)."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:32]


def new_run_id(kind: str) -> str:
    """Return an id such as `transform-20261120-104512-3f9a1c`, sortable by time."""
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def new_token() -> str:
    """Return 32 random hexadecimal digits."""
    return secrets.token_hex(16)
