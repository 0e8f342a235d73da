"""Topology profiles: the numbers of the machine whose time is modelled, each with its source."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from warploom.core.errors import BadInputError

PROFILE_DIR = Path(__file__).parents[1] / "profiles"
"""The profiles that come with warploom."""
_HEADER = Path(__file__).parents[1] / "runtime" / "base" / "machine.h"
_LISTED = re.compile(r"\bX\([\s\\]*(\w+)\)")
DEFAULT_TOPOLOGY = "h200-8"
"""What time is modelled for where nobody says."""


@dataclass(frozen=True, slots=True)
class Topology:
    """One machine: `values` by name (units in docs/time-model.md), and the source of each."""

    name: str
    description: str
    values: Mapping[str, float]
    sources: Mapping[str, str]

    @property
    def gpus_per_node(self) -> int:
        """How many GPUs reach each other by NVLink."""
        return int(self.values["gpus_per_node"])


def constant_names() -> tuple[str, ...]:
    """Return the names that a profile must give a value, as the runtime lists them."""
    listed = _HEADER.read_text().split("#define WARPLOOM_MACHINE(X)", 1)[1]
    return tuple(_LISTED.findall(listed.split("\n\n", 1)[0]))


def topology_names() -> tuple[str, ...]:
    """Return the names of the packaged profiles."""
    return tuple(sorted(path.stem for path in PROFILE_DIR.glob("*.toml")))


def find_topology(name: str) -> Topology:
    """Return the packaged profile `name`, or that of the TOML file at the path `name`.

    Raises:
        BadInputError: there is neither, or the file breaks a rule; the message names the key.
    """
    packaged = PROFILE_DIR / f"{name}.toml"
    if re.fullmatch(r"[\w.-]+", name) and packaged.is_file():
        return _read(packaged)
    path = Path(name)
    if path.is_file():
        return _read(path)
    raise BadInputError(
        f"a topology must be a packaged profile or a TOML file, got {name!r}",
        hint=f"the profiles are: {', '.join(topology_names())}",
    )


def check_fit(topology: Topology, ranks: int, lsa_size: int | None) -> None:
    """Raise BadInputError where ranks share memory that the machine does not connect."""
    team = lsa_size or ranks
    if team > topology.gpus_per_node:
        raise BadInputError(
            f"an LSA team of {team} ranks must fit into one NVLink domain, and {topology.name} "
            f"has {topology.gpus_per_node} GPUs in one",
            hint=f"pass --lsa-size {_divisor(ranks, topology.gpus_per_node)}, or a topology with "
            "a larger domain",
        )


def _divisor(ranks: int, most: int) -> int:
    return next(size for size in range(min(ranks, most), 0, -1) if ranks % size == 0)


def _read(path: Path, seen: tuple[Path, ...] = ()) -> Topology:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"cannot be read: {error}", file=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"is not valid TOML: {error}", file=str(path)) from None
    known = constant_names()
    values: dict[str, float] = {}
    sources: dict[str, str] = {}
    base = table.pop("base", None)
    if base is not None:
        found = _base(base, path, seen)
        values.update(found.values)
        sources.update(found.sources)
    description = table.pop("description", "")
    if not isinstance(description, str):
        raise _wrong(path, "description", "must be text", description)
    for key, item in table.items():
        if key not in known:
            raise BadInputError(
                f"{key}: unknown key", file=str(path), hint=f"the keys are: {', '.join(known)}"
            )
        values[key], sources[key] = _constant(path, key, item)
    missing = [key for key in known if key not in values]
    if missing:
        raise BadInputError(
            f"{missing[0]}: this key is required",
            file=str(path),
            hint='start from a profile with base = "h200-8", and give what differs',
        )
    return Topology(path.stem, description, values, sources)


def _base(base: object, path: Path, seen: tuple[Path, ...]) -> Topology:
    if not isinstance(base, str) or not (PROFILE_DIR / f"{base}.toml").is_file():
        raise _wrong(path, "base", f"must be one of {', '.join(topology_names())}", base)
    parent = PROFILE_DIR / f"{base}.toml"
    if parent in seen:
        raise _wrong(path, "base", "must not lead back to itself", base)
    return _read(parent, (*seen, path))


_MAY_BE_ZERO = frozenset(("nccl_nvls_gbs", "nccl_nvls_ns"))


def _constant(path: Path, key: str, item: object) -> tuple[float, str]:
    """Return the value and the source of one entry: `key = { value = 1.0, source = "..." }`."""
    if not isinstance(item, dict):
        raise _wrong(path, key, 'must be { value = NUMBER, source = "..." }', item)
    entry = cast("dict[str, object]", item)
    if entry.keys() - {"value", "source"}:
        extra = min(entry.keys() - {"value", "source"})
        raise BadInputError(f"{key}.{extra}: unknown key", file=str(path))
    value, source = entry.get("value"), entry.get("source")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(path, f"{key}.value", "must be a number", value)
    if value < 0 or (value == 0 and (not key.endswith("_ns") and key not in _MAY_BE_ZERO)):
        raise _wrong(path, f"{key}.value", "must be more than 0", value)
    if not isinstance(source, str) or not source.strip():
        raise _wrong(path, f"{key}.source", "must say where the number is from", source)
    return float(value), source


def _wrong(path: Path, key: str, rule: str, got: object) -> BadInputError:
    return BadInputError(f"{key} {rule}, got {got!r}", file=str(path))
