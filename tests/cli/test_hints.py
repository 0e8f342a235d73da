"""Hints of errors name options that there are."""

import ast
import re
from pathlib import Path

import pytest
import typer.main

from warploom.cli.app import app
from warploom.cli.first_build import tell_of_first_build

SOURCE = Path(__file__).parents[2] / "src" / "warploom"
# Options of other programs, which hints name too.
OTHERS = {
    "--head",
    "--acp",
    "--mpi",
    "--output-format",
    "--partition",
    "--test-only",
    "--upgrade",
    "--wrap",
}


def options() -> set[str]:
    """Return all options of all commands."""
    group = typer.main.get_command(app)
    found: set[str] = set()
    commands = [group, *group.commands.values()]  # type: ignore[attr-defined]
    for command in commands:
        for parameter in command.params:
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


def hints(tree: ast.AST) -> list[str]:
    """Return the texts of all hints in a module."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            found += [
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
    return found


def test_hints_name_options_that_exist() -> None:
    known = options() | OTHERS
    found: set[str] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "hint=" in text:
            for hint in hints(ast.parse(text)):
                named = set(re.findall(r"--[a-z][a-z-]+", hint))
                assert named <= known, f"{path}: {hint}"
                found |= named
    assert "--max-cost" in found and "--ranks" in found


def test_the_first_build_of_the_emulator_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "empty"))
    tell_of_first_build()
    assert "first the emulator is built" in capsys.readouterr().err
