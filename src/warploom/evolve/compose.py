"""Composes a configuration: groups, a file, dotted overrides; every error names the key."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError

from warploom.core.errors import BadInputError
from warploom.evolve.config import EvolutionConfig

GROUPS = Path(__file__).with_name("groups")
"""`SECTION/NAME.yaml`: what `SECTION=NAME` stands for."""


class ConfigError(BadInputError):
    """A configuration breaks a rule; the message names the key and the rule."""


def compose(
    overrides: Sequence[str] = (), *, file: Path | None = None, base: EvolutionConfig | None = None
) -> EvolutionConfig:
    """Return the configuration that the groups, a file and the overrides make, in this order.

    Args:
        overrides: `KEY=VALUE` with a dotted key, or `SECTION=GROUP`.
        file: a YAML file with the same keys.
        base: what they change; default: the defaults.

    Raises:
        ConfigError: a key is unknown (the nearest one is named), or a value breaks its rule.
    """
    parts: list[DictConfig] = []
    if base is not None:
        parts.append(_tree(base.model_dump(mode="json")))
    chosen = [_group(item) for item in overrides]
    parts += [group for group in chosen if group is not None]
    if file is not None:
        parts.append(_file(file))
    parts += [_dotted(item) for item, group in zip(overrides, chosen, strict=True) if group is None]
    try:
        merged = OmegaConf.to_container(OmegaConf.merge(*parts), resolve=True) if parts else {}
    except (OmegaConfBaseException, ValueError) as error:
        raise ConfigError(f"the configuration cannot be merged: {_first_line(error)}") from None
    return validated(merged)


def validated(data: object) -> EvolutionConfig:
    """Return the configuration in plain values.

    Raises:
        ConfigError: as `compose`.
    """
    try:
        return EvolutionConfig.model_validate(data)
    except ValidationError as error:
        raise _explained(error) from None


def load(path: Path) -> EvolutionConfig:
    """Return the configuration that `dump` wrote."""
    return validated(OmegaConf.to_container(_file(path), resolve=True))


def dump(config: EvolutionConfig) -> str:
    """Return a resolved configuration as YAML."""
    return OmegaConf.to_yaml(_tree(config.model_dump(mode="json")))


def group_names(section: str) -> tuple[str, ...]:
    """Return the names that `section=NAME` takes."""
    return tuple(sorted(path.stem for path in (GROUPS / section).glob("*.yaml")))


def _tree(data: dict[str, Any]) -> DictConfig:
    return OmegaConf.create(data)


def _group(item: str) -> DictConfig | None:
    """Return what `SECTION=NAME` stands for; None where `item` is a dotted override."""
    key, equals, value = item.partition("=")
    if not equals or not key.strip():
        raise ConfigError(
            f"an override must be KEY=VALUE, got {item!r}",
            hint="such as evolution.num_generations=18, or database=large",
        )
    if "." in key or not (GROUPS / key).is_dir():
        return None
    names = group_names(key)
    if value not in names:
        raise ConfigError(
            f"{key} must be one of {', '.join(names)}, got {value!r}",
            hint=f"a single value is set by its own key, such as {key}.{_first_key(key)}=VALUE",
        )
    return _tree({key: OmegaConf.load(GROUPS / key / f"{value}.yaml")})


def _first_key(section: str) -> str:
    return next(iter(_model_at([section]).model_fields))


def _dotted(item: str) -> DictConfig:
    try:
        return OmegaConf.from_dotlist([item])
    except (OmegaConfBaseException, ValueError) as error:
        raise ConfigError(f"cannot read {item!r}: {_first_line(error)}") from None
    except Exception as error:  # of the YAML reader, which has an error tree of its own
        if type(error).__module__.partition(".")[0] != "yaml":
            raise
        raise ConfigError(f"cannot read the value of {item!r}: {_first_line(error)}") from None


def _file(path: Path) -> DictConfig:
    try:
        found = OmegaConf.load(path)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except Exception as error:  # of the YAML reader
        if type(error).__module__.partition(".")[0] not in ("yaml", "omegaconf"):
            raise
        raise ConfigError(f"is not valid YAML: {_first_line(error)}", file=str(path)) from None
    if not isinstance(found, DictConfig):
        raise ConfigError("must hold keys and values", file=str(path))
    return found


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _model_at(path: Sequence[object]) -> type[BaseModel]:
    """Return the model of a section."""
    model: type[BaseModel] = EvolutionConfig
    for name in path:
        kind = model.model_fields[str(name)].annotation
        assert isinstance(kind, type) and issubclass(kind, BaseModel)
        model = kind
    return model


def _explained(error: ValidationError) -> ConfigError:
    """Return the first mistake, in words."""
    first = error.errors()[0]
    place = [part for part in first["loc"] if part not in ("[key]",)]
    name = ".".join(map(str, place)) or "the configuration"
    if first["type"] == "extra_forbidden":
        return _unknown(place)
    rule = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if not name.endswith("configuration") and rule.startswith("should"):
        rule = rule.replace("should", "must", 1)
    value = first["input"]
    got = "" if isinstance(value, BaseModel | dict) else f", got {value!r}"
    return ConfigError(f"{name}: {rule}{got}", hint="docs/evolve.md lists the keys")


def _unknown(place: Sequence[object]) -> ConfigError:
    *above, wrong = map(str, place)
    known = list(_model_at(above).model_fields)
    dotted = ".".join((*above, wrong))
    near = difflib.get_close_matches(wrong, known, n=1, cutoff=0.4)
    elsewhere = [key for key in _all_keys() if key.rpartition(".")[2] == wrong]
    guess = elsewhere[0] if elsewhere else ".".join((*above, *near)) if near else ""
    listed = f"known here: {', '.join(known)}"
    hint = f"did you mean {guess}?" if guess else listed
    return ConfigError(f"there is no key {dotted}", hint=hint)


def _all_keys(model: type[BaseModel] = EvolutionConfig, prefix: str = "") -> Iterable[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _all_keys(kind, f"{prefix}{name}.")
