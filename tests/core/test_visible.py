"""What a program says can do nothing to a terminal or to the direction of a page's text."""

import subprocess
import sys

import pytest

from warploom.core.visible import visible
from warploom.reports.html.markup import tag

SAID = "\x1b[2J\x1b[Hok\x9b1m\x07 \u202eko\u2066 \u200b\u2028\r\udce9"


def test_what_works_on_a_terminal_is_named() -> None:
    shown = visible(SAID)
    assert shown == (r"\x1b[2J\x1b[Hok\x9b1m\x07 \u202eko\u2066 \u200b\u2028\x0d\udce9")
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["a\tb\nc", "größer", "表", "1\u00a0000", ""])
def test_what_people_write_is_kept(text: str) -> None:
    assert visible(text) == text


def test_a_page_turns_no_text_around() -> None:
    assert "\u202e" not in tag("p", SAID, title=SAID).html


def test_the_command_line_shows_it() -> None:
    """Colors are those of `paint` alone, whatever a program writes."""
    code = (
        "from warploom.cli.output import out, paint, say\n"
        f"said = {SAID!r}\n"
        "import typer; echo = typer.echo\n"
        "typer.echo = lambda text, err=False: echo(text, err=err, color=True)\n"
        "out(paint('passed', 'ok') + ' ' + said); say(said + '\\x1b[32mok\\x1b[0m')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.count(b"\x1b") == 3, "two of the color, one of its end"
    assert b"\x1b[32m" in done.stdout
    assert b"\x1b" not in done.stderr
    assert rb"\x1b[2J" in done.stderr
