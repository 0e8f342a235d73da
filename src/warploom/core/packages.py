"""Packages that can be called, because their names are also those of their main functions."""

import sys
from importlib import import_module
from types import ModuleType


class _CallablePackage(ModuleType):
    """`warploom.evaluate` is a package and a function: a call is one of `HOME.evaluate`."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        name = self.__name__.rpartition(".")[2]
        home = import_module(f"{self.__name__}.{self.__dict__['_home_of_call']}")
        return getattr(home, name)(*args, **kwargs)

    def __reduce__(self) -> tuple[object, ...]:
        return (import_module, (self.__name__,))


def make_callable(package: str, home: str) -> None:
    """Let a package be called as the function of its own name in its module `home`.

    The module is loaded by the first call.
    """
    module = sys.modules[package]
    module.__dict__["_home_of_call"] = home
    module.__class__ = _CallablePackage
