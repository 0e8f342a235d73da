"""Options as records: a command's parameter that is a dataclass of options becomes these options.

An option that several commands have stands in one field of one record, with its help; adding one
adds it to each of them.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

_OF_THE_COMMAND_LINE = (OptionInfo, ArgumentInfo)


def takes_records(command: Callable[..., int]) -> Callable[..., int]:
    """Return `command` for typer: it is called with records, and has the options of their fields.

    A field is an option where its type is annotated with one; fields without keep their default. A
    record's own options come before those that it inherits.

    Raises:
        TypeError: two records have an option of one name.
    """
    hints = get_type_hints(command, include_extras=True)
    records = {name: hint for name, hint in hints.items() if _is_record(hint)}
    plain = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in records
    ]
    taken = {name: _options(record) for name, record in records.items()}
    options = [option for some in taken.values() for option in some]

    def called(**given: Any) -> int:
        made = {
            name: records[name](**{option.name: given.pop(option.name) for option in some})
            for name, some in taken.items()
        }
        return command(**given, **made)

    signature = inspect.Signature([*plain, *options])  # refuses a name that is there twice
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    vars(called)["__signature__"] = signature
    return called


def _is_record(hint: object) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def _options(record: type[Any]) -> list[inspect.Parameter]:
    """Return the parameters of a record's fields, its own first."""
    hints = get_type_hints(record, include_extras=True)
    kept = {field.name: field for field in fields(record)}
    order = dict.fromkeys(
        name for owner in record.__mro__ for name in vars(owner).get("__annotations__", {})
    )
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=kept[name].default,
            annotation=hints[name],
        )
        for name in order
        if name in kept and _is_option(hints[name])
    ]


def _is_option(hint: object) -> bool:
    if get_origin(hint) is not Annotated:
        return False
    return any(isinstance(extra, _OF_THE_COMMAND_LINE) for extra in get_args(hint)[1:])
